"""The consumer API: trace processes with a D script and get what it records as Python objects.

    with pyusdt.trace('pyusdt*:::user_trace-i4s4 { printf("n=%d", arg2); @[arg2] = count(); }', pid=1234) as t:
        for rec in t:
            print(rec.probe.name, rec.time, rec["n"])
        print(t.aggregations[""])

Records come in the order of time; aggregations are snapshots.

- The end of the block disables the probes and fires END. What was recorded by then can still be
  read.
- At most `buffer` records wait between the engine and the reader. If the reader is too slow the
  rings fill; what they lose is counted in `drops` and warned of.
- One thread does all that uses the engine.
"""

from __future__ import annotations

import os
import shlex
import warnings
from collections import deque
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pydtrace._tracer import glob
from pydtrace.dlang import host_placement as many
from pydtrace.dlang.compile import Compiler, default_macros
from pydtrace.dlang.compile_errors import CompileError
from pydtrace.driver.driver import Driver
from pydtrace.engine import EngineError, Targets, no_such_process, probe_signatures
from pydtrace.engine.kernel.kernel_structs import KernelBtf
from pydtrace.hosts import placement, request
from pydtrace.process.identity import is_alive
from pydtrace.program.builtin_probe_args import USER_TRACE_NAMES
from pydtrace.results.aggregations import Aggregation
from pydtrace.results.records import record_layout
from pydtrace.unpatched_threads import is_patched
from pyusdt._core import publish_forked, vm_apply_demand

from . import watch_clauses
from .record_queue import DriverThread, RecordQueue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from typing_extensions import Self, Unpack

    from pydtrace.program.program import AggDef
    from pydtrace.results.records import Record
    from pydtrace.sinks.metrics.prometheus_model import Collector, MetricSnapshot

    from .trace_keywords import OptionKeywords, TraceKeywords

    class Block:
        """What _tracer's says of itself to type checkers."""

        _pump: DriverThread | None

        def __enter__(self) -> Self: ...

        def __exit__(self, *exception: object) -> None: ...

        def __iter__(self) -> Self: ...

        def __next__(self) -> Record: ...
else:
    from pydtrace._tracer import Block

__all__ = [
    "Aggregations",
    "CompileError",
    "EngineError",
    "TraceWarning",
    "Tracing",
    "trace",
    "watch",
]

_LIST_HINT = "`pydtrace -l` lists the probes; zdefs=True waits for probes to come"
_PATCHED_REASON = "gevent or eventlet has patched the files, pipes and processes of this program"
_STOP_TIMEOUT = 2.0  # s that a command may take to end
_MAX_FAULTS = 1000  # texts that are kept
_DROP_HINTS = {  # by the kind of loss
    "principal": "take records faster, or ask for less or more bufsize",
    "order": "they came after younger ones; a larger orderlag waits longer",
    "aggregation": "the aggregation has no room for more keys; ask for fewer or more aggsize",
    "dynamic": "there is no room for more self-> variables and elements of arrays; assign 0 to those that are done, or ask for more dynvarsize",
    "speculation": "there was no free speculation; commit or discard sooner, or ask for more nspec",
    "speculative": "a speculation was full; ask for more specsize",
}
_UNNAMED = "_"  # how D calls the aggregation @


class TraceWarning(UserWarning):
    """A warning that events were lost or that something failed. The tracing goes on."""


class Notices:
    """What a tracing has to say: kept, and the first of each kind warned of.  Apart from the Tracing, which has to be free to go while
    its thread runs."""

    def __init__(self) -> None:
        self.faults: deque[str] = deque(maxlen=_MAX_FAULTS)
        self._warned: set[str] = set()

    def add_fault(self, text: str) -> None:
        """A run-time error of the script, or what became of a host; called in the thread that traces."""
        self.faults.append(text)
        self.warn_once("faults", text)

    def warn_once(self, kind: str, text: str) -> None:
        """Once for each kind: the counters tell the rest."""
        if kind not in self._warned:
            self._warned.add(kind)
            warnings.warn(text, TraceWarning, stacklevel=5)


class Aggregations(Mapping[str, Aggregation]):
    """The script's aggregations by name, without the @ ("" is the one that is only called @).  Each look is a
    snapshot of that moment, or of the end of tracing if that is over."""

    def __init__(
        self, program: Any, read: Callable[[AggDef], Aggregation], clear: Callable[[AggDef], None]
    ) -> None:
        self._definitions = {definition.name: definition for definition in program.aggregations}
        self._read, self._clear = read, clear

    def _definition(self, name: str) -> AggDef:
        definition: AggDef | None = self._definitions.get(name or _UNNAMED)
        if definition is None:
            raise KeyError(
                f"@{name}: the script has {', '.join(f'@{each}' for each in self._definitions) or 'none'}"
            )
        return definition

    def __getitem__(self, name: str) -> Aggregation:
        return self._read(self._definition(name))

    def clear(self, name: str) -> None:
        """Zero an aggregation's values, as D's clear() does: its keys stay.  RuntimeError where tracing is over."""
        self._clear(self._definition(name))

    def __iter__(self) -> Iterator[str]:
        return ("" if name == _UNNAMED else name for name in self._definitions)

    def __len__(self) -> int:
        return len(self._definitions)

    def __repr__(self) -> str:
        return f"<aggregations: {', '.join(f'@{each}' for each in self._definitions) or 'none'}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled, they are a dict of the snapshots of this moment."""
        return dict, ({name: self[name] for name in self},)


def trace(
    script: str | os.PathLike[str],
    *arguments: object,
    pid: int | Iterable[int] | None = None,
    cmd: str | Iterable[str] | None = None,
    all: bool = False,
    hosts: str | Iterable[str] | None = None,
    via: str | None = None,
    relay: str | Iterable[str] | None = None,
    engine: str = "auto",
    buffer: int = 100_000,
    record: str | os.PathLike[str] | None = None,
    replay: str | os.PathLike[str] | None = None,
    keep: str | None = None,
    on_record: Callable[[Record], object] | None = None,
    **options: Unpack[OptionKeywords],
) -> Tracing:
    """Trace processes with a D script while a `with` block runs.

    - script: the text of a script, or its path as a pathlib.Path; arguments: the script's $1, $2 …
    - Exactly one of pid, cmd and all says what to trace. pid: a process id or several. cmd: a command, as a list of words or as a line
      with shell quotes; it is started with the block and ended with it. all=True: all processes of this user, also later ones.
    - engine: "auto", "embedded", "kernel" or "dtrace".
    - buffer: how many records may wait for their reader.
    - options: dtrace's -x options as keywords, for example strsize=64, bufsize="4m", zdefs=True.
    - hosts: trace on other hosts, as `pydtrace --hosts` does: "web[1-40],db1" or a list of names. pid, cmd and all then apply to each host.
      via: the command that reaches a host, by default "ssh -T {host}". relay: hosts that reach the others. Lost hosts are in `faults`.
    - record: a file that also receives the events. replay: trace the events of such a file instead of processes.
    - keep: "NAME[,TIME[,SIZE]]", with all=True: a session of that name goes on after the block. The next trace() with the name resumes it.
    - on_record: a function that receives each record, in the thread that traces; records are then not kept. If it raises an exception,
      the tracing ends.

    Raises CompileError if the script is wrong and ValueError or TypeError if an argument is wrong. Entering the block raises
    EngineError if the host, the target or the user's rights do not allow the tracing.
    """
    wanted = (
        _check_targets(pid, cmd, all)
        if replay is None
        else _check_replay(pid, cmd, all, record, keep, hosts)
    )
    if hosts is not None:
        wanted |= {"hosts": _join_names(hosts), "via": via, "relay": _join_names(relay)}
    elif via is not None or relay is not None:
        raise TypeError("via and relay are how hosts are reached: name hosts")
    if keep is not None and (not all or hosts is not None):
        raise TypeError("keep is for all processes of this host: it needs all=True")
    files = {"record": record, "replay": replay, "keep": keep}
    return Tracing(script, arguments, wanted, engine, buffer, options, files, on_record)


def _check_replay(*given: object) -> dict[str, Any]:
    if any(each is not None and each is not False for each in given):
        raise TypeError("replay traces nothing: it takes no pid, cmd, all, record, keep and hosts")
    return {"pids": ()}


def _join_names(names: str | Iterable[str] | None) -> str | None:
    return names if names is None or isinstance(names, str) else ",".join(names)


def watch(*probes: str, where: str | None = None, **more: Unpack[TraceKeywords]) -> Tracing:
    """Trace probes without a script. Each firing gives a record with the probe's arguments.

    - probes: names or descriptions (provider:module:function:name), which may contain globs; where: a predicate in D.
    - The values of pyusdt's own probes are called proc, user_tag, i1 to i4 and s1 to s4, or message for user_trace-s1. An absent string
      is "".
    - The values of other probes of the processes in `pid` have their declared names. The values of probes that exist only later are
      called arg0 to arg9.
    - Without pid, cmd and all it traces all processes of this user. All other keywords are those of trace().
    """
    if not probes:
        raise TypeError("name a probe")
    if more.get("pid") is None and more.get("cmd") is None and more.get("replay") is None:
        more["all"] = True
    if more.get("all"):
        more.setdefault("zdefs", True)
    clauses = watch_clauses.make_clauses(probes, more.get("pid"))
    if any(each.is_typed for each in clauses):
        more.setdefault("pyusdt", True)
    text = "\n".join(
        f"{each.description}{_format_predicate(each.unless, where)} {{ {each.body or _format_body(each.description)} }}"
        for each in clauses
    )
    return trace(text, **more)


def _format_predicate(unless: str, where: str | None) -> str:
    conditions = [f"({where})"] if where and unless else [where] if where else []
    conditions += [f'probename != "{unless}"'] if unless else []
    return f" /{' && '.join(conditions)}/" if conditions else ""


def _format_body(description: str) -> str:
    """Actions that record all arguments of a probe that tells nothing of them."""
    name = description.rpartition(":")[2]
    if name == "user_trace-s1":
        return 'printf("message=%s", arg0 ? copyinstr(arg0) : "");'
    if not name.startswith("user_trace-"):
        return "".join(f"trace(arg{i}); " for i in range(10))
    strings = [i for i, label in enumerate(USER_TRACE_NAMES) if not label.startswith("i")]
    fmt = " ".join(
        f"{label}=%{'s' if i in strings else 'd'}" for i, label in enumerate(USER_TRACE_NAMES)
    )
    values = [f'arg{i} ? copyinstr(arg{i}) : ""' if i in strings else f"arg{i}" for i in range(10)]
    return f'printf("{fmt}", {", ".join(values)});'


def _check_targets(
    pid: int | Iterable[int] | None, cmd: str | Iterable[str] | None, everything: bool
) -> dict[str, Any]:
    """What was asked for, checked: {"pids": …} or {"cmd": …}."""
    if (pid is not None) + (cmd is not None) + bool(everything) != 1:
        raise TypeError("name what to trace: exactly one of pid, cmd and all=True")
    if cmd is not None:
        words = shlex.split(cmd) if isinstance(cmd, str) else [os.fspath(word) for word in cmd]
        if not words:
            raise ValueError("cmd is empty")
        return {"cmd": words}
    pids = () if pid is None else (pid,) if isinstance(pid, int) else tuple(pid)
    if pid is not None and not pids:
        raise ValueError("pid is empty")
    return {"pids": pids}


class Tracing(Block):
    """A tracing session, made by trace() or watch(): a context manager, and an iterator over its records (Record).

    `faults` has the run-time errors of the script and the news of hosts, as text: the last thousand.
    """

    def __init__(
        self,
        script: str | os.PathLike[str],
        arguments: tuple[object, ...],
        targets: dict[str, Any],
        engine: str,
        buffer: int,
        options: Mapping[str, object],
        files: Mapping[str, Any] | None = None,
        on_record: Callable[[Record], object] | None = None,
    ) -> None:
        from pydtrace.options import OptionError, Options, read_keep

        self._options = Options()
        try:
            for name, value in options.items():
                if value is not False:
                    self._options.set(name, None if value is True else str(value))
            name = "engine"
            if engine != "auto":
                self._options.set(name, engine)
            for name, value in (files or {}).items():
                if value is not None:
                    self._options[name] = (
                        read_keep(value, name, "NAME[,TIME[,SIZE]]")
                        if name == "keep"
                        else os.fspath(value)
                    )
        except OptionError as error:
            raise ValueError(f"{name}: {error}") from None
        self._on_record = on_record
        if buffer < 1:
            raise ValueError(f"buffer is how many records may wait, at least 1: not {buffer}")
        self._script, self._arguments, self._requested, self._buffer = (
            script,
            arguments,
            targets,
            buffer,
        )
        self._listener: Callable[[], None] | None = None
        self._notices = Notices()
        self.faults = self._notices.faults
        self._hosts = "hosts" in targets
        self._compile_script(0)  # errors are raised where the script is

    def _compile_script(self, target: int) -> Any:
        compiler = Compiler(self._options, default_macros(target), kernel=KernelBtf())
        unknown = "cmd" in self._requested or self._hosts
        if self._hosts:
            many.declare_host(
                compiler,
                "",
                self._requested.get("width") or request.name_width(self._requested["hosts"]),
                "hosts=",
            )
        compiler.names.reported_arguments = (
            probe_signatures.default_signatures()
            if unknown
            else probe_signatures.signatures_of_processes(self._options, self._requested["pids"])
        )
        if not unknown and self._requested["pids"] and "replay" not in self._options:
            compiler.names.find_functions = probe_signatures.functions_of_processes(
                self._requested["pids"]
            )
        if "replay" in self._options:
            from pydtrace.engine.embedded.replay import read_recorded_paths

            compiler.use_recording(read_recorded_paths(self._options["replay"]))
        script = self._script
        name = None if isinstance(script, str) else os.fspath(script)
        compiler.arguments = [name or "pyusdt.trace", *map(str, self._arguments)]
        if isinstance(script, str):
            text: str | bytes = script
        else:
            with open(script, "rb") as file:
                text = file.read()
        compiler.compile_text(
            text, name
        )  # where it has no name a clause may be a description alone, as after -n
        program = (
            many.finish_program(compiler, placement.clause_placement, placement.HOSTS)
            if self._hosts
            else compiler.generate_program()
        )
        program.arguments = compiler.arguments
        if self._hosts:
            self._options["hosts"] = self._make_hosts_request(program, os.fsdecode(text))
        return program

    def _make_hosts_request(self, program: Any, text: str) -> request.Request:
        """What the hosts are asked.  ValueError."""
        if lacking := [name for name in request.LOCAL_OPTIONS if name in self._options]:
            raise ValueError(f"{lacking[0]} does not work with hosts: they do not have the files")
        texts = [{"text": text, "script": None, "level": "name"}]
        command = shlex.join(self._requested["cmd"]) if "cmd" in self._requested else None
        made = request.make_request(
            self._requested["hosts"],
            self._requested["via"],
            program,
            self._options,
            texts,
            [*map(str, self._arguments)],
            self._requested.get("pids", ()),
            command,
            self._requested["relay"],
            self._requested.get("width", 0),
        )
        connect = self._requested.get("connect")  # another way than a command (cluster.py)
        return connect(made) if connect else made

    # --- the block --------------------------------------------------------------------------------

    def _enter(self) -> None:
        queue = RecordQueue(self._buffer, self._notices.add_fault, self._on_record)
        queue.listener = self._listener
        self._pump = DriverThread(self._make_driver, self._open_driver, queue)
        self._pump.open_and_begin()
        vm_apply_demand()  # the next call in this process is traced, if the script is about it

    def _leave(self, exception: object) -> None:
        pump = self._pump
        if not pump or not pump.is_mine():
            return  # a forked child leaves its copy of the block: the tracing goes on
        pump.stop()
        if pump.begun:
            self._warn_of_drops()
            if pump.queue.error and exception is None:
                raise pump.queue.error

    def _make_driver(self) -> Driver:
        driver = Driver(
            self._options, self._make_targets(), _LIST_HINT, "zdefs=True", "destructive=True"
        )
        driver.command_timeout = _STOP_TIMEOUT
        return driver

    def _open_driver(self, driver: Driver) -> None:
        driver.open(
            self._compile_script((driver.targets.named_pids() or (self._recorded_target(),))[0])
        )
        if is_patched() and driver.engine.name != "embedded":
            raise EngineError(
                f"the {driver.engine.name} engine: {_PATCHED_REASON}: trace it with pydtrace, or ask for probes of pyusdt only"
            )
        driver.check_matches()
        for note in driver.engine.startup_notices if self._hosts else ():
            self._notices.add_fault(note)

    def _recorded_target(self) -> int:
        if "replay" not in self._options:
            return 0
        from pydtrace.engine.embedded.replay import open_recording

        return int(open_recording(self._options["replay"]).read_header()["target"])

    def _make_targets(self) -> Targets:
        if self._hosts:
            return Targets()  # those that were named are there
        if "cmd" not in self._requested:
            for pid in self._requested["pids"]:
                if not is_alive(pid):
                    raise no_such_process([pid])
                if pid == os.getpid():
                    publish_forked()
            return Targets(self._requested["pids"], only=True, children=True)
        if is_patched():
            raise EngineError(
                f"cmd: {_PATCHED_REASON}: start the command with subprocess, and give pid="
            )
        from pydtrace.process.command import Command

        return Targets(
            (), Command(self._requested["cmd"], outlives_tracer=False), only=True, children=True
        )

    def _warn_of_drops(self) -> None:
        for kind, count in self.drops.items():
            if count:
                self._notices.warn_once(
                    kind,
                    f"{count} lost so far ({kind}): {_DROP_HINTS.get(kind, _DROP_HINTS['principal'])}",
                )

    # --- what it gives ----------------------------------------------------------------------------

    @property
    def _running(self) -> DriverThread:
        pump = self._pump
        if not pump or not pump.begun:
            raise RuntimeError("tracing has not begun: enter the `with` block first")
        if not pump.is_mine():  # the thread that knows the rest is there
            raise RuntimeError(f"the tracing belongs to process {pump.owner}, which began it")
        return pump

    def _has_more(self) -> bool:
        found = self._running.queue.wait_for_records()
        if not found:
            self._warn_of_drops()
        return found

    def available(self) -> list[Record]:
        """Return the records that are there now, without waiting; the list may be empty."""
        return self._running.queue.take_records()

    def start(self) -> Self:
        """Begin without a `with` block; stop() ends it."""
        return self.__enter__()

    def stop(self) -> None:
        """End the tracing, as leaving the block does. Any thread may call it. The records so far can still be read."""
        self.__exit__(None, None, None)

    def records(self, timeout: float) -> Iterator[Record]:
        """Iterate over the records until none has come for `timeout` seconds, or until the tracing is over."""
        waiting = self._running.queue.waiting
        while waiting or self._running.queue.wait_for_records(timeout):
            try:
                record = waiting.popleft()
            except IndexError:  # another thread was faster
                continue
            yield record

    def flush(self, timeout: float = 10.0) -> bool:
        """Wait until all events fired before this call are in the records and aggregations.

        Returns False if that takes longer than `timeout` seconds. Engines other than the embedded one wait until no event has come for
        a moment.
        """
        pump = self._running
        caught: bool | None = pump.call_in_thread(lambda: pump.driver.catch_up(timeout))
        return self.finished if caught is None else caught  # when it is over, everything is there

    def names(self, probe: str | None = None) -> tuple[set[str], list[str]]:
        """Return (names of the traced probes, names of their records' values); with `probe` only those of that probe.

        If a single process is traced, only probes that it has are returned.
        """
        program = self._running.driver.program
        pids: tuple[int, ...] = self._requested.get("pids") or ()
        there = watch_clauses.read_probe_names(pids[0]) if len(pids) == 1 else set()
        probes: set[str] = set()
        values: list[str] = []
        for clause in program.clauses:
            wanted = [description.name for description in clause.probes]
            names = set(wanted) | {
                name for name in there if any(glob(each, name) for each in wanted)
            }
            if probe is None:
                probes |= names
            elif probe in (names if there else wanted) or (
                not there and any(glob(each, probe) for each in wanted)
            ):
                probes.add(probe)
            else:
                continue
            values += [name for name, _ in record_layout(clause)]
        return probes, values

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the tracing is over: by exit(), or because the command or the targets have ended.

        Returns False after `timeout` seconds.
        """
        return self._running.queue.wait_until_over(timeout)

    @property
    def finished(self) -> bool:
        """True if the tracing is over. There may still be records to read."""
        return self._running.queue.over

    @property
    def aggregations(self) -> Aggregations:
        """The aggregations by name, without the @: each access is a snapshot (Aggregation)."""
        return Aggregations(
            self._running.driver.program, self._read_aggregation, self._clear_aggregation
        )

    def _clear_aggregation(self, definition: AggDef) -> None:
        pump = self._running

        def clear() -> bool:
            pump.driver.catch_up(1.0)
            pump.driver.actions.aggregates.clear(definition)
            return True

        if not pump.call_in_thread(clear):
            raise RuntimeError("tracing is over: its aggregations do not change any more")

    def _read_aggregation(self, definition: AggDef) -> Aggregation:
        """Not the pump's own method: whoever has the aggregations keeps the tracing."""
        return self._running.read_aggregation(definition)

    def __repr__(self) -> str:
        """What is traced, by what, and how it stands."""
        pump = self._pump
        if not pump or not pump.begun or not pump.is_mine():
            return f"<pyusdt.Tracing of {self._describe_targets()}: {'of another process' if pump and pump.begun else 'not begun'}>"
        state = "over" if self.finished else "running"
        lost = sum(self.drops.values())
        names = ", ".join(f"@{each}" for each in self.aggregations) or "none"
        return f"<pyusdt.Tracing of {self._describe_targets()} by the {self.engine} engine: {state}, {len(pump.queue.waiting)} records to take, aggregations: {names}, {lost} lost>"

    def _describe_targets(self) -> str:
        return (
            f"{self._describe_processes()} on {self._requested['hosts']}"
            if self._hosts
            else self._describe_processes()
        )

    def _describe_processes(self) -> str:
        if "cmd" in self._requested:
            return f"the command {shlex.join(self._requested['cmd'])}"
        pids = self._requested["pids"]
        return (
            f"process{'es' if len(pids) > 1 else ''} {', '.join(map(str, pids))}"
            if pids
            else "all processes"
        )

    # --- for notebooks ------------------------------------------------------------------------------

    def to_arrow(self) -> Any:
        """Take the available records as a pyarrow.Table.

        Columns: time (ns), cpu, pid, tid, the parts of the probe's name, and one column for each name of a value. Needs pyarrow.
        """
        from pydtrace.results.arrow_tables import make_records_table

        return make_records_table(self._running.driver.program, self.available())

    def to_pandas(self) -> Any:
        """Take the available records as a pandas.DataFrame. `attrs["units"]` has the columns' units."""
        from pydtrace.results.arrow_tables import to_pandas

        return to_pandas(self.to_arrow())

    def to_polars(self) -> Any:
        """Take the available records as a polars.DataFrame."""
        from pydtrace.results.arrow_tables import to_polars

        return to_polars(self.to_arrow())

    def live(self, interval: float = 1.0) -> Any:
        """Return a widget for a notebook: the page of `pydtrace --web`, updated every `interval` seconds. Needs anywidget."""
        from pydtrace.sinks.live.notebook_widget import make_widget

        return make_widget(self._running, interval, self)

    def prometheus(self, *lines: str) -> Collector:
        """Return the aggregations as a collector of prometheus_client: `REGISTRY.register(t.prometheus())`.

        lines: names and labels of the metrics (docs/howto/metrics.md), in addition to the script's pragmas. After the block the
        collector has the final values. Needs prometheus_client (`pip install 'pydtrace[prometheus]'`). Raises ValueError for a wrong line,
        and RuntimeError if this tracing has a collector already.
        """
        from pydtrace.sinks.metrics.metric_config import MetricConfigError
        from pydtrace.sinks.metrics.prometheus_model import Collector, MetricStore

        pump = self._running
        driver = pump.driver
        if driver.actions.aggregates.on_removal:
            raise RuntimeError("this tracing has a collector already")
        sourced = [
            (f"metric '{line}'", line)
            for line in (*dict.fromkeys(self._options.get("metric", ())), *lines)
        ]  # it was compiled twice
        try:
            book = MetricStore(driver.actions.aggregates, driver.engine.name, sourced)
        except MetricConfigError as error:
            raise ValueError(str(error)) from None

        last: MetricSnapshot | None = None

        def read_snapshot() -> MetricSnapshot:
            nonlocal last
            pump = self._running  # whoever has the collector keeps the tracing
            found: MetricSnapshot | None = pump.call_in_thread(
                lambda: book.take_snapshot(driver.drops(), driver.error_count)
            )
            if found is None and (last is None or pump.has_completed):
                found = book.take_snapshot(
                    pump.count_drops(), driver.error_count, pump.final_aggregation
                )
            last = found or last  # what broke the tracing off left nothing to look at
            assert last
            return last

        return Collector(read_snapshot)

    @property
    def drops(self) -> dict[str, int]:
        """Losses so far, by kind: {"principal": lost events or records, "order": events that came too late, …}."""
        return self._running.count_drops()

    @property
    def printed(self) -> list[str]:
        """The texts that printa() printed so far: the last thousand."""
        return list(self._running.queue.printed)

    @property
    def status(self) -> int | None:
        """The argument of the script's exit(), or None."""
        return self._running.driver.exit_status

    @property
    def returncode(self) -> int | None:
        """The exit status of cmd, as subprocess gives it; None while it runs or if there is no cmd."""
        command = self._pump.driver.targets.command if self._pump and self._pump.begun else None
        status = command.status if command else None
        return None if status is None else os.waitstatus_to_exitcode(status)

    @property
    def engine(self) -> str:
        """The name of the engine that traces."""
        return str(self._running.driver.engine.name)

    @property
    def engine_reason(self) -> str:
        """Why this engine was chosen."""
        return self._running.driver.reason
