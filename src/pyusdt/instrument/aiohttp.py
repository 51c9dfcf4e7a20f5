"""aiohttp: http around what its server does with a request, client around what a session sends.

Probes: http:::request-start and request-done, client:::request-start and request-done; a
redirected request is one request.

- A session's TraceConfig would do for the client, but costs each request of a program that nobody
  traces. A server's middlewares belong to the application.
"""

from __future__ import annotations

from typing import Any

from . import http, http_clients
from .core import suppress_errors, wrap_method
from .wrap_calls import wrap_async_call


class _ServerRequest:
    """A request of a server's that is traced, until its answer has been written."""

    __slots__ = ("request", "traced")

    def __init__(self, request: Any) -> None:
        self.request = request
        self.traced = http.Request(
            request.method, request.path, request.headers.get("traceparent", ""), on_loop=True
        )

    @suppress_errors
    def done(self, result: Any, error: BaseException | None = None) -> None:
        """result: the answer, and whether the connection is to be closed."""
        self._set_route()
        if error is not None:
            self.traced.fail()
            return
        self.traced.set_status(result[0].status, result[0].body_length)
        self.traced.done()

    @suppress_errors
    def _set_route(self) -> None:
        """A server without an application has no routes, and what none was found for has no resource."""
        match = getattr(self.request, "match_info", None)
        resource = getattr(getattr(match, "route", None), "resource", None)
        if resource is not None:
            self.traced.route = str(resource.canonical)


@suppress_errors
def _begin_server_request(
    _protocol: Any, request: Any, *_more: Any, **_named: Any
) -> _ServerRequest | None:
    if not http.is_traced() or request.headers.get("Upgrade", "").lower() == "websocket":
        return None
    return _ServerRequest(request)


@suppress_errors
def _begin_client_request(session: Any, method: Any, url: Any, **_named: Any) -> Any:
    """The session may have a base for its addresses."""
    return (
        http_clients.begin_request(method, session._build_url(url), "status")
        if http_clients.is_traced()
        else None
    )


def install_server(protocol: Any) -> None:
    wrap_method(protocol.RequestHandler, "_handle_request", wrap_async_call(_begin_server_request))


def install_client(client: Any) -> None:
    wrap_method(client.ClientSession, "_request", wrap_async_call(_begin_client_request))
