"""`pydtrace -l`: the list of probes, in dtrace's columns.

- The ids are those that a tracing would have that starts now.
"""

from __future__ import annotations

from pydtrace.untrusted.terminal_escape import escape_for_terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    Probe = tuple[str, str, str, str]  # provider, module, function, name
    Glob = Callable[[str, str], bool]  # pattern, text
    Details = Callable[[Probe], str]


def _format_row(number: int | str, *names: str) -> str:
    provider, module, function, name = map(escape_for_terminal, names)
    return f"{number:>5} {provider:>10} {module:>17} {function:>33} {name}\n"


HEADING = _format_row("ID", "PROVIDER", "MODULE", "FUNCTION", "NAME")


def _no_details(_: Probe) -> str:
    return ""


def format_rows(
    probes: Sequence[Probe], numbers: Iterable[int], details: Details = _no_details
) -> str:
    """Lines for the probes of these ids, in the order of `numbers`, behind each what more(probe) says."""
    return "".join(
        _format_row(number, *probes[number - 1]) + details(probes[number - 1]) for number in numbers
    )


def match_probes(probes: Sequence[Probe], description: Any, glob: Glob) -> list[int]:
    """The ids of the probes that a description (ast.ProbeDesc) stands for, in dtrace's order: the highest first."""
    parts = (description.provider, description.module, description.function, description.name)

    def is_match(probe: Any) -> bool:
        if not (glob(parts[0], probe[0]) and glob(parts[3], probe[3])):
            return False
        stands = getattr(
            probe, "is_function_match", None
        )  # by its symbol, and as C++ and Rust write it
        if not (glob(parts[2], probe[2]) or stands and stands(parts[2])):
            return False
        return any(
            glob(parts[1], module) for module in (probe[1], *getattr(probe, "modules", ()))
        )  # libc.so.6 is libc.so, too, and a program a.out

    return [number for number, probe in enumerate(probes, 1) if is_match(probe)][::-1]


def list_matches(
    descriptions: list[Any] | None,
    probes: Sequence[Probe],
    glob: Glob,
    details: Details = _no_details,
) -> tuple[str, list[tuple[str, str | None]]]:
    """(text, messages): the list for the descriptions, or for all probes where there are none; a message, with a hint or None,
    for each description that stands for nothing."""
    if descriptions is None:
        return HEADING + format_rows(probes, range(1, len(probes) + 1), details), []
    text, messages = HEADING, list[tuple[str, "str | None"]]()
    for description in descriptions:
        numbers = match_probes(probes, description, glob)
        if not numbers:
            from pydtrace.engine.probe_hints import suggest_name, suggest_provider

            hint = suggest_name(description, probes) or suggest_provider(description, probes)
            messages.append((f"failed to match {description}: No probe matches description", hint))
        text += format_rows(probes, numbers, details)
    return text, messages
