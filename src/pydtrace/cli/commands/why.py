"""`pyusdt why`: where the time of slow requests goes, beside the usual ones of the same route.

- The events are those of request (docs/reference/frameworks.md), one for each span of a request and
  one for its end; the stacks of the processes that fire them are sampled from outside.
- The report is printed at the end: after --duration, Ctrl-C, or the end of the program. With --keep there is
  none, but files (why_keep.py).
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import time
import warnings
from collections import deque

from pydtrace.attach.refusal import NotAttached
from pydtrace.cli.pydtrace.signals import InterruptHandler
from pydtrace.consumer.tracing import TraceWarning, trace
from pydtrace.engine import EngineError
from pydtrace.process.identity import is_alive
from pydtrace.process.process_names import display_name
from pydtrace.profile.sampler import Sampler
from pydtrace.profile.sampler_options import ALL, SamplerOptions
from pydtrace.sinks.output_file import OutputError, write_stdout
from pydtrace.untrusted.watchdog import watchdog
from pydtrace.why.accept_queue import AcceptQueues
from pydtrace.why.evidence import Evidence, EvidenceError, RunFacts, read_evidence
from pydtrace.why.request_log import PendingSpans, Request, RequestLog, Span
from pydtrace.why.sampled_code import SampledCode

from .profile import SamplingState
from .why_attach import attached_processes, has_request_probes
from .why_report import compare_routes, host_name, make_report, write_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from typing import Any

    from pydtrace.consumer.tracing import Tracing

SCRIPT = r"""
request*:::span
{
    printf("pid=%d id=%s kind=%s name=%s line=%s began=%d duration=%d", pid, copyinstr(arg0),
        copyinstr(arg1), copyinstr(arg2), copyinstr(arg3), arg4, arg5);
}
request*:::done
{
    printf("pid=%d id=%s kind=%s route=%s status=%s duration=%d cpu=%d left_out=%d", pid,
        copyinstr(arg0), copyinstr(arg1), copyinstr(arg2), copyinstr(arg3), arg4, arg5, arg7);
}
"""
NO_REQUESTS = (
    "no request ended: the program must answer HTTP requests, gRPC calls or tasks of a queue"
    " (see `pyusdt help frameworks`)"
)
_QUEUED = 200_000  # records that may wait


class WhyError(Exception):
    """Why there is no report, for a person."""


class RequestCollector:
    """Takes the records of the script, in the thread that traces, and gives the requests to add_request(), in the thread that samples.
    route, process: texts that a request's route, and the name of its process, must contain; None: any."""

    def __init__(
        self,
        add_request: Callable[[Request], object],
        route: str | None,
        process: str | None = None,
    ) -> None:
        self._add_request, self._route, self._process = add_request, route, process
        self.lost = 0
        self.pending = PendingSpans()
        self.pids: set[int] = set()
        self._others: set[int] = set()  # processes of another name
        self._folders: set[str] = set()
        self._records: deque[Any] = deque()

    def add_record(self, record: Any) -> None:
        if len(self._records) >= _QUEUED:
            self.lost += 1
        else:
            self._records.append(record)

    def read_records(self) -> None:
        while self._records:
            self._read_record(self._records.popleft())

    def _read_record(self, record: Any) -> None:
        values = dict(zip(record.names, map(_text, record.values), strict=True))
        pid, name = int(values["pid"]), values["id"]
        if pid not in self.pids and not self._add_process(pid):
            return
        if record.probe.name == "span":
            span = Span(
                values["kind"], values["name"], values["line"], values["began"], values["duration"]
            )
            self.pending.add(pid, name, span)
            return
        spans = self.pending.take(pid, name)
        if self._route is not None and self._route not in values["route"]:
            return
        self._add_request(
            Request(
                pid,
                name,
                values["kind"],
                values["route"],
                values["status"],
                values["duration"],
                values["cpu"],
                values["left_out"],
                record.time,
                spans,
            )
        )

    def _add_process(self, pid: int) -> bool:
        """Whether its requests count."""
        if pid in self._others:
            return False
        if self._process is not None and self._process not in display_name(pid):
            self._others.add(pid)
            return False
        self.pids.add(pid)
        with contextlib.suppress(OSError):  # it has ended
            self._folders.add(os.readlink(f"/proc/{pid}/cwd"))
        return True

    def forget_ended(self) -> None:
        """Processes that have ended."""
        self.pids = {pid for pid in self.pids if is_alive(pid)}
        self._others = {pid for pid in self._others if is_alive(pid)}
        self._folders = set(itertools.islice(self._folders, 2))  # whether it is one

    @property
    def folder(self) -> str:
        """The current directory of the processes, if they have the same."""
        return next(iter(self._folders)) if len(self._folders) == 1 else ""


def _text(value: Any) -> Any:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value


class RequestSampler:
    """Samples the stacks of all threads of the processes that have answered a request.  share: of a processor that it may take;
    after_round: called after each round of samples."""

    def __init__(
        self,
        collector: RequestCollector,
        samples: SampledCode,
        share: float = 1.0,
        after_round: Callable[[], object] = bool,
    ) -> None:
        self._collector, self._samples = collector, samples
        self._share, self._after_round = share, after_round
        self.accept_queues = AcceptQueues()

    def sample_until(
        self, has_ended: Callable[[float], bool], rate: int, duration: float | None
    ) -> None:
        """rate: samples a second; duration: seconds at most; has_ended(seconds): waits as long for the end."""
        with watchdog("pyusdt: a process does not let its memory be read: gave up") as beat:
            sampler = Sampler(
                self._samples,  # type: ignore[arg-type]  # it has what the sampler needs of a Profile
                SamplerOptions(ALL, lines=True, threads=True, tags=True, states=True),
                beat,
            )
            try:
                began = following = time.monotonic()
                while duration is None or time.monotonic() - began < duration:
                    beat()
                    round_began = time.monotonic()
                    self._sample_once(sampler)
                    now = time.monotonic()
                    pause = (now - round_began) * (1 / self._share - 1)
                    following = max(following + 1 / rate, now + pause)
                    if has_ended(max(0.0, following - time.monotonic())):
                        break
            finally:
                sampler.close()

    def _sample_once(self, sampler: Sampler) -> None:
        self._collector.read_records()
        for pid in self._collector.pids:
            sampler.add_process(pid)
        sampler.retry_waiting()
        sampler.sample_processes()
        self._samples.end_round()
        self._samples.throttling.read_counters(self._collector.pids)
        self.accept_queues.read_queues(self._collector.pids)
        self._after_round()


def run_why(options: Namespace) -> int:
    """The exit status.  Raises WhyError if no request was seen."""
    evidence = replay_file(options) if options.replay is not None else watch_requests(options)
    found = compare_routes(evidence, options)
    try:
        write_files(evidence, found, options)
    except (EngineError, OutputError) as error:
        raise WhyError(error) from None
    write_stdout(make_report(evidence, found, options))
    if evidence.facts.lost:
        sys.stderr.write(
            f"pyusdt: {evidence.facts.lost} events, spans or requests were not kept: the report is of"
            " the others\n"
        )
    return 0


def replay_file(options: Namespace) -> Evidence:
    try:
        return read_evidence(options.replay)
    except EvidenceError as error:
        raise WhyError(error) from None


def watch_requests(options: Namespace) -> Evidence:
    log, samples = RequestLog(), SampledCode()
    collector = RequestCollector(log.add_request, options.route)
    target = choose_target(options)
    sampler, state = RequestSampler(collector, samples), SamplingState(None)
    warnings.simplefilter("ignore", TraceWarning)  # what it warns of is counted or said below
    began, since, used = time.time(), time.monotonic(), time.process_time()
    try:
        with (
            InterruptHandler(state),
            bring_probes(options),
            trace(
                SCRIPT, **target, on_record=collector.add_record, zdefs=True, strsize=512
            ) as tracing,
        ):
            sampler.sample_until(
                lambda wait: state.stopping or tracing.wait(wait), options.rate, options.duration
            )
    except (EngineError, NotAttached) as error:
        raise WhyError(error) from None
    collector.read_records()
    for fault in tracing.faults:
        sys.stderr.write(f"pyusdt: {fault}\n")
    if not log.requests:
        raise WhyError(NO_REQUESTS)
    lost = count_lost(tracing, collector) + log.lost_spans + log.other_routes
    took = time.monotonic() - since
    _report_cost(log, took, time.process_time() - used)
    queues = sampler.accept_queues.queues
    what = describe_target(options)
    facts = RunFacts(host_name(), what, began, took, collector.folder, lost, queues=queues)
    return Evidence(log, samples, facts)


def describe_target(options: Namespace) -> str:
    named = "processes" if options.process is None else f"processes called {options.process}"
    return " ".join(options.command or [f"process {pid}" for pid in options.pid]) or f"all {named}"


def count_lost(tracing: Tracing, collector: RequestCollector) -> int:
    return sum(tracing.drops.values()) + collector.lost + collector.pending.lost


def _report_cost(log: RequestLog, took: float, used: float) -> None:
    """What it costs: pyusdt's own time is measured here; what a request costs its program is on the page of costs."""
    sys.stderr.write(
        f"pyusdt: watched {log.requests} requests in {took:.1f} s; used {used:.1f} s of processor time"
        f" itself ({100 * used / max(took, 0.001):.0f} % of one processor)\n"
    )


def bring_probes(options: Namespace) -> AbstractContextManager[None]:
    if options.command or options.no_attach:
        return contextlib.nullcontext()
    return attached_processes(options.pid)


def choose_target(options: Namespace) -> dict[str, Any]:
    if options.command:
        from .run import prepare_environment

        prepare_environment(options.command)
        return {"cmd": options.command}
    for pid in options.pid:
        if not is_alive(pid):
            raise WhyError(f"there is no process {pid}")
        if options.no_attach and not has_request_probes(pid):
            raise WhyError(
                f"process {pid} has no probes of requests, and --no-attach leaves it so:"
                " start it by `pyusdt run`"
            )
    return {"pid": options.pid} if options.pid else {"all": True}
