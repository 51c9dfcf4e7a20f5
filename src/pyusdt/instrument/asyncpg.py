"""asyncpg: db, around the methods of connections and prepared statements that run a query.

In: asyncpg.connection and asyncpg.prepared_stmt, when they have been imported.  Out: db:::query-start and query-done.
Always: cursors and copies are not seen: what they ask for comes while their results are taken.
"""

from __future__ import annotations

from typing import Any

from .core import harmless, wrap_method
from .db_queries import Query, begin
from .wrap_calls import around_async

_ROWS = ("fetch", "fetchmany", "fetchrow", "fetchval")


class _Counted:
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
    __slots__ = ("query", "tells_rows")

    def __init__(self, query: Query, tells_rows: bool) -> None:
        self.query, self.tells_rows = query, tells_rows

    @harmless
    def done(self, result: Any, error: BaseException | None = None) -> None:
        self.query.done(_Counted(result if self.tells_rows else None), error)


def _around(tells_rows: bool, statement: Any) -> Any:
    """statement(self, arguments): of a call the text that runs."""

    @harmless
    def begin_query(self: Any, *arguments: Any, **named: Any) -> _Query | None:
        query = begin(statement(self, arguments, named), None)
        return _Query(query, tells_rows) if query is not None else None

    return around_async(begin_query)


def _of_call(_connection: Any, arguments: Any, named: Any) -> Any:
    return arguments[0] if arguments else named.get("query", named.get("command", ""))


def _of_prepared(prepared: Any, _arguments: Any, _named: Any) -> Any:
    return prepared.get_query()


def see_queries(connection: Any) -> None:
    for name in ("execute", "executemany", *_ROWS):
        if name in connection.Connection.__dict__:
            wrap_method(
                connection.Connection,
                name,
                _around(name in ("execute", "fetch", "fetchmany"), _of_call),
            )


def see_prepared_queries(prepared: Any) -> None:
    for name in ("executemany", *_ROWS):
        if name in prepared.PreparedStatement.__dict__:
            wrap_method(
                prepared.PreparedStatement,
                name,
                _around(name in ("fetch", "fetchmany"), _of_prepared),
            )
