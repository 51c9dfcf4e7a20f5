"""Django: http around its handlers, the route where it resolves one, db by the execute wrappers of
each connection.

Probes: http:::request-start and request-done, db:::query-start and query-done.

- No setting is changed. The handlers' classes are wrapped because settings.MIDDLEWARE belongs to
  the application, and a middleware of it may refuse a request before ours would see it.
"""

from __future__ import annotations

from typing import Any

from .core import suppress_errors, wrap_method
from .db_queries import trace_query
from .http import set_route, wrap_asgi, wrap_wsgi


def install_wsgi(handlers: Any) -> None:
    wrap_method(handlers.WSGIHandler, "__call__", wrap_wsgi)


def install_asgi(handlers: Any) -> None:
    wrap_method(handlers.ASGIHandler, "__call__", wrap_asgi)


@suppress_errors
def _note_route(request: Any, match: Any) -> None:
    """A request of ASGI has its scope, one of WSGI its environ as META.  path("") is "/": "" is a request without a route."""
    set_route(getattr(request, "scope", None) or request.META, match.route or "/")


def install_routes(handlers: Any) -> None:
    def around(resolve: Any) -> Any:
        def resolve_request(self: Any, request: Any) -> Any:
            match = resolve(self, request)
            _note_route(request, match)
            return match

        return resolve_request

    wrap_method(handlers.BaseHandler, "resolve_request", around)


def _trace_execute(
    execute: Any, sql: Any, parameters: Any, many: bool, context: dict[str, Any]
) -> Any:
    """One of connection.execute_wrappers."""
    return trace_query(context.get("cursor"), sql, execute, sql, parameters, many, context)


@suppress_errors
def _note_connection(connection: Any, **_more: Any) -> None:
    if _trace_execute not in connection.execute_wrappers:
        connection.execute_wrappers.append(_trace_execute)


def install_queries(signals: Any) -> None:
    signals.connection_created.connect(_note_connection)
