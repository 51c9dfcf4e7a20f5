"""The requests of a tracing, with their spans: of each route the slowest ones, and a fair choice of all.

- At most ROUTES routes, SLOWEST and CHOSEN requests of each, and PENDING spans that wait for
  their request are kept; what does not fit is counted.
"""

from __future__ import annotations

import heapq
import random

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

ROUTES = 200
SLOWEST = 200
CHOSEN = 400
PENDING = 20_000


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
    """The requests of one route."""

    def __init__(self) -> None:
        self.count = self.total = self.longest = 0
        self._slowest: list[tuple[int, int, Request]] = []
        self._chosen: list[Request] = []
        self._random = random.Random(0)

    def add(self, request: Request) -> None:
        self.count += 1
        self.total += request.duration
        self.longest = max(self.longest, request.duration)
        entry = request.duration, self.count, request
        if len(self._slowest) < SLOWEST:
            heapq.heappush(self._slowest, entry)
        else:
            heapq.heappushpop(self._slowest, entry)
        if len(self._chosen) < CHOSEN:
            self._chosen.append(request)
        elif (place := self._random.randrange(self.count)) < CHOSEN:
            self._chosen[place] = request

    @property
    def slowest(self) -> list[Request]:
        """The slowest first."""
        return [
            request for _, _, request in sorted(self._slowest, key=lambda each: (-each[0], each[1]))
        ]

    @property
    def kept(self) -> list[tuple[Request, bool]]:
        """The slowest and the chosen ones, each once; whether it was chosen."""
        kept = {id(each): each for each in [*self.slowest, *self._chosen]}
        chosen = {id(each) for each in self._chosen}
        return [(each, key in chosen) for key, each in kept.items()]

    def restore(self, count: int, kept: Iterable[tuple[Request, bool]]) -> None:
        """What was kept of so many requests, in place of what is here."""
        requests = list(kept)
        for request, _ in requests:
            self.add(request)
        self._chosen = [request for request, is_chosen in requests if is_chosen][:CHOSEN]
        self.count = max(self.count, count)

    @property
    def chosen(self) -> list[Request]:
        """A choice in which each request has the same chance."""
        return list(self._chosen)


class RequestLog:
    def __init__(self) -> None:
        self.routes: dict[str, RouteLog] = {}
        self.requests = self.other_routes = self.lost_spans = 0
        self._pending: dict[tuple[int, str], list[Span]] = {}
        self._pending_count = 0

    def add_span(self, pid: int, request: str, span: Span) -> None:
        """A span of a request that has ended; the request itself comes after it."""
        if self._pending_count >= PENDING:
            self.lost_spans += 1
            return
        self._pending.setdefault((pid, request), []).append(span)
        self._pending_count += 1

    def take_spans(self, pid: int, request: str) -> list[Span]:
        spans = self._pending.pop((pid, request), [])
        self._pending_count -= len(spans)
        return spans

    def add_request(self, request: Request) -> None:
        self.requests += 1
        self.lost_spans += request.left_out
        if request.route not in self.routes and len(self.routes) >= ROUTES:
            self.other_routes += 1
            return
        self.routes.setdefault(request.route, RouteLog()).add(request)


def covered_time(spans: Iterable[Span], limit: int) -> int:
    """ns that at least one of the spans covers, from 0 to the limit."""
    covered = end = 0
    for began, ended in sorted((span.began, span.began + span.duration) for span in spans):
        began, ended = max(began, end), min(ended, limit)
        if ended > began:
            covered += ended - began
            end = ended
    return covered
