"""Linking: the clauses of a probe become one program, which the kernel runs at each firing.

The program fills the event part of the state block, then calls the clauses, whose code is the same
as in the embedded engine.

- The program reads only the parts of the event that a clause reads.
- A firing has a state block of its own, even if it interrupted another firing on the same CPU.
- A firing without a free state block is counted in the control block.
- After a clause with a fault the clauses of ERROR run in another state block, so they change
  nothing of the firing.

The state map has LEVELS blocks for each CPU.  A firing takes the first that is not busy (the word
behind the block) and releases it at its end.  bpf_preempt_disable (Linux 6.10) keeps other tasks'
firings away, so that only interrupts nest.  On older kernels a firing takes a block with one
atomic exchange, since firings of other tasks can do so at any time.
"""

from __future__ import annotations

from pydtrace.bpf.helpers import (
    GET_ATTACH_COOKIE,
    GET_CURRENT_COMM,
    GET_CURRENT_PID_TGID,
    GET_CURRENT_UID_GID,
    GET_NS_CURRENT_PID_TGID,
    GET_SMP_PROCESSOR_ID,
    KTIME_GET_NS,
    MAP_LOOKUP_ELEM,
    PROBE_READ_KERNEL,
)
from pydtrace.bpf.insn import (
    PSEUDO_CALL,
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
    Insn,
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
from pydtrace.bpf.program_builder import CodeBuilder, Label
from pydtrace.engine import ERROR
from pydtrace.program import program as p

from .passes import (
    inline,
    predicate_hoist,
    process_filter,
    process_variables,
    record_trim,
    return_check,
    uregs,
    user_memory_writes,
)
from .passes.clause_analysis import (
    LIVE_FIELDS,
    EventFieldUse,
    can_fault,
    demanded_arguments,
    has_exit,
    reported_sizes,
)
from .passes.function_copies import Function, FunctionLibrary
from .probes import usdt_operands
from .probes.profile_timers import emit_arguments
from .probes.raw_tracepoints import FixedProbe
from .unwind import bpf_native_unwinder, bpf_python_unwinder, kernel_stacks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pydtrace.program.program import Program

    from .passes.string_size_maps import SizeSplitMap
    from .probes.raw_tracepoints import SyscallGroup
    from .probes.usdt_operands import Operand

    Callee = p.Clause | Function | None  # None: what fires ERROR
    CallSites = list[tuple[int, Callee]]  # (instruction, what it calls)

LEVELS = 4
# The control block: what the engine and the programs tell each other, in a map of one element.
CONTROL_ACTIVE = 0  # u64: probes fire; exit() clears it
CONTROL_DROPS = 8  # u64: firings that found no free state block
CONTROL_WALL = 16  # u64: what to add to the monotonic clock for walltimestamp
CONTROL_ZEROS = 24  # as many zeros as the this-> area has bytes
# An element of the names map, by probe id: the four names as the state block has them, then the bytes of the
# provider's stem, behind which a program writes the process id; NO_PID where none belongs there.
NAMES_SIZE = p.STATE_ARGS - p.STATE_PROBEPROV
NAMES_STEM, NO_PID = NAMES_SIZE, 0xFF
NAMES_VALUE = NAMES_SIZE + 8
_STEM_MAX = 48

_PIDS, _RAW = -32, -48  # where in the frame that leaves its answer, and what a raw tracepoint keeps
_PSEUDO_KFUNC = 2
_ANY_MEMORY = {
    112: 4,
    114: 45,
}  # probe_read_user, probe_read_user_str: what reads the kernel's as well, by the address
_FRAME = 9  # instructions of Emitter.emit_prologue(): find the state block, leave it in r6
_DIGITS = 10
_CALL, _EXIT = call(0).opcode, exit_()


class MapIndexes:
    """Where the engine put what the compiler knows nothing of: indexes of maps (syscalls: engine/kernel/probes/raw_tracepoints.py's table; sized: {map:
    sized.Sized}; allowed: of the processes that a policy allows, None without one; leaving: leaving.MAP).  busy: offset of the busy word in a state block; state_of_all: these
    blocks are too large for a per-CPU map, and one array has those of all CPUs; preempt: type ids of (bpf_preempt_disable, bpf_preempt_enable), or None; namespace: (device, inode) of the
    pid namespace whose numbers a program uses, or None for the machine's; walk: walk.Places, or None; family: that
    of a family.Family, or None."""

    __slots__ = (
        "allowed",
        "control",
        "names",
        "syscalls",
        "sized",
        "busy",
        "preempt",
        "namespace",
        "walk",
        "family",
        "leaving",
        "state_of_all",
    )

    def __init__(
        self,
        first: int,
        busy: int,
        preempt: tuple[int, int] | None,
        namespace: tuple[int, int] | None = None,
    ) -> None:
        """first: index of the first map that is not the program's."""
        self.control, self.names = first, first + 1
        self.syscalls: int | None = first + 2
        self.sized: Mapping[int, SizeSplitMap] = {}
        self.walk: bpf_python_unwinder.UnwinderIndexes | None = None
        self.allowed: int | None = None
        self.family: int | None = None
        self.leaving: int | None = None
        self.busy, self.preempt, self.namespace = busy, preempt, namespace
        self.state_of_all = False

    def emit_pids(self, g: CodeBuilder) -> None:
        """r0 = the running process's id in the upper half, its thread's in the lower; 0 for one of another namespace."""
        if self.namespace is None:
            g.emit(call(GET_CURRENT_PID_TGID))
            return
        device, inode = self.namespace
        g.emit(
            const(R1, device),
            const(R2, inode),
            mov(R3, R10),
            alu_imm("add", R3, _PIDS),
            mov_imm(R4, 8),
            call(GET_NS_CURRENT_PID_TGID),
            load(8, R0, R10, _PIDS),
        )


_WHEN = 64  # in the context of a probe that the engine fires itself: the timestamp, or 0


class ProgramEvent:
    """What differs between the programs of one clause set.  own: fired by the engine, which puts the probe's id into
    the context, else by a site, whose cookie it is; arguments: {index: (Operand, symbol's distance)}; pid: the only
    process to run for, or None; family: it runs for the processes of a family.Family alone; comm: for
    those of this name alone; never: processes not to run for; always: runs after exit() too; profile: the
    processor's name, where a timer fires it; raw: raw.Fixed or Calls, where a raw tracepoint does; leaves: (does, condition) of
    a returns.Point, where a function ends; enters: a function begins there."""

    __slots__ = (
        "self_fired",
        "arguments",
        "pid",
        "family",
        "comm",
        "excluded_pids",
        "runs_after_exit",
        "profile",
        "raw",
        "return_point",
        "at_entry",
    )

    def __init__(
        self,
        self_fired: bool = False,
        arguments: Mapping[int, tuple[Operand, int]] | None = None,
        pid: int | None = None,
        excluded_pids: Iterable[int] = (),
        runs_after_exit: bool = False,
        profile: str | None = None,
        raw: FixedProbe | SyscallGroup | None = None,
        family: bool = False,
        return_point: tuple[str, int] | None = None,
        comm: str | None = None,
        at_entry: bool = False,
    ) -> None:
        self.family, self.return_point, self.comm, self.at_entry = (
            family,
            return_point,
            comm,
            at_entry,
        )
        self.self_fired, self.arguments, self.pid = self_fired, dict(arguments or {}), pid
        self.excluded_pids, self.runs_after_exit, self.profile, self.raw = (
            tuple(excluded_pids),
            runs_after_exit,
            profile,
            raw,
        )


class Linker:
    """program: program.Program; maps: Maps; errors: indexes of the ERROR probe's clauses."""

    def __init__(self, program: Program, maps: MapIndexes, errors: Iterable[int] = ()) -> None:
        self.program, self.maps = program, maps
        self.errors = [program.clauses[index] for index in errors]
        self._clauses = EventFieldUse()
        self._library = FunctionLibrary()
        self.clause_starts: list[
            tuple[int, p.Clause]
        ] = []  # of the last link: (first instruction, clause)
        self.loop_starts: set[int] = (
            set()
        )  # of the last link: where the functions begin that its loops call
        self._python_unwinders = (
            bpf_python_unwinder.make_python_unwinders(maps.walk, program.stacks)
            if maps.walk
            else {}
        )
        self._native_unwinders = (
            bpf_native_unwinder.make_native_unwinders(maps.walk, program.stacks)
            if maps.walk
            else {}
        )
        self._kernel_reads = False  # in the last link: pointers may lead into the kernel
        self._late_fields: set[str] = (
            set()
        )  # in the last link: parts of the event that the routines that report fill in
        self._self_fired = False  # in the last link: the tracer fires the probe, in itself

    @property
    def _denies_reads(self) -> bool:
        """The tracer fires the probe in itself, which a policy does not allow to read."""
        return self._self_fired and self.maps.allowed is not None

    @property
    def has_loops(self) -> bool:
        """Whether the kernel itself calls what its loops call."""
        return self.maps.walk is not None and self.maps.walk.loops

    def link_clauses(
        self, indexes: Iterable[int], event: ProgramEvent, apart: bool = False
    ) -> list[Insn]:
        """The instructions for the clauses `indexes`, in this order.  apart: also a single clause is a function."""
        clauses = [self.program.clauses[index] for index in indexes]
        faulting = [clause for clause in clauses if self.errors and can_fault(clause.code)]
        g = CodeBuilder()
        self.loop_starts, self._self_fired = set(), event.self_fired
        out, left = Label("out"), Label("left")
        self._emit_prologue(g, event, clauses, left)
        if event.return_point and event.return_point[0] == return_check.MARK:
            g.place_label(left)
            g.emit(mov_imm(R0, 0), exit_())
            self.clause_starts = []
            return g.finish()
        calls: CallSites = []  # (instruction, clause, Function, or None for the ERROR probe)
        self._emit_event(g, event, clauses, self.errors if faulting else (), calls)
        reads_kernel = bool(event.raw and event.raw.kernel_reads) or bool(
            self.program.uses & {"thread", "kernel"}
        )
        self.clause_starts, self._kernel_reads = [], reads_kernel and self.maps.allowed is None
        run = self._emit_call if apart or len(clauses) > 1 else self._emit_inline
        for number, clause in enumerate(clauses):
            if clause in faulting:
                g.emit(store_imm(4, R7, p.STATE_FAULT, 0))
            if number and "wall" in self._clauses.fields_read(
                clause
            ):  # each clause's is later than that of the one before
                g.emit(call(KTIME_GET_NS))
                self._emit_wall_clock(g)
            run(g, clause, out, calls)
            if clause in faulting:
                self._emit_error_call(g, out, calls)
        g.place_label(out)
        g.emit(store_imm(8, R7, self.maps.busy, 0))
        self._emit_preempt(g, 1)
        g.place_label(left)
        g.emit(mov_imm(R0, 0), exit_())
        return self._append_functions(g.finish(), calls)

    def _emit_call(self, g: CodeBuilder, clause: p.Clause, out: Label, calls: CallSites) -> None:
        """Run a clause on the state block r7; to `out` after an exit() in it."""
        g.emit(mov(R1, R7))
        calls.append((len(g.insns), clause))
        g.emit(call_sub(0))
        self._emit_exit_check(g, clause, out)

    def _emit_inline(self, g: CodeBuilder, clause: p.Clause, out: Label, calls: CallSites) -> None:
        """As _call, the clause's code in its place: of the calls that a firing makes each counts."""
        g.emit(mov(R1, R7))
        ended, start = Label(), len(g.insns)
        code, more = self._make_function(clause, start)
        calls += [(start + place, each) for place, each in more]
        g.emit(*[ja(ended) if insn == _EXIT else insn for insn in code])
        g.place_label(ended)
        g.emit(mov(R7, R6))  # the clause's name for it
        self._emit_exit_check(g, clause, out)

    def _emit_exit_check(self, g: CodeBuilder, clause: p.Clause, out: Label) -> None:
        """To `out` after an exit() in the clause, whose value is in r0; no probe fires any more then."""
        if has_exit(clause):
            following = Label()
            g.emit(
                jump_imm("jeq", R0, 0, following),
                ld_map_value(R1, self.maps.control, CONTROL_ACTIVE),
                store_imm(8, R1, 0, 0),
                ja(out),
            )
            g.place_label(following)

    def _emit_error_call(self, g: CodeBuilder, out: Label, calls: CallSites) -> None:
        """Fire ERROR if the clause before left a fault in the state block; to `out` after an exit() in it.  What a commit()
        leaves there is shorter."""
        following = Label()
        g.emit(
            load(4, R1, R7, p.STATE_FAULT),
            jump_imm("jne", R1, p.FAULT_RECORD_SIZE, following),
            mov(R1, R7),
        )
        calls.append((len(g.insns), None))
        g.emit(call_sub(0), jump_imm("jne", R0, 0, out))
        g.place_label(following)

    def _append_functions(self, insns: list[Insn], calls: CallSites) -> list[Insn]:
        """Put the clauses' code behind, as functions that get the state block, and the ERROR probe's firing."""
        begun = {}
        calls = list(calls)
        for at, clause in calls:  # grows by what the ERROR probe's firing calls
            if clause not in begun:
                begun[clause] = len(insns)
                code, more = self._make_function(clause, len(insns))
                calls += [(len(insns) + place, each) for place, each in more]
                insns += code
            insns[at].imm = begun[clause] - at - 1
        return insns

    def _make_function(self, which: Callee, start: int) -> tuple[list[Insn], CallSites]:
        """The code of what is called, [(instruction in it, what it calls there)]."""
        calls: CallSites
        if which is None:
            code, calls = self._make_error_function()
        elif isinstance(which, bpf_python_unwinder.UserReadFunction):
            if isinstance(which, bpf_python_unwinder.LoopStep):
                self.loop_starts.add(start)
            return which.copy_instructions(), [*which.calls]
        elif isinstance(which, Function):
            code, calls = which.copy_instructions(), [*which.calls]
            if self._late_fields and reported_sizes(code):
                code = self._prepend_late_fields(code)
        else:
            self.clause_starts.append((start, which))
            code, packs = record_trim.call_trim(which, _drop_state_lookup(which.code))
            code, functions = self._library.split_functions(code, packs)
            if packs is not None:
                functions = [
                    *functions,
                    (packs, self._library.intern_function(record_trim.make_trim_function(which))),
                ]
            clause = inline.InlinedClause(code, functions, self.maps.sized, self.program.zeros[0])
            code, functions = user_memory_writes.guard_writes(
                clause.insns, clause.calls, self._self_fired, self._library, self.maps
            )
            calls = [*functions]
        if self._denies_reads:
            return process_filter.deny_user_reads(code), calls
        return _allow_kernel_reads(code) if self._kernel_reads else code, calls

    def _make_error_function(self) -> tuple[list[Insn], CallSites]:
        """A function that fires the ERROR probe: its instructions, and what they call.  Its argument: the state block
        of the firing in which the fault was.  Its value: whether one of the clauses called exit()."""
        g = CodeBuilder()
        calls: CallSites = []
        lost = Label("lost")
        g.emit(mov(R6, R1))
        self._emit_take_block(g, lost)
        g.emit(mov(R3, R6), mov(R1, R7), mov_imm(R2, p.STATE_ARGS), call(PROBE_READ_KERNEL))
        read = set().union(*[self._clauses.fields_read(clause) for clause in self.errors])
        fault, args = p.STATE_FAULT, p.STATE_ARGS
        g.emit(*[store_imm(8, R7, offset, 0) for offset in range(args, p.STATE_EVENT_END, 8)])
        for index, offset, size in (
            (1, p.STATE_PROBE, 4),
            (2, fault + p.RECORD_CLAUSE, 2),
            (3, fault + p.FAULT_PC, 4),
            (4, fault + p.FAULT_KIND, 4),
            (5, fault + p.FAULT_VALUE, 8),
        ):
            g.emit(load(size, R1, R6, offset), store(8, R7, args + 8 * index, R1))
        if self.program.uses & {"ppid", "errno"}:
            g.emit(load(8, R1, R6, p.STATE_PPID), store(8, R7, p.STATE_PPID, R1))  # both
        if "ancestors" in self.program.uses:
            for offset in range(p.STATE_ANCESTORS, p.STATE_EVENT_END, 8):
                g.emit(load(8, R1, R6, offset), store(8, R7, offset, R1))
        if "thread" in self.program.uses:
            g.emit(load(8, R1, R6, p.STATE_THREAD), store(8, R7, p.STATE_THREAD, R1))
        if "execargs" in self.program.uses:
            g.emit(
                mov(R3, R6),
                alu_imm("add", R3, p.STATE_EXECARGS),
                mov(R1, R7),
                alu_imm("add", R1, p.STATE_EXECARGS),
                mov_imm(R2, p.STATE_PROGRAM - p.STATE_EXECARGS),
                call(PROBE_READ_KERNEL),
            )
        for whose in set().union(*[clause.stacks for clause in self.errors]):
            offset, frames = self.program.stacks[whose]
            g.emit(
                mov(R3, R6),
                alu_imm("add", R3, offset),
                mov(R1, R7),
                alu_imm("add", R1, offset),
                mov_imm(R2, 8 + 8 * frames),
                call(PROBE_READ_KERNEL),
            )
        g.emit(mov_imm(R0, ERROR), store(4, R7, p.STATE_PROBE, R0))
        if "names" in read:
            self._emit_names(g)
        self._emit_zero_this(g)
        g.emit(mov_imm(R8, 0))
        for clause in self.errors:  # all of them, as in dtrace, also after an exit()
            following = Label()
            self._emit_call(g, clause, following, calls)
            g.place_label(following)
            g.emit(*[alu("or", R8, R0)] * has_exit(clause))
        g.emit(store_imm(8, R7, self.maps.busy, 0), mov(R0, R8), exit_())
        g.place_label(lost)
        self._emit_count_drop(g)
        g.emit(mov_imm(R0, 0), exit_())
        return g.finish(), calls

    # --- the frame ---------------------------------------------------------------------

    def _emit_prologue(
        self, g: CodeBuilder, event: ProgramEvent, clauses: Sequence[p.Clause], left: Label
    ) -> None:
        """r6 = the context, r7 = a state block of our own; else to `left`."""
        g.emit(mov(R6, R1))
        if not event.runs_after_exit:
            g.emit(
                ld_map_value(R1, self.maps.control, CONTROL_ACTIVE),
                load(8, R1, R1, 0),
                jump_imm("jeq", R1, 0, left),
            )
        if event.pid or event.excluded_pids or event.family:
            self.maps.emit_pids(g)
            g.emit(alu_imm("rsh", R0, 32))
            if event.family:
                assert self.maps.family is not None
                g.emit(
                    store(4, R10, -8, R0),
                    ld_map(R1, self.maps.family),
                    mov(R2, R10),
                    alu_imm("add", R2, -8),
                    call(MAP_LOOKUP_ELEM),
                    jump_imm("jeq", R0, 0, left),
                )
            if event.pid:
                g.emit(jump_imm("jne", R0, event.pid, left))
            g.emit(*[jump_imm("jeq", R0, pid, left) for pid in event.excluded_pids])
        if event.comm is not None:
            process_variables.emit_name_filter(g, event.comm, left)
        if self.maps.allowed is not None and not event.self_fired:
            process_filter.emit_filter(g, self.maps, left)
        if event.raw:
            g.emit(mov_imm(R8, 0))
            event.raw.emit_conditions(g, self.maps, left)
            g.emit(store(8, R10, _RAW, R8))
        if event.return_point:
            assert self.maps.leaving is not None
            return_check.emit_return_check(
                g, event.return_point, self.maps.leaving, left, self._emit_count_drop
            )
            if event.return_point[0] == return_check.MARK:
                return
        if not event.self_fired:
            is_site, another = not event.raw and not event.profile, event.raw and event.raw.subject
            predicate_hoist.emit_predicates(
                g,
                [clause.code for clause in clauses],
                _FRAME,
                event.arguments if is_site else None,
                None if another else self.maps.emit_pids,
                left,
            )
        if event.raw:
            g.emit(load(8, R8, R10, _RAW))
        self._emit_preempt(g, 0)
        lost, taken = Label(), Label()
        self._emit_take_block(g, lost)
        g.emit(ja(taken))
        g.place_label(lost)
        self._emit_count_drop(g)
        self._emit_preempt(g, 1)
        g.emit(ja(left))
        g.place_label(taken)

    def _emit_take_block(self, g: CodeBuilder, lost: Label) -> None:
        """r7 = a state block that is not busy, now ours; else to `lost`."""
        taken = Label()
        for level in range(LEVELS):
            following = Label() if level < LEVELS - 1 else lost
            if self.maps.state_of_all:
                g.emit(
                    call(GET_SMP_PROCESSOR_ID),
                    mov_imm(R1, LEVELS),
                    alu("mul", R0, R1),
                    alu_imm("add", R0, level),
                    store(8, R10, -8, R0),
                )
            else:
                g.emit(store_imm(8, R10, -8, level))
            g.emit(
                ld_map(R1, p.MAP_STATE),
                mov(R2, R10),
                alu_imm("add", R2, -8),
                call(MAP_LOOKUP_ELEM),
                jump_imm("jeq", R0, 0, lost),
            )
            if self.maps.preempt:
                g.emit(
                    load(8, R1, R0, self.maps.busy),
                    jump_imm("jne", R1, 0, following),
                    store_imm(8, R0, self.maps.busy, 1),
                )
            else:
                g.emit(
                    mov_imm(R1, 1),
                    atomic("atomic_xchg", R0, self.maps.busy, R1),
                    jump_imm("jne", R1, 0, following),
                )
            g.emit(ja(taken))
            if following is not lost:
                g.place_label(following)
        g.place_label(taken)
        g.emit(mov(R7, R0))

    def _emit_count_drop(self, g: CodeBuilder) -> None:
        g.emit(
            ld_map_value(R1, self.maps.control, CONTROL_DROPS),
            mov_imm(R2, 1),
            atomic("atomic_add", R1, 0, R2),
        )

    def _emit_preempt(self, g: CodeBuilder, which: int) -> None:
        if self.maps.preempt:
            g.emit(Insn(call(0).opcode, 0, _PSEUDO_KFUNC, 0, self.maps.preempt[which]))

    # --- the event -----------------------------------------------------------------------

    def _emit_event(
        self,
        g: CodeBuilder,
        event: ProgramEvent,
        clauses: Sequence[p.Clause],
        errors: Sequence[p.Clause],
        calls: CallSites,
    ) -> None:
        reads = self._divide_fields(event, (*clauses, *errors))
        self._emit_live_fields(g, reads)
        if "wall" in reads:
            g.emit(load(8, R0, R7, p.STATE_TIME))
            self._emit_wall_clock(g)
        if "probe" in reads or "names" in reads:
            self._emit_probe_id(g, event)
            g.emit(store(4, R7, p.STATE_PROBE, R0))
        if "names" in reads:
            self._emit_names(g)
        if "uid" in reads:
            g.emit(
                call(GET_CURRENT_UID_GID),
                store(4, R7, p.STATE_UID, R0),
                alu_imm("rsh", R0, 32),
                store(4, R7, p.STATE_GID, R0),
            )
        if "execname" in reads:
            g.emit(
                mov(R1, R7),
                alu_imm("add", R1, p.STATE_EXECNAME),
                mov_imm(R2, 16),
                call(GET_CURRENT_COMM),
            )
        if event.raw and event.raw.subject:
            event.raw.emit_subject(g, reads)
        wanted = set().union(*[clause.stacks for clause in (*clauses, *errors)])
        another = (
            event.raw and event.raw.subject
        )  # the words would be named by its process, and are of the one that runs
        if "registers" in wanted:
            uregs.emit_uregs(g, *self.program.stacks["registers"])
        walks, unwinds = (
            ({}, {})
            if event.self_fired or another
            else (self._python_unwinders, self._native_unwinders)
        )
        if self._denies_reads:
            g.emit(
                *[
                    store_imm(8, R7, self.program.stacks[whose][0], 0)
                    for whose in wanted - {"registers"}
                ]
            )
        else:
            kernel_stacks.emit_stacks(
                g,
                self.program.stacks,
                wanted - {"registers"},
                walks,
                unwinds,
                calls,
                bpf_native_unwinder.AT_END
                if event.return_point
                else bpf_native_unwinder.AT_BEGINNING
                if event.at_entry
                else 0,
            )
        self._emit_process(g, event)
        self._emit_arguments(g, event, demanded_arguments(clauses))
        self._emit_zero_this(g)

    def _emit_wall_clock(self, g: CodeBuilder) -> None:
        """walltimestamp, of the monotonic clock's r0."""
        g.emit(
            ld_map_value(R1, self.maps.control, CONTROL_WALL),
            load(8, R1, R1, 0),
            alu("add", R1, R0),
            store(8, R7, p.STATE_WALL, R1),
        )

    def _divide_fields(self, event: ProgramEvent, clauses: Sequence[p.Clause]) -> set[str]:
        """What to fill in for the clauses: a set of names of _FIELDS.  What only the routines read that report a fault or a
        commit(), and can find out themselves, is left to them: self._late_fields."""
        reads, late = (
            set().union(*[each(clause) for clause in clauses])
            for each in (self._clauses.fields_read, self._clauses.fields_reported)
        )
        if "wall" in reads:
            reads.add("time")
        another = (
            event.raw is not None and event.raw.subject is not None
        )  # what is filled in is not of the running task
        self._late_fields = set() if another or event.self_fired else (late - reads) & LIVE_FIELDS
        return reads | late - self._late_fields

    def _emit_live_fields(self, g: CodeBuilder, names: set[str]) -> None:
        """The parts of the event, of `names`, that are so while the firing lasts."""
        if "time" in names:
            now = Label()
            g.emit(call(KTIME_GET_NS))
            if self._self_fired:
                g.emit(load(8, R1, R6, _WHEN), jump_imm("jeq", R1, 0, now), mov(R0, R1))
            g.place_label(now)
            g.emit(store(8, R7, p.STATE_TIME, R0))
        if "cpu" in names:
            g.emit(call(GET_SMP_PROCESSOR_ID), store(4, R7, p.STATE_CPU, R0))
        if "pid" in names:
            self.maps.emit_pids(g)
            g.emit(
                store(4, R7, p.STATE_TID, R0), alu_imm("rsh", R0, 32), store(4, R7, p.STATE_PID, R0)
            )

    def _prepend_late_fields(self, insns: list[Insn]) -> list[Insn]:
        """A routine that reports, its arguments r1 … r5, filling in first what nobody needed before."""
        g = CodeBuilder()
        g.emit(mov(R6, R2), mov(R7, R1), mov(R8, R3), mov(R9, R4), store(8, R10, -8, R5))
        self._emit_live_fields(g, self._late_fields)
        g.emit(mov(R1, R7), mov(R2, R6), mov(R3, R8), mov(R4, R9), load(8, R5, R10, -8))
        return g.finish() + insns

    def _emit_process(self, g: CodeBuilder, event: ProgramEvent) -> None:
        """What only some programs ask about the process."""
        uses, another = (
            self.program.uses,
            event.raw.emit_task
            if isinstance(event.raw, FixedProbe) and event.raw.subject
            else None,
        )
        emit_task = another or process_variables.emit_running
        if "ppid" in uses:
            process_variables.emit_parent(g, emit_task)
        if "ancestors" in uses:
            process_variables.emit_ancestors(g, emit_task)
        if "errno" in uses:
            g.emit(store_imm(4, R7, p.STATE_ERRNO, 0))
            if event.raw:
                event.raw.emit_error(g)
        if "thread" in uses:
            process_variables.emit_thread(g, emit_task)
        if "execargs" in uses:
            process_variables.emit_arguments(
                g, process_variables.emit_no_task if another or self._denies_reads else emit_task
            )

    @staticmethod
    def _emit_probe_id(g: CodeBuilder, event: ProgramEvent) -> None:
        """r0 = the probe's id."""
        if event.raw:
            event.raw.emit_ident(g)
        else:
            g.emit(
                load(8, R0, R6, 0) if event.self_fired else (mov(R1, R6), call(GET_ATTACH_COOKIE))
            )

    @staticmethod
    def _emit_arguments(g: CodeBuilder, event: ProgramEvent, wanted: list[int]) -> None:
        if event.raw and wanted:
            g.emit(load(8, R8, R10, _RAW))  # what was filled in before may have used it
        for index in wanted:
            operand, distance = event.arguments.get(index, (usdt_operands.ABSENT, 0))
            offset = p.STATE_ARGS + 8 * index
            if event.raw:
                event.raw.emit_argument(g, index, offset)
            else:
                usdt_operands.emit_operand(g, operand, R6, R7, offset, distance)
        if event.profile and wanted:
            emit_arguments(g, event.profile)

    def _emit_zero_this(self, g: CodeBuilder) -> None:
        offset, size = self.program.this_area
        if size <= 128:
            g.emit(*[store_imm(8, R7, offset + i, 0) for i in range(0, size, 8)])
        else:
            g.emit(
                ld_map_value(R3, self.maps.control, CONTROL_ZEROS),
                mov(R1, R7),
                alu_imm("add", R1, offset),
                mov_imm(R2, size),
                call(PROBE_READ_KERNEL),
            )

    def _emit_names(self, g: CodeBuilder) -> None:
        """Copy the names of probe id r0; write the process id behind the provider's stem."""
        done = Label()
        g.emit(
            store(4, R10, -8, R0),
            ld_map(R1, self.maps.names),
            mov(R2, R10),
            alu_imm("add", R2, -8),
            call(MAP_LOOKUP_ELEM),
            jump_imm("jeq", R0, 0, done),
            mov(R9, R0),
            mov(R3, R0),
            mov(R1, R7),
            alu_imm("add", R1, p.STATE_PROBEPROV),
            mov_imm(R2, NAMES_SIZE),
            call(PROBE_READ_KERNEL),
            load(8, R9, R9, NAMES_STEM),
            jump_imm("jgt", R9, _STEM_MAX, done),
        )
        self.maps.emit_pids(g)
        g.emit(alu_imm("rsh", R0, 32))
        # the digits, the last first, into the stack; r1 = how many
        g.emit(mov_imm(R1, 0))
        counted = Label()
        for i in range(_DIGITS):
            g.emit(
                mov(R2, R0),
                alu_imm("mod", R2, 10),
                alu_imm("add", R2, 48),
                store(1, R10, -16 - i, R2),
                alu_imm("div", R0, 10),
                mov_imm(R1, i + 1),
                jump_imm("jeq", R0, 0, counted),
            )
        g.place_label(counted)
        g.emit(mov(R3, R7), alu("add", R3, R9), alu_imm("add", R3, p.STATE_PROBEPROV))
        for i in range(_DIGITS):  # digit i - 1 from the right is there if there are i
            skip = Label()
            g.emit(
                jump_imm("jlt", R1, _DIGITS - i, skip),
                load(1, R2, R10, -16 - (_DIGITS - i - 1)),
                store(1, R3, 0, R2),
                alu_imm("add", R3, 1),
            )
            g.place_label(skip)
        g.place_label(done)


def _drop_state_lookup(code: list[Insn]) -> list[Insn]:
    """A clause's code with the state block's lookup replaced: it comes in r1."""
    assert (
        code[8] == mov(R6, R0) and code[5] == call(MAP_LOOKUP_ELEM) and code[6].src != PSEUDO_CALL
    ), "not a clause's frame"
    nothing = [
        ja(0) for _ in range(4)
    ]  # as many instructions as before, so that places in the source stay right
    copies = [Insn(i.opcode, i.dst, i.src, i.off, i.imm) for i in code[_FRAME:]]
    return [code[0], mov(R0, R1), *nothing, code[6], code[7], code[8], *copies]


def _allow_kernel_reads(code: list[Insn]) -> list[Insn]:
    """A function's code with reads of a process's memory replaced by such as follow the kernel's pointers, too."""
    for insn in code:
        if insn.opcode == _CALL and not insn.src:
            insn.imm = _ANY_MEMORY.get(insn.imm, insn.imm)
    return code
