"""Constants of every D program, from dtrace's own libraries; looked up only when a program uses
the name.
"""

from __future__ import annotations

import os

from pydtrace.dlang import ast, constants
from pydtrace.dlang.variable_table import Inline
from pydtrace.program import d_types as t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..front.source_text import Location

_FAULTS = (
    "UNKNOWN",
    "BADADDR",
    "BADALIGN",
    "ILLOP",
    "DIVZERO",
    "NOSCRATCH",
    "KPRIV",
    "UPRIV",
    "TUPOFLOW",
    "BADSTACK",
)
_CONSTANTS = {
    "NULL": 0, "AF_INET": 2, "AF_INET6": 10, "ARPHRD_ETHER": 1, "ARPHRD_INFINIBAND": 32,
    "CLD_EXITED": 1, "CLD_KILLED": 2, "CLD_DUMPED": 3, "CLD_TRAPPED": 4, "CLD_STOPPED": 5, "CLD_CONTINUED": 6,
    "PR_MODEL_ILP32": 1, "PR_MODEL_LP64": 2,
    **{f"DTRACEFLT_{name}": number for number, name in enumerate(_FAULTS)},
}  # fmt: skip
UNKNOWN_PATHS = ("cwd", "root")  # dtrace 2.0 does not know them either
# Indexes of uregs[].
_REGISTERS = {
    "x86_64": "R15 R14 R13 R12 RBP RBX R11 R10 R9 R8 RAX RCX RDX RSI RDI ERR RIP CS RFL RSP SS DS ES FS GS TRAPNO",
}
_OTHER_NAMES = {
    "EBP": "RBP",
    "EBX": "RBX",
    "EAX": "RAX",
    "ECX": "RCX",
    "EDX": "RDX",
    "ESI": "RSI",
    "EDI": "RDI",
    "PC": "RIP",
    "EIP": "RIP",
    "EFL": "RFL",
    "ESP": "RSP",
    "SP": "RSP",
    "R0": "RAX",
    "R1": "RBX",
    "PS": "RFL",
}
_CHARS = ("PR_MODEL_ILP32", "PR_MODEL_LP64")


def _find_value(name: str) -> int | None:
    found = _CONSTANTS.get(name)
    if name.startswith("R_"):
        return find_register(name[2:])
    if found is None and name.isupper() and name.isalnum():
        if name.startswith("SIG"):
            import signal

            value = getattr(signal, name, None)
        elif name.startswith("E"):
            import errno

            value = getattr(errno, name, None)
        else:
            return None
        found = int(value) if isinstance(value, int) else None
    return found


def register_names() -> list[str]:
    """The names of the machine's registers, in the order of uregs[]."""
    return _REGISTERS.get(os.uname().machine, "").split()


def find_register(name: str) -> int | None:
    """The index of one in uregs[], or None."""
    name, known = _OTHER_NAMES.get(name, name), register_names()
    return known.index(name) if name in known else None


def find_constant(name: str, where: Location | None) -> Inline | None:
    """The constant of this name, or None.  where: None where it is only asked whether there is one."""
    loc: Any = where
    if name in UNKNOWN_PATHS:
        text = ast.StrLit(loc, b"<unknown>")
        text.type = t.STRING
        return Inline(name, "scalar", t.STRING, None, text, loc, True)
    value = _find_value(name)
    if value is None:
        return None
    type = t.CHAR if name in _CHARS else t.INT
    return Inline(name, "scalar", type, None, constants.make_literal(loc, value, type), loc, True)
