"""client:::request-start and request-done around the one method that sends, for the parts of HTTP
clients.

send(client, request, …) returns an object with a status_code; a request is done when the head of
the answer has arrived.

- Answers and exceptions are passed on unchanged.
- Neither user nor password nor query of a URL is recorded.
"""

from __future__ import annotations

from time import perf_counter_ns
from typing import Any
from urllib.parse import urlsplit

from . import request_spans, wrap_calls
from .core import suppress_errors, type_name
from .probes import provider_probes
from .request_spans import done_probe, span_probe

__all__ = ["wrap_send", "wrap_async_send", "begin_request", "is_traced"]

_start, _done = provider_probes("client")


class _ClientRequest:
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

    @suppress_errors
    def done(self, answer: Any, error: BaseException | None = None) -> None:
        took = perf_counter_ns() - self.began
        status = -1 if error is not None else getattr(answer, self.status)
        _done(
            self.url, status, took, self.method, type_name(type(error)) if error is not None else ""
        )
        request_spans.add_span("call", f"{self.method} {self.url}", self.began, took)


@suppress_errors
def begin_request(method: Any, url: Any, status: str = "status_code") -> _ClientRequest:
    """A request that is traced; status: the attribute of its answer that is the number."""
    return _ClientRequest(method, url, status)


@suppress_errors
def _begin_sent_request(
    _client: Any, request: Any, *_more: Any, **_named: Any
) -> _ClientRequest | None:
    return begin_request(request.method, request.url) if is_traced() else None


def is_traced() -> bool:
    return bool(_start or _done or span_probe or done_probe)


wrap_send = wrap_calls.wrap_call(_begin_sent_request)
wrap_async_send = wrap_calls.wrap_async_call(_begin_sent_request)
