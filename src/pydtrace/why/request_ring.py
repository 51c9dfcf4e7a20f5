"""The requests of the last minutes, for a command that does not end: a ring of slices of time, each with a log of its own.

- A slice keeps fewer requests of a route than the log of one run; choices of several slices are merged to a fair one.
- Of all requests of a route it is counted how many took too long: what the objective needs is exact.
"""

from __future__ import annotations

import random
import re
from collections import Counter, deque
from typing import NamedTuple

from .request_log import RequestLog

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .request_log import Request

SLICES = 10
WINDOW = 300.0  # seconds
SECONDS = 3600.0  # of a window, at most
LEAST_REQUESTS = 20  # of a route in the window, for an objective of a percentile
_ROUTES, _SLOWEST, _CHOSEN, _SPANS = 100, 20, 40, 20_000  # of a slice
_UNITS = {"us": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9, "h": 3600e9}  # ns
_OBJECTIVE = re.compile(
    r"p(\d{1,2}(?:\.\d{1,3})?) *< *(\d{1,6})(us|ms|s) +over +(\d{1,4})(s|m|h)", re.ASCII
)


class Objective(NamedTuple):
    """At most a share of a route's requests in a window takes as long as the limit.  limit: ns; share: 0: none; seconds: of the window."""

    limit: int
    share: float = 0.0
    seconds: float = WINDOW

    def is_missed(self, slow: int, count: int) -> bool:
        """slow: how many of `count` requests took as long as the limit."""
        if self.share == 0:
            return slow > 0
        return count >= LEAST_REQUESTS and slow > self.share * count


def parse_objective(text: str) -> Objective:
    """Of "p99 < 300ms over 5m".  Raises ValueError."""
    found = _OBJECTIVE.fullmatch(text.strip())
    if found is None:
        raise ValueError(text)
    percentile, limit, unit, window, window_unit = found.groups()
    seconds = int(window) * _UNITS[window_unit] / 1e9
    share = 1 - float(percentile) / 100
    if not 0 < share < 1 or not SLICES <= seconds <= SECONDS or not int(limit):
        raise ValueError(text)
    return Objective(int(int(limit) * _UNITS[unit]), round(share, 9), seconds)


class _Slice:
    def __init__(self, began: float, keys: random.Random) -> None:
        self.began = began
        self.log = RequestLog(_ROUTES, _SLOWEST, _CHOSEN, keys)
        self.slow: Counter[str] = Counter()  # by route


class RequestRing:
    """Times are seconds of the monotonic clock."""

    def __init__(self, objective: Objective) -> None:
        self._objective, self._keys = objective, random.Random(0)
        self._length = objective.seconds / SLICES
        self._slices: deque[_Slice] = deque()
        self._added = 0  # spans
        self.requests = 0

    def add_request(self, request: Request, now: float) -> bool:
        """Whether the request was slow, and its route misses the objective."""
        self.move_on(now)
        self.requests += 1
        last = self._slices[-1]
        last.log.add_request(request)
        self._added += len(request.spans)
        if self._added > 2 * _SPANS:
            self._limit_spans()
        if request.duration < self._objective.limit or request.route not in last.log.routes:
            return False
        last.slow[request.route] += 1
        return self._objective.is_missed(*self.count(request.route))

    def move_on(self, now: float) -> bool:
        """Whether a new slice has begun; the oldest one goes then."""
        if self._slices and now < self._slices[-1].began + self._length:
            return False
        if self._slices:
            self._limit_spans()
        self._slices.append(_Slice(now, self._keys))
        while self._slices[0].began <= now - self._objective.seconds:
            self._slices.popleft()
        return True

    def _limit_spans(self) -> None:
        self._slices[-1].log.limit_spans(_SPANS)
        self._added = 0

    def count(self, route: str) -> tuple[int, int]:
        """(slow requests, all requests) of a route in the window."""
        logs = [each.log.routes[route] for each in self._slices if route in each.log.routes]
        return sum(each.slow[route] for each in self._slices), sum(log.count for log in logs)

    def make_log(self, route: str) -> RequestLog:
        """The requests of a route in the window."""
        log = RequestLog()
        merged = log.add_route(route)
        assert merged is not None
        for each in self._slices:
            if route in each.log.routes:
                merged.merge(each.log.routes[route])
        log.requests = merged.count
        return log

    def list_requests(self) -> Iterator[Request]:
        for each in self._slices:
            for route in each.log.routes.values():
                yield from (request for request, _ in route.kept)

    @property
    def lost(self) -> int:
        """Spans, and requests of too many routes, in the window."""
        return sum(each.log.lost_spans + each.log.other_routes for each in self._slices)

    @property
    def began(self) -> float:
        return self._slices[0].began
