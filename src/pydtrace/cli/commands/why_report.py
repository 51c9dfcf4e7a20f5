"""What `pyusdt why` makes of its evidence: the report, a page, a file for Perfetto, and a file that --replay reads again."""

from __future__ import annotations

import os
from io import BytesIO

from pydtrace.sinks.atomic_file import write_file
from pydtrace.untrusted.terminal_escape import escape_for_terminal
from pydtrace.why import report
from pydtrace.why.causes import Comparison, SlowRule, compare_route
from pydtrace.why.evidence import Evidence, format_evidence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from pydtrace.sinks.timeline.timeline_sink import Writer
    from pydtrace.why.request_log import Request


def compare_routes(evidence: Evidence, options: Namespace) -> list[Comparison]:
    """The route whose slow requests took the most time first."""
    rule = slow_rule(evidence, options)
    compared = (
        compare_route(route, requests, evidence.samples, rule)
        for route, requests in evidence.log.routes.items()
        if options.route is None or options.route in route
    )
    found = [each for each in compared if each is not None]
    return sorted(found, key=lambda each: -each.slower * len(each.slow))


def slow_rule(evidence: Evidence, options: Namespace) -> SlowRule:
    """What the options say, or else the file."""
    if options.slower is None and options.worst is None:
        return SlowRule(evidence.facts.limit or None)
    return SlowRule(options.slower, options.worst)


def make_report(evidence: Evidence, found: list[Comparison], options: Namespace) -> str:
    queues = report.describe_queues(evidence.facts.queues)
    if not found:
        return describe_quiet(evidence, options) + queues
    wording = report.Wording(evidence.facts.folder)
    text = "\n".join(
        report.describe_route(
            each, evidence.log.routes[each.route].count, wording, evidence.samples
        )
        + "\n"
        + report.format_table(each, wording)
        + "\n  the slowest:\n"
        + "".join(
            report.format_timeline(request, evidence.samples, wording)
            for request in each.slow[: report.TIMELINES]
        )
        for each in found
    )
    return text + (f"\n{queues}" if queues else "")


def describe_quiet(evidence: Evidence, options: Namespace) -> str:
    return report.describe_quiet(evidence.log, [_describe_limit(slow_rule(evidence, options))])


def _describe_limit(rule: SlowRule) -> str:
    if rule.limit is not None:
        return f"slow: {report.format_time(rule.limit)} or more"
    if rule.worst is not None:
        return f"slow: the worst {100 * rule.worst:g} % of a route of 20 requests or more"
    return "slow: three times the median of a route of 20 requests or more, and 20 ms longer"


def write_files(evidence: Evidence, found: list[Comparison], options: Namespace) -> None:
    """Those that the options ask for.  Raises OutputError, EngineError (no package perfetto)."""
    if options.save is not None:
        write_file(options.save, format_evidence(evidence))
    if options.html is not None:
        from pydtrace.why.report_page import render_page

        quiet = describe_quiet(evidence, options).strip()
        wording = report.Wording(evidence.facts.folder)
        write_file(options.html, render_page(evidence, found, quiet, wording))
    if options.perfetto is not None:
        write_file(options.perfetto, format_perfetto(evidence, found))


class _EvidenceClock:
    """The monotonic clock of the traced machine, at the end of the last request."""

    span = None

    def __init__(self, evidence: Evidence, found: list[Comparison]) -> None:
        ended = [request.ended for each in found for request in each.slow]
        self._now = max(ended, default=0)
        self._wall = evidence.facts.began + evidence.facts.duration

    def now(self) -> int:
        return self._now

    def wall(self) -> float:
        return self._wall


def format_perfetto(evidence: Evidence, found: list[Comparison]) -> bytes:
    """The slow requests with their spans, each on a track of its process."""
    from pydtrace.sinks.timeline.perfetto_writer import PerfettoWriter

    file = BytesIO()
    writer = PerfettoWriter(file, _EvidenceClock(evidence, found))  # type: ignore[arg-type]  # it has what is used
    wording = report.Wording(evidence.facts.folder)
    for each in found:
        for request in each.slow:
            _write_request(writer, request, wording)
    writer.close()
    return file.getvalue()


def _write_request(writer: Writer, request: Request, wording: report.Wording) -> None:
    from pydtrace.sinks.timeline.timeline_sink import Track

    writer.process(request.pid, f"process {request.pid}")
    name = escape_for_terminal(f"{request.route} {request.id}")
    began = request.ended - request.duration
    track = Track("task", request.pid, name)
    writer.slice(track, began, request.duration, name, {"status": request.status}, None)
    for number, span in enumerate(request.spans):
        text = wording.name_cause((span.kind, " ".join(span.name.split()), span.line))
        place = Track("task", request.pid, f"{name} {span.kind} {number}")
        writer.slice(place, began + span.began, span.duration, text, {}, None)


def host_name() -> str:
    return os.uname().nodename
