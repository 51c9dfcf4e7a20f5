"""What `pyusdt why` has seen: requests and what their samples showed, with the facts of the run; and the file that keeps it.

- The file is JSON, with the requests that a report can be made of: the slowest of each route, and a choice of all.
- A file is untrusted: what is not of this form raises EvidenceError, with where.
"""

from __future__ import annotations

import json
from collections import Counter

from .accept_queue import Queue
from .request_log import Request, RequestLog, Span
from .sampled_code import SampledCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FORM = "pyusdt why 1"
MOST_BYTES = 256 << 20
_GREATEST = (1 << 63) - 1  # of integers
_LATEST = 1e11  # seconds since 1970
_SPAN = (str, str, str, int, int)
_REQUEST = (int, str, str, str, str, int, int, int, int)
_ACTIVITY = (str, str, str)


class EvidenceError(Exception):
    """What is wrong with a file, for a person."""


class RunFacts:
    """host, command: text; began: seconds since 1970; duration: seconds; folder: the current one of the processes;
    lost: events, spans and requests; limit: ns of a slow request, 0: it was not set; queues: of addresses, by accept_queue.py."""

    __slots__ = ("began", "command", "duration", "folder", "host", "limit", "lost", "queues")

    def __init__(
        self,
        host: str,
        command: str,
        began: float,
        duration: float,
        folder: str,
        lost: int,
        limit: int = 0,
        queues: dict[str, Queue] | None = None,
    ) -> None:
        self.host, self.command, self.began, self.duration = host, command, began, duration
        self.folder, self.lost, self.limit = folder, lost, limit
        self.queues = queues or {}


class Evidence:
    def __init__(self, log: RequestLog, samples: SampledCode, facts: RunFacts) -> None:
        self.log, self.samples, self.facts = log, samples, facts


def format_evidence(evidence: Evidence) -> str:
    facts = evidence.facts
    routes = {
        name: {"count": route.count, "requests": [_plain(*each, evidence) for each in route.kept]}
        for name, route in evidence.log.routes.items()
    }
    document = {
        "form": FORM,
        "facts": {name: getattr(facts, name) for name in RunFacts.__slots__},
        "routes": routes,
        "holders": [
            [*activity, counts] for activity, counts in evidence.samples.lock_holders.items()
        ],
    }
    return json.dumps(document, ensure_ascii=True) + "\n"


def _plain(request: Request, is_chosen: bool, evidence: Evidence) -> dict[str, Any]:
    return {
        "request": [getattr(request, name) for name in Request.FIELDS],
        "chosen": is_chosen,
        "spans": [
            [span.kind, span.name, span.line, span.began, span.duration] for span in request.spans
        ],
        "samples": [
            [*activity, n] for activity, n in evidence.samples.activities(request.key).items()
        ],
        "throttled": evidence.samples.throttled_time(request),
    }


def read_evidence(path: str) -> Evidence:
    """Raises EvidenceError."""
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise EvidenceError(f"{path}: is larger than {MOST_BYTES >> 20} MB")
        document = json.loads(data)
    except OSError as error:
        raise EvidenceError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise EvidenceError(f"{path}: is no file of `pyusdt why --save`: no JSON") from None
    if not isinstance(document, dict) or document.get("form") != FORM:
        raise EvidenceError(f"{path}: is no file of `pyusdt why --save`, or of another version")
    try:
        return _build(document)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise EvidenceError(f"{path}: has wrong values ({type(error).__name__}: {error})") from None


def _build(document: dict[str, Any]) -> Evidence:
    given = document["facts"]
    facts = RunFacts(
        str(given["host"]),
        str(given["command"]),
        _seconds(given["began"]),
        _seconds(given["duration"]),
        str(given["folder"]),
        _count(given["lost"]),
        _count(given.get("limit", 0)),
        {
            str(address): Queue(*map(_count, counts))
            for address, counts in given.get("queues", {}).items()
        },
    )
    log, samples = RequestLog(), SampledCode()
    for name, given_route in document["routes"].items():
        kept = [_build_request(each, samples) for each in given_route["requests"]]
        if (route := log.add_route(name)) is not None:
            route.restore(_count(given_route["count"]), kept)
            log.requests += route.count
    for *activity, counts in document["holders"]:
        samples.lock_holders[_check(activity, _ACTIVITY)] = Counter(
            {str(holder): _count(n) for holder, n in counts.items()}
        )
    return Evidence(log, samples, facts)


def _build_request(given: dict[str, Any], samples: SampledCode) -> tuple[Request, bool]:
    spans = [Span(*_check(span, _SPAN)) for span in given["spans"]]
    values = [*_check(given["request"], _REQUEST), spans]
    request = Request(*values)
    found = Counter({_check(row[:3], _ACTIVITY): _count(row[3]) for row in given["samples"]})
    samples.set_activities(request, found, _count(given["throttled"]))
    return request, bool(given["chosen"])


def _check(values: Any, kinds: tuple[type, ...]) -> tuple[Any, ...]:
    if not isinstance(values, list) or list(map(type, values)) != list(kinds):
        raise TypeError(f"{str(values)[:60]} is not {', '.join(kind.__name__ for kind in kinds)}")
    if any(type(each) is int and abs(each) > _GREATEST for each in values):
        raise ValueError(f"{str(values)[:60]} has a number that is too large")
    return tuple(values)


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= _GREATEST:
        raise TypeError(f"{str(value)[:60]} is no count")
    return value


def _seconds(value: Any) -> float:
    if type(value) not in (int, float) or not 0 <= value <= _LATEST:
        raise TypeError(f"{str(value)[:60]} is no time")
    return float(value)
