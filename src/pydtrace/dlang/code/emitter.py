"""The emitter, with which the other files of this folder make the code of one clause.

The others know D; this file knows eBPF: registers, temporaries, memory, maps, faults.

- r6 is the state block. r0 is the accumulator, which holds the value of an expression. Any call
  overwrites r1 … r5. r7, r8, r9, then the stack, then the state block hold temporaries, which
  are released in the reverse order of their making.
- The word at r10-8 is zero: the key of all maps with one element.
"""

from __future__ import annotations

from pydtrace.bpf import lib
from pydtrace.bpf.helpers import HELPERS
from pydtrace.bpf.insn import (
    R0,
    R1,
    R2,
    R3,
    R4,
    R5,
    R6,
    R10,
    alu,
    alu_imm,
    atomic,
    call,
    call_sub,
    const,
    exit_,
    ja,
    jump_imm,
    ld_map,
    ld_map_value,
    load,
    mov,
    mov_imm,
    store,
    store_imm,
)
from pydtrace.bpf.program_builder import CodeBuilder, CodeError, Label
from pydtrace.dlang.compile_errors import CompileError
from pydtrace.dlang.compiler_limits import CLAUSE_CODE_MAX
from pydtrace.program import program as p

from .layout import STATE_LIMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ...program.d_types import Type
    from ..ast import Binary, Expr
    from ..front.source_text import Location
    from .layout import Layout

_NUMBER = {name: helper.number for name, helper in HELPERS.items()}
_REGISTERS = (9, 8, 7)  # taken from the end
_STACK_FIRST, _STACK_LAST = -16, -384  # spill slots; the rest is left to library routines
_DEPTH_MAX = 150  # nested expressions; a level is about three Python frames in every pass
_INLINE_COPY = 32  # bytes that are copied word by word; more is cheaper with a helper


class EmitterTables:
    """Which function makes the code of which node, of the modules that say so in tables of these names: node class ->

    VALUES: f(g, expr): leave the integer value in r0; BRANCHES: f(g, expr, label, when): jump to label where the truth of expr
    is `when`; COMPARISONS: the same for comparisons of strings; OBJECTS: f(g, expr, off): copy the struct, union or array into
    the state block at off; STRINGS: f(g, expr, off, size): write the string into `size` bytes of the state block at off."""

    __slots__ = ("values", "branches", "comparisons", "objects", "strings")
    values: dict[type[Expr], Callable[..., None]]
    branches: dict[type[Expr], Callable[..., None]]
    comparisons: dict[type[Expr], Callable[..., None]]
    objects: dict[type[Expr], Callable[..., None]]
    strings: dict[type[Expr], Callable[..., None]]

    def __init__(self, modules: tuple[Any, ...]) -> None:
        for name in self.__slots__:
            setattr(
                self,
                name,
                self._merge_tables([getattr(module, name.upper(), {}) for module in modules]),
            )

    @staticmethod
    def _merge_tables(
        tables: list[dict[type[Expr], Callable[..., Any]]],
    ) -> dict[type[Expr], Callable[..., Any]]:
        found: dict[type[Expr], Callable[..., Any]] = {}
        for table in tables:
            if twice := found.keys() & table.keys():
                raise ValueError(f"two modules make the code of {twice}")
            found.update(table)
        return found


class StringSlot:
    """A string that lies in the state block (`map` False) or the globals map (True) at `off`, in
    `size` bytes with its padding.  null: it may be NULL (see string_expressions.py)."""

    __slots__ = ("in_globals", "off", "size", "may_be_null")

    def __init__(self, in_globals: bool, off: int, size: int, may_be_null: bool = False) -> None:
        self.in_globals, self.off, self.size, self.may_be_null = in_globals, off, size, may_be_null

    def rest_from(self, start: int) -> StringSlot:
        """What remains of it from `start`."""
        return StringSlot(self.in_globals, self.off + start, self.size - start)


class Temp:
    """A value kept over other code: in a register (`home` > 0), on the stack (< 0) or, where it is 0,
    in the state block at the offset `state`."""

    __slots__ = ("home", "state")

    def __init__(self, home: int, state: int = 0) -> None:
        self.home, self.state = home, state


class Emitter:
    def __init__(self, layout: Layout, clause: p.Clause, tables: EmitterTables) -> None:
        self.layout, self.clause, self.tables = layout, clause, tables
        self.count_offset: int | None = (
            None  # where the code is for many firings at once: offset in the state block of their number
        )
        self.code = CodeBuilder()
        self.emit = self.code.emit
        self.place_label = self.code.place_label
        self.scratch = layout.scratch  # next free byte of the state block
        self._registers = list(_REGISTERS)
        self._stack = _STACK_FIRST
        self.end_label = Label()  # where the clause ends without a record
        self._cold_code: list[
            Callable[[], None]
        ] = []  # functions that make code which seldom runs, behind the clause's
        self._stubs: list[
            tuple[Label, int, int, Temp | None]
        ] = []  # (label, kind, instruction index, …)
        self._depth = 0
        self.fields: dict[
            int, p.Data
        ] = {}  # the record's strings by their offset in the state block
        self.length_offsets: list[int] = []  # words for their lengths

    # --- expressions: to the module that knows the node ------------------------
    def emit_value(self, expr: Expr) -> None:
        """Leave the integer value of expr in r0."""
        self._dispatch(self.tables.values, expr, expr)

    def emit_branch(self, expr: Expr, label: Label, when: bool) -> None:
        """Jump to label if the truth of expr is `when`, else fall through."""
        branches = self.tables.branches
        self._dispatch(
            branches if expr.__class__ in branches else {expr.__class__: _branch_on_value},
            expr,
            expr,
            label,
            when,
        )

    def emit_string_comparison(self, expr: Binary, label: Label, when: bool) -> None:
        """Jump to label if the truth of the comparison expr is `when`, else fall through."""
        self._dispatch(self.tables.comparisons, expr, expr, label, when)

    def emit_string(self, expr: Expr, off: int, size: int | None = None) -> None:
        """Write the string expr, padded, into `size` bytes (default: a string's storage) at off of the
        state block; a NULL string is a fault."""
        self._dispatch(self.tables.strings, expr, expr, off, size or self.layout.string_size)

    def emit_object(self, expr: Expr, off: int) -> None:
        """Copy an object that is no scalar into the state block at off."""
        self._dispatch(self.tables.objects, expr, expr, off)

    @staticmethod
    def unsupported_error(loc: Location, what: str, hint: str | None = None) -> CompileError:
        """The error for what has no code yet; `what` ends in its verb."""
        return CompileError("D_UNSUPPORTED", loc, f"{what} not supported", hint)

    def _dispatch(
        self, table: dict[type[Expr], Callable[..., Any]], expr: Expr, *args: Any
    ) -> None:
        if self._depth >= _DEPTH_MAX:
            raise CompileError(
                "D_UNSUPPORTED",
                expr.loc,
                "expression is nested too deeply",
                "assign parts of it to this-> variables",
            )
        self._depth += 1
        table[expr.__class__](self, *args)
        self._depth -= 1

    # --- temporaries -------------------------------------------------------------
    def push_r0(self) -> Temp:
        """Keep r0; returns the Temp."""
        if self._registers:
            temp = Temp(self._registers.pop())
            self.emit(mov(temp.home, R0))
        elif self._stack >= _STACK_LAST:
            temp = Temp(self._stack)
            self._stack -= 8
            self.emit(store(8, R10, temp.home, R0))
        else:
            temp = self.push_opaque()
        return temp

    def push_opaque(self) -> Temp:
        """Keep r0 in the state block, where the verifier does not know what it is: it would otherwise go through the rest of the
        program once for each number that it found r0 to be on one way or another."""
        temp = Temp(0, self.alloc_scratch(8))
        self.emit(store(8, R6, temp.state, R0))
        return temp

    def in_register(self, temp: Temp, reg: int) -> int:
        """A register with the value of temp: its own, or `reg`, loaded."""
        if temp.home > 0:
            return temp.home
        self.load_temp(temp, reg)
        return reg

    def load_temp(self, temp: Temp, reg: int) -> None:
        """reg = the value of temp."""
        if temp.home > 0:
            self.emit(mov(reg, temp.home))
        elif temp.home < 0:
            self.emit(load(8, reg, R10, temp.home))
        else:
            self.emit(load(8, reg, R6, temp.state))

    def release_temp(self, temp: Temp) -> None:
        if temp.home > 0:
            self._registers.append(temp.home)
        elif temp.home < 0:
            self._stack = temp.home
        else:
            self.scratch = temp.state

    def pop_temp(self, temp: Temp, reg: int) -> None:
        self.load_temp(temp, reg)
        self.release_temp(temp)

    def alloc_scratch(self, size: int) -> int:
        """`size` bytes of the state block for this clause, 8-aligned.  Given back by setting `scratch`
        to what it was before."""
        off = self.scratch
        self.scratch = off + (size + 7 & ~7)
        layout = self.layout
        layout.scratch_size = max(layout.scratch_size, self.scratch - layout.scratch)
        if self.scratch > STATE_LIMIT:
            layout.finish_maps(self.clause.loc)  # raises: offsets of loads would not reach further
        return off

    # --- memory --------------------------------------------------------------------
    def call_helper(self, name: str) -> None:
        self.emit(call(_NUMBER[name]))

    def call_routine(self, name: str) -> None:
        self.emit(call_sub(name))

    def load_state_address(self, reg: int, off: int) -> None:
        self.emit(mov(reg, R6), alu_imm("add", reg, off))

    def load_typed(self, reg: int, base: int, off: int, type: Type) -> None:
        """reg = the integer of that type at base + off."""
        self.emit(load(type.size, reg, base, off))
        if type.size < 8 and not type.is_pointer and type.signed:
            self._sign_extend(reg, type.size)

    def narrow_register(self, reg: int, type: Type) -> None:
        """Cut reg to the type, sign- or zero-extended."""
        size = type.size
        if size == 8:
            return
        if type.signed:
            self._sign_extend(reg, size)
        elif size == 4:
            self.emit(alu("mov32", reg, reg))
        else:
            self.emit(alu_imm("and", reg, (1 << 8 * size) - 1))

    def _sign_extend(self, reg: int, size: int) -> None:
        self.emit(alu_imm("lsh", reg, 64 - 8 * size), alu_imm("arsh", reg, 64 - 8 * size))

    def load_address(self, reg: int, place: StringSlot) -> None:
        if place.in_globals:
            self.emit(ld_map_value(reg, p.MAP_GLOBALS, place.off))
        else:
            self.load_state_address(reg, place.off)

    def zero_slot(self, place: StringSlot) -> None:
        """Zero all of `place`; its size is a multiple of 8."""
        if place.size <= 2 * _INLINE_COPY and not place.in_globals:
            self.emit(*[store_imm(8, R6, place.off + i, 0) for i in range(0, place.size, 8)])
            return
        most = self.layout.zeros_size
        for start in range(0, place.size, most):
            self.load_state_address(R3, self.layout.zeros)
            self.copy_from_r3(place.rest_from(start), min(most, place.size - start))

    def pad_slot(self, place: StringSlot) -> tuple[int, int]:
        """zero_slot(); which instructions do it."""
        first = len(self.code.insns)
        self.zero_slot(place)
        return first, len(self.code.insns)

    def store_length(self, place: StringSlot, padding: tuple[int, int]) -> None:
        """r0 is the length of the string at `place` with its NUL: kept, where a field of the record wants to know."""
        data = self.fields.get(place.off) if not place.in_globals else None
        if data is not None and data.size == place.size:
            data.length, data.padding = self.length_offsets.pop(), padding
            self.emit(store(8, R6, data.length, R0))

    def copy_from_r3(self, place: StringSlot, size: int) -> None:
        """Copy `size` bytes at the address in r3 to `place`."""
        self.load_address(R1, place)
        self.emit(mov_imm(R2, size))
        self.call_helper("probe_read_kernel")

    def copy_slot(self, source: StringSlot, target: StringSlot) -> None:
        """Copy a string between Places; the target is not smaller, and is padded."""
        size = source.size
        if size <= _INLINE_COPY and not source.in_globals and not target.in_globals:
            for i in range(0, size, 8):
                self.emit(load(8, R1, R6, source.off + i), store(8, R6, target.off + i, R1))
        else:
            self.load_address(R3, source)
            self.copy_from_r3(target, size)
        if size < target.size:
            self.zero_slot(target.rest_from(size))

    def jump_to(self, label: Label) -> None:
        self.emit(ja(label))

    def jump_opaquely(self, label: Label) -> None:
        """A jump that is always taken, where code without another way to it follows: the verifier
        refuses code that nothing seems to reach.  r0 is lost."""
        self.emit(mov_imm(R0, 0), jump_imm("jeq", R0, 0, label))

    # --- maps ------------------------------------------------------------------------
    def map_call(self, name: str, index: int, key_off: int) -> None:
        """Call a map helper on the key in the state block at key_off; r3 and r4 are up to the caller."""
        self.emit(ld_map(R1, index))
        self.load_state_address(R2, key_off)
        self.call_helper(name)

    def lookup_single(self, index: int) -> None:
        """r0 = the address of the only element of an array map, or 0."""
        self.emit(ld_map(R1, index), mov(R2, R10), alu_imm("add", R2, -8))
        self.call_helper("map_lookup_elem")

    def count_drop(self, which: int) -> None:
        how_many = (
            mov_imm(R2, 1) if self.count_offset is None else load(8, R2, R6, self.count_offset)
        )
        self.emit(ld_map_value(R1, p.MAP_GLOBALS, which), how_many, atomic("atomic_add", R1, 0, R2))

    # --- faults and places in the source ----------------------------------------------
    def mark_location(self, loc: Location) -> None:
        """What follows was made for `loc`."""
        lines, here = self.clause.lines, len(self.code.insns)
        if here > CLAUSE_CODE_MAX:
            raise CompileError(
                "D_UNSUPPORTED",
                loc,
                f"clause is too large: more than {CLAUSE_CODE_MAX} instructions",
                "divide it into several clauses",
            )
        if lines and lines[-1][0] == here:
            lines.pop()
        lines.append((here, loc))

    def fault_label(self, kind: int, temp: Temp | None = None) -> Label:
        """The label to jump to for a fault; the very next instruction must be the jump.  temp: the
        illegal value, where the kind has one."""
        label = Label()
        self._stubs.append((label, kind, len(self.code.insns), temp))
        return label

    def emit_at_end(self, make: Callable[..., Any]) -> None:
        """make() is to emit code behind the clause's, where nothing runs into it."""
        self._cold_code.append(make)

    # --- the frame ----------------------------------------------------------------------
    def emit_prologue(self) -> None:
        self.emit(store_imm(8, R10, -8, 0))
        self.lookup_single(p.MAP_STATE)
        found = Label()
        self.emit(jump_imm("jne", R0, 0, found), exit_())
        self.place_label(found)
        self.emit(mov(R6, R0))

    def finish(self) -> None:
        """End the clause; puts its linked code into the program.Clause."""
        self.place_label(self.end_label)
        self.emit(mov_imm(R0, 0), exit_())
        for make in self._cold_code:
            make()
        if self._stubs:
            self._fault_stubs()
        try:
            self.clause.code = self.code.finish(lib.load_function)
        except CodeError as error:
            raise CompileError(
                "D_UNSUPPORTED",
                self.clause.loc,
                f"clause is too large: {error}",
                "divide it into several clauses",
            ) from None

    def _fault_stubs(self) -> None:
        common = Label()
        for label, kind, index, temp in self._stubs:
            self.place_label(label)
            if temp is None:
                self.emit(mov_imm(R4, 0))
            else:
                self.load_temp(temp, R4)
            self.emit(mov_imm(R2, kind), mov_imm(R3, index), ja(common))
        self.place_label(common)
        self.emit(mov(R1, R6), const(R5, p.RECORD_FAULT | self.clause.index))
        self.call_routine("report_fault")
        self.emit(mov_imm(R0, 0), exit_())

    def emit_header(self, off: int, size: int, flag: int = 0) -> None:
        """The record header at off; its fields are in the order of the state block.  flag: of RECORD_CLAUSE."""
        self.emit(
            load(8, R1, R6, p.STATE_PROBE),
            store(8, R6, off + p.RECORD_PROBE, R1),
            load(8, R1, R6, p.STATE_TIME),
            store(8, R6, off + p.RECORD_TIME, R1),
            load(8, R1, R6, p.STATE_PID),
            store(8, R6, off + p.RECORD_PID, R1),
            store_imm(4, R6, off + p.RECORD_SIZE, size),
            store_imm(4, R6, off + p.RECORD_CLAUSE, flag | self.clause.index),
        )

    def emit_output(self, off: int, size: int) -> None:
        """Emit the record at off."""
        done = Label()
        self.emit(ld_map(R1, p.MAP_OUTPUT))
        self.load_state_address(R2, off)
        self.emit(mov_imm(R3, size), mov_imm(R4, 0))
        self.call_helper("ringbuf_output")
        self.emit(jump_imm("jeq", R0, 0, done))
        self.count_drop(p.DROP_RECORD)
        self.place_label(done)


def _branch_on_value(g: Emitter, expr: Expr, label: Label, when: bool) -> None:
    g.emit_value(expr)
    g.emit(jump_imm("jne" if when else "jeq", R0, 0, label))
