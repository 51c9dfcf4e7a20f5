"""http:::request-start and request-done for any WSGI or ASGI application: `application =
WSGI(application)`.

Other parts of this package set the route of a request (set_route). A request that began while
nobody traced fires nothing at its end.

- Requests, answers and exceptions are passed on unchanged.
- A request fires once, however many wrappers there are.
- Its bytes are counted only if http is traced when it begins: for `pyusdt why` alone they would cost time.
- It is done when its last byte has been handed on: the end of the iteration or close() in WSGI,
  the last message in ASGI.
"""

from __future__ import annotations

import re
from contextvars import ContextVar
from time import perf_counter_ns
from typing import Any

from pyusdt._core import encode_tag
from pyusdt._tag_decorator import TaggedRun

from . import request_spans
from .core import suppress_errors
from .probes import provider_probes
from .request_spans import done_probe, span_probe

__all__ = [
    "ASGI",
    "WSGI",
    "Request",
    "add_mount",
    "wrap_asgi",
    "wrap_wsgi",
    "current_scope",
    "is_traced",
    "read_route",
    "set_route",
]

_start, _done = provider_probes("http")
_callback_done, _slow_callback = provider_probes(
    "loop"
)  # they name the request whose callback is slow
current_scope: ContextVar[Any] = ContextVar(
    "pyusdt.scope"
)  # of the request for which an ASGI application works
_KEY = "pyusdt.request"  # in the environ or scope of a request that is seen
_MOUNTS = "pyusdt.mounts"  # in such a scope: the application that was chosen last, and the paths of all that lead to it
_TRACEPARENT = re.compile(
    "[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}"
)  # what each version of it begins with


class Request:
    """One request that is traced, until it is done; W3C's traceparent, if it has one, is the tag of its context so long."""

    __slots__ = (
        "began",
        "counts",
        "length",
        "method",
        "path",
        "route",
        "sent",
        "spans",
        "status",
        "tag",
        "traceparent",
    )

    def __init__(
        self, method: str, path: str, traceparent: str = "", on_loop: bool = False
    ) -> None:
        known = (
            _TRACEPARENT.match(traceparent) if traceparent else None
        )  # whoever asks has written it
        self.method, self.path, self.traceparent = method, path, known[0] if known else ""
        self.route, self.status, self.sent, self.length = "", 0, 0, 0
        self.counts = bool(_done)
        if _start:
            _start(method, "", path, self.traceparent)
        self.tag = TaggedRun(encode_tag(self.traceparent)) if known else None
        if self.tag is not None:
            self.tag.__enter__()
        self.spans = (
            request_spans.begin_request("http", on_loop) if span_probe or done_probe else None
        )
        self.began: int | None = perf_counter_ns()

    @suppress_errors
    def set_status(self, status: Any, length: Any) -> None:
        """Its status is known, and what its Content-Length says, if anything."""
        self.status, self.length = int(status), int(length or 0)

    @suppress_errors
    def count_bytes(self, data: Any) -> None:
        """If `counts`."""
        self.sent += len(data)

    @suppress_errors
    def fail(self) -> None:
        """An exception leaves the application: its server answers 500, unless an answer has begun."""
        self.status = self.status or 500
        self.done()

    @suppress_errors
    def done(self) -> None:
        if self.began is not None:
            took, self.began = perf_counter_ns() - self.began, None
            if self.spans is not None:
                self.spans.done(f"{self.method} {self.route or self.path}", self.status)
            if self.tag is not None:
                self.tag.__exit__(None, None, None)
            if self.counts and _done:
                _done(
                    self.route,
                    self.status,
                    self.sent or self.length,
                    took,
                    self.method,
                    self.path,
                    self.traceparent,
                )


def is_traced() -> bool:
    return bool(_start or _done or span_probe or done_probe)


def set_route(place: dict[str, Any], route: Any) -> None:
    """The framework has chosen; place: the environ or scope of the request."""
    if (request := place.get(_KEY)) is not None:
        request.route = str(route)


@suppress_errors
def add_mount(scope: dict[str, Any], mount: Any) -> None:
    """The framework has chosen an application that is mounted, below those that were chosen before."""
    if _KEY in scope or scope is current_scope.get(None):
        scope[_MOUNTS] = (mount, scope.get(_MOUNTS, (None, ""))[1] + str(mount.path))


# --- WSGI ----------------------------------------------------------------------------------


@suppress_errors
def _begin_wsgi_request(environ: dict[str, Any]) -> Request | None:
    if _KEY in environ:
        return None
    request = environ[_KEY] = Request(
        environ.get("REQUEST_METHOD", ""),
        environ.get("PATH_INFO", ""),
        environ.get("HTTP_TRACEPARENT", ""),
    )
    return request


def _find_header(headers: Any, name: Any) -> Any:
    return next((value for key, value in headers if key.lower() == name), 0)


class _Body:
    """An answer that is handed on piece by piece.  Who knows what a framework's answer has beside its pieces finds it here, too."""

    def __init__(self, request: Request, body: Any) -> None:
        self._request, self._body = request, body
        self._pieces: Any = None

    def __iter__(self) -> _Body:
        self._pieces = iter(self._body)
        return self

    def __next__(self) -> Any:
        if self._pieces is None:
            self._pieces = iter(self._body)
        try:
            piece = next(self._pieces)
        except StopIteration:
            self._request.done()
            raise
        if self._request.counts:
            self._request.count_bytes(piece)
        return piece

    def __getattr__(self, name: str) -> Any:
        if name == "_body":  # of a copy that is being made
            raise AttributeError(name)
        return getattr(self._body, name)

    def __bytes__(self) -> bytes:
        return bytes(self._body)

    def __del__(self) -> None:
        """A server that never closes it: without an end the later requests of the thread would belong to this one."""
        request = getattr(self, "_request", None)
        if request is not None and request.began is not None:
            request.done()

    def close(self) -> None:
        try:
            if hasattr(self._body, "close"):
                self._body.close()
        finally:
            if self._request.began is not None:
                self._request.done()


def _wrap_answer(request: Request, environ: dict[str, Any], body: Any) -> Any:
    """What the server gets.  A list stays one, since servers ask its length; a file of the server's stays one, since it may send
    it without reading: its size is its Content-Length then."""
    if isinstance(body, (list, tuple)):
        for piece in body if request.counts else ():
            request.count_bytes(piece)
    elif not _is_file(environ, body):
        return _Body(request, body)
    request.done()
    return body


def _is_file(environ: dict[str, Any], body: Any) -> bool:
    kind = environ.get("wsgi.file_wrapper")
    return isinstance(kind, type) and isinstance(body, kind)


@suppress_errors
def _note_status(request: Request, status: str, headers: Any) -> None:
    request.status = int(status[:3])
    if request.counts:
        request.length = int(_find_header(headers, "content-length") or 0)


def _wrap_start_response(request: Request, start_response: Any) -> Any:
    """start_response() that notes the status, and the bytes that go through write()."""

    def starting(status: str, headers: Any, *error: Any) -> Any:
        write = start_response(status, headers, *error)
        _note_status(request, status, headers)
        if not request.counts:
            return write

        def writing(data: bytes) -> Any:
            request.count_bytes(data)
            return write(data)

        return writing

    return starting


def wrap_wsgi(call: Any) -> Any:
    """call(application, environ, start_response) with the probes around it, for a class's method."""

    def called(self: Any, environ: dict[str, Any], start_response: Any) -> Any:
        is_wanted = _start or _done or span_probe or done_probe
        request = _begin_wsgi_request(environ) if is_wanted else None
        if request is None:
            return call(self, environ, start_response)
        try:
            return _wrap_answer(
                request, environ, call(self, environ, _wrap_start_response(request, start_response))
            )
        except BaseException:
            request.fail()
            raise

    return called


class WSGI:
    """A WSGI application with the probes around each request."""

    def __init__(self, application: Any) -> None:
        self.application = application

    @wrap_wsgi
    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        return self.application(environ, start_response)


# --- ASGI ----------------------------------------------------------------------------------


@suppress_errors
def _begin_asgi_request(scope: dict[str, Any]) -> Request | None:
    if scope["type"] != "http" or _KEY in scope:
        return None
    traceparent = _find_header(scope.get("headers", ()), b"traceparent")
    request = scope[_KEY] = Request(
        scope["method"],
        scope["path"],
        traceparent.decode("latin-1") if traceparent else "",
        on_loop=True,
    )
    return request


@suppress_errors
def _note_message(request: Request, message: dict[str, Any]) -> None:
    if message["type"] == "http.response.start":
        headers = message.get("headers", ()) if request.counts else ()
        request.set_status(message["status"], _find_header(headers, b"content-length"))
    elif request.counts and message["type"] == "http.response.body":
        request.count_bytes(message.get("body", b""))


@suppress_errors
def _note_end(request: Request, scope: dict[str, Any], message: dict[str, Any]) -> None:
    """After a message: the last one ends the request, whatever the application does behind it."""
    if message["type"] == "http.response.body" and not message.get("more_body", False):
        _set_asgi_route(request, scope)
        request.done()


@suppress_errors
def _set_asgi_route(request: Request, scope: dict[str, Any]) -> None:
    """Takes the route that Starlette or FastAPI has left in the scope, below the mounts that lead to it."""
    if not request.route:
        request.route = read_route(scope)


def read_route(scope: dict[str, Any]) -> str:
    """The route that Starlette or FastAPI has left in the scope, below the mounts that lead to it; or ""."""
    mount, mounted = scope.get(_MOUNTS, (None, ""))
    route, path = scope.get("route"), ""
    if route is not None and route is not mount:
        context = scope.get("fastapi", {}).get(
            "effective_route_context"
        )  # FastAPI keeps a router's prefix there
        path = str((context if getattr(context, "original_route", None) is route else route).path)
    return f"{mounted}{path}"


def wrap_asgi(call: Any) -> Any:
    """call(application, scope, receive, send), a coroutine function, with the probes around it."""

    async def called(self: Any, scope: dict[str, Any], receive: Any, send: Any) -> Any:
        if _slow_callback or _callback_done or span_probe or done_probe:
            current_scope.set(scope)
        request = _begin_asgi_request(scope) if is_traced() else None
        if request is None:
            return await call(self, scope, receive, send)

        async def sending(message: dict[str, Any]) -> None:
            _note_message(request, message)
            await send(message)
            _note_end(request, scope, message)

        try:
            result = await call(self, scope, receive, sending)
        except BaseException:
            _set_asgi_route(request, scope)
            request.fail()
            raise
        _set_asgi_route(request, scope)
        request.done()
        return result

    return called


class ASGI:
    """An ASGI application with the probes around each request."""

    def __init__(self, application: Any) -> None:
        self.application = application

    @wrap_asgi
    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> Any:
        return await self.application(scope, receive, send)
