"""The labels of a sample: pairs of a name (process, thread, task, tag) and a value, and their text.

- The value "" means that there is none: no task runs, no tag is put. UNKNOWN of
  remote_python/thread_labels.py means that it is not known.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

    Labels = tuple[tuple[str, str], ...]

PROCESS, THREAD, STATE, HOLDER = "process", "thread", "state", "holder"


def format_labels(labels: Labels, names: Container[str]) -> str:
    """names: which of them are shown."""
    return ", ".join(_format_label(name, value) for name, value in labels if name in names)


def identify_thread(labels: Labels) -> Labels:
    """The labels without the names of process and thread, which change while both keep their ids."""
    return tuple(
        (name, value.rpartition(" ")[2] if name in (PROCESS, THREAD) else value)
        for name, value in labels
    )


def _format_label(name: str, value: str) -> str:
    if name == THREAD:
        return value
    return f"{name} {value}" if value else f"no {name}"
