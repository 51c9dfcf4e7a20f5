"""A comparison of slow and usual requests, in words: the largest difference first, then a table, then
the timelines of the slowest.
"""

from __future__ import annotations

import os

from pydtrace.untrusted.terminal_escape import escape_for_terminal

from .causes import PROCESSOR, QUOTA, explain_rest
from .request_log import covered_time
from .sampled_code import CODE, GIL, LOCK, PAGE, UNKNOWN, WAIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .accept_queue import Queue
    from .causes import Cause, CauseKey, Comparison
    from .request_log import Request, RequestLog, Span
    from .sampled_code import SampledCode

ROWS = 8  # of the table
TIMELINES = 3
_LINES = 12  # of a timeline
_BAR = 30  # characters
_LONGEST = 100  # characters of a statement
_LEAST_WAIT = 0.1  # of the difference: a shorter wait for a processor is not worth words
_LEAST = 0.01  # of the time of a slow request: rows below are left out
_WORDS = {
    "sql": "SQL",
    "call": "a call of another service",
    "cache": "a cache command",
    "pool": "a wait for",
    "queue": "a wait for",
    "loop": "the event loop, blocked by",
    "gc": "garbage collection:",
    CODE: "code:",
    LOCK: "a wait for a lock in",
    GIL: "a wait for the GIL:",
    WAIT: "a wait in",
    PAGE: "a wait for a page of memory (swap or a file) in",
    QUOTA: "a wait for a processor: its control group had used up its CPU quota",
    PROCESSOR: "a wait for a processor, or for a page of memory",
    UNKNOWN: "unknown: no span and no sample shows it",
}


def format_time(nanoseconds: float) -> str:
    """ "812 ms", "3.1 ms", "45 µs"."""
    for unit, size in (("s", 1e9), ("ms", 1e6)):
        if nanoseconds >= size * (10 if unit == "s" else 0.1):
            value = nanoseconds / size
            return f"{value:.0f} {unit}" if value >= 10 else f"{value:.1f} {unit}"
    return f"{nanoseconds / 1e3:.0f} µs"


class Wording:
    """folder: the current directory of the traced program, which is left out of paths."""

    def __init__(self, folder: str = "") -> None:
        self._folder = os.path.join(folder, "") if folder else ""

    def name_cause(self, key: CauseKey) -> str:
        kind, name, line = key
        if len(name) > _LONGEST:
            name = f"{name[: _LONGEST - 1]}…"
        words = [_WORDS.get(kind, kind), name, f"at {self.shorten(line)}" if line else ""]
        return escape_for_terminal(" ".join(filter(None, words)))

    def shorten_within(self, text: str) -> str:
        """A text in which a line may stand."""
        return escape_for_terminal(text.replace(self._folder, "") if self._folder else text)

    def shorten(self, line: str) -> str:
        return line[len(self._folder) :] if self._folder and line.startswith(self._folder) else line


def describe_route(found: Comparison, total: int, wording: Wording, samples: SampledCode) -> str:
    """total: requests of the route."""
    route = escape_for_terminal(found.route)
    head = (
        f"{route}: {len(found.slow)} of {total} requests took {format_time(found.limit)} or more,"
        f" {format_time(found.mean_slow)} in the mean; the others {format_time(found.mean_usual)}\n"
    )
    return head + _describe_main_cause(found, wording, samples)


def _describe_main_cause(found: Comparison, wording: Wording, samples: SampledCode) -> str:
    cause = found.main_cause
    if cause is None:
        return (
            "  The cause is unknown: no single cause explains 30 % of the difference in enough of the"
            " slow requests.\n"
        )
    waits = found.processor_wait(cause)
    is_long = waits >= _LEAST_WAIT * found.slower
    share = min(100, round(100 * (cause.difference + waits) / found.slower))
    times = ""
    if cause.times_slow >= 2 and cause.times_slow >= 2 * cause.times_usual:
        times = f", {cause.times_slow:.0f} times instead of {cause.times_usual:.0f}"
    return (
        f"  likely cause: {wording.name_cause(cause.key)}{times}"
        f"{_describe_holder(cause.key, wording, samples)}\n"
        f"  It takes {format_time(cause.slow)} of a slow request"
        f"{f', waits {format_time(waits)} for a processor,' if is_long else ''}"
        f" and {format_time(cause.usual)} of another: {share} % of the difference, in {cause.in_slow} of {len(found.slow)} slow"
        f" requests and {cause.in_usual} of {len(found.usual)} others.\n"
    )


def _describe_holder(key: CauseKey, wording: Wording, samples: SampledCode) -> str:
    """Whose the lock was."""
    found = samples.lock_holder(key) if key[0] == LOCK else None
    if found is None:
        return ""
    holder, times, total = found
    return f"; held by {wording.shorten_within(holder)} ({times} of {total} samples)"


def list_rows(found: Comparison, wording: Wording) -> list[tuple[str, str, str, str, str]]:
    """The first one is the header. Times are means of a request; causes may overlap."""
    rows = [("slow", "others", "in slow", "in others", "where the time went (causes may overlap)")]
    least = _LEAST * found.mean_slow
    shown = [each for each in found.causes if max(each.slow, each.usual) >= least][:ROWS]
    return rows + [_format_row(each, found, wording) for each in shown]


def format_table(found: Comparison, wording: Wording) -> str:
    rows = list_rows(found, wording)
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    return "".join(
        "  "
        + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=False))
        + f"  {row[4]}\n"
        for row in rows
    )


def _format_row(
    cause: Cause, found: Comparison, wording: Wording
) -> tuple[str, str, str, str, str]:
    return (
        format_time(cause.slow),
        format_time(cause.usual),
        f"{cause.in_slow}/{len(found.slow)}",
        f"{cause.in_usual}/{len(found.usual)}",
        wording.name_cause(cause.key),
    )


def format_timeline(request: Request, samples: SampledCode, wording: Wording) -> str:
    """The spans of a request, in the order of their beginnings; the longest ones, if there are many; then what the samples showed."""
    text = (
        f"  {format_time(request.duration)}, status {escape_for_terminal(request.status or '-')},"
        f" process {request.pid}, {escape_for_terminal(request.id)}\n"
    )
    longest = longest_spans(request)
    for span in longest:
        bar = _format_bar(span.began, span.duration, request.duration)
        name = wording.name_cause((span.kind, " ".join(span.name.split()), span.line))
        text += f"    |{bar}| {format_time(span.duration):>7}  {name}\n"
    for activity, duration in list_activities(request, samples):
        source = "" if activity[0] == UNKNOWN else "sampled"
        text += (
            f"    {source:^{_BAR + 2}} {format_time(duration):>7}  {wording.name_cause(activity)}\n"
        )
    left = len(request.spans) - len(longest) + request.left_out
    return text + (f"    and {left} shorter ones\n" if left else "")


def longest_spans(request: Request) -> list[Span]:
    """In the order of their beginnings."""
    longest = sorted(request.spans, key=lambda span: -span.duration)[:_LINES]
    return sorted(longest, key=lambda span: span.began)


def list_activities(request: Request, samples: SampledCode) -> list[tuple[CauseKey, int]]:
    rest = request.duration - covered_time(request.spans, request.duration)
    found = explain_rest(request, rest, samples).items()
    least = _LEAST * request.duration
    return sorted((each for each in found if each[1] >= least), key=lambda each: -each[1])[
        :TIMELINES
    ]


def _format_bar(began: int, duration: int, whole: int) -> str:
    first = min(_BAR - 1, max(0, began * _BAR // max(1, whole)))
    last = min(_BAR, max(first + 1, -(-(began + duration) * _BAR // max(1, whole))))
    return " " * first + "#" * (last - first) + " " * (_BAR - last)


def describe_queues(queues: Mapping[str, Queue]) -> str:
    """A line for each address at which connections waited often."""
    return "".join(
        f"{escape_for_terminal(address)}: connections waited to be accepted in {100 * queue.waited / queue.looks:.0f} %"
        f" of {queue.looks} looks, {queue.total / queue.waited:.1f} of them in the mean, {queue.longest} at most."
        " Their wait is in no time of a request.\n"
        for address, queue in queues.items()
        if queue.is_long
    )


def describe_quiet(log: RequestLog, limits: Sequence[str]) -> str:
    """No route had slow requests."""
    slowest = max((each.longest for each in log.routes.values()), default=0)
    return (
        f"no slow requests: {log.requests} requests of {len(log.routes)} routes, the slowest"
        f" {format_time(slowest)} ({'; '.join(limits)})\n"
    )
