"""`pyusdt why --keep FOLDER`: watches requests without an end, and keeps the evidence of slow ones in files that --replay reads.

- A ring has the requests of the last minutes (why/request_ring.py). A file has those of one route.
- A slow request begins a file; it is written SETTLES later, when its samples and those of others are there.
- Bounded: files of a route and of all routes in a time, files in the folder, bytes of a file.
- Only this user (and root) may read the files, and change the folder.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
import warnings
from collections import deque

from pydtrace.attach.refusal import NotAttached
from pydtrace.cli.pydtrace.signals import InterruptHandler
from pydtrace.consumer.tracing import TraceWarning, trace
from pydtrace.engine import EngineError
from pydtrace.sinks.alerts.alert_receivers import CLOSE_TIMEOUT, ReceiverError, open_receiver
from pydtrace.sinks.atomic_file import write_file
from pydtrace.sinks.output_file import OutputError
from pydtrace.untrusted.trusted_files import changeable_by_others
from pydtrace.why.causes import SlowRule, compare_route
from pydtrace.why.evidence import Evidence, RunFacts, format_evidence
from pydtrace.why.report import Wording, describe_queues, describe_route
from pydtrace.why.request_ring import Objective, RequestRing
from pydtrace.why.sampled_code import SampledCode

from .profile import SamplingState
from .why import (
    SCRIPT,
    RequestCollector,
    RequestSampler,
    WhyError,
    bring_probes,
    choose_target,
    count_lost,
    describe_target,
)
from .why_report import host_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from pydtrace.consumer.tracing import Tracing
    from pydtrace.sinks.alerts.alert_receivers import Receiver
    from pydtrace.why.accept_queue import Queue
    from pydtrace.why.request_log import Request

ALERT = "slow_requests"  # its name in a note
SHARE = 0.1  # of a processor, for samples
SETTLES = 5.0  # seconds from a slow request to its file
EVERY = 600.0  # seconds between two files of a route, at least
FILES = 50  # in the folder
MOST_FILES = 10  # of all routes in the time of --every
MOST_BYTES = 8 << 20  # of a file
_SPANS = 20_000  # of a file
_ROUTES = 1000  # whose last file is remembered
_REPORTED = 60.0  # seconds between two messages about notes that were lost
_STATUS_CPU_LIMIT = 4  # as pydtrace's, after -x maxcpu
_FILE = re.compile(r"\d{8}T\d{6}Z-[\w-]*\.why\.json", re.ASCII)


class EvidenceFolder:
    """path: a folder that only root and this user can change; files: how many are kept.  WhyError: it is none."""

    def __init__(self, path: str, files: int) -> None:
        self.path, self._files = path, files
        try:
            with contextlib.suppress(FileExistsError):
                os.mkdir(path, 0o700)
            others = changeable_by_others(path)
            os.listdir(path)
        except OSError as error:
            raise WhyError(f"--keep {path}: {error.strerror}") from None
        if others:
            raise WhyError(
                f"--keep {path}: {others} can be written by others than root and this user: chown and chmod go-w help"
            )

    def add_file(self, route: str, text: str) -> str:
        """The path of the new file.  OutputError."""
        name = re.sub(r"[^A-Za-z0-9]+", "-", route)[:40].strip("-")
        began = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        path = os.path.join(self.path, f"{began}-{name}.why.json")
        try:
            self._remove_oldest()
        except OSError as error:
            raise OutputError(f"{self.path}: {error.strerror}") from None
        write_file(path, text, 0o600)
        return path

    def _remove_oldest(self) -> None:
        names = sorted(name for name in os.listdir(self.path) if _FILE.fullmatch(name))
        for name in names[: max(0, len(names) - self._files + 1)]:
            with contextlib.suppress(FileNotFoundError):  # another one has the same folder
                os.unlink(os.path.join(self.path, name))


class FileRate:
    """At most one file of a route, and MOST_FILES of all, in a time.  Times are seconds of the monotonic clock."""

    def __init__(self, every: float) -> None:
        self._every = every
        self._written: dict[str, float] = {}
        self._times: deque[float] = deque(maxlen=MOST_FILES)

    def take(self, route: str, now: float) -> bool:
        """Whether a file of the route may be written; it counts as written then."""
        if now < self._written.get(route, now - self._every) + self._every:
            return False
        if len(self._times) == MOST_FILES and now < self._times[0] + self._every:
            return False
        self._written.pop(route, None)
        self._written[route] = now
        while len(self._written) > _ROUTES:
            del self._written[next(iter(self._written))]
        self._times.append(now)
        return True


class SlowWatch:
    """Takes requests, and keeps the evidence of those that miss the objective."""

    def __init__(
        self,
        objective: Objective,
        samples: SampledCode,
        folder: EvidenceFolder,
        rate: FileRate,
        receivers: list[Receiver],
        describe_run: Any,
    ) -> None:
        """describe_run(): (the text of what is watched, the current folder of the processes, losses, queues before the servers)."""
        self._objective, self._samples, self._folder = objective, samples, folder
        self._rate, self._receivers, self._describe_run = rate, receivers, describe_run
        self.ring = RequestRing(objective)
        self._due: dict[str, tuple[float, float]] = {}  # {route: (when it is written, began)}
        self._reported, self._next_report = 0, 0.0

    def add_request(self, request: Request) -> None:
        now = time.monotonic()
        if (
            self.ring.add_request(request, now)
            and request.route not in self._due
            and self._rate.take(request.route, now)
        ):
            self._due[request.route] = now + SETTLES, time.time()

    def move_on(self) -> bool:
        """Writes what is due; whether a slice of the ring has ended."""
        now = time.monotonic()
        for route, (due, began) in list(self._due.items()):
            if now >= due:
                del self._due[route]
                self._keep_route(route, began)
        if now >= self._next_report:
            self._next_report = now + _REPORTED
            self._report_lost()
        has_moved = self.ring.move_on(now)
        if has_moved:
            self._samples.forget_others({each.key for each in self.ring.list_requests()})
        return has_moved

    def close(self) -> None:
        """Writes what waits, and gives receivers a moment."""
        for route, (_, began) in self._due.items():
            self._keep_route(route, began)
        self._due = {}
        until = time.monotonic() + CLOSE_TIMEOUT
        for each in self._receivers:
            each.stop_accepting()
        for each in self._receivers:
            each.close(until)
        self._report_lost()

    def _keep_route(self, route: str, began: float) -> None:
        evidence = self._collect(route)
        rule = SlowRule(self._objective.limit)
        found = compare_route(route, evidence.log.routes[route], evidence.samples, rule)
        slow, count = self.ring.count(route)
        if found is None:
            text = f"{route}: {slow} of {count} requests were slow, and no others were seen to compare them with"
        else:
            wording = Wording(evidence.facts.folder)
            text = describe_route(found, count, wording, evidence.samples).rstrip("\n")
        if queues := describe_queues(evidence.facts.queues).rstrip("\n"):
            text += f"\n{queues}"
        try:
            path = self._folder.add_file(route, _format_bounded(evidence))
        except OutputError as error:
            path = ""
            sys.stderr.write(f"pyusdt: the evidence could not be kept: {error}\n")
        sys.stderr.write(f"{text}\n" + (f"  kept in {path}\n" if path else ""))
        note = self._make_note(route, began, text, path, evidence)
        for receiver in self._receivers:
            receiver.add_note(note)

    def _collect(self, route: str) -> Evidence:
        log, samples = self.ring.make_log(route), SampledCode()
        log.limit_spans(_SPANS)
        samples.take_from(self._samples, [each for each, _ in log.routes[route].kept])
        what, folder, lost, queues = self._describe_run()
        took = time.monotonic() - self.ring.began
        lost += self.ring.lost
        began, limit = time.time() - took, self._objective.limit
        facts = RunFacts(host_name(), what, began, took, folder, lost, limit, queues)
        return Evidence(log, samples, facts)

    def _make_note(
        self, route: str, began: float, text: str, path: str, evidence: Evidence
    ) -> dict[str, Any]:
        """As docs/howto/alerts.md describes it."""
        slow, count = self.ring.count(route)
        slowest = evidence.log.routes[route].slowest
        now = round(time.time(), 3)
        return {
            "version": 1,
            "state": "firing",
            "alert": ALERT,
            "host": host_name(),
            "labels": {"route": route},
            "count": slow,
            "began": round(began, 3),
            "last": now,
            "sent": now,
            "values": {
                "route": route,
                "slow": slow,
                "requests": count,
                "limit_ns": self._objective.limit,
                "longest_ns": slowest[0].duration,
            },
            "probe": "request:::done",
            "pid": slowest[0].pid,
            "text": text,
            "evidence": {"file": path},
        }

    def _report_lost(self) -> None:
        lost = sum(each.lost_count for each in self._receivers)
        if lost > self._reported:
            self._reported = lost
            why = "; ".join(each.reason for each in self._receivers if each.reason)
            sys.stderr.write(f"pyusdt: --alert: {lost} notes could not be delivered; {why}\n")


def _format_bounded(evidence: Evidence) -> str:
    """OutputError: it is too large also without spans."""
    spans = _SPANS
    while len(text := format_evidence(evidence)) > MOST_BYTES:
        if not spans:
            raise OutputError(f"it is larger than {MOST_BYTES >> 20} MB")
        spans //= 4
        evidence.log.limit_spans(spans)
    return text


def keep_slow_requests(options: Namespace) -> int:
    """The exit status, after a signal, --duration, or the end of what is watched.  Raises WhyError."""
    folder = EvidenceFolder(options.keep, options.files or FILES)
    receivers = _open_receivers(options.alert)
    samples, state = SampledCode(), SamplingState(None)
    warnings.simplefilter("ignore", TraceWarning)  # faults are printed, losses are counted
    tracing: Tracing | None = None

    def describe_run() -> tuple[str, str, int, dict[str, Queue]]:
        lost = count_lost(tracing, collector) if tracing is not None else 0
        return describe_target(options), collector.folder, lost, sampler.accept_queues.queues

    objective = options.slo or Objective(options.slower)
    rate = FileRate(options.every or EVERY)
    watch = SlowWatch(objective, samples, folder, rate, receivers, describe_run)
    collector = RequestCollector(watch.add_request, options.route, options.process)

    def after_round() -> None:
        if watch.move_on():
            collector.forget_ended()
            sampler.accept_queues.queues = {}

    sampler = RequestSampler(collector, samples, SHARE, after_round)
    limit = {} if options.cpu is None else {"maxcpu": options.cpu}
    try:
        with (
            InterruptHandler(state),
            bring_probes(options),
            trace(
                SCRIPT,
                **choose_target(options),
                on_record=collector.add_record,
                zdefs=True,
                strsize=512,
                **limit,
            ) as tracing,
        ):
            sampler.sample_until(
                lambda wait: state.stopping or tracing.wait(wait), options.rate, options.duration
            )
    except (EngineError, NotAttached) as error:
        raise WhyError(error) from None
    finally:
        collector.read_records()
        watch.close()
    for fault in tracing.faults:
        sys.stderr.write(f"pyusdt: {fault}\n")
    too_much = any(fault.startswith("tracing stops: it has taken") for fault in tracing.faults)
    return _STATUS_CPU_LIMIT if too_much else 0


def _open_receivers(texts: list[str]) -> list[Receiver]:
    receivers: list[Receiver] = []
    try:
        for text in texts:
            receivers.append(open_receiver(text))
    except ReceiverError as error:
        for each in receivers:
            each.stop_accepting()
        raise WhyError(f"--alert {error}") from None
    return receivers
