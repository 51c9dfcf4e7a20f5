# mypy: ignore-errors
"""The emitter: what one clause's code is made with.

In: calls of the modules integers, strings, variables, memory and statements, which know D; this one knows
eBPF: registers, temporaries, memory, maps, faults.  Out: the finished instructions of a clause.
Always:
- r6 is the state block.  r0 is the accumulator: an expression's value is left in it.  r1 … r5 are
  scratch and die with any call.  r7, r8, r9 hold temporaries, the stack and then the state block
  those that find no register.  Temporaries are released in the reverse order of their making.
- The word at r10-8 is zero: the key of all maps with one element.
"""

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
from pydtrace.bpf.program_builder import Code, CodeError, Label
from pydtrace.dlang.compile_errors import CompileError
from pydtrace.dlang.compiler_limits import MOST_CODE
from pydtrace.program import program as p

from .layout import STATE_LIMIT

_NUMBER = {name: helper.number for name, helper in HELPERS.items()}
_REGISTERS = (9, 8, 7)  # taken from the end
_STACK_FIRST, _STACK_LAST = -16, -384  # spill slots; the rest is left to library routines
_DEPTH_MAX = 150  # nested expressions; a level is about three Python frames in every pass
_INLINE_COPY = 32  # bytes that are copied word by word; more is cheaper with a helper


class Tables:
    """Which function makes the code of which node, of the modules that say so in tables of these names: node class ->

    VALUES: f(g, expr): leave the integer value in r0; BRANCHES: f(g, expr, label, when): jump to label where the truth of expr
    is `when`; COMPARISONS: the same for comparisons of strings; OBJECTS: f(g, expr, off): copy the struct, union or array into
    the state block at off; STRINGS: f(g, expr, off, size): write the string into `size` bytes of the state block at off."""

    __slots__ = ("values", "branches", "comparisons", "objects", "strings")

    def __init__(self, modules):
        for name in self.__slots__:
            setattr(
                self, name, self._merged([getattr(module, name.upper(), {}) for module in modules])
            )

    @staticmethod
    def _merged(tables):
        found = {}
        for table in tables:
            if twice := found.keys() & table.keys():
                raise ValueError(f"two modules make the code of {twice}")
            found.update(table)
        return found


class Place:
    """A string that lies in the state block (`map` False) or the globals map (True) at `off`, in
    `size` bytes with its padding.  null: it may be NULL (see string_expressions.py)."""

    __slots__ = ("map", "off", "size", "null")

    def __init__(self, map, off, size, null=False):
        self.map, self.off, self.size, self.null = map, off, size, null

    def part(self, start):
        """What remains of it from `start`."""
        return Place(self.map, self.off + start, self.size - start)


class Temp:
    """A value kept over other code: in a register (`home` > 0), on the stack (< 0) or, where `state`
    is set, in the state block at that offset."""

    __slots__ = ("home", "state")

    def __init__(self, home, state=None):
        self.home, self.state = home, state


class Emitter:
    def __init__(self, layout, clause, tables):
        self.layout, self.clause, self.tables = layout, clause, tables
        self.many = None  # where the code is for many firings at once: offset in the state block of their number
        self.code = Code()
        self.emit = self.code.emit
        self.place = self.code.place
        self.scratch = layout.scratch  # next free byte of the state block
        self._registers = list(_REGISTERS)
        self._stack = _STACK_FIRST
        self.end = Label()  # where the clause ends without a record
        self._rare = []  # functions that make code which seldom runs, behind the clause's
        self._stubs = []  # (label, kind, instruction index, Temp or None)
        self._depth = 0
        self.fields, self.lengths = (
            {},
            [],
        )  # the record's strings by their offset in the state block, words for lengths

    # --- expressions: to the module that knows the node ------------------------
    def value(self, expr):
        """Leave the integer value of expr in r0."""
        self._nest(self.tables.values, expr, expr)

    def branch(self, expr, label, when):
        """Jump to label if the truth of expr is `when`, else fall through."""
        branches = self.tables.branches
        self._nest(
            branches if expr.__class__ in branches else {expr.__class__: _branch_on_value},
            expr,
            expr,
            label,
            when,
        )

    def compare_strings(self, expr, label, when):
        """Jump to label if the truth of the comparison expr is `when`, else fall through."""
        self._nest(self.tables.comparisons, expr, expr, label, when)

    def string(self, expr, off, size=None):
        """Write the string expr, padded, into `size` bytes (default: a string's storage) at off of the
        state block; a NULL string is a fault."""
        self._nest(self.tables.strings, expr, expr, off, size or self.layout.string_size)

    def object(self, expr, off):
        """Copy an object that is no scalar into the state block at off."""
        self._nest(self.tables.objects, expr, expr, off)

    @staticmethod
    def unsupported(loc, what, hint=None):
        """The error for what has no code yet; `what` ends in its verb."""
        return CompileError("D_UNSUPPORTED", loc, f"{what} not supported", hint)

    def _nest(self, table, expr, *args):
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
    def push(self):
        """Keep r0; returns the Temp."""
        if self._registers:
            temp = Temp(self._registers.pop())
            self.emit(mov(temp.home, R0))
        elif self._stack >= _STACK_LAST:
            temp = Temp(self._stack)
            self._stack -= 8
            self.emit(store(8, R10, temp.home, R0))
        else:
            temp = self.push_unknown()
        return temp

    def push_unknown(self):
        """Keep r0 in the state block, where the verifier does not know what it is: it would otherwise go through the rest of the
        program once for each number that it found r0 to be on one way or another."""
        temp = Temp(0, self.alloc(8))
        self.emit(store(8, R6, temp.state, R0))
        return temp

    def use(self, temp, reg):
        """A register with the value of temp: its own, or `reg`, loaded."""
        if temp.home > 0:
            return temp.home
        self.get(temp, reg)
        return reg

    def get(self, temp, reg):
        """reg = the value of temp."""
        if temp.home > 0:
            self.emit(mov(reg, temp.home))
        elif temp.home < 0:
            self.emit(load(8, reg, R10, temp.home))
        else:
            self.emit(load(8, reg, R6, temp.state))

    def release(self, temp):
        if temp.home > 0:
            self._registers.append(temp.home)
        elif temp.home < 0:
            self._stack = temp.home
        else:
            self.scratch = temp.state

    def pop(self, temp, reg):
        self.get(temp, reg)
        self.release(temp)

    def alloc(self, size):
        """`size` bytes of the state block for this clause, 8-aligned.  Given back by setting `scratch`
        to what it was before."""
        off = self.scratch
        self.scratch = off + (size + 7 & ~7)
        layout = self.layout
        layout.scratch_size = max(layout.scratch_size, self.scratch - layout.scratch)
        if self.scratch > STATE_LIMIT:
            layout.finish(self.clause.loc)  # raises: offsets of loads would not reach further
        return off

    # --- memory --------------------------------------------------------------------
    def helper(self, name):
        self.emit(call(_NUMBER[name]))

    def routine(self, name):
        self.emit(call_sub(name))

    def state_address(self, reg, off):
        self.emit(mov(reg, R6), alu_imm("add", reg, off))

    def load_typed(self, reg, base, off, type):
        """reg = the integer of that type at base + off."""
        self.emit(load(type.size, reg, base, off))
        if type.size < 8 and not type.is_pointer and type.signed:
            self._sign_extend(reg, type.size)

    def narrow(self, reg, type):
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

    def _sign_extend(self, reg, size):
        self.emit(alu_imm("lsh", reg, 64 - 8 * size), alu_imm("arsh", reg, 64 - 8 * size))

    def address(self, reg, place):
        if place.map:
            self.emit(ld_map_value(reg, p.MAP_GLOBALS, place.off))
        else:
            self.state_address(reg, place.off)

    def zero(self, place):
        """Zero all of `place`; its size is a multiple of 8."""
        if place.size <= 2 * _INLINE_COPY and not place.map:
            self.emit(*[store_imm(8, R6, place.off + i, 0) for i in range(0, place.size, 8)])
            return
        most = self.layout.zeros_size
        for start in range(0, place.size, most):
            self.state_address(R3, self.layout.zeros)
            self.copy_from_r3(place.part(start), min(most, place.size - start))

    def pad(self, place):
        """zero(); which instructions do it."""
        first = len(self.code.insns)
        self.zero(place)
        return first, len(self.code.insns)

    def keep_length(self, place, padding):
        """r0 is the length of the string at `place` with its NUL: kept, where a field of the record wants to know."""
        data = self.fields.get(place.off) if not place.map else None
        if data is not None and data.size == place.size:
            data.length, data.padding = self.lengths.pop(), padding
            self.emit(store(8, R6, data.length, R0))

    def copy_from_r3(self, place, size):
        """Copy `size` bytes at the address in r3 to `place`."""
        self.address(R1, place)
        self.emit(mov_imm(R2, size))
        self.helper("probe_read_kernel")

    def copy(self, source, target):
        """Copy a string between Places; the target is not smaller, and is padded."""
        size = source.size
        if size <= _INLINE_COPY and not source.map and not target.map:
            for i in range(0, size, 8):
                self.emit(load(8, R1, R6, source.off + i), store(8, R6, target.off + i, R1))
        else:
            self.address(R3, source)
            self.copy_from_r3(target, size)
        if size < target.size:
            self.zero(target.part(size))

    def jump(self, label):
        self.emit(ja(label))

    def jump_surely(self, label):
        """A jump that is always taken, where code without another way to it follows: the verifier
        refuses code that nothing seems to reach.  r0 is lost."""
        self.emit(mov_imm(R0, 0), jump_imm("jeq", R0, 0, label))

    # --- maps ------------------------------------------------------------------------
    def map_call(self, name, index, key_off):
        """Call a map helper on the key in the state block at key_off; r3 and r4 are up to the caller."""
        self.emit(ld_map(R1, index))
        self.state_address(R2, key_off)
        self.helper(name)

    def lookup_only(self, index):
        """r0 = the address of the only element of an array map, or 0."""
        self.emit(ld_map(R1, index), mov(R2, R10), alu_imm("add", R2, -8))
        self.helper("map_lookup_elem")

    def count_drop(self, which):
        how_many = mov_imm(R2, 1) if self.many is None else load(8, R2, R6, self.many)
        self.emit(ld_map_value(R1, p.MAP_GLOBALS, which), how_many, atomic("atomic_add", R1, 0, R2))

    # --- faults and places in the source ----------------------------------------------
    def mark(self, loc):
        """What follows was made for `loc`."""
        lines, here = self.clause.lines, len(self.code.insns)
        if here > MOST_CODE:
            raise CompileError(
                "D_UNSUPPORTED",
                loc,
                f"clause is too large: more than {MOST_CODE} instructions",
                "divide it into several clauses",
            )
        if lines and lines[-1][0] == here:
            lines.pop()
        lines.append((here, loc))

    def fault(self, kind, temp=None):
        """The label to jump to for a fault; the very next instruction must be the jump.  temp: the
        illegal value, where the kind has one."""
        label = Label()
        self._stubs.append((label, kind, len(self.code.insns), temp))
        return label

    def at_end(self, make):
        """make() is to emit code behind the clause's, where nothing runs into it."""
        self._rare.append(make)

    # --- the frame ----------------------------------------------------------------------
    def prologue(self):
        self.emit(store_imm(8, R10, -8, 0))
        self.lookup_only(p.MAP_STATE)
        found = Label()
        self.emit(jump_imm("jne", R0, 0, found), exit_())
        self.place(found)
        self.emit(mov(R6, R0))

    def finish(self):
        """End the clause; puts its linked code into the program.Clause."""
        self.place(self.end)
        self.emit(mov_imm(R0, 0), exit_())
        for make in self._rare:
            make()
        if self._stubs:
            self._fault_stubs()
        try:
            self.clause.code = self.code.finish(lib.load)
        except CodeError as error:
            raise CompileError(
                "D_UNSUPPORTED",
                self.clause.loc,
                f"clause is too large: {error}",
                "divide it into several clauses",
            ) from None

    def _fault_stubs(self):
        common = Label()
        for label, kind, index, temp in self._stubs:
            self.place(label)
            if temp is None:
                self.emit(mov_imm(R4, 0))
            else:
                self.get(temp, R4)
            self.emit(mov_imm(R2, kind), mov_imm(R3, index), ja(common))
        self.place(common)
        self.emit(mov(R1, R6), const(R5, p.RECORD_FAULT | self.clause.index))
        self.routine("report_fault")
        self.emit(mov_imm(R0, 0), exit_())

    def header(self, off, size, flag=0):
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

    def output(self, off, size):
        """Emit the record at off."""
        done = Label()
        self.emit(ld_map(R1, p.MAP_OUTPUT))
        self.state_address(R2, off)
        self.emit(mov_imm(R3, size), mov_imm(R4, 0))
        self.helper("ringbuf_output")
        self.emit(jump_imm("jeq", R0, 0, done))
        self.count_drop(p.DROP_RECORD)
        self.place(done)


def _branch_on_value(g, expr, label, when):
    g.value(expr)
    g.emit(jump_imm("jne" if when else "jeq", R0, 0, label))
