"""aiohttp: http around what its server does with a request, client around what a session sends.

In: aiohttp.web_protocol and aiohttp.client, when they have been imported.
Out: http:::request-start and request-done, client:::request-start and request-done; what is redirected is one request.
Always: a session's TraceConfig would do for the client, but costs each request of a program that nobody traces; a server's middlewares
are the application's.
"""

from __future__ import annotations

from typing import Any

from . import http, http_clients
from .core import harmless, wrap_method
from .wrap_calls import around_async


class _Served:
    """A request of a server's that is traced, until its answer has been written."""

    __slots__ = ("request", "seen")

    def __init__(self, request: Any) -> None:
        self.request = request
        self.seen = http.Request(
            request.method, request.path, request.headers.get("traceparent", "")
        )

    @harmless
    def done(self, result: Any, error: BaseException | None = None) -> None:
        """result: the answer, and whether the connection is to be closed."""
        self._take_route()
        if error is not None:
            self.seen.fails()
            return
        self.seen.answers(result[0].status, result[0].body_length)
        self.seen.done()

    @harmless
    def _take_route(self) -> None:
        """A server without an application has no routes, and what none was found for has no resource."""
        match = getattr(self.request, "match_info", None)
        resource = getattr(getattr(match, "route", None), "resource", None)
        if resource is not None:
            self.seen.route = str(resource.canonical)


@harmless
def _served(_protocol: Any, request: Any, *_more: Any, **_named: Any) -> _Served | None:
    if not http.is_traced() or request.headers.get("Upgrade", "").lower() == "websocket":
        return None
    return _Served(request)


@harmless
def _sent(session: Any, method: Any, url: Any, **_named: Any) -> Any:
    """The session may have a base for its addresses."""
    return (
        http_clients.begin(method, session._build_url(url), "status")
        if http_clients.is_traced()
        else None
    )


def see_server(protocol: Any) -> None:
    wrap_method(protocol.RequestHandler, "_handle_request", around_async(_served))


def see_client(client: Any) -> None:
    wrap_method(client.ClientSession, "_request", around_async(_sent))
