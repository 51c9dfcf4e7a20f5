"""SQLAlchemy: db:::query-start and query-done, by the events of its engines."""

from __future__ import annotations

from typing import Any

from .core import suppress_errors
from .db_queries import begin_query

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
