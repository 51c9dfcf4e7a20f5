"""The requests of a tracing, with their spans: of each route the slowest ones, and a fair choice of all.

- At most ROUTES routes, SLOWEST and CHOSEN requests of each, and PENDING spans that wait for
  their request are kept; the others are counted.
- The choice has the requests with the smallest random keys, so that the choices of several logs
  can be merged to a fair one (request_ring.py).
"""

from __future__ import annotations

import heapq
import itertools
import random

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

ROUTES = 200
SLOWEST = 200
CHOSEN = 400
PENDING = 20_000
_numbers = itertools.count()  # of requests, in the order of time


class Span:
    """began: ns from the beginning of its request; duration: ns; line: of the application, or ""."""

    __slots__ = ("began", "duration", "kind", "line", "name")

    def __init__(self, kind: str, name: str, line: str, began: int, duration: int) -> None:
        self.kind, self.name, self.line, self.began, self.duration = (
            kind,
            name,
            line,
            began,
            duration,
        )


class Request:
    """FIELDS: in the order of its arguments; duration: ns; cpu: ns that its own code ran, -1: unknown; ended: ns of the monotonic clock."""

    __slots__ = ("cpu", "duration", "ended", "id", "kind", "left_out", "pid", "route", "spans", "status")  # fmt: skip

    FIELDS = ("pid", "id", "kind", "route", "status", "duration", "cpu", "left_out", "ended")

    def __init__(
        self,
        pid: int,
        id: str,
        kind: str,
        route: str,
        status: str,
        duration: int,
        cpu: int,
        left_out: int,
        ended: int,
        spans: list[Span],
    ) -> None:
        self.pid, self.id, self.kind, self.route, self.status = pid, id, kind, route, status
        self.duration, self.cpu, self.left_out, self.ended = duration, cpu, left_out, ended
        self.spans = spans

    @property
    def key(self) -> tuple[int, str]:
        return self.pid, self.id


class RouteLog:
    """The requests of one route.  slowest, chosen: how many are kept, at most."""

    def __init__(self, keys: random.Random, slowest: int = SLOWEST, chosen: int = CHOSEN) -> None:
        self.count = self.total = self.longest = 0
        self._keys, self._most_slowest, self._most_chosen = keys, slowest, chosen
        self._slowest: list[tuple[int, int, Request]] = []
        self._chosen: list[tuple[float, int, Request]] = []  # a heap; (-key, number, request)
        self._bound = 1.0  # requests with larger keys were not kept

    def add(self, request: Request) -> None:
        self.count += 1
        self.total += request.duration
        self.longest = max(self.longest, request.duration)
        number = next(_numbers)
        self._add_slow(number, request)
        self._choose(self._keys.random(), number, request)

    def _add_slow(self, number: int, request: Request) -> None:
        entry = request.duration, -number, request  # of equal ones the first stays
        if len(self._slowest) < self._most_slowest:
            heapq.heappush(self._slowest, entry)
        else:
            heapq.heappushpop(self._slowest, entry)

    def _choose(self, key: float, number: int, request: Request) -> None:
        if key < self._bound:
            heapq.heappush(self._chosen, (-key, number, request))
        while len(self._chosen) > self._most_chosen:
            self._bound = -heapq.heappop(self._chosen)[0]

    def merge(self, other: RouteLog) -> None:
        """Adds what another log has of the route."""
        self.count += other.count
        self.total += other.total
        self.longest = max(self.longest, other.longest)
        for _, number, request in other._slowest:
            self._add_slow(-number, request)
        self._bound = min(self._bound, other._bound)
        known, self._chosen = self._chosen, []
        for key, number, request in [*known, *other._chosen]:
            self._choose(-key, number, request)

    @property
    def slowest(self) -> list[Request]:
        """The slowest first."""
        return [
            request
            for _, _, request in sorted(self._slowest, key=lambda each: each[:2], reverse=True)
        ]

    @property
    def chosen(self) -> list[Request]:
        """A choice in which each request has the same chance, in the order of time."""
        return [request for _, _, request in sorted(self._chosen, key=lambda each: each[1])]

    @property
    def kept(self) -> list[tuple[Request, bool]]:
        """The slowest and the chosen ones, each once; whether it was chosen."""
        chosen = self.chosen
        kept = {id(each): each for each in [*self.slowest, *chosen]}
        ids = {id(each) for each in chosen}
        return [(each, key in ids) for key, each in kept.items()]

    def restore(self, count: int, kept: Iterable[tuple[Request, bool]]) -> None:
        """Sets what was kept of so many requests."""
        requests = list(kept)
        for request, is_chosen in requests:
            self.count += 1
            self.total += request.duration
            self.longest = max(self.longest, request.duration)
            number = next(_numbers)
            self._add_slow(number, request)
            if is_chosen:
                self._choose(self._keys.random(), number, request)
        self.count = max(self.count, count)


class PendingSpans:
    """Spans of requests that have ended; the request itself comes after them."""

    def __init__(self) -> None:
        self.lost = 0
        self._spans: dict[tuple[int, str], list[Span]] = {}
        self._count = 0

    def add(self, pid: int, request: str, span: Span) -> None:
        while self._count >= PENDING:  # of requests whose end was lost, the oldest first
            self.lost += len(self.take(*next(iter(self._spans))))
        self._spans.setdefault((pid, request), []).append(span)
        self._count += 1

    def take(self, pid: int, request: str) -> list[Span]:
        spans = self._spans.pop((pid, request), [])
        self._count -= len(spans)
        return spans


class RequestLog:
    """routes, slowest, chosen: how many are kept, at most; keys: makes the random keys."""

    def __init__(
        self,
        routes: int = ROUTES,
        slowest: int = SLOWEST,
        chosen: int = CHOSEN,
        keys: random.Random | None = None,
    ) -> None:
        self.routes: dict[str, RouteLog] = {}
        self.requests = self.other_routes = self.lost_spans = 0
        self._most_routes, self._most_slowest, self._most_chosen = routes, slowest, chosen
        self._keys = keys or random.Random(0)

    def add_request(self, request: Request) -> None:
        self.requests += 1
        self.lost_spans += request.left_out
        if (route := self.add_route(request.route)) is not None:
            route.add(request)

    def add_route(self, name: str) -> RouteLog | None:
        """The route, whether it is new or not; None: it is one too many, and the request is counted."""
        if name not in self.routes:
            if len(self.routes) >= self._most_routes:
                self.other_routes += 1
                return None
            self.routes[name] = RouteLog(self._keys, self._most_slowest, self._most_chosen)
        return self.routes[name]

    def limit_spans(self, most: int) -> None:
        """Of the requests with the most spans the shortest ones go, and are counted, until no more than these are left."""
        requests = {id(each): each for route in self.routes.values() for each, _ in route.kept}
        sizes = [len(each.spans) for each in requests.values()]
        limit = max(sizes, default=0)
        while sum(min(size, limit) for size in sizes) > most:
            limit //= 2
        for each in requests.values():
            if len(each.spans) > limit:
                self.lost_spans += len(each.spans) - limit
                each.left_out += len(each.spans) - limit
                each.spans = sorted(each.spans, key=lambda span: -span.duration)[:limit]


def covered_time(spans: Iterable[Span], limit: int) -> int:
    """ns that at least one of the spans covers, from 0 to the limit."""
    covered = end = 0
    for began, ended in sorted((span.began, span.began + span.duration) for span in spans):
        began, ended = max(began, end), min(ended, limit)
        if ended > began:
            covered += ended - began
            end = ended
    return covered
