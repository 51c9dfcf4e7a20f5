"""psycopg 3: db, around execute() and executemany() of its cursors.

In: psycopg, when it has been imported.  Out: db:::query-start and query-done.
Always: stream() and copy() are not seen: what they ask for comes while their results are taken.
"""

from __future__ import annotations

from typing import Any

from .core import wrap_method
from .db_queries import around_query, around_query_async

_METHODS = ("execute", "executemany")


def _around(execute: Any) -> Any:
    def executing(self: Any, query: Any, *arguments: Any, **named: Any) -> Any:
        return around_query(self, query, execute, self, query, *arguments, **named)

    return executing


def _around_async(execute: Any) -> Any:
    async def executing(self: Any, query: Any, *arguments: Any, **named: Any) -> Any:
        return await around_query_async(self, query, execute, self, query, *arguments, **named)

    return executing


def see_queries(psycopg: Any) -> None:
    for name in _METHODS:
        for cursor in (psycopg.Cursor, psycopg.ServerCursor):
            wrap_method(cursor, name, _around)
        for cursor in (psycopg.AsyncCursor, psycopg.AsyncServerCursor):
            wrap_method(cursor, name, _around_async)
