"""What makes the slow requests of a route slow: each cause's time in slow and in usual requests.

- A cause is a span's kind, name and line, or what the samples showed of the time without a span.
  Time that neither explains is UNKNOWN, never spread over the rest.
- A thread that was ready to run for much longer than it used a processor waited for the PROCESSOR. Code that
  runs so much longer in slow requests that it explains this wait is named instead. At the same line less is
  enough, and another wait counts, too: a system call that wakes up often.
- Spans of one cause that overlap count once; spans of different causes may overlap, so that the
  shares of a request may exceed 100 %.
- The largest difference is named only if it explains LEAST_SHARE of what the slow requests take
  longer, was in at least half of them, or in a quarter of them (and two) but hardly in usual ones.
"""

from __future__ import annotations

import re
import statistics
from collections import Counter
from typing import NamedTuple

from .request_log import covered_time
from .sampled_code import CODE, UNKNOWN, WAIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .request_log import Request, RouteLog, Span
    from .sampled_code import SampledCode

PROCESSOR, QUOTA = "processor", "quota"
LEAST_SHARE = 0.3
LEAST_REQUESTS = 20  # of a route, for a comparison without a limit that the user gave
_BUSY = 0.25  # of a wait for a processor: code that runs so much longer is what waits for it
_AT_LINE = 0.1  # of a wait for a processor at a line: what runs or waits there so much longer is what waits for it
_TYPICAL = 5  # times as often in slow requests as in usual ones
_TIMES = 3  # so many times the median is slow
_LEAST_QUEUE = 10_000_000  # ns
_LONGER = 20_000_000  # ns that a slow request takes longer than the median, at least
_NUMBER = re.compile(r"\b\d+(?:\.\d+)?\b|'(?:[^']|'')*'")

CauseKey = tuple[str, str, str]  # (kind, name, line)


class Cause:
    """slow, usual: mean ns of a request; in_slow, in_usual: of how many requests it is a part; times_slow, times_usual: mean
    number of spans of those, 0: samples."""

    __slots__ = ("in_slow", "in_usual", "key", "slow", "times_slow", "times_usual", "usual")

    def __init__(self, key: CauseKey) -> None:
        self.key = key
        self.slow = self.usual = self.times_slow = self.times_usual = 0.0
        self.in_slow = self.in_usual = 0

    @property
    def difference(self) -> float:
        return self.slow - self.usual


class Comparison:
    """causes: those with the largest difference first; slower: ns that a slow request takes longer in the mean; ready: for each line
    the ns that a slow request waits longer there for a processor."""

    __slots__ = ("causes", "limit", "ready", "route", "slow", "usual")

    def __init__(
        self,
        route: str,
        limit: int,
        slow: list[Request],
        usual: list[Request],
        causes: list[Cause],
        ready: Mapping[str, float],
    ) -> None:
        self.route, self.limit, self.slow, self.usual = route, limit, slow, usual
        self.causes, self.ready = causes, ready

    @property
    def mean_slow(self) -> float:
        return statistics.fmean(request.duration for request in self.slow)

    @property
    def mean_usual(self) -> float:
        return statistics.fmean(request.duration for request in self.usual)

    @property
    def slower(self) -> float:
        return self.mean_slow - self.mean_usual

    @property
    def main_cause(self) -> Cause | None:
        """The largest difference, if it explains enough of what the slow ones take longer."""
        typical = [
            each for each in self.causes if each.key[0] != UNKNOWN and self._is_typical(each)
        ]
        largest = max(typical, key=self._explained_time, default=None)
        if largest is None or self._explained_time(largest) < LEAST_SHARE * self.slower:
            return None
        return largest

    def _explained_time(self, cause: Cause) -> float:
        return cause.difference + self.processor_wait(cause)

    def processor_wait(self, cause: Cause) -> float:
        """ns that a cause waits for a processor in a slow request, as it needs one for so much longer, or so much more often."""
        waits = max(
            (each.difference for each in self.causes if each.key[0] in (PROCESSOR, QUOTA)),
            default=0.0,
        )
        if cause.key[0] == CODE and cause.difference >= _BUSY * waits:
            return waits
        at_line = self.ready.get(cause.key[2], 0.0)
        is_part = cause.key[0] in (CODE, WAIT) and cause.difference >= _AT_LINE * at_line
        return at_line if is_part else 0.0

    def _is_typical(self, cause: Cause) -> bool:
        """Of the slow requests: slow requests may have several causes, so that one need not have half of them."""
        if 2 * cause.in_slow >= len(self.slow):
            return True
        share, usual_share = cause.in_slow / len(self.slow), cause.in_usual / len(self.usual)
        return cause.in_slow >= 2 and share >= 0.25 and share >= _TYPICAL * usual_share


class SlowRule(NamedTuple):
    """Which requests are slow, by the user.  limit: ns, worst: a share of a route's requests; neither: by the median."""

    limit: int | None = None
    worst: float | None = None


BY_MEDIAN = SlowRule()


def slow_limit(log: RouteLog, rule: SlowRule) -> int | None:
    """ns from which on a request of the route is slow; None: too few requests for a comparison."""
    if rule.limit is not None:
        return rule.limit
    if log.count < LEAST_REQUESTS:
        return None
    if rule.worst is not None:
        slowest = log.slowest
        return slowest[min(len(slowest), max(1, int(log.count * rule.worst))) - 1].duration
    median = statistics.median(request.duration for request in log.chosen)
    return int(max(_TIMES * median, median + _LONGER))


def compare_route(
    route: str, log: RouteLog, samples: SampledCode, rule: SlowRule = BY_MEDIAN
) -> Comparison | None:
    """The slow requests of a route beside the usual ones; None: there are none of either."""
    limit = slow_limit(log, rule)
    if limit is None:
        return None
    slow = [request for request in log.slowest if request.duration >= limit]
    usual = [request for request in log.chosen if request.duration < limit]
    if not slow or not usual:
        return None
    causes: dict[CauseKey, Cause] = {}
    for group, name in ((slow, "slow"), (usual, "usual")):
        _add_group(causes, group, name, samples)
    ranked = sorted(causes.values(), key=lambda cause: -cause.difference)
    ready = Counter(mean_ready(slow, samples))
    ready.subtract(mean_ready(usual, samples))
    return Comparison(route, limit, slow, usual, ranked, +ready)


def mean_ready(group: Sequence[Request], samples: SampledCode) -> Mapping[str, float]:
    """{line: ns of a request in which it waits for a processor there}."""
    ready: dict[str, float] = {}
    for request in group:
        found = explain_rest(request, _unspanned_time(request), samples)
        waits = sum(found.get((kind, "", ""), 0) for kind in (PROCESSOR, QUOTA))
        seen = {key: n for key, n in samples.activities(request.key).items() if key[0] == CODE}
        for (_, _, line), n in seen.items() if waits else ():
            ready[line] = ready.get(line, 0.0) + waits * n / sum(seen.values()) / len(group)
    return ready


def _add_group(
    causes: dict[CauseKey, Cause], group: Sequence[Request], name: str, samples: SampledCode
) -> None:
    times: Counter[CauseKey] = Counter()
    took: Counter[CauseKey] = Counter()
    present: Counter[CauseKey] = Counter()
    for request in group:
        found, counts = explain_request(request, samples)
        for key, duration in found.items():
            took[key] += duration
            present[key] += 1
        times.update(counts)
    for key, duration in took.items():
        cause = causes.setdefault(key, Cause(key))
        setattr(cause, name, duration / len(group))
        setattr(cause, f"in_{name}", present[key])
        setattr(cause, f"times_{name}", times[key] / present[key])


def explain_request(
    request: Request, samples: SampledCode
) -> tuple[Mapping[CauseKey, int], Counter[CauseKey]]:
    """({cause: ns of the request}, {cause: its spans})."""
    spans: dict[CauseKey, list[Span]] = {}
    for span in request.spans:
        spans.setdefault((span.kind, _cause_name(span), span.line), []).append(span)
    found = {key: covered_time(group, request.duration) for key, group in spans.items()}
    found.update(explain_rest(request, _unspanned_time(request), samples))
    return found, Counter({key: len(group) for key, group in spans.items()})


def _unspanned_time(request: Request) -> int:
    return request.duration - covered_time(request.spans, request.duration)


def explain_rest(request: Request, rest: int, samples: SampledCode) -> dict[CauseKey, int]:
    """The time without a span, by the samples of the request: those at the line of a span show that span."""
    lines = {span.line for span in request.spans if span.line}
    seen = {
        activity: n
        for activity, n in samples.activities(request.key).items()
        if activity[2] not in lines
    }
    total = sum(seen.values())
    if total:
        found = {activity: rest * n // total for activity, n in seen.items()}
        return _limit_code(found, request, samples) if request.cpu >= 0 else found
    if 0 <= request.cpu and 2 * request.cpu >= rest > 0:
        return {(CODE, "the program's own code", ""): rest}
    return {(UNKNOWN, "", ""): rest} if rest else {}


def _limit_code(
    found: dict[CauseKey, int], request: Request, samples: SampledCode
) -> dict[CauseKey, int]:
    """Code that did not get the processor that long waited for it: its control group had used up its quota, other
    threads ran, or pages were missing."""
    cpu = request.cpu
    ready = sum(duration for key, duration in found.items() if key[0] == CODE)
    if ready <= max(2 * cpu, cpu + _LEAST_QUEUE):  # samples are no exact measure
        return found
    limited = {
        key: duration * cpu // ready if key[0] == CODE else duration
        for key, duration in found.items()
    }
    kind = QUOTA if 2 * samples.throttled_time(request) >= ready - cpu else PROCESSOR
    return {**limited, (kind, "", ""): ready - cpu}


def _cause_name(span: Span) -> str:
    """A statement or URL without its numbers and texts, so that equal ones are one cause."""
    if span.kind == "call":
        service, slash, path = span.name.partition("://")
        host, between, rest = path.partition("/")
        return f"{service}{slash}{host}{between}{_NUMBER.sub('?', rest)}"
    return " ".join((_NUMBER.sub("?", span.name) if span.kind == "sql" else span.name).split())
