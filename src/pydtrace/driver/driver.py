"""The loop of all tracing: it runs a compiled program on an engine and feeds a sink until all is
over.

The sink's calls come in dtrace's order: BEGIN, the start of the command, records, END, the
aggregations. run() traces until it is over; step() as long as the caller likes.

- What may not be traced is refused before anything fires.
- Every record is shown or counted. Records of a speculation come where it was committed.
- close() undoes all that was made, whatever happened before.
"""

from __future__ import annotations

import os
import time
from collections import Counter

from pydtrace.dlang import buffer_limits
from pydtrace.dlang.front.probe_descriptions import FIXED_PROBES, unmatched_error
from pydtrace.dtrace_text.runtime_errors import (
    format_drops,
    format_maybe_truncated,
    format_truncated,
    summarize_drops,
)
from pydtrace.engine import EngineError
from pydtrace.engine.provider_search import find_file_with_provider
from pydtrace.untrusted.terminal_escape import escape_for_terminal

from .action_runner import ActionRunner
from .cpu_limit import CpuLimit
from .sink import TraceInfo
from .speculation_buffer import DEFAULT_SIZE, SpeculationBuffer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pydtrace.engine import Engine, Targets
    from pydtrace.options import Options
    from pydtrace.program.program import Program

    from .sink import Sink

_SWITCH_RATE = 1_000_000_000  # ns: the option's default


class Driver:
    """One tracing.  targets: what is traced; its command waits until BEGIN has fired.  listing_hint: how a user of this
    caller lists the probes; accept_option, destructive_option: what accepts probes to come, and destructive actions.

    stopping: True ends it as exit() does; interrupted: a signal has done that, after which the command may take as long as it needs
    to end; hurry: True as well where nothing more is to be shown, and nothing to be waited for.  Any thread may set these three, and a
    signal's handler.
    """

    engine: Engine
    program: Program
    actions: ActionRunner
    reason = ""  # why it is this engine

    def __init__(
        self,
        options: Options,
        targets: Targets,
        listing_hint: str | None = None,
        accept_option: str = "-Z",
        destructive_option: str = "-w",
    ) -> None:
        self.options, self.targets = options, targets
        self._listing_hint, self._accept_option = listing_hint, accept_option
        self._destructive_option = destructive_option
        self._opened: Engine | None = None  # until close()
        self._sink: Sink | None = None  # likewise
        self._speculations: SpeculationBuffer | None = None
        self._reported_drops: dict[
            str, int
        ] = {}  # kind of loss -> how many were reported to the sink
        self._drop_reports: Counter[str] = Counter()  # kind of loss -> how many reports
        self._max_wait = options.get("switchrate", _SWITCH_RATE) / 1e9  # s
        self._cpu_limit: CpuLimit | None = None
        self.stopping = self.aborting = self.interrupted = False
        self.command_timeout: float | None = (
            None  # s that the command may take to end; None: process.command decides
        )
        self.output_complete = False  # all that it has to show was shown
        self.exceeded_cpu_limit = False  # it has ended because of what it costs

    # --- before -----------------------------------------------------------------------------------

    def open(self, program: Program) -> None:
        """Choose and open the engine.  EngineError."""
        from pydtrace.select_engine import open_engine

        self.adopt(program, *open_engine(program, self.options, self.targets))

    def adopt(self, program: Program, engine: Engine, reason: str) -> None:
        """Take an engine that is open."""
        self.program, self.engine, self.reason, self._opened = program, engine, reason, engine

    def check_matches(self) -> None:
        """Refuse descriptions that stand for no probe, unless the option zdefs allows them.  CompileError."""
        if self.options.get("zdefs"):
            return
        for description, count in self.engine.matched:
            if count == 0 and description not in self.engine.pending_descriptions:
                raise unmatched_error(
                    description,
                    self._find_hint(description) or self._listing_hint,
                    self.engine.function_sizes,
                )

    def _find_hint(self, description: Any) -> str | None:
        """What is called nearly so, or why there is no such probe."""
        from pydtrace.engine.probe_hints import (
            explain_framework_probe,
            explain_ifunc,
            explain_later_probe,
            explain_unmatched,
            suggest_name,
            suggest_provider,
            suggest_target,
        )

        engine, probes, command = (
            self.engine,
            self._list_candidates(description),
            self.targets.command,
        )
        is_named = bool(self.targets.named_pids())
        hint: str | None = (
            explain_ifunc(description, command)
            or (suggest_target(description, probes) if is_named else None)
            or suggest_name(description, probes)
            or (
                explain_framework_probe(description, command.argv, self._accept_option)
                if command
                else None
            )
            or explain_unmatched(
                description, engine.name, engine.kernel_refusal, self.targets.named_pids()
            )
            or engine.find_hint(description)
            or find_file_with_provider(description, command)
            or suggest_provider(description, probes)
            or (suggest_target(description) if is_named else None)
            or (explain_later_probe(description, self._accept_option) if command else None)
        )
        return hint

    def _list_candidates(self, description: Any) -> list[Any]:
        """(provider, module, function, name) of the probes among which there may be one that is called nearly so; none where
        nothing can be listed."""
        from pydtrace.engine import Targets
        from pydtrace.select_engine import list_probes

        if "replay" in self.options:
            return []
        from pydtrace.engine.probe_hints import widen_description

        try:
            return [
                *FIXED_PROBES,
                *list_probes(self.options, Targets(), widen_description(description)),
            ]
        except (EngineError, OSError):  # reported as it is
            return []

    def _check_allowed(self) -> None:
        """Refuse what must not, or can not, be traced."""
        if not (
            self.options.get("zdefs")
            or self.engine.pending_descriptions
            or any(count for _, count in self.engine.matched)
        ):
            raise EngineError("no probes matched")
        if self.program.destructive and not self.options.get("destructive"):
            name, place = self.program.first_destructive
            raise EngineError(
                "could not enable tracing: Destructive actions not allowed",
                None
                if "_DTRACE_TESTING" in os.environ
                else f"{name}() at {place} needs {self._destructive_option}",
            )
        if no_room := buffer_limits.find_error(self.program):
            raise EngineError(
                f"could not enable tracing: {no_room}",
                None
                if "_DTRACE_TESTING" in os.environ
                else buffer_limits.find_hint(no_room, self.program),
            )

    def begin(self, sink: Sink) -> None:
        """Fire BEGIN, switch the probes on, start the command.  EngineError, and what the sink raises."""
        self._check_allowed()
        if self.program.speculates:
            self._speculations = SpeculationBuffer(self.options.get("specsize", DEFAULT_SIZE))
        self.actions = ActionRunner(self.program, self.engine, sink, self.options)
        self._sink = self.sink = sink
        engine = self.engine
        self._info = TraceInfo(
            self.program,
            self.options,
            self.actions,
            engine.probe,
            engine.name,
            self.reason,
            engine.has_fault_locations,
            engine,
            engine.existed_at,
            self.targets,
            engine.matched,
        )
        sink.begin(self._info)
        if sink.formatter and not self._speculations:
            engine.set_formatter(sink.formatter)
        if engine.name != "dtrace":  # which says it by itself
            for text in buffer_limits.find_changes(
                self.program.options, "_DTRACE_TESTING" in os.environ
            ):
                sink.notice(text)
        for text in self.program.warnings:
            sink.notice(text)
        self._report_missing_erlang_probes(sink)
        if engine.needs_sampler:
            from .profile_samples import ProfileSampler

            engine.sampler = ProfileSampler(
                engine.intern_frame,
                engine.sampled_frames,
                bool(self.options.get("profilewall")),
                engine.needs_tasks,
            )
        if engine.needs_interpreters:
            from .python_frame_names import PythonFrameNames

            engine.interpreters = PythonFrameNames(engine.has_pthread_ids)
        if self.targets.command:
            self.targets.command.watch_group()  # before there are probes, which would see it start
        engine.begin()
        if self.options.get("destructive"):
            sink.notice("allowing destructive actions", error=False)
        if "maxcpu" in self.options:
            self._cpu_limit = CpuLimit(
                self.options["maxcpu"],
                lambda: (
                    engine.programs_time() - sink.other_users_time()
                ),  # from now on: compiling is over
                engine.work_by_user,
                engine.stop_tracing_user,
                sink.notice,
            )
        if (
            self.targets.command
        ):  # after an exit() in BEGIN, too: as with dtrace it runs until we end
            self._start_command(self.targets.command)

    def _report_missing_erlang_probes(self, sink: Sink) -> None:
        unmatched = [description for description, count in self.engine.matched if count == 0]
        if unmatched:
            from pydtrace.engine.erlang_vm_hints import explain_missing

            for text in dict.fromkeys(map(explain_missing, unmatched)):
                if text:
                    sink.notice(text)

    @staticmethod
    def _start_command(command: Any) -> None:
        try:
            command.start()
        except OSError as error:
            raise EngineError(f"failed to start {command.argv[0]}: {error.strerror}") from None

    # --- tracing ----------------------------------------------------------------------------------

    def run(self, timeout: float, before_step: Callable[[], None]) -> None:
        """Trace until it is over.  timeout: as step()'s; between: called before each look at the engine."""
        while True:
            before_step()
            if self.is_over:
                break
            self.step(timeout)
        self.end()
        while self.sink.stays and not self.stopping:
            time.sleep(timeout)
            before_step()

    @property
    def is_over(self) -> bool:
        """There is nothing more to wait for: end() is next."""
        return self.stopping or self.engine.exiting or self.engine.finished

    def step(self, timeout: float) -> None:
        """Feed the sink with what there is, or comes within `timeout` seconds."""
        self._consume_records(self.engine.poll(min(timeout, self._max_wait)))
        self._report_drops()
        if self._cpu_limit and (message := self._cpu_limit.check_limit()):
            self.stopping = self.exceeded_cpu_limit = True
            self.sink.notice(message)

    def catch_up(self, seconds: float) -> bool:
        """Feed the sink with all that was fired before this call.  False: not all of it came within so many seconds."""
        deadline = time.monotonic() + seconds
        for records in self.engine.catch_up(seconds):
            self._consume_records(records)
        self._report_drops()
        return time.monotonic() < deadline

    def end(self) -> None:
        """Probes off, END, all that was recorded, the aggregations."""
        self._consume_records(self.engine.end())
        while not self.aborting and (records := self.engine.drain_end()):
            self._feed_sink(records)
        self._report_warnings()
        self._report_drops()
        self._report_all_drops()
        self._report_truncated_strings()
        self._info.report_error_counts()
        self.sink.pause()
        if not self.aborting:
            self.sink.snapshot(self.actions.aggregates)
            for text in self.actions.symbol_warnings():
                self.sink.notice(text)
            self.sink.end(self.exit_status or 0)
        self.output_complete = True

    def close(self) -> None:
        """Undo everything; may be called at any time, twice."""
        try:
            self.finish()
        finally:
            if self.targets.command:
                self.targets.command.stop(self)

    def finish(self) -> None:
        """Close the sink and the engine; the command runs on."""
        engine, self._opened = self._opened, None
        sink, self._sink = self._sink, None
        try:
            if sink:
                self._info.report_error_counts()  # where something broke the tracing off
                sink.close()
        finally:
            if engine:
                engine.close()

    def _consume_records(self, records: bytes) -> None:
        self._report_warnings()
        if not self.aborting:
            self._feed_sink(records)

    def _report_warnings(self) -> None:
        for text in self.engine.warnings():
            self.sink.notice(escape_for_terminal(text))

    def _feed_sink(self, records: bytes) -> None:
        self.sink.records(
            self._speculations.filter_records(records) if self._speculations else records
        )

    # --- what is known ----------------------------------------------------------------------------

    @property
    def exit_status(self) -> int | None:
        """What the script gave to exit(), None where it did not."""
        return self.actions.exit_status

    @property
    def error_count(self) -> int:
        """How many run-time errors of the script there were."""
        return self._info.error_count

    @property
    def has_drops(self) -> bool:
        """Something was dropped, or came out of order."""
        return bool(self._reported_drops)

    def drops(self) -> dict[str, int]:
        """{kind: how many were lost} so far, as Engine.drops() says, and of speculations."""
        drops = dict(self.engine.drops())
        if self._speculations:
            drops["speculative"] = drops.get("speculative", 0) + self._speculations.dropped
        return drops

    def _report_all_drops(self) -> None:
        """What was dropped in all, and what helps, if dtrace's lines came several times: they have neither."""
        if "_DTRACE_TESTING" not in os.environ:
            for kind, count in self._reported_drops.items():
                if self._drop_reports[kind] > 1:
                    text = summarize_drops(kind, count, self.engine.drop_advice(kind))
                    if text:
                        self.sink.notice(text)

    def _report_truncated_strings(self) -> None:
        """The script's output is dtrace's, which does not mark them."""
        cut, long = self.engine.count_truncated_strings()
        if "_DTRACE_TESTING" in os.environ:
            return
        if cut:
            self.sink.notice(format_truncated(cut, self.program.strsize))
        if long:
            self.sink.notice(format_maybe_truncated(long))

    def _report_drops(self) -> None:
        for kind, count in self.drops().items():
            new = count - self._reported_drops.get(kind, 0)
            if new > 0:
                self._reported_drops[kind] = count
                self._drop_reports[kind] += 1
                self.sink.drop(
                    kind,
                    new,
                    format_drops(
                        kind, new, bool(self.options.get("droptags")), self.engine.drop_cpu(kind)
                    ),
                )
