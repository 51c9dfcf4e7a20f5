"""The interface of engines, which collect the events that a compiled D program asks for.

The driver calls an engine in this order:
    engine = Engine(program, options)      load the program: maps, clauses
    engine.open(targets)                   find the probes; none is enabled yet
    engine.matched                         how many probes each description matches
    engine.begin()                         fire BEGIN, then enable the probes
    engine.poll(timeout) -> records        until engine.exiting or engine.finished
    engine.end()                           disable the probes, run what was fired before, fire END
    engine.drain_end() -> records          what end() left for later, until it returns none
    engine.take_records(), engine.items()  at any time in between
    engine.close()                         undo everything; allowed at any time, and twice

Records are bytes in the layout of program/program.py; the caller formats them.
"""

from __future__ import annotations

import time

from pydtrace.process.identity import existed_at, is_alive
from pydtrace.process.identity import (
    start_ticks as begun_at,  # a module of this package is called ticks
)
from pydtrace.program.trace_clock import Clock
from pydtrace.suggestions import append_hint
from pydtrace.untrusted.terminal_escape import escape_for_terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any, Protocol

    from pydtrace.process import maps
    from pydtrace.process.command import Command
    from pydtrace.program.program import Program

    class ProbeDesc(Protocol):
        """A probe description, as dlang.ast has it; the engines do not import the compiler."""

        provider: str
        module: str
        function: str
        name: str
        loc: Any


DTRACE_PROBES = ("BEGIN", "END", "ERROR")  # of the provider dtrace, on every engine
BEGIN, END, ERROR = 1, 2, 3  # their ids
_QUIET_TIME = 0.05  # s in which what was fired has come
BUILTIN_PROVIDERS = (
    "pyusdt",
    "erlang",
)  # of the Python module and of the NIF; the process id follows


class EngineError(Exception):
    """The host, the target or the user's rights do not allow the tracing. `str()` of it is a line for the user,
    followed by a line with a hint if there is one."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(escape_for_terminal(message))
        self.hint = hint and escape_for_terminal(hint)

    def __str__(self) -> str:
        return append_hint(self.reason, self.hint)

    @property
    def reason(self) -> str:
        """The message without its hint, for a caller that goes on in another way."""
        return str(self.args[0])


class NoSuchProcess(EngineError):
    """Of the processes that were named, this one is not there; the words are dtrace's, which names no process."""

    MESSAGE = "No such process"

    def __init__(self, pid: int) -> None:
        Exception.__init__(self, pid)  # what pickle makes another one of
        self.hint = None
        self.pid = pid

    def __str__(self) -> str:
        return self.reason

    @property
    def reason(self) -> str:
        return f"{self.MESSAGE}: {self.pid}"


class TooLarge(EngineError):
    """The script's data need more memory than there may be; no other engine is tried."""


class NotAllowed(EngineError):
    """A policy does not allow what the script reads; no other engine is tried."""


def no_such_process(pids: Sequence[int]) -> NoSuchProcess:
    """The error for processes of which one is not there: it names the first."""
    return NoSuchProcess(next((pid for pid in pids if not is_alive(pid)), pids[0]))


class NoPyusdt(EngineError):
    """There is nothing of pyusdt in what is to be traced."""

    ADVICE = (
        "a Python program has probes after `import pyusdt` (--wait PID waits for that), an Erlang node after it loads the NIF;"
        " root can trace any other program (see `pyusdt help kernel`)"
    )

    def __init__(self, reason: str, advice: str = ADVICE) -> None:
        super().__init__(reason, advice)


class Targets:
    """What to trace.  pids: processes that run; command: process.command.Command that waits for go(), or
    None; neither: every process of the user, those to come as well.  only: no other process is traced; else the
    probe descriptions tell: pyusdt$target is one process, pyusdt* all, forked children and unrelated processes as well.
    allowed: {pid: when it began, as identity.start_ticks() says} of these processes where a policy bounds what is read: no
    probe fires in another process, whatever its provider, and nothing but their own memory is read; None: no policy.
    children: with `only`, the descendants of those that were named are traced, too."""

    __slots__ = ("allowed", "children", "command", "only", "pids")

    def __init__(
        self,
        pids: Iterable[int] = (),
        command: Command | None = None,
        only: bool = False,
        allowed: Mapping[int, int] | None = None,
        children: bool = False,
    ) -> None:
        self.pids, self.command, self.only, self.allowed = (
            tuple(pids),
            command,
            only or allowed is not None,
            allowed,
        )
        self.children = children

    def check_identity(self) -> None:
        """Raise NotAllowed where another process has the id of an allowed one now."""
        for pid, began in (self.allowed or {}).items():
            if begun_at(pid) not in (began, None):
                raise NotAllowed(
                    f"process {pid}, which a policy allows, has ended, and another process has its id"
                )

    def named_pids(self) -> tuple[int, ...]:
        """The pids of the processes that were named."""
        return (*self.pids, self.command.pid) if self.command else self.pids

    def include_unnamed(self, providers: Iterable[str]) -> bool:
        """Whether processes that nobody named are traced: none was named, or one of the providers stands for others' as well."""
        return not self.named_pids() or (
            not self.only and not all(map(self.cover_provider, providers))
        )

    def cover_provider(self, provider: str) -> bool:
        """Whether no other process can have a provider that matches: it ends with the pid of one of these."""
        digits = provider[len(provider.rstrip("0123456789")) :]
        return (
            bool(digits)
            and int(digits) in self.named_pids()
            and not any(glob in provider for glob in "*?[")
        )


class Engine(Clock):
    """The interface.  program: dlang.program.Program; options: {name: value} of -x and pragmas, in the
    units of options.py."""

    name = ""
    reports_other_users_at_once = (
        False  # messages about other users' processes do not wait for the end
    )
    has_fault_locations = True  # a fault's record says which instruction of which clause it was
    changes_only_when_polled = (
        False  # nothing is added to an aggregation but in poll(), end() and drain_end()
    )
    cpu: int | None = None  # the one that runs the clauses, where it is one
    has_parts = False  # an aggregation has a part for each CPU

    def __init__(self, program: Program, options: Mapping[str, Any]) -> None:
        if options.get("aggpercpu") and not self.has_parts:
            raise EngineError(
                "-x aggpercpu needs -x engine=kernel: elsewhere an aggregation has one part, whichever CPU its events come "
                "from"
            )
        self.program, self.options = program, options
        self.startup_notices: list[str] = []  # messages for the user before tracing starts
        self.matched: list[
            tuple[Any, int]
        ] = []  # (ast.ProbeDesc, number of probes), in the order of the source, after open()
        self.no_probe_reason: str | None = (
            None  # why pyusdt's own probes match none, where that is known
        )
        self.function_sizes: dict[Any, int] | None = (
            None  # {description of the pid provider: bytes of its function}; None: nobody looked
        )
        self.kernel_refusal: str | None = (
            None  # why the kernel engine, which was asked for more probes, has none
        )
        self.clauses_run_in_batches: list[
            Any
        ] = []  # those that run once for many events of a probe
        self.clauses_counted_in_target: list[
            Any
        ] = []  # the program.Clauses that traced processes count by themselves, without events
        self.consumers_text = (
            "each processor runs the clauses of its own events"  # who runs them, for people
        )
        self.pending_descriptions: list[
            Any
        ] = []  # those of the descriptions without a probe that are not refused: their process may come

    def report_attach_progress(self, done: int, total: int) -> None:
        """So many probes of those that are to be attached to are; whoever shows progress puts a function in its place."""

    def set_wall_offset(self, offset: int) -> None:
        """From now on walltimestamp is an event's time and this (ns), where the clauses run here and on no kernel's events."""

    def existed_at(self, pid: int, when: int) -> bool:
        """Whether the process that has this id now is the one that the record of that time is of: it was there then."""
        return existed_at(pid, when)

    def open(self, targets: Targets) -> None:
        """Find targets and probes.  Raises EngineError."""
        raise NotImplementedError

    def find_hint(self, description: Any) -> str | None:
        """Why no probe matches a description, where that is known."""
        return (
            self.no_probe_reason
            if description.provider.startswith((*BUILTIN_PROVIDERS, "python"))
            else None
        )

    def set_formatter(self, formatter: Any) -> None:
        """Whoever takes the records does nothing but print them by this _tracer.Formatter: some may come as text that it has made
        (RECORD_TEXT of program/program.py)."""

    def begin(self) -> None:
        """Fire BEGIN, then enable the probes (unless BEGIN called exit())."""
        raise NotImplementedError

    def poll(self, timeout: float) -> bytes:
        """Wait at most `timeout` seconds for events, run the clauses on them, and give the records that
        came of it (bytes, maybe none)."""
        raise NotImplementedError

    def catch_up(self, seconds: float) -> Iterator[bytes]:
        """Records until all that was fired before this call has been seen, or so many seconds have passed.  (Where the engine can not
        tell, until nothing has come for a moment.)"""
        deadline = time.monotonic() + seconds
        while not self.exiting and time.monotonic() < deadline:
            records = self.poll(_QUIET_TIME)
            yield records
            if not records:
                return

    def end(self) -> bytes:
        """Disable the probes, run what was fired before, fire END; gives the records, the first of them where there are many."""
        raise NotImplementedError

    def drain_end(self) -> bytes:
        """Records that end() had to leave for later, since those before them read aggregations or are many: call it until it
        gives none."""
        return b""

    def close(self) -> None:
        raise NotImplementedError

    @property
    def exiting(self) -> bool:
        """A clause called exit()."""
        raise NotImplementedError

    @property
    def finished(self) -> bool:
        """The traced command or all traced processes have ended."""
        raise NotImplementedError

    def probe(self, ident: int) -> tuple[str, ...]:
        """(provider, module, function, name) of a probe id in a record."""
        raise NotImplementedError

    def items(self, map_index: int) -> list[tuple[bytes, bytes]]:
        """[(key, value)] of a map of the program, as bytes: an aggregation's data."""
        raise NotImplementedError

    def parts(self, map_index: int) -> list[tuple[int, list[tuple[bytes, bytes]]]]:
        """[(CPU, items() of what fired there)], of each that is online, where the engine has_parts."""
        raise NotImplementedError

    def clear(self, map_index: int) -> None:
        """Zero all values of an aggregation's map; its keys stay."""
        raise NotImplementedError

    def remove(self, map_index: int, keys: list[bytes]) -> None:
        """Take elements out of an aggregation's map; keys: as items() has them."""
        raise NotImplementedError

    def warnings(self) -> list[str]:
        """Messages for the user since the last call: texts, one line each."""
        return []

    def maps_of(self, pid: int) -> Sequence[str]:
        """What /proc/PID/maps of a traced process said of its code when it was last looked at: lines, none if it never was."""
        return ()

    def details(self) -> list[str]:
        """What -v tells at the end of a tracing: texts, one line each."""
        return []

    def programs_time(self) -> float:
        """Seconds that programs of this engine have taken in traced processes, where the option programstime wants that counted."""
        return 0.0

    def work_by_user(self) -> dict[int, tuple[int, float]]:
        """{uid: (work for the events of his processes, in units that compare users; seconds for his processes that come and go)} so
        far; {}: this tracing does not tell users apart, or was asked for the processes that it traces by their names."""
        return {}

    def stop_tracing_user(self, uid: int) -> None:
        """Trace this user's processes no more.  Only users that work_by_user() has."""
        raise NotImplementedError

    needs_sampler = False  # it has profile-n by reading processes from outside, with
    sampler: Any = None  # a driver.profile_samples.Samples, which is given to it
    sampled_frames = 0  # of these stacks
    needs_tasks = False  # and who works there

    def intern_frame(self, text: str) -> int:
        """A frame of theirs, as the clauses see it."""
        raise NotImplementedError

    needs_interpreters = False  # its programs walk the stacks of interpreters, with
    interpreters: Any = None  # a driver.python_frame_names.Interpreters, which is given to it
    has_pthread_ids = False  # by pthread_self()

    def name_of(self, pid: int, address: int) -> str | None:
        """What the engine itself calls an address of a stack or symbol of a process; None: the process's files tell it."""
        return None

    def code_of(self, address: int) -> tuple[maps.Mapping | None, int] | None:
        """What a word that stands for a native frame is: a file and the offset in it, or None and an address; None: it is no such
        word."""
        return None

    def drop_cpu(self, kind: str) -> int | None:
        """The CPU on which what drops() says of that kind was lost, where it was one.  A ring belongs to a process."""
        return self.cpu if kind == "aggregation" else None

    def drop_advice(self, kind: str) -> str | None:
        """What helps against these drops, if it is something else than usual."""
        return None

    def count_truncated_strings(self) -> tuple[int, int]:
        """(strings that were cut to strsize, strings as long as an event holds at most, which may be cut)"""
        return 0, 0

    def drops(self) -> dict[str, int]:
        """{kind: number of events or records lost} so far; kinds: "principal", "order"."""
        raise NotImplementedError
