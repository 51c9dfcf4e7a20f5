"""SQLAlchemy: db:::query-start and query-done, by the events of its engines; a wait for a connection
of a pool is a span of its request."""

from __future__ import annotations

from functools import partial
from time import perf_counter_ns
from typing import Any

from . import request_spans
from .core import call_to_undo, suppress_errors, wrap_method
from .db_queries import begin_query
from .request_spans import done_probe, span_probe

_KEY = "pyusdt.query"  # in the info of the connection that runs a query


@suppress_errors
def _begin_statement(
    connection: Any, cursor: Any, statement: Any, _parameters: Any, _context: Any, _many: Any
) -> None:
    if (query := begin_query(statement, cursor)) is not None:
        connection.info[_KEY] = query


@suppress_errors
def _finish_statement(
    connection: Any, cursor: Any, _statement: Any, _parameters: Any, _context: Any, _many: Any
) -> None:
    if (query := connection.info.pop(_KEY, None)) is not None:
        query.done(cursor)


@suppress_errors
def _fail_statement(context: Any) -> None:
    if (
        context.connection is not None
        and (query := context.connection.info.pop(_KEY, None)) is not None
    ):
        query.done(None, context.original_exception)


@suppress_errors
def install_queries(engine: Any) -> None:
    from sqlalchemy import event

    for name, function in (
        ("before_cursor_execute", _begin_statement),
        ("after_cursor_execute", _finish_statement),
        ("handle_error", _fail_statement),
    ):
        event.listen(engine.Engine, name, function)
        call_to_undo(partial(event.remove, engine.Engine, name, function))


def _wrap_get(get: Any) -> Any:
    """Around what takes a connection out of the pool, or waits for one."""

    def _do_get(self: Any) -> Any:
        if not (span_probe or done_probe):
            return get(self)
        began = perf_counter_ns()
        try:
            return get(self)
        finally:
            request_spans.add_span(
                "pool", "a connection of SQLAlchemy's pool", began, perf_counter_ns() - began
            )

    return _do_get


def install_pool(pool: Any) -> None:
    wrap_method(pool.QueuePool, "_do_get", _wrap_get)
