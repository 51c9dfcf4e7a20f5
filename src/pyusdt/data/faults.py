"""Lines on the standard error: run-time errors and drops, in dtrace's words.

In: fault records (program.py), and what Engine.drops() counts.  Out: text without the program's
name and without a newline.
"""

from __future__ import annotations

import struct

from . import program as p
from .harmless import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .program import Clause

    Names = Callable[[int], tuple[str, ...]]  # provider, module, function, name of a probe id

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
    "speculation": ("DTRACEDROP_SPECUNAVAIL", "failed speculation (no speculative buffer available)",
                    "failed speculations (no speculative buffer available)"),
    "order": ("PYUSDTDROP_ORDER", "event out of order", "events out of order"),
}
_ON_CPU = ("aggregation",)


def _number(clause: int, clauses: Sequence[Clause], names: Sequence[str]) -> int:
    """dtrace's number of a clause: it counts one for each probe description."""
    if clause >= len(clauses):
        return clause
    before = sum(len(each.probes) for each in clauses[:clause])
    same = [at for at, desc in enumerate(clauses[clause].probes) if desc.name == names[3]]
    return before + (same[0] if same else 0)


def fault_line(record: bytes, probe_name: Names, clauses: Sequence[Clause] = ()) -> str:
    """The message of one fault record.  probe_name(id) -> (provider, module, function, name)."""
    clause, probe = struct.unpack_from("=II", record, p.RECORD_CLAUSE)
    kind, pc, value = _DATA.unpack_from(record, p.FAULT_KIND)
    what = _FAULTS.get(kind, "unknown fault")
    if kind in _WITH_ADDRESS:
        what += f" (0x{value:x})"
    elif kind == p.FAULT_BADINDEX:
        what += f" ({value})"
    names = probe_name(probe)
    number = _number(clause & ~p.RECORD_FLAGS, clauses, names)
    where = f"dt_clause_{number} for probe ID {probe} ({harmless(':'.join(names))})"
    return f"error in {where}: {what} at BPF pc {pc}"


def fault_place(record: bytes, clauses: Sequence[Clause]) -> str:
    """Where the statement of a fault stands in the source: "script.d:3:17"; "" where the record is of no
    clause of the program's."""
    clause = struct.unpack_from("=I", record, p.RECORD_CLAUSE)[0] & ~p.RECORD_FLAGS
    if clause >= len(clauses):
        return ""
    pc = struct.unpack_from("=I", record, p.FAULT_PC)[0]
    place = clauses[clause].loc
    for first, loc in clauses[clause].lines:
        if first > pc:
            break
        place = loc
    return str(place)


def drop_line(kind: str, count: int, tags: bool = False, cpu: int | None = None) -> str:
    """The message of a loss.  kind: a key of Engine.drops(); tags: the droptags option; cpu: where that is known: a
    ring belongs to a process."""
    tag, one, several = _DROPS[kind]
    where = f" on CPU {cpu}" if cpu is not None and kind in _ON_CPU else ""
    return f"{f'[{tag}] ' if tags else ''}{count} {several if count > 1 else one}{where}"
