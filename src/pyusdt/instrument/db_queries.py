"""db:::query-start and query-done around one query of a database, for the parts that see queries.

The result or exception of the query is passed on. rows is the cursor's count, -1 if it has none.

- A query that runs another one, as Django's cursor runs psycopg's, fires once.
- If only requests are traced, a query outside of a request is not looked at.
- Values of parameters are never read.
"""

from __future__ import annotations

from contextvars import ContextVar
from time import perf_counter_ns
from typing import Any

from .core import suppress_errors, type_name
from .probes import provider_probes
from .request_spans import current_request, done_probe, span_probe

__all__ = ["Query", "trace_query", "trace_query_async", "begin_query"]

_start, _done = provider_probes("db")
_inside: ContextVar[bool] = ContextVar("pyusdt.query", default=False)


def _statement_text(statement: Any, cursor: Any) -> str | bytes:
    """Also of an object that stands for a statement; psycopg's and psycopg2's sql.SQL and their like have a method for it."""
    if isinstance(statement, (str, bytes)):
        return statement
    return str(statement.as_string(cursor) if hasattr(statement, "as_string") else statement)


class Query:
    """One query that is traced, until it is done."""

    __slots__ = ("began", "statement", "token")

    def __init__(self, statement: Any, cursor: Any) -> None:
        self.statement = _statement_text(statement, cursor)
        if _start:
            _start(self.statement)
        self.began = perf_counter_ns()
        self.token = _inside.set(True)  # last: what fails before leaves nothing behind

    @suppress_errors
    def done(self, cursor: Any, error: BaseException | None = None) -> None:
        took = perf_counter_ns() - self.began
        _inside.reset(self.token)
        if _done:
            rows = -1 if error is not None or cursor is None else cursor.rowcount
            _done(self.statement, rows, took, type_name(type(error)) if error is not None else "")
        if (request := current_request.get()) is not None:
            request.add_here("sql", self.statement, self.began, took)


@suppress_errors
def begin_query(statement: Any, cursor: Any) -> Query | None:
    """The query, if it is to be traced."""
    if _inside.get():
        return None
    is_wanted = (
        _start or _done or ((span_probe or done_probe) and current_request.get() is not None)
    )
    return Query(statement, cursor) if is_wanted else None


def trace_query(cursor: Any, statement: Any, execute: Any, *arguments: Any, **named: Any) -> Any:
    """execute(*arguments, **named) with the probes around it."""
    if not (_start or _done):
        if (span_probe or done_probe) and current_request.get() is not None and not _inside.get():
            return _trace_span(cursor, statement, execute, arguments, named)
        return execute(*arguments, **named)
    query = begin_query(statement, cursor)
    if query is None:
        return execute(*arguments, **named)
    try:
        result = execute(*arguments, **named)
    except BaseException as error:
        query.done(cursor, error)
        raise
    query.done(cursor)
    return result


def _trace_span(cursor: Any, statement: Any, execute: Any, arguments: Any, named: Any) -> Any:
    """The same for the span of a request, which costs less than a Query."""
    token, began = _inside.set(True), perf_counter_ns()
    try:
        return execute(*arguments, **named)
    finally:
        _end_span(cursor, statement, token, began, perf_counter_ns() - began)


@suppress_errors
def _end_span(cursor: Any, statement: Any, token: Any, began: int, took: int) -> None:
    _inside.reset(token)
    if (request := current_request.get()) is not None:
        request.add_here("sql", _statement_text(statement, cursor), began, took)


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
