"""SQLAlchemy: db, by the events of its engines.

In: sqlalchemy.engine, when it has been imported.  Out: db:::query-start and query-done.
"""

from __future__ import annotations

from typing import Any

from .core import harmless
from .db_queries import begin

_KEY = "pyusdt.query"  # in the info of the connection that runs a query


@harmless
def _before(
    connection: Any, cursor: Any, statement: Any, _parameters: Any, _context: Any, _many: Any
) -> None:
    if (query := begin(statement, cursor)) is not None:
        connection.info[_KEY] = query


@harmless
def _after(
    connection: Any, cursor: Any, _statement: Any, _parameters: Any, _context: Any, _many: Any
) -> None:
    if (query := connection.info.pop(_KEY, None)) is not None:
        query.done(cursor)


@harmless
def _failed(context: Any) -> None:
    if (
        context.connection is not None
        and (query := context.connection.info.pop(_KEY, None)) is not None
    ):
        query.done(None, context.original_exception)


@harmless
def see_queries(engine: Any) -> None:
    from sqlalchemy import event

    for name, function in (
        ("before_cursor_execute", _before),
        ("after_cursor_execute", _after),
        ("handle_error", _failed),
    ):
        event.listen(engine.Engine, name, function)
