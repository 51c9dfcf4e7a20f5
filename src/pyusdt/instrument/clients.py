"""client:::request-start and request-done around the one method that sends, for the parts of HTTP clients.

In:      send(client, request, …), which returns what has a status_code.
Out:     the same with the probes around it; done when the head of the answer is there.
Always:  answers and exceptions go through unchanged; of a URL neither user, password nor query is told.
"""

from __future__ import annotations

from time import perf_counter_ns
from typing import Any
from urllib.parse import urlsplit

from .core import harmless, name_of
from .names import probes

__all__ = ["around", "around_async"]

_start, _done = probes("client")


class _Sent:
    """One request that is traced, until its answer's head is there, or an exception."""

    __slots__ = ("began", "method", "url")

    def __init__(self, request: Any) -> None:
        url = urlsplit(str(request.url))
        self.method, self.url = str(request.method), f"{url.scheme}://{url.netloc.rpartition('@')[2]}{url.path}"
        _start(self.method, self.url)
        self.began = perf_counter_ns()

    @harmless
    def done(self, answer: Any, error: BaseException | None = None) -> None:
        took = perf_counter_ns() - self.began
        status = -1 if error is not None else answer.status_code
        _done(self.url, status, took, self.method, name_of(type(error)) if error is not None else "")


@harmless
def _sent(request: Any) -> _Sent:
    return _Sent(request)


def around(send: Any) -> Any:
    def sending(self: Any, request: Any, *arguments: Any, **named: Any) -> Any:
        traced = _sent(request) if _start or _done else None
        if traced is None:
            return send(self, request, *arguments, **named)
        try:
            answer = send(self, request, *arguments, **named)
        except BaseException as error:
            traced.done(None, error)
            raise
        traced.done(answer)
        return answer

    return sending


def around_async(send: Any) -> Any:
    async def sending(self: Any, request: Any, *arguments: Any, **named: Any) -> Any:
        traced = _sent(request) if _start or _done else None
        if traced is None:
            return await send(self, request, *arguments, **named)
        try:
            answer = await send(self, request, *arguments, **named)
        except BaseException as error:
            traced.done(None, error)
            raise
        traced.done(answer)
        return answer

    return sending
