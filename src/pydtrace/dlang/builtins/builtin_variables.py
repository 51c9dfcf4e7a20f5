"""Built-in variables: most are fields of the state block, which the engine fills.

Source of the types: the DTrace guide, "Variables", and dtrace 2.0's own libraries.
"""

from __future__ import annotations

from pydtrace.dlang.code.argument_demand import ARGUMENTS
from pydtrace.program import d_types as t
from pydtrace.program import program as p

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class VariableRow:
    """name; type; offset in the state block and size in bytes there; `uses`: the part of the
    state block that the engine must fill for it ("" where it always does); doc: one line; constant: where it
    is no field of the block: a function of the clause's index that gives the value; stack: where it is part of a
    stack: (whose, index of the frame, None for the number of frames); argument: i of arg<i>; fixed: on the embedded engine
    it is the same at each firing of a probe at a place of a process."""

    __slots__ = (
        "name",
        "type",
        "offset",
        "size",
        "uses",
        "doc",
        "constant",
        "stack_entry",
        "argument_index",
        "is_fixed",
    )

    def __init__(
        self,
        name: str,
        type: t.Type,
        offset: int,
        size: int,
        doc: str,
        uses: str = "",
        constant: Callable[..., Any] | None = None,
        stack_entry: tuple[str, int | None] | None = None,
        argument_index: int | None = None,
        is_fixed: bool = False,
    ) -> None:
        self.name, self.type, self.offset, self.size = name, type, offset, size
        self.uses, self.doc, self.constant, self.stack_entry, self.argument_index = (
            uses,
            doc,
            constant,
            stack_entry,
            argument_index,
        )
        self.is_fixed = is_fixed


_rows = [
    VariableRow(
        "timestamp", t.UINT64, p.STATE_TIME, 8, "nanoseconds of a monotonic clock at the firing"
    ),
    VariableRow("id", t.TYPEDEFS["uint_t"], p.STATE_PROBE, 4, "the probe's id", is_fixed=True),
    VariableRow(
        "cpu", t.TYPEDEFS["processorid_t"], p.STATE_CPU, 4, "the CPU that the probe fired on"
    ),
    VariableRow("pid", t.PID_T, p.STATE_PID, 4, "process id of the firing process", is_fixed=True),
    VariableRow(
        "ppid",
        t.PID_T,
        p.STATE_PPID,
        4,
        "process id of the firing process's parent",
        uses="ppid",
        is_fixed=True,
    ),
    VariableRow(
        "errno",
        t.INT,
        p.STATE_ERRNO,
        4,
        "the error number of a failed system call, at its return; else 0",
        uses="errno",
    ),
    VariableRow(
        "__curthread",
        t.TYPEDEFS["uintptr_t"],
        p.STATE_THREAD,
        8,
        "the kernel's address of the thread",
        uses="thread",
    ),
    VariableRow(
        "execargs",
        t.STRING,
        p.STATE_EXECARGS,
        80,
        "arguments of the firing process, 79 bytes at most",
        uses="execargs",
    ),
    VariableRow("tid", t.TYPEDEFS["id_t"], p.STATE_TID, 4, "thread id of the firing thread"),
    VariableRow(
        "uid",
        t.TYPEDEFS["uid_t"],
        p.STATE_UID,
        4,
        "real user id of the firing process",
        is_fixed=True,
    ),
    VariableRow(
        "gid",
        t.TYPEDEFS["gid_t"],
        p.STATE_GID,
        4,
        "real group id of the firing process",
        is_fixed=True,
    ),
    VariableRow(
        "walltimestamp", t.INT64, p.STATE_WALL, 8, "nanoseconds since the epoch", uses="wall"
    ),
    VariableRow(
        "execname",
        t.STRING,
        p.STATE_EXECNAME,
        16,
        "name of the firing thread's command",
        uses="execname",
        is_fixed=True,
    ),
    VariableRow(
        "probeprov",
        t.STRING,
        p.STATE_PROBEPROV,
        64,
        "provider of the probe",
        uses="names",
        is_fixed=True,
    ),
    VariableRow(
        "probemod",
        t.STRING,
        p.STATE_PROBEMOD,
        64,
        "module of the probe",
        uses="names",
        is_fixed=True,
    ),
    VariableRow(
        "probefunc",
        t.STRING,
        p.STATE_PROBEFUNC,
        128,
        "function of the probe",
        uses="names",
        is_fixed=True,
    ),
    VariableRow(
        "probename",
        t.STRING,
        p.STATE_PROBENAME,
        64,
        "name of the probe",
        uses="names",
        is_fixed=True,
    ),
]
ARGUMENT_ROWS = [  # of args[]; the language has names for the first ten
    VariableRow(
        f"arg{i}",
        t.INT64,
        p.STATE_ARGS + 8 * i,
        8,
        f"argument {i} of the probe, 0 if it has none",
        argument_index=i,
    )
    for i in range(ARGUMENTS)
]
_rows += ARGUMENT_ROWS[:10]

_rows += [
    VariableRow(
        "epid",
        t.TYPEDEFS["uint_t"],
        0,
        4,
        "a number that identifies the clause",
        constant=lambda index: index + 1,
    ),
    VariableRow(
        "ipl",
        t.TYPEDEFS["uint_t"],
        0,
        4,
        "interrupt level; always 0, because no interrupt is traced",
        constant=lambda _: 0,
    ),
]

_UINTPTR = t.TYPEDEFS["uintptr_t"]
_rows += [
    VariableRow(
        "caller",
        _UINTPTR,
        0,
        8,
        "address in the kernel that the probe's function returns to",
        stack_entry=("kernel", 1),
    ),
    VariableRow(
        "ucaller",
        _UINTPTR,
        0,
        8,
        "address that the probe's function returns to",
        stack_entry=("user", 1),
    ),
    VariableRow(
        "stackdepth",
        t.UINT32,
        0,
        8,
        "number of frames of the kernel's stack",
        stack_entry=("kernel", None),
    ),
    VariableRow(
        "ustackdepth",
        t.UINT32,
        0,
        8,
        "number of frames of the thread's stack",
        stack_entry=("user", None),
    ),
]

VARIABLES = {row.name: row for row in _rows}


def make_register_row(index: int) -> VariableRow:
    """The row of uregs[index]."""
    return VariableRow(
        f"uregs[{index}]",
        t.UINT64,
        0,
        8,
        "a register of the thread in user mode",
        uses="registers",
        stack_entry=("registers", index),
    )
