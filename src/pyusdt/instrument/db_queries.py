"""db:::query-start and query-done around one query of a database, for the parts that see queries.

The result or exception of the query is passed on. rows is the cursor's count, -1 if it has none.

- A query that runs another one, as Django's cursor runs psycopg's, fires once.
- Values of parameters are never read.
"""

from __future__ import annotations

from contextvars import ContextVar
from time import perf_counter_ns
from typing import Any

from . import request_spans
from .core import suppress_errors, type_name
from .probes import provider_probes
from .request_spans import done_probe, span_probe

__all__ = ["Query", "trace_query", "trace_query_async", "begin_query"]

_start, _done = provider_probes("db")
_inside: ContextVar[bool] = ContextVar("pyusdt.query", default=False)


def _statement_text(statement: Any, cursor: Any) -> str:
    """Of an object that stands for a statement; psycopg's and psycopg2's sql.SQL and their like have a method for it."""
    return str(statement.as_string(cursor) if hasattr(statement, "as_string") else statement)


class Query:
    """One query that is traced, until it is done."""

    __slots__ = ("began", "statement", "token")

    def __init__(self, statement: Any, cursor: Any) -> None:
        self.statement = (
            statement if isinstance(statement, (str, bytes)) else _statement_text(statement, cursor)
        )
        _start(self.statement)
        self.began = perf_counter_ns()
        self.token = _inside.set(True)  # last: what fails before leaves nothing behind

    @suppress_errors
    def done(self, cursor: Any, error: BaseException | None = None) -> None:
        took = perf_counter_ns() - self.began
        _inside.reset(self.token)
        rows = -1 if error is not None or cursor is None else cursor.rowcount
        _done(self.statement, rows, took, type_name(type(error)) if error is not None else "")
        request_spans.add_span("sql", self.statement, self.began, took)


def _is_traced() -> bool:
    return bool(_start or _done or span_probe or done_probe)


@suppress_errors
def begin_query(statement: Any, cursor: Any) -> Query | None:
    """The query, if it is to be traced."""
    return Query(statement, cursor) if _is_traced() and not _inside.get() else None


def trace_query(cursor: Any, statement: Any, execute: Any, *arguments: Any, **named: Any) -> Any:
    """execute(*arguments, **named) with the probes around it."""
    query = begin_query(statement, cursor) if _start or _done or span_probe or done_probe else None
    if query is None:
        return execute(*arguments, **named)
    try:
        result = execute(*arguments, **named)
    except BaseException as error:
        query.done(cursor, error)
        raise
    query.done(cursor)
    return result


async def trace_query_async(
    cursor: Any, statement: Any, execute: Any, *arguments: Any, **named: Any
) -> Any:
    """The same of a coroutine."""
    query = begin_query(statement, cursor) if _start or _done or span_probe or done_probe else None
    if query is None:
        return await execute(*arguments, **named)
    try:
        result = await execute(*arguments, **named)
    except BaseException as error:
        query.done(cursor, error)
        raise
    query.done(cursor)
    return result
