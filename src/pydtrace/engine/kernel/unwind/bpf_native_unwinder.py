"""The native unwinder in the kernel: it uses unwind tables instead of the frame pointers of
bpf_get_stack().

The tracer puts the code parts of processes and the tables (unwind/unwind_rows.py) into maps.  The
program requests what is missing.

- Only bpf_probe_read_user() reads the process, so its stack and its files can lead nowhere but
  into the process.
- There are as many steps as there is room for frames, and each looks at a bounded number of rows.
- Code without a table is left by the frame pointer.  Its result is a frame only if code is known
  there.
- If the code of a process or its table is not known yet, the stack ends with a mark instead of
  frames that may be wrong.
"""

from __future__ import annotations

from pydtrace.bpf.helpers import (
    KTIME_GET_NS,
    LOOP,
    MAP_LOOKUP_ELEM,
    MAP_UPDATE_ELEM,
    PROBE_READ_KERNEL,
    PROBE_READ_USER,
)
from pydtrace.bpf.insn import (
    R0,
    R1,
    R2,
    R3,
    R4,
    R5,
    R6,
    R7,
    R8,
    R9,
    R10,
    alu,
    alu_imm,
    call,
    const,
    exit_,
    ja,
    jump,
    jump_imm,
    ld_function,
    ld_map,
    load,
    mov,
    mov_imm,
    store,
    store_imm,
)
from pydtrace.bpf.program_builder import CodeBuilder, Label
from pydtrace.engine.kernel.passes.read_kernel_memory import emit_user_registers
from pydtrace.unwind import python_frame_words as w
from pydtrace.unwind import unwind_rows as u

from . import bpf_python_unwinder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydtrace.bpf.insn import Insn

    from ..passes.function_copies import Function
    from .bpf_python_unwinder import UnwinderIndexes

# In pt_regs of x86-64
_BP, _PC, _MODE, _SP, _REGISTERS, _USER_64 = 32, 128, 136, 152, 160, 0x33
_REQUEST_INTERVAL = 50_000_000  # ns that an answer may take before the tracer is asked again
_FACTOR = 0x5851F42D4C957F2D
_PART_STEPS, _ROW_STEPS = u.MOST.bit_length(), u.ROWS.bit_length()
# Behind what a walk of an interpreter's has; a frame as it is on the stack, BP and PC, is read into these at once.
BP, PC, SP, CALLED, LOW, HIGH, UNKNOWN, RETURNED, BY_POINTER = range(
    bpf_python_unwinder.WALK_SIZE, bpf_python_unwinder.WALK_SIZE + 72, 8
)
UNWIND_SIZE = 72
AT_END, AT_BEGINNING = 1, 2
_FROM_UNKNOWN = 2  # BY_POINTER, else 1: the frame before is of code that is in no part, so that what is not known yet may be said
_CONTEXT = -24  # on the stack: the state block, what the map has of the process
_KEY, _SENT = -16, -40


def find_table_obstacle(machine: str, release: tuple[int, ...]) -> str | None:
    """Why native stacks are not walked by tables here, or None."""
    if machine != "x86_64":
        return f"the tables of {machine} are not read"
    return (
        None
        if release >= bpf_python_unwinder.BPF_LOOP
        else f"a kernel from Linux {'.'.join(map(str, bpf_python_unwinder.BPF_LOOP))} on can do more"
    )


def make_native_unwinders(
    places: UnwinderIndexes, stacks: Mapping[str, tuple[int, int]]
) -> dict[str, BpfNativeUnwinder]:
    """{whose: Unwind} of a program's stacks."""
    return (
        {
            whose: BpfNativeUnwinder(places, *stacks[whose])
            for whose in bpf_python_unwinder.PYTHON_STACKS & stacks.keys()
        }
        if places.with_tables
        else {}
    )


class BpfNativeUnwinder(bpf_python_unwinder.BpfUnwinder):
    """The function of one: r1 is the state block, with RETURNED: AT_END: the thread is at the end of a function, so that the stack is its
    caller's; AT_BEGINNING: of one, whose caller is on top of the stack; r0 = 1, or 0 where the process is not known."""

    def __init__(self, places: UnwinderIndexes, offset: int, frames: int) -> None:
        super().__init__(places, offset, frames)
        self._step = bpf_python_unwinder.LoopStep(self._make_step(), [])
        self.function = bpf_python_unwinder.UserReadFunction(*self._make_unwind())

    def _make_unwind(self) -> tuple[list[Insn], list[tuple[int, Function]]]:
        g = CodeBuilder()
        calls: list[tuple[int, Function]] = []
        new, found, same, none, done, known = (Label() for _ in range(6))
        _, _, most = self.frame_area
        g.emit(mov(R6, R1))
        self._emit_stamp(g, none)
        g.emit(
            store(4, R10, _KEY, R9),
            ld_map(R1, self._places.parts),
            mov(R2, R10),
            alu_imm("add", R2, _KEY),
            call(MAP_LOOKUP_ELEM),
            jump_imm("jne", R0, 0, found),
            ld_map(R1, self._places.forked),
            mov(R2, R10),
            alu_imm("add", R2, _KEY),
            call(MAP_LOOKUP_ELEM),
            jump_imm("jeq", R0, 0, new),
        )
        g.place_label(found)
        g.emit(load(8, R1, R0, u.STAMP), jump_imm("jne", R1, 0, same), store(8, R0, u.STAMP, R8))
        g.place_label(same)
        g.emit(load(8, R1, R0, u.STAMP), jump("jne", R1, R8, new), mov(R7, R0))
        self._emit_registers(g, none)
        self._emit_clear_stack(g)
        g.emit(store(8, R10, _CONTEXT, R6), store(8, R10, _CONTEXT + 8, R7), mov_imm(R1, most))
        calls.append((len(g.insns), self._step))
        g.emit(
            ld_function(R2),
            mov(R3, R10),
            alu_imm("add", R3, _CONTEXT),
            mov_imm(R4, 0),
            call(LOOP),
            load(8, R1, R6, self.area_offset(UNKNOWN)),
            jump_imm("jeq", R1, 0, known),
            load(8, R7, R7, u.DELAY),
        )
        self._emit_limited_request(g)
        g.place_label(known)
        g.emit(mov_imm(R0, 1), ja(done))
        g.place_label(new)
        g.emit(mov_imm(R7, _REQUEST_INTERVAL))
        self._emit_limited_request(g)
        self._emit_registers(g, none)
        self._emit_clear_stack(g)
        g.emit(load(8, R1, R6, self.area_offset(PC)))
        bpf_python_unwinder.emit_append(g, self.frame_area)
        self._emit_unknown_mark(g)
        g.emit(mov_imm(R0, 1), ja(done))
        g.place_label(none)
        g.emit(mov_imm(R0, 0))
        g.place_label(done)
        g.emit(exit_())
        return g.finish(), calls

    def _emit_clear_stack(self, g: CodeBuilder) -> None:
        """The stack: what can not be read is zeros, all of them: a key has the room behind the last frame, too."""
        count, _, most = self.frame_area
        g.emit(
            mov(R1, R6),
            alu_imm("add", R1, count),
            mov_imm(R2, 8 + 8 * most),
            mov_imm(R3, 0),
            call(PROBE_READ_KERNEL),
        )

    def _emit_unknown_mark(self, g: CodeBuilder) -> None:
        """Behind the last frame: what follows is not known yet."""
        g.emit(*const(R1, w.MARK | w.UNSEEN))
        bpf_python_unwinder.emit_append(g, self.frame_area)

    def _emit_drop_last(self, g: CodeBuilder) -> None:
        """The last frame."""
        count, frames, most = self.frame_area
        none = Label()
        g.emit(
            load(8, R1, R6, count),
            jump_imm("jeq", R1, 0, none),
            jump_imm("jgt", R1, most, none),
            alu_imm("sub", R1, 1),
            store(8, R6, count, R1),
            alu_imm("lsh", R1, 3),
            alu("add", R1, R6),
            store_imm(8, R1, frames, 0),
        )
        g.place_label(none)

    def _emit_registers(self, g: CodeBuilder, none: Label) -> None:
        """Of the thread in user mode; to `none` where it is a 32-bit program's."""
        area = self.area_offset(bpf_python_unwinder.RECORD)
        emit_user_registers(g, R6, area, _REGISTERS)
        g.emit(load(2, R1, R6, area + _MODE), jump_imm("jne", R1, _USER_64, none))
        for place, offset in ((PC, _PC), (SP, _SP), (BP, _BP)):
            g.emit(load(8, R1, R6, area + offset), store(8, R6, self.area_offset(place), R1))
        g.emit(
            *[store_imm(8, R6, self.area_offset(each), 0) for each in (CALLED, UNKNOWN, BY_POINTER)]
        )
        stays = Label()
        g.emit(
            load(8, R1, R6, self.area_offset(RETURNED)),
            jump_imm("jne", R1, AT_END, stays),
            load(8, R1, R6, self.area_offset(SP)),
            mov(R3, R1),
            alu_imm("add", R1, 8),
            store(8, R6, self.area_offset(SP), R1),
            mov(R1, R6),
            alu_imm("add", R1, self.area_offset(PC)),
            mov_imm(R2, 8),
            call(PROBE_READ_USER),
            store_imm(8, R6, self.area_offset(CALLED), 1),
            jump_imm("jne", R0, 0, none),
        )
        g.place_label(stays)

    def _emit_limited_request(self, g: CodeBuilder) -> None:
        """Where the code of process r9, stamp r8, is, unless that was asked less than r7 ns ago."""
        done, ask = Label(), Label()
        g.emit(
            *const(R2, _FACTOR),
            mov(R1, R8),
            alu("mul", R1, R2),
            alu("xor", R1, R9),
            store(8, R10, _SENT, R1),
            call(KTIME_GET_NS),
            store(8, R6, self.area_offset(bpf_python_unwinder.TIME), R0),
            ld_map(R1, self._places.sent),
            mov(R2, R10),
            alu_imm("add", R2, _SENT),
            call(MAP_LOOKUP_ELEM),
            jump_imm("jeq", R0, 0, ask),
            load(8, R1, R0, 0),
            load(8, R2, R6, self.area_offset(bpf_python_unwinder.TIME)),
            alu("sub", R2, R1),
            jump("jlt", R2, R7, done),
        )
        g.place_label(ask)
        self._emit_map_call(
            g, MAP_UPDATE_ELEM, self._places.sent, _SENT, self.area_offset(bpf_python_unwinder.TIME)
        )
        self._emit_request(g, w.ASK_CODE)
        g.place_label(done)

    # --- one frame -----------------------------------------------------------------------------------

    def _make_step(self) -> list[Insn]:
        """r2 leads to the state block, r6 from then on, and to what is known of the process, r7."""
        g = CodeBuilder()
        stop, unknown, guessed, later, by_pointer, inside, follow, further = (
            Label() for _ in range(8)
        )
        g.emit(
            load(8, R6, R2, 0),
            load(8, R7, R2, 8),
            load(8, R1, R6, self.area_offset(PC)),
            jump_imm("jeq", R1, 0, stop),
        )
        bpf_python_unwinder.emit_append(g, self.frame_area)
        g.emit(
            load(8, R8, R6, self.area_offset(PC)),
            load(8, R1, R6, self.area_offset(CALLED)),
            alu("sub", R8, R1),
        )
        self._emit_find_part(g, unknown, later, by_pointer)
        self._emit_find_row(g, by_pointer)
        self._emit_table_step(g, by_pointer, further, stop)
        g.place_label(unknown)
        g.emit(
            store_imm(8, R6, self.area_offset(UNKNOWN), 1),
            load(8, R1, R6, self.area_offset(BY_POINTER)),
            jump_imm("jne", R1, 0, guessed),
            store_imm(8, R6, self.area_offset(BY_POINTER), _FROM_UNKNOWN),
            ja(follow),
        )
        g.place_label(guessed)
        self._emit_drop_last(g)
        g.emit(
            load(8, R1, R6, self.area_offset(BY_POINTER)), jump_imm("jne", R1, _FROM_UNKNOWN, stop)
        )
        g.place_label(later)
        self._emit_unknown_mark(g)
        g.emit(ja(stop))
        g.place_label(by_pointer)
        g.emit(
            load(8, R1, R6, self.area_offset(RETURNED)),
            jump_imm("jne", R1, AT_BEGINNING, inside),
            store_imm(8, R6, self.area_offset(RETURNED), 0),
            load(8, R1, R6, self.area_offset(CALLED)),
            jump_imm("jne", R1, 0, inside),
            load(8, R8, R6, self.area_offset(SP)),
        )
        self._emit_user_read(g, PC, 8, R8, stop)
        g.emit(alu_imm("add", R8, 8), store(8, R6, self.area_offset(SP), R8), ja(further))
        g.place_label(inside)
        g.emit(store_imm(8, R6, self.area_offset(BY_POINTER), 1))
        g.place_label(follow)
        g.emit(load(8, R8, R6, self.area_offset(BP)), jump_imm("jeq", R8, 0, stop))
        self._emit_user_read(g, BP, 16, R8, stop)
        g.emit(alu_imm("add", R8, 16), store(8, R6, self.area_offset(SP), R8))
        g.place_label(further)
        g.emit(store_imm(8, R6, self.area_offset(CALLED), 1), mov_imm(R0, 0), exit_())
        g.place_label(stop)
        g.emit(mov_imm(R0, 1), exit_())
        return g.finish()

    def _emit_user_read(
        self, g: CodeBuilder, place: int, size: int, address: int, failed: Label
    ) -> None:
        """Of the process's memory into a place of ours."""
        g.emit(
            mov(R1, R6),
            alu_imm("add", R1, self.area_offset(place)),
            mov_imm(R2, size),
            mov(R3, address),
            call(PROBE_READ_USER),
            jump_imm("jne", R0, 0, failed),
        )

    def _emit_midpoint(self, g: CodeBuilder, found: Label) -> None:
        """r3 = the middle of what is left; to `found` where nothing is.  The bounds are in memory, so that they are to the verifier the same
        numbers after each step."""
        g.emit(
            load(8, R1, R6, self.area_offset(LOW)),
            load(8, R2, R6, self.area_offset(HIGH)),
            jump("jge", R1, R2, found),
            mov(R3, R1),
            alu("add", R3, R2),
            alu_imm("rsh", R3, 1),
        )

    def _emit_narrow_range(self, g: CodeBuilder, value: int, wanted: int) -> None:
        """To the upper half where the value at r3, the middle, is not above what is wanted, else to the lower."""
        lower, following = Label(), Label()
        g.emit(
            jump("jgt", value, wanted, lower),
            alu_imm("add", R3, 1),
            store(8, R6, self.area_offset(LOW), R3),
            ja(following),
        )
        g.place_label(lower)
        g.emit(store(8, R6, self.area_offset(HIGH), R3))
        g.place_label(following)

    def _emit_find_part(
        self, g: CodeBuilder, unknown: Label, later: Label, by_pointer: Label
    ) -> None:
        """Of address r8: r9 = the table, r8 = the address as it counts, HIGH = the number of its rows; to `unknown` where no part is, to
        `later` where its table is not read yet, to `by_pointer` where it has none."""
        found = Label()
        g.emit(
            store_imm(8, R6, self.area_offset(LOW), 0),
            load(8, R1, R7, u.COUNT),
            store(8, R6, self.area_offset(HIGH), R1),
        )
        for _ in range(_PART_STEPS):
            self._emit_midpoint(g, found)
            self._emit_part_address(g, R3)
            g.emit(load(8, R4, R4, u.PARTS + u.START))
            self._emit_narrow_range(g, R4, R8)
        g.place_label(found)
        g.emit(
            load(8, R5, R6, self.area_offset(LOW)),
            jump_imm("jeq", R5, 0, unknown),
            alu_imm("sub", R5, 1),
        )
        self._emit_part_address(g, R5)
        g.emit(
            load(8, R1, R4, u.PARTS + u.START),
            mov(R2, R8),
            alu("sub", R2, R1),
            load(4, R1, R4, u.PARTS + u.SIZE),
            jump("jge", R2, R1, unknown),
            load(8, R1, R4, u.PARTS + u.BASE),
            alu("sub", R8, R1),
            load(4, R1, R4, u.PARTS + u.LENGTH),
            store(8, R6, self.area_offset(HIGH), R1),
            store_imm(8, R6, self.area_offset(LOW), 0),
            load(4, R1, R4, u.PARTS + u.TABLE),
            jump_imm("jeq", R1, u.NONE, by_pointer),
            jump_imm("jeq", R1, u.LATER, later),
            store(4, R10, -8, R1),
            ld_map(R1, self._places.tables),
            mov(R2, R10),
            alu_imm("add", R2, -8),
            call(MAP_LOOKUP_ELEM),
            jump_imm("jeq", R0, 0, by_pointer),
            mov(R9, R0),
        )

    @staticmethod
    def _emit_part_address(g: CodeBuilder, number: int) -> None:
        """r4 leads to the part of a number, but for PARTS."""
        g.emit(
            mov(R4, number),
            alu_imm("and", R4, u.MOST - 1),
            alu_imm("mul", R4, u.PART_SIZE),
            alu("add", R4, R7),
        )

    def _emit_find_row(self, g: CodeBuilder, by_pointer: Label) -> None:
        """r9 = the rule for address r8 in the table r9."""
        found = Label()
        for _ in range(_ROW_STEPS):
            self._emit_midpoint(g, found)
            g.emit(store(4, R10, -8, R3))
            self._emit_row_lookup(g, by_pointer)
            g.emit(load(4, R4, R0, 0), load(4, R3, R10, -8))
            self._emit_narrow_range(g, R4, R8)
        g.place_label(found)
        g.emit(
            load(8, R1, R6, self.area_offset(LOW)),
            jump_imm("jeq", R1, 0, by_pointer),
            alu_imm("sub", R1, 1),
            store(4, R10, -8, R1),
        )
        self._emit_row_lookup(g, by_pointer)
        g.emit(load(4, R9, R0, 4))

    @staticmethod
    def _emit_row_lookup(g: CodeBuilder, failed: Label) -> None:
        """r0 leads to the row whose number is on the stack."""
        g.emit(
            mov(R1, R9),
            mov(R2, R10),
            alu_imm("add", R2, -8),
            call(MAP_LOOKUP_ELEM),
            jump_imm("jeq", R0, 0, failed),
        )

    def _emit_table_step(
        self, g: CodeBuilder, by_pointer: Label, further: Label, stop: Label
    ) -> None:
        """The caller's registers, by rule r9; r8 = where its frame begins."""
        by_bp, jumps, signal, begins, same, low = (Label() for _ in range(6))
        g.emit(
            mov(R1, R9),
            alu_imm("and", R1, (1 << u.KIND_BITS) - 1),
            jump_imm("jeq", R1, u.POINTER, by_pointer),
            jump_imm("jeq", R1, u.OUTERMOST, stop),
            jump_imm("jeq", R1, u.JUMP, jumps),
            jump_imm("jeq", R1, u.SIGNAL, signal),
            mov(R8, R9),
            alu_imm("rsh", R8, u.KIND_BITS + u.SAVED_BITS),
            alu_imm("lsh", R8, 3),
            jump_imm("jeq", R1, u.BY_BP, by_bp),
            load(8, R2, R6, self.area_offset(SP)),
            alu("add", R8, R2),
            ja(begins),
        )
        g.place_label(by_bp)
        g.emit(load(8, R2, R6, self.area_offset(BP)), alu("add", R8, R2), ja(begins))
        g.place_label(jumps)
        g.emit(
            load(8, R8, R6, self.area_offset(SP)),
            alu_imm("add", R8, 8),
            load(8, R1, R6, self.area_offset(PC)),
            alu_imm("and", R1, 15),
            jump_imm("jlt", R1, 11, low),
            alu_imm("add", R8, 8),
        )
        g.place_label(low)
        g.place_label(begins)
        g.emit(
            load(8, R1, R6, self.area_offset(SP)),
            jump("jle", R8, R1, stop),
            mov(R3, R8),
            alu_imm("sub", R3, 8),
        )
        self._emit_user_read(g, PC, 8, R3, stop)
        g.emit(
            alu_imm("rsh", R9, u.KIND_BITS),
            alu_imm("and", R9, u.SAVED_MOST),
            jump_imm("jeq", R9, 0, same),
            alu_imm("lsh", R9, 3),
            mov(R3, R8),
            alu("sub", R3, R9),
        )
        self._emit_user_read(g, BP, 8, R3, stop)
        g.place_label(same)
        g.emit(
            store(8, R6, self.area_offset(SP), R8),
            store_imm(8, R6, self.area_offset(BY_POINTER), 0),
            ja(further),
        )
        g.place_label(signal)
        g.emit(load(8, R8, R6, self.area_offset(SP)))
        for place, offset in ((BP, u.SIGNAL_BP), (PC, u.SIGNAL_PC), (SP, u.SIGNAL_SP)):
            g.emit(mov(R3, R8), alu_imm("add", R3, offset))
            self._emit_user_read(g, place, 8, R3, stop)
        g.emit(
            store_imm(8, R6, self.area_offset(CALLED), 0),
            store_imm(8, R6, self.area_offset(BY_POINTER), 0),
            mov_imm(R0, 0),
            exit_(),
        )
