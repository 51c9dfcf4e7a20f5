"""The names of D's functions and variables, with their prototypes, supported or not
(unsupported.py).

A prototype is written as dtrace prints it: `@` takes anything, `[type]` is optional, `...` is
any number of further arguments.
"""

from __future__ import annotations

from pydtrace.program import d_types as t

from .registry import ACTIONS, AGGREGATIONS, SUBROUTINES
from .unsupported import ACTION, AGGREGATING, FUNCTION, PROTOTYPES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Variables of D that have no row in builtins/ (those that have are found there).
OTHER_VARIABLES = frozenset(
    [
        "caller",
        "cwd",
        "epid",
        "errno",
        "execargs",
        "ipl",
        "ppid",
        "pwd",
        "root",
        "stackdepth",
        "ucaller",
        "ustackdepth",
        "vtimestamp",
        "zonename",
    ]
)
# Types that D takes from the kernel or from its library files.
OTHER_TYPES = frozenset(
    [
        "bufinfo_t",
        "conninfo_t",
        "devinfo_t",
        "fileinfo_t",
        "in6_addr_t",
        "ip6_t",
        "ipinfo_t",
        "ipv4info_t",
        "ipv6info_t",
        "iscsiinfo_t",
        "lockinfo_t",
        "lwpsinfo_t",
        "mblk_t",
        "pktinfo_t",
        "psinfo_t",
        "tcpinfo_t",
        "tcplsinfo_t",
        "tcpsinfo_t",
        "udpinfo_t",
        "udpsinfo_t",
        "vnode_t",
    ]
)
OTHER_ARRAYS = frozenset(("args", "regs", "uregs"))


def _collect_functions(kind: str, table: dict[str, Any]) -> dict[str, tuple[str, str]]:
    absent = {name: prototype for name, (known, prototype) in PROTOTYPES.items() if known == kind}
    known = {**{row.name: row.prototype for row in table.values()}, **absent}
    return {name: (kind, known[name]) for name in sorted(known)}


ROW_TABLES = {FUNCTION: SUBROUTINES, AGGREGATING: AGGREGATIONS, ACTION: ACTIONS}
FUNCTIONS = {
    name: known
    for kind, table in ROW_TABLES.items()
    for name, known in _collect_functions(kind, table).items()
}

# What D does not have, so that it is a name of these only under -x pyusdt.
EXTENSIONS = frozenset(name for name, row in AGGREGATIONS.items() if row.is_extension)


def usage_hint(name: str | None) -> str | None:
    """A hint for a call with other arguments than a function of D takes."""
    known = FUNCTIONS.get(name) if name else None
    if known is None:
        return None
    row = ROW_TABLES[known[0]].get(name)
    if row is not None and row.usage:
        return str(row.usage)
    arguments = known[1].partition("(")[2]
    if known[0] == AGGREGATING:
        arguments = arguments.replace("@", "value", 1)
    return f"it is {name}({arguments}"


class Prototype:
    """result: types.Type; params: list of types.Type, None for `@`; required: how many must be
    given; varargs: whether more than len(params) may be."""

    __slots__ = ("result", "params", "required", "varargs")

    def __init__(self, text: str) -> None:
        result, _, inner = text[:-1].partition("(")
        self.result = _parse_type(result)
        self.params: list[t.Type | None] = []
        self.varargs, optional = False, 0
        for word in inner.split(", ") if inner else ():
            if word == "...":
                self.varargs = True
            elif word == "@":
                self.params.append(None)
            else:
                optional += word[0] == "["
                self.params.append(_parse_type(word.strip("[]")))
        self.required = len(self.params) - optional


def _parse_type(text: str) -> t.Type:
    if text in ("void", "string"):
        return t.VOID if text == "void" else t.STRING
    text = text.replace("const ", "")  # as dtrace prints it
    if text.endswith("*"):
        return t.Pointer(_parse_type(text[:-1].rstrip()))
    if text.startswith("struct "):
        return t.Record("struct", text[len("struct ") :])
    found = t.BASIC.get(text) or t.TYPEDEFS.get(text)
    return found or t.Type(text, 8)


_parsed: dict[str, Prototype] = {}


def find_prototype(name: str) -> Prototype:
    """The Prototype of one of FUNCTIONS."""
    found = _parsed.get(name)
    if found is None:
        found = _parsed[name] = Prototype(FUNCTIONS[name][1])
    return found
