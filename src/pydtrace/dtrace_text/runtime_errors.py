"""Lines for the standard error, in dtrace's words: run-time errors (fault records) and drops
(Engine.drops()).

The lines have neither the program's name nor a newline.

- Each fault is reported or counted.
"""

from __future__ import annotations

import os
import re
import struct

from pydtrace.program import program as p
from pydtrace.untrusted.terminal_escape import escape_for_terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from pydtrace.program.program import Clause, Program

    Names = Callable[[int], tuple[str, ...]]  # provider, module, function, name of a probe id

_REPORTED_AT_MOST = 3  # faults of a kind that are printed before they are counted
_STRING_ARGUMENT = re.compile(r"copyinstr\(\s*(arg[0-9])\s*[,)]")
_DATA = struct.Struct("=IIQ")  # kind, pc, value, at FAULT_KIND
_FAULTS = {
    p.FAULT_BADADDR: "invalid address", p.FAULT_BADALIGN: "invalid alignment", p.FAULT_ILLOP: "illegal operation",
    p.FAULT_DIVZERO: "divide-by-zero", p.FAULT_NOSCRATCH: "out of scratch space",
    p.FAULT_KPRIV: "invalid kernel access", p.FAULT_UPRIV: "invalid user access",
    p.FAULT_TUPOFLOW: "tuple stack overflow", p.FAULT_BADSTACK: "bad stack", p.FAULT_LIBRARY: "library-level fault",
    p.FAULT_BADINDEX: "index out of bounds", p.FAULT_BADSIZE: "invalid size",
}  # fmt: skip
_WITH_ADDRESS = (p.FAULT_BADADDR, p.FAULT_BADALIGN, p.FAULT_BADSIZE)
_DROPS = {  # kind: dtrace's tag, and its words where one and where several were lost
    "principal": ("DTRACEDROP_PRINCIPAL", "drop", "drops"),
    "aggregation": ("DTRACEDROP_AGGREGATION", "aggregation drop", "aggregation drops"),
    "dynamic": ("DTRACEDROP_DYNAMIC", "dynamic variable drop", "dynamic variable drops"),
    "speculative": ("DTRACEDROP_SPEC", "speculative drop", "speculative drops"),
    "speculation": (
        "DTRACEDROP_SPECUNAVAIL",
        "failed speculation (no speculative buffer available)",
        "failed speculations (no speculative buffer available)",
    ),
    "order": ("PYUSDTDROP_ORDER", "event out of order", "events out of order"),
    "unread": (
        "PYUSDTDROP_UNREAD",
        "failure to read a traced process",
        "failures to read traced processes",
    ),
    "refused": (
        "PYUSDTDROP_REFUSED",
        "refusal by a traced process",
        "refusals by traced processes",
    ),
    "host": (
        "PYUSDTDROP_HOST",
        "loss of what a host had counted",
        "losses of what hosts had counted",
    ),
}
DROP_KINDS = tuple(_DROPS)


def _dtrace_clause_number(clause: int, clauses: Sequence[Clause], names: Sequence[str]) -> int:
    """dtrace's number of a clause: it counts one for each probe description."""
    if clause >= len(clauses):
        return clause
    before = sum(len(each.probes) for each in clauses[:clause])
    same = [at for at, desc in enumerate(clauses[clause].probes) if desc.name == names[3]]
    return before + (same[0] if same else 0)


def format_error(record: bytes, probe_name: Names, clauses: Sequence[Clause] = ()) -> str:
    """The message of one fault record.  parse_probe_name(id) -> (provider, module, function, name)."""
    clause, probe = struct.unpack_from("=II", record, p.RECORD_CLAUSE)
    kind, pc, value = _DATA.unpack_from(record, p.FAULT_KIND)
    what = _FAULTS.get(kind, "unknown fault")
    if kind in _WITH_ADDRESS:
        what += f" (0x{value:x})"
    elif kind == p.FAULT_BADINDEX:
        what += f" ({value})"
    names = probe_name(probe)
    number = _dtrace_clause_number(clause & ~p.RECORD_FLAGS, clauses, names)
    where = f"dt_clause_{number} for probe ID {probe} ({escape_for_terminal(':'.join(names))})"
    return f"error in {where}: {what} at BPF pc {pc}"


class ErrorReporter:
    """Tells a program's faults: of the same fault of the same clause the first few, and at the end how many more came.

    parse_probe_name(id) -> (provider, module, function, name); say(text, count): count 0: one fault; else so many more of one;
    places: the records say where in the source it was; absent(pid, address): called where memory could not be read; count: how many there were.  DTrace's own suite compares, and gets dtrace's lines, all of them.
    """

    def __init__(
        self,
        program: Program,
        probe_name: Names,
        report: Callable[[str, int], None],
        has_locations: bool = True,
        on_absent_page: Callable[[int, int], None] | None = None,
    ) -> None:
        self._on_absent_page = on_absent_page
        self._clauses, self._probe_name, self._report, self._has_locations = (
            program.clauses,
            probe_name,
            report,
            has_locations,
        )
        self._is_dtrace_test = "_DTRACE_TESTING" in os.environ
        self.count = 0
        self._seen: dict[
            tuple[int, int, int], tuple[list[int], str]
        ] = {}  # (clause, place in its code, kind) -> ([how often], the first one's line)

    def report_error(self, record: bytes) -> None:
        """A fault has come: its record."""
        (clause,) = struct.unpack_from("=I", record, p.RECORD_CLAUSE)
        kind, pc, value = _DATA.unpack_from(record, p.FAULT_KIND)
        line = format_error(record, self._probe_name, self._clauses)
        self.count += 1
        if self._on_absent_page and kind == p.FAULT_BADADDR and value:
            self._on_absent_page(struct.unpack_from("=I", record, p.RECORD_PID)[0], value)
        seen, _ = self._seen.setdefault((clause, pc, kind), ([0], line))
        seen[0] += not self._is_dtrace_test
        if seen[0] > _REPORTED_AT_MOST:
            return
        location = (
            None
            if self._is_dtrace_test or not self._has_locations
            else _find_location(record, self._clauses)
        )
        if location:
            line += f"\n    at {location}"
            if seen[0] == 1 and (kind, value) == (p.FAULT_BADADDR, 0):
                line += _null_string_hint(location)
        if seen[0] == _REPORTED_AT_MOST:
            line += (
                "\n    (from here on this error is only counted; the count is printed at the end)"
            )
        self._report(line, 0)

    def report_counts(self) -> None:
        """Tracing is over: print the counts; those that were printed are forgotten."""
        for (count,), line in self._seen.values():
            if count > _REPORTED_AT_MOST:
                self._report(
                    f"{count - _REPORTED_AT_MOST} more of: {line}", count - _REPORTED_AT_MOST
                )
        self._seen = {}


def _null_string_hint(location: Any) -> str:
    """The hint for a string argument that a firing did not have; "" where the statement reads none."""
    found = _STRING_ARGUMENT.search(location.source.text, location.start, location.end)
    return (
        f'\n    hint: a string that is absent is NULL: {found[1]} ? copyinstr({found[1]}) : ""'
        if found
        else ""
    )


def _find_location(record: bytes, clauses: Sequence[Clause]) -> Any:
    """Where the statement of a fault stands in the source; None where the record is of no clause of the program's."""
    clause = struct.unpack_from("=I", record, p.RECORD_CLAUSE)[0] & ~p.RECORD_FLAGS
    if clause >= len(clauses):
        return None
    pc = struct.unpack_from("=I", record, p.FAULT_PC)[0]
    found = clauses[clause].loc
    for first, location in clauses[clause].lines:
        if first > pc:
            break
        found = location
    return found


_DROP_ADVICE = {
    "principal": "aggregate (@ = count()), name fewer probes, or raise -b",
    "aggregation": "raise -x aggsize",
    "dynamic": "raise -x dynvarsize",
    "speculative": "raise -x specsize or -x nspec",
}


def summarize_drops(kind: str, count: int, advice: str | None) -> str | None:
    """How many there were in all, and what helps; None for a kind that no option helps.  advice: in place of the usual one."""
    if kind not in _DROP_ADVICE:
        return None
    _, one, several = _DROPS[kind]
    return f"{count:,} {one if count == 1 else several} in all: {advice or _DROP_ADVICE[kind]}"


def format_drops(kind: str, count: int, tags: bool = False, cpu: int | None = None) -> str:
    """The message of a loss.  kind: a key of Engine.drops(); tags: the droptags option; cpu: where that is known: a
    ring belongs to a process."""
    tag, one, several = _DROPS[kind]
    where = f" on CPU {cpu}" if cpu is not None else ""
    return f"{f'[{tag}] ' if tags else ''}{count} {several if count > 1 else one}{where}"


def format_truncated(count: int, strsize: int) -> str:
    """The message of strings that were longer than strsize."""
    were = "strings were" if count > 1 else "string was"
    more = (
        f": -x strsize={min(2 * strsize, p.STRSIZE_LIMIT)} has room for more"
        if strsize < p.STRSIZE_LIMIT
        else ""
    )
    return f"{count} {were} cut to {strsize - 1} bytes{more}"


def format_maybe_truncated(count: int) -> str:
    """The message of strings that the traced process may have cut."""
    strings = "strings have" if count > 1 else "string has"
    return f"{count} {strings} the {p.STRING_LIMIT} bytes that an event holds at most, or up to 3 less, and may be cut"
