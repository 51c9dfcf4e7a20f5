"""The Python unwinder in the kernel: it appends Python frames to a stack in the state block.

A new stack is sent to the tracer, which reads the names while the process lives.  The map of
processes (python_frame_words.py) has the offsets in CPython's structs.  Behind the busy word the
state block has WALK_SIZE bytes for the unwinder.

- Everything is read as the memory of the process, so nothing in it leads into the kernel.
- Each loop is bounded.
- A mark stands for frames that could not be read.

Loops are bpf_loop() from Linux 5.17 on.  On older kernels they are a loop around a global
function, which the verifier checks once.
"""

from __future__ import annotations

from pydtrace.bpf.helpers import (
    GET_CURRENT_TASK,
    KTIME_GET_NS,
    LOOP,
    MAP_LOOKUP_ELEM,
    MAP_UPDATE_ELEM,
    PROBE_READ_KERNEL,
    PROBE_READ_USER,
    RINGBUF_OUTPUT,
)
from pydtrace.bpf.insn import (
    R0,
    R1,
    R2,
    R3,
    R4,
    R6,
    R7,
    R8,
    R9,
    R10,
    alu,
    alu_imm,
    call,
    call_sub,
    const,
    exit_,
    ja,
    jump,
    jump_imm,
    ld_function,
    ld_imm64,
    ld_map,
    load,
    mov,
    mov_imm,
    store,
    store_imm,
)
from pydtrace.bpf.program_builder import CodeBuilder, Label
from pydtrace.engine.kernel.passes.function_copies import Function
from pydtrace.engine.kernel.passes.read_kernel_memory import emit_read
from pydtrace.unwind import python_frame_words as w

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydtrace.bpf.insn import Insn

    from ..linker import MapIndexes
    from .unwinder_maps import TaskOffsets

BPF_LOOP = (5, 17)
THREADS = 2048  # steps on the way to the thread
_REQUEST_INTERVAL = 100_000_000  # ns that an answer may take before the tracer is asked again
_RESEND_INTERVAL = (
    1_000_000_000  # ns after which a stack is sent anew, lest its code was freed meanwhile
)
_FACTOR = 0x9E3779B97F4A7C15

# The area behind the busy word: what the map has of the process, then
CONFIG = 0
(WANTED, INTERP, THREAD, FOUND, FRAME, WHY, HASH, TIME, ASK) = range(w.SIZE, w.SIZE + 72, 8)
ASK_SIZE = 24  # of a record without frames: the process, the stamp, 0
RECORD = ASK + ASK_SIZE
RECORD_MOST = 256
WALK_SIZE = RECORD + RECORD_MOST


class UnwinderIndexes:
    """processes, sent, ring, parts, tables, forked: indexes of maps, the last three None where there are none; area: offset of WALK_SIZE bytes in
    the state block; mm, exec_id, tls: offsets of these in the kernel's task, tls None where threads are known by their number; loops:
    whether there is bpf_loop(); maps: link.Maps."""

    __slots__ = (
        "area",
        "exec_id",
        "forked",
        "loops",
        "maps",
        "mm",
        "parts",
        "processes",
        "ring",
        "sent",
        "tables",
        "with_tables",
        "tls",
    )

    def __init__(
        self, first: int, area: int, task: TaskOffsets, loops: bool, tables: bool, maps: MapIndexes
    ) -> None:
        """tables: native stacks are walked by them."""
        self.processes, self.sent, self.ring = first, first + 1, first + 2
        self.with_tables = tables
        self.parts, self.tables, self.forked = first + 3, first + 4, first + 5  # of native stacks
        self.area, self.loops, self.maps = area, loops, maps
        self.mm, self.exec_id, self.tls = task


PYTHON_STACKS = {"language", "user"}  # whose stacks have an interpreter's frames


def make_python_unwinders(
    places: UnwinderIndexes, stacks: Mapping[str, tuple[int, int]]
) -> dict[str, BpfPythonUnwinder]:
    """{whose: Walk} of a program's stacks."""
    return {
        whose: BpfPythonUnwinder(places, *stacks[whose], whose == "language")
        for whose in PYTHON_STACKS & stacks.keys()
    }


class BpfUnwinder:
    """What all walks into the stack at an offset of the state block, which has room for so many frames, have in common."""

    def __init__(self, places: UnwinderIndexes, offset: int, frames: int) -> None:
        self._places, self._offset, self._frames = places, offset, frames

    def area_offset(self, offset: int) -> int:
        return self._places.area + offset

    @property
    def frame_area(self) -> tuple[int, int, int]:
        """(where the number of frames is, where the frames are, how many at the most)."""
        return self._offset, self._offset + 8, self._frames

    @property
    def has_loops(self) -> bool:
        return self._places.loops

    def _emit_stamp(self, g: CodeBuilder, done: Label) -> None:
        """r8 = what tells this address space from others that the process had; to `done`, r0 = 0, where it has none.  r9 = the process.  What
        is searched for is put at WANTED."""
        places = self._places
        g.emit(call(GET_CURRENT_TASK), mov(R7, R0))
        emit_read(g, 8, R7, places.mm)
        g.emit(mov(R8, R0), jump_imm("jeq", R0, 0, done))
        emit_read(g, 8, R7, places.exec_id)
        g.emit(alu_imm("lsh", R0, 48), alu("xor", R8, R0))
        if places.tls is not None:
            emit_read(g, 8, R7, places.tls)
            g.emit(store(8, R6, self.area_offset(WANTED), R0))
        places.maps.emit_pids(g)
        if places.tls is None:
            g.emit(
                mov(R1, R0),
                alu_imm("lsh", R1, 32),
                alu_imm("rsh", R1, 32),
                store(8, R6, self.area_offset(WANTED), R1),
            )
        g.emit(alu_imm("rsh", R0, 32), mov(R9, R0))

    def _emit_request(self, g: CodeBuilder, what: int) -> None:
        """Of the process r9, stamp r8, by a record without frames."""
        g.emit(
            mov(R1, R9),
            alu_imm("lsh", R1, 32),
            alu_imm("or", R1, what),
            store(8, R6, self.area_offset(ASK), R1),
            store(8, R6, self.area_offset(ASK + 8), R8),
            store_imm(8, R6, self.area_offset(ASK + 16), 0),
        )
        self._emit_output(g, self.area_offset(ASK), lambda: g.emit(mov_imm(R3, ASK_SIZE)))

    def _emit_map_call(self, g: CodeBuilder, helper: int, index: int, key: int, value: int) -> None:
        """Key: on the stack; value: in the state block."""
        g.emit(
            ld_map(R1, index),
            mov(R2, R10),
            alu_imm("add", R2, key),
            mov(R3, R6),
            alu_imm("add", R3, value),
            mov_imm(R4, 0),
            call(helper),
        )

    def _emit_output(self, g: CodeBuilder, offset: int, size: Callable[[], None]) -> None:
        g.emit(ld_map(R1, self._places.ring), mov(R2, R6), alu_imm("add", R2, offset))
        size()
        g.emit(mov_imm(R4, 0), call(RINGBUF_OUTPUT))


class BpfPythonUnwinder(BpfUnwinder):
    """The functions of the walk of an interpreter's.  alone: there are no native frames, so that a process that is not known yet is said."""

    def __init__(self, places: UnwinderIndexes, offset: int, frames: int, alone: bool) -> None:
        super().__init__(places, offset, frames)
        self._alone = alone
        self._seek, self._step = (
            LoopStep(_make_seek_step(self), []),
            LoopStep(_make_frame_step(self), []),
        )
        self.function = UserReadFunction(*self._make_function())

    def field_offset(self, field: str) -> int:
        """Offset in the state block of what the map has of the process."""
        return self._places.area + CONFIG + w.FIELD[field]

    # --- the whole ---------------------------------------------------------------------------------

    def _make_function(self) -> tuple[list[Insn], list[tuple[int, Function]]]:
        """r1 = the state block.  r6 is it, from then on."""
        g = CodeBuilder()
        calls: list[tuple[int, Function]] = []
        known, done = Label(), Label()
        g.emit(
            mov(R6, R1),
            store_imm(8, R6, self.area_offset(HASH), 0),
            store_imm(8, R6, self.area_offset(WHY), 0),
            store_imm(8, R6, self.area_offset(FOUND), 0),
        )
        self._emit_stamp(g, done)
        self._emit_find_process(g, known, done)
        g.place_label(known)
        g.emit(
            mov(R1, R6),
            alu_imm("add", R1, self.area_offset(CONFIG)),
            mov_imm(R2, w.SIZE),
            mov(R3, R0),
            call(PROBE_READ_KERNEL),
        )
        self._emit_make_room(g)
        self._emit_innermost(g, calls)
        self._emit_loop(g, calls, self._step, 2 * self._frames + 1)
        self._emit_end_mark(g)
        self._emit_send(g)
        g.emit(mov_imm(R0, 1))
        g.place_label(done)
        g.emit(exit_())
        return g.finish(), calls

    def _emit_make_room(self, g: CodeBuilder) -> None:
        """Half of the frames at least are for those of the interpreter: of more native ones the outermost are left out.  The two
        innermost stay always: who fires and its caller (`ucaller`)."""
        count, frames, most = self.frame_area
        kept, enough = max(most // 2, 2), Label()
        if not self._alone and most > kept:
            g.emit(
                load(8, R1, R6, count),
                jump_imm("jle", R1, kept, enough),
                store_imm(8, R6, count, kept),
                mov(R1, R6),
                alu_imm("add", R1, frames + 8 * kept),
                mov_imm(R2, 8 * (most - kept)),
                mov_imm(R3, 0),
                call(PROBE_READ_KERNEL),
            )
            g.place_label(enough)

    def _emit_find_process(self, g: CodeBuilder, known: Label, done: Label) -> None:
        """r0 = what the map has of the process r9, stamp r8; where it has nothing that holds, the tracer is asked.  To `done` with r0 = 0 for
        what is no Python, with 1 where the answer is not there yet, which the stack says."""
        new, same, ask, unseen = Label(), Label(), Label(), Label()
        g.emit(
            store(4, R10, -16, R9),
            ld_map(R1, self._places.processes),
            mov(R2, R10),
            alu_imm("add", R2, -16),
            call(MAP_LOOKUP_ELEM),
            jump_imm("jeq", R0, 0, new),
            load(8, R1, R0, w.STAMP),
            jump_imm("jne", R1, 0, same),
            store(8, R0, w.STAMP, R8),
        )
        g.place_label(same)
        g.emit(
            load(8, R1, R0, w.STAMP),
            jump("jne", R1, R8, new),
            load(8, R1, R0, w.RUNTIME),
            jump_imm("jgt", R1, w.PENDING, known),
            store(8, R10, -48, R1),
            mov(R7, R0),
            call(KTIME_GET_NS),
            load(8, R1, R7, w.UNTIL),
            jump("jgt", R1, R0, unseen),
            *const(R1, _REQUEST_INTERVAL),
            alu("add", R0, R1),
            store(8, R7, w.UNTIL, R0),
            ja(ask),
        )
        g.place_label(new)
        config = self._places.area + CONFIG
        g.emit(
            *[store_imm(8, R6, config + at, 0) for at in range(0, w.SIZE, 8)],
            call(KTIME_GET_NS),
            *const(R1, _REQUEST_INTERVAL),
            alu("add", R0, R1),
            store(8, R6, config + w.UNTIL, R0),
            store(8, R6, config + w.STAMP, R8),
            mov_imm(R1, w.PENDING),
            store(8, R6, config + w.RUNTIME, R1),
            store(8, R10, -48, R1),
        )
        self._emit_map_call(g, MAP_UPDATE_ELEM, self._places.processes, -16, config)
        g.place_label(ask)
        self._emit_request(g, w.ASK_INTERPRETER)
        g.place_label(unseen)
        g.emit(load(8, R0, R10, -48), jump_imm("jeq", R0, 0, done), *const(R1, w.MARK | w.UNSEEN))
        if self._alone:
            emit_append(g, self.frame_area)
        g.emit(mov_imm(R0, 1), ja(done))

    def _emit_loop(
        self, g: CodeBuilder, calls: list[tuple[int, Function]], step: LoopStep, times: int
    ) -> None:
        """Call a step until it says 1, so many times at the most."""
        if self.has_loops:
            g.emit(store(8, R10, -24, R6), mov_imm(R1, times))
            calls.append((len(g.insns), step))
            g.emit(
                ld_function(R2), mov(R3, R10), alu_imm("add", R3, -24), mov_imm(R4, 0), call(LOOP)
            )
            return
        over, again = Label(), Label()
        g.emit(mov_imm(R7, 0))
        g.place_label(again)
        g.emit(mov(R1, R6))
        calls.append((len(g.insns), step))
        g.emit(
            call_sub(0),
            jump_imm("jne", R0, 0, over),
            alu_imm("add", R7, 1),
            jump_imm("jlt", R7, times, again),
        )
        g.place_label(over)

    def _emit_innermost(self, g: CodeBuilder, calls: list[tuple[int, Function]]) -> None:
        """The thread, and of it the innermost frame."""
        lost, found, missing = Label(), Label(), Label()
        g.emit(
            store_imm(8, R6, self.area_offset(THREAD), 0),
            store_imm(8, R6, self.area_offset(FRAME), 0),
        )
        _emit_read_word(g, self.area_offset(CONFIG + w.RUNTIME), None, lost)
        g.emit(store(8, R6, self.area_offset(INTERP), R0))
        self._emit_loop(g, calls, self._seek, THREADS)
        g.emit(load(8, R1, R6, self.area_offset(FOUND)), jump_imm("jne", R1, 1, missing))
        _emit_read_word(g, self.area_offset(THREAD), self.field_offset("thread_frame"), lost)
        direct = Label()
        g.emit(
            store(8, R6, self.area_offset(FRAME), R0),
            jump_imm("jeq", R0, 0, found),
            load(4, R1, R6, self.field_offset("has_cframe")),
            jump_imm("jeq", R1, 0, direct),
        )
        _emit_read_word(g, self.area_offset(FRAME), self.field_offset("cframe_frame"), lost)
        g.emit(store(8, R6, self.area_offset(FRAME), R0))
        g.place_label(direct)
        g.emit(ja(found))
        g.place_label(missing)
        g.emit(
            load(8, R2, R6, self.area_offset(THREAD)), jump_imm("jeq", R2, 0, found)
        )  # all were looked at: it is none of Python's
        g.place_label(lost)
        g.emit(
            store_imm(8, R6, self.area_offset(WHY), w.LOST),
            store_imm(8, R6, self.area_offset(FRAME), 0),
        )
        g.place_label(found)

    def _emit_end_mark(self, g: CodeBuilder) -> None:
        """Say what is wrong with the stack, if there is room."""
        done, put = Label(), Label()
        g.emit(
            load(8, R1, R6, self.area_offset(WHY)),
            jump_imm("jne", R1, 0, put),
            load(8, R2, R6, self.area_offset(FRAME)),
            jump_imm("jeq", R2, 0, done),
            mov_imm(R1, w.CUT),
        )
        g.place_label(put)
        g.emit(*const(R3, w.MARK), alu("or", R1, R3))
        emit_append(g, self.frame_area)
        g.place_label(done)

    def _emit_send(self, g: CodeBuilder) -> None:
        """The stack, unless one like it was sent a moment ago."""
        count, _, most = self.frame_area
        done, new = Label(), Label()
        g.emit(
            load(8, R8, R6, count),
            jump_imm("jeq", R8, 0, done),
            jump_imm("jgt", R8, most, done),
            load(8, R1, R6, self.area_offset(HASH)),
            alu("xor", R1, R9),
            store(8, R10, -32, R1),
            call(KTIME_GET_NS),
            store(8, R6, self.area_offset(TIME), R0),
            ld_map(R1, self._places.sent),
            mov(R2, R10),
            alu_imm("add", R2, -32),
            call(MAP_LOOKUP_ELEM),
            jump_imm("jeq", R0, 0, new),
            load(8, R1, R0, 0),
            load(8, R2, R6, self.area_offset(TIME)),
            alu("sub", R2, R1),
            jump_imm("jlt", R2, _RESEND_INTERVAL, done),
        )
        g.place_label(new)
        self._emit_map_call(g, MAP_UPDATE_ELEM, self._places.sent, -32, self.area_offset(TIME))
        # the record is the stack itself, with the process in the upper half of its first word
        g.emit(mov(R1, R9), alu_imm("lsh", R1, 32), alu("or", R1, R8), store(8, R6, count, R1))
        self._emit_output(
            g, count, lambda: g.emit(mov(R3, R8), alu_imm("lsh", R3, 3), alu_imm("add", R3, 8))
        )
        g.emit(store(8, R6, count, R8))
        g.place_label(done)


class UserReadFunction(Function):
    """A function that reads the process, and nothing but the process, whatever the clauses may read."""


class LoopStep(UserReadFunction):
    """One that is called again and again, with the state block."""


def _emit_step_start(g: CodeBuilder, walk: BpfPythonUnwinder) -> None:
    """r6 = the state block; of bpf_loop()'s arguments the second leads to it."""
    if walk.has_loops:
        g.emit(load(8, R6, R2, 0))
    else:
        there = Label()
        g.emit(mov(R6, R1), jump_imm("jne", R6, 0, there), mov_imm(R0, 1), exit_())
        g.place_label(there)


def _emit_read_word(g: CodeBuilder, base: int, offset: int | None, failed: Label) -> None:
    """r0 = the word of the process at [base] + [offset], both in the state block; to `failed` where it is not there."""
    g.emit(load(8, R3, R6, base))
    if offset is not None:
        g.emit(load(4, R1, R6, offset), alu("add", R3, R1))
    g.emit(
        store_imm(8, R10, -40, 0),
        mov(R1, R10),
        alu_imm("add", R1, -40),
        mov_imm(R2, 8),
        call(PROBE_READ_USER),
        jump_imm("jne", R0, 0, failed),
        load(8, R0, R10, -40),
    )


def _make_seek_step(walk: BpfPythonUnwinder) -> list[Insn]:
    """One step on the way to the thread: an interpreter, or a thread of it."""
    g, at_thread, stop, found, lost = CodeBuilder(), Label(), Label(), Label(), Label()
    interp, thread = walk.area_offset(INTERP), walk.area_offset(THREAD)
    _emit_step_start(g, walk)
    g.emit(
        load(8, R1, R6, thread),
        jump_imm("jne", R1, 0, at_thread),
        load(8, R1, R6, interp),
        jump_imm("jeq", R1, 0, stop),
    )
    _emit_read_word(g, interp, walk.field_offset("interp_threads"), lost)
    g.emit(store(8, R6, thread, R0))
    _emit_read_word(g, interp, walk.field_offset("interp_next"), lost)
    g.emit(store(8, R6, interp, R0), mov_imm(R0, 0), exit_())
    g.place_label(at_thread)
    _emit_read_word(g, thread, walk.field_offset("thread_match"), lost)
    g.emit(load(8, R1, R6, walk.area_offset(WANTED)), jump("jeq", R0, R1, found))
    _emit_read_word(g, thread, walk.field_offset("thread_next"), lost)
    g.emit(store(8, R6, thread, R0), mov_imm(R0, 0), exit_())
    g.place_label(lost)
    g.emit(store_imm(8, R6, walk.area_offset(WHY), w.LOST), ja(stop))
    g.place_label(found)
    g.emit(store_imm(8, R6, walk.area_offset(FOUND), 1))
    g.place_label(stop)
    g.emit(mov_imm(R0, 1), exit_())
    return g.finish()


def _make_frame_step(walk: BpfPythonUnwinder) -> list[Insn]:
    """One frame, from [FRAME]; a step outwards."""
    g = CodeBuilder()
    stop, lost, shown, outwards = Label(), Label(), Label(), Label()
    count, _, most = walk.frame_area
    _emit_step_start(g, walk)
    g.emit(
        load(8, R3, R6, walk.area_offset(FRAME)),
        jump_imm("jeq", R3, 0, stop),
        load(8, R1, R6, count),
        jump_imm("jge", R1, most, stop),
        load(4, R2, R6, walk.field_offset("frame_size")),
        jump_imm("jeq", R2, 0, lost),
        jump_imm("jgt", R2, w.FRAME_MOST, lost),
        mov(R1, R6),
        alu_imm("add", R1, walk.area_offset(RECORD)),
        call(PROBE_READ_USER),
        jump_imm("jne", R0, 0, lost),
    )
    _emit_frame_field(g, walk, 8, "frame_previous", R9, lost)
    g.emit(load(4, R1, R6, walk.field_offset("frame_owner")), jump_imm("jeq", R1, 0, shown))
    _emit_frame_field(g, walk, 1, "frame_owner", R1, lost)
    g.emit(jump_imm("jlt", R1, 3, shown))
    _emit_mark_first(g, walk)
    g.emit(ja(outwards))
    g.place_label(shown)
    _emit_frame_word(g, walk, lost)
    emit_append(g, walk.frame_area)
    # so that the hash is of all words
    g.emit(
        load(8, R2, R6, walk.area_offset(HASH)),
        alu("add", R2, R1),
        *ld_imm64(R3, _FACTOR),
        alu("mul", R2, R3),
        mov(R3, R2),
        alu_imm("rsh", R3, 32),
        alu("xor", R2, R3),
        store(8, R6, walk.area_offset(HASH), R2),
    )
    g.place_label(outwards)
    g.emit(store(8, R6, walk.area_offset(FRAME), R9), mov_imm(R0, 0), exit_())
    g.place_label(lost)
    g.emit(
        store_imm(8, R6, walk.area_offset(WHY), w.LOST),
        store_imm(8, R6, walk.area_offset(FRAME), 0),
    )
    g.place_label(stop)
    g.emit(mov_imm(R0, 1), exit_())
    return g.finish()


def _emit_frame_field(
    g: CodeBuilder, walk: BpfPythonUnwinder, size: int, field: str, register: int, lost: Label
) -> None:
    """A field of the frame that was read."""
    g.emit(
        load(4, R1, R6, walk.field_offset(field)),
        jump_imm("jgt", R1, w.FRAME_MOST, lost),
        alu("add", R1, R6),
        load(size, register, R1, walk.area_offset(RECORD)),
    )


def _emit_mark_first(g: CodeBuilder, walk: BpfPythonUnwinder) -> None:
    """The frame before this one, which is no function's, is the outermost of a call of the interpreter."""
    count, frames, most = walk.frame_area
    none = Label()
    g.emit(
        load(8, R1, R6, count),
        jump_imm("jeq", R1, 0, none),
        jump_imm("jgt", R1, most, none),
        alu_imm("lsh", R1, 3),
        alu("add", R1, R6),
        load(8, R2, R1, frames - 8),
        jump_imm("jsge", R2, 0, none),
        *const(R3, w.FIRST),
        alu("or", R2, R3),
        store(8, R1, frames - 8, R2),
    )
    g.place_label(none)


def _emit_frame_word(g: CodeBuilder, walk: BpfPythonUnwinder, lost: Label) -> None:
    """r1 = the word of the frame that was read."""
    new, placed, no_entry, put = Label(), Label(), Label(), Label()
    _emit_frame_field(g, walk, 8, "frame_code", R7, lost)
    g.emit(
        load(4, R2, R6, walk.field_offset("code_tag")), alu_imm("xor", R2, -1), alu("and", R7, R2)
    )
    # r8 = the position: from where the code begins, in its units, one more
    g.emit(load(4, R1, R6, walk.field_offset("is_old")), jump_imm("jeq", R1, 0, new))
    _emit_frame_field(g, walk, 4, "frame_instr", R8, lost)
    g.emit(alu_imm("lsh", R8, 32), alu_imm("arsh", R8, 32), ja(placed))
    g.place_label(new)
    _emit_frame_field(g, walk, 8, "frame_instr", R8, lost)
    g.emit(
        alu("sub", R8, R7),
        load(4, R1, R6, walk.field_offset("code_instructions")),
        alu("sub", R8, R1),
    )
    g.place_label(placed)
    g.emit(
        load(4, R1, R6, walk.field_offset("shift")),
        alu_imm("and", R1, 1),
        alu("arsh", R8, R1),
        alu_imm("add", R8, 1),
        jump_imm("jle", R8, w.UNPLACED, put),
        mov_imm(R8, w.UNPLACED),
    )
    g.place_label(put)
    g.emit(
        alu_imm("rsh", R7, w.CODE_ALIGN),
        alu_imm("lsh", R7, 64 - w.CODE_BITS),
        alu_imm("rsh", R7, 64 - w.CODE_BITS - w.CODE_SHIFT),
        alu("or", R8, R7),
        *const(R3, w.MARK),
        alu("or", R8, R3),
    )
    first = Label()
    g.emit(
        load(4, R1, R6, walk.field_offset("is_old")),
        jump_imm("jne", R1, 0, first),
        load(4, R1, R6, walk.field_offset("frame_entry")),
        jump_imm("jeq", R1, 0, no_entry),
    )
    _emit_frame_field(g, walk, 1, "frame_entry", R1, lost)
    g.emit(jump_imm("jeq", R1, 0, no_entry))
    g.place_label(first)
    g.emit(*const(R3, w.FIRST), alu("or", R8, R3))
    g.place_label(no_entry)
    g.emit(mov(R1, R8))


def emit_append(g: CodeBuilder, words: tuple[int, int, int]) -> None:
    """Append the word in r1, if there is room for it."""
    count, frames, most = words
    full = Label()
    g.emit(
        load(8, R2, R6, count),
        jump_imm("jge", R2, most, full),
        mov(R3, R2),
        alu_imm("lsh", R3, 3),
        alu("add", R3, R6),
        store(8, R3, frames, R1),
        alu_imm("add", R2, 1),
        store(8, R6, count, R2),
    )
    g.place_label(full)
