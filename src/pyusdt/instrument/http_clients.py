"""client:::request-start and request-done around the one method that sends, for the parts of HTTP clients.

In:      send(client, request, …), which returns what has a status_code.
Out:     the same with the probes around it; done when the head of the answer is there.
Always:  answers and exceptions go through unchanged; of a URL neither user, password nor query is told.
"""

from __future__ import annotations

from time import perf_counter_ns
from typing import Any
from urllib.parse import urlsplit

from . import wrap_calls
from .core import harmless, name_of
from .probes import probes

__all__ = ["around", "around_async", "begin", "is_traced"]

_start, _done = probes("client")


class _Sent:
    """One request that is traced, until its answer's head is there, or an exception."""

    __slots__ = ("began", "method", "status", "url")

    def __init__(self, method: Any, url: Any, status: str) -> None:
        parts = urlsplit(str(url))
        self.method, self.url, self.status = (
            str(method),
            f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}",
            status,
        )
        _start(self.method, self.url)
        self.began = perf_counter_ns()

    @harmless
    def done(self, answer: Any, error: BaseException | None = None) -> None:
        took = perf_counter_ns() - self.began
        status = -1 if error is not None else getattr(answer, self.status)
        _done(
            self.url, status, took, self.method, name_of(type(error)) if error is not None else ""
        )


@harmless
def begin(method: Any, url: Any, status: str = "status_code") -> _Sent:
    """A request that is traced; status: the attribute of its answer that is the number."""
    return _Sent(method, url, status)


@harmless
def _sent(_client: Any, request: Any, *_more: Any, **_named: Any) -> _Sent | None:
    return begin(request.method, request.url) if _start or _done else None


def is_traced() -> bool:
    return bool(_start or _done)


around = wrap_calls.around(_sent)
around_async = wrap_calls.around_async(_sent)
