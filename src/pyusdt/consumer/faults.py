"""Lines on the standard error: run-time errors and drops, in dtrace's words.

In: fault records (program.py) and engine.Drop.  Out: text without the program's name and newline.
"""

import struct

from ..dlang import program as p

_DATA = struct.Struct("=IIQ")  # kind, pc, value, at FAULT_KIND
_DROPS = {
    "principal": ("DTRACEDROP_PRINCIPAL", "drop"),
    "aggregation": ("DTRACEDROP_AGGREGATION", "aggregation drop"),
    "dynamic": ("DTRACEDROP_DYNAMIC", "dynamic variable drop"),
    "order": ("PYUSDTDROP_ORDER", "event{s} out of order"),
}


def fault_line(record, probe_name) -> str:
    """The message of one fault record.  probe_name(id) -> (provider, module, function, name)."""
    clause, probe = struct.unpack_from("=II", record, p.RECORD_CLAUSE)
    kind, pc, value = _DATA.unpack_from(record, p.FAULT_KIND)
    if kind == p.FAULT_DIVZERO:
        what = "divide-by-zero"
    elif kind == p.FAULT_BADADDR:
        what = f"invalid address (0x{value:x})"
    else:
        what = "unknown fault"
    index = clause & ~p.RECORD_FAULT
    return f"error in dt_clause_{index} for probe ID {probe} ({':'.join(probe_name(probe))}): {what} at BPF pc {pc}"


def drop_line(drop, tags=False) -> str:
    """The message of one engine.Drop; tags: the droptags option."""
    tag, words = _DROPS[drop.kind]
    plural = "s" if drop.count > 1 else ""
    words = words.replace("{s}", plural) if "{s}" in words else words + plural
    where = "" if drop.where is None else f" {drop.where}"
    return f"{f'[{tag}] ' if tags else ''}{drop.count} {words}{where}"
