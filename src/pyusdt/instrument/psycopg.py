"""psycopg 3: db:::query-start and query-done, around execute() and executemany() of its cursors.

- stream() and copy() are not seen: what they ask for comes while their results are taken.
"""

from __future__ import annotations

from typing import Any

from .core import wrap_method
from .db_queries import trace_query, trace_query_async

_METHODS = ("execute", "executemany")


def _wrap_execute(execute: Any) -> Any:
    def executing(self: Any, query: Any, *arguments: Any, **named: Any) -> Any:
        return trace_query(self, query, execute, self, query, *arguments, **named)

    return executing


def _wrap_async_execute(execute: Any) -> Any:
    async def executing(self: Any, query: Any, *arguments: Any, **named: Any) -> Any:
        return await trace_query_async(self, query, execute, self, query, *arguments, **named)

    return executing


def install_queries(psycopg: Any) -> None:
    for name in _METHODS:
        for cursor in (psycopg.Cursor, psycopg.ServerCursor):
            wrap_method(cursor, name, _wrap_execute)
        for cursor in (psycopg.AsyncCursor, psycopg.AsyncServerCursor):
            wrap_method(cursor, name, _wrap_async_execute)
