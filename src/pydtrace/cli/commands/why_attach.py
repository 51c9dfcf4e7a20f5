"""`pyusdt why PID`: brings the probes of frameworks into processes that `pyusdt run` has not started, for as long as it watches.

- Descendants are attached to as well; those that are no CPython are skipped.
"""

from __future__ import annotations

import contextlib
import sys

from pydtrace.attach.refusal import NoPython, NotAttached
from pydtrace.engine.embedded.young_processes import has_provider
from pydtrace.process.identity import is_alive
from pydtrace.process.proc_threads import list_descendants

from .attach import attach_hooks, leave_unused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def attached_processes(pids: list[int]) -> Iterator[None]:
    """While the block runs.  NotAttached: none of a named process and its descendants can be attached to."""
    brought: list[int] = []
    try:
        for pid in dict.fromkeys(pids):
            brought += _attach_tree(pid)
        yield
    finally:
        later = [child for pid in brought for child in list_descendants(pid)]
        for pid in dict.fromkeys([*brought, *later]):
            if message := leave_unused(pid):
                sys.stderr.write(f"pyusdt: {message}\n")


def has_request_probes(pid: int) -> bool:
    """Whether the process or a descendant has them already."""
    return any(has_provider(each, "request") for each in [pid, *list_descendants(pid)])


def _attach_tree(pid: int) -> list[int]:
    """The processes that something was brought into."""
    brought: list[int] = []
    refusal: NotAttached | None = None
    has_probes = False
    for each in [pid, *list_descendants(pid)]:
        try:
            if attach_hooks(each):
                brought.append(each)
            has_probes = True
        except NotAttached as error:
            if each == pid:
                refusal = error
            elif not isinstance(error, NoPython) and is_alive(each):
                sys.stderr.write(f"pyusdt: {error}\n")
    if refusal is not None and not has_probes:
        raise refusal
    if refusal is not None and not isinstance(refusal, NoPython):
        sys.stderr.write(f"pyusdt: {refusal}\n")
    return brought
