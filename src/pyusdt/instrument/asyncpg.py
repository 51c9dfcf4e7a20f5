"""asyncpg: db, around the methods of connections and prepared statements that run a query.

Probes: db:::query-start and query-done.

- Cursors and copies are not seen: what they ask for comes while their results are taken.
"""

from __future__ import annotations

from typing import Any

from .core import suppress_errors, wrap_method
from .db_queries import Query, begin_query
from .wrap_calls import wrap_async_call

_ROWS = ("fetch", "fetchmany", "fetchrow", "fetchval")


class _RowCount:
    """In the place of a cursor: how many rows there are."""

    __slots__ = ("rowcount",)

    def __init__(self, result: Any) -> None:
        """result: rows, the text of the server ("INSERT 0 3"), or one row or value, of which nothing is known."""
        if isinstance(result, list):
            self.rowcount = len(result)
        else:
            last = result.rpartition(" ")[2] if isinstance(result, str) else ""
            self.rowcount = int(last) if last.isdigit() else -1


class _Query:
    __slots__ = ("query", "has_row_count")

    def __init__(self, query: Query, has_row_count: bool) -> None:
        self.query, self.has_row_count = query, has_row_count

    @suppress_errors
    def done(self, result: Any, error: BaseException | None = None) -> None:
        self.query.done(_RowCount(result if self.has_row_count else None), error)


def _wrap_method(has_row_count: bool, statement: Any) -> Any:
    """statement(self, arguments): of a call the text that runs."""

    @suppress_errors
    def begin_traced(self: Any, *arguments: Any, **named: Any) -> _Query | None:
        query = begin_query(statement(self, arguments, named), None)
        return _Query(query, has_row_count) if query is not None else None

    return wrap_async_call(begin_traced)


def _statement_of_call(_connection: Any, arguments: Any, named: Any) -> Any:
    return arguments[0] if arguments else named.get("query", named.get("command", ""))


def _statement_of_prepared(prepared: Any, _arguments: Any, _named: Any) -> Any:
    return prepared.get_query()


def install_queries(connection: Any) -> None:
    for name in ("execute", "executemany", *_ROWS):
        if name in connection.Connection.__dict__:
            wrap_method(
                connection.Connection,
                name,
                _wrap_method(name in ("execute", "fetch", "fetchmany"), _statement_of_call),
            )


def install_prepared_queries(prepared: Any) -> None:
    for name in ("executemany", *_ROWS):
        if name in prepared.PreparedStatement.__dict__:
            wrap_method(
                prepared.PreparedStatement,
                name,
                _wrap_method(name in ("fetch", "fetchmany"), _statement_of_prepared),
            )
