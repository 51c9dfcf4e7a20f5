"""Constants that every D program has: what dtrace's own library files define and means something here.

In: a name.  Out: its symbols.Inline, or None.  Always: looked up only when a program uses the name.
"""

from . import constants
from . import types as t
from .symbols import Inline

_FAULTS = ("UNKNOWN", "BADADDR", "BADALIGN", "ILLOP", "DIVZERO", "NOSCRATCH", "KPRIV", "UPRIV", "TUPOFLOW", "BADSTACK")
_CONSTANTS = {
    "NULL": 0, "AF_INET": 2, "AF_INET6": 10, "ARPHRD_ETHER": 1, "ARPHRD_INFINIBAND": 32,
    "CLD_EXITED": 1, "CLD_KILLED": 2, "CLD_DUMPED": 3, "CLD_TRAPPED": 4, "CLD_STOPPED": 5, "CLD_CONTINUED": 6,
    "PR_MODEL_ILP32": 1, "PR_MODEL_LP64": 2,
    **{f"DTRACEFLT_{name}": number for number, name in enumerate(_FAULTS)},
}  # fmt: skip
_CHARS = ("PR_MODEL_ILP32", "PR_MODEL_LP64")


def _value(name):
    found = _CONSTANTS.get(name)
    if found is None and name.isupper() and name.isalnum():
        if name.startswith("SIG"):
            import signal as numbers
        elif name.startswith("E"):
            import errno as numbers
        else:
            return None
        found = getattr(numbers, name, None)
        found = int(found) if isinstance(found, int) else None
    return found


def inline(name, loc):
    """The constant of this name, or None."""
    value = _value(name)
    if value is None:
        return None
    type = t.CHAR if name in _CHARS else t.INT
    return Inline(name, "scalar", type, None, constants.literal(loc, value, type), loc, True)
