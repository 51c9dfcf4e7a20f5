"""Any DB-API driver: classes of cursors and connections with db around each statement, for a program
to give to its driver.

    sqlite3.connect(path, factory=connection(sqlite3.Connection, cursor(sqlite3.Cursor)))
    pymysql.connect(cursorclass=cursor(pymysql.cursors.Cursor))

The results are derived classes with db:::query-start and query-done around what they execute.

- Nothing of the driver is changed. What a method returns or raises is passed on unchanged.
"""

from __future__ import annotations

from functools import update_wrapper
from typing import Any

from .db_queries import trace_query

__all__ = ["connection", "cursor"]

_EXECUTES = ("execute", "executemany", "executescript", "callproc")


def _wrap_execute(execute: Any) -> Any:
    def executing(self: Any, statement: Any, *arguments: Any, **named: Any) -> Any:
        return trace_query(self, statement, execute, self, statement, *arguments, **named)

    return update_wrapper(executing, execute)


def cursor(kind: type) -> Any:
    """A class of cursors like this one, which fires."""
    return type(
        kind.__name__,
        (kind,),
        {name: _wrap_execute(getattr(kind, name)) for name in _EXECUTES if hasattr(kind, name)},
    )


def _execute_by_cursor(name: str) -> Any:
    """A connection's execute(): sqlite3's makes a cursor without asking its class."""

    def executing(self: Any, *arguments: Any) -> Any:
        return getattr(self.cursor(), name)(*arguments)

    return executing


def connection(kind: type, cursors: type) -> Any:
    """A class of connections like this one, whose cursors are of that class unless the program asks for another one.

    For drivers whose cursor() takes the class as its first argument, as sqlite3's; others have an argument for it.
    """

    def make_cursor(self: Any, factory: type = cursors) -> Any:
        return kind.cursor(self, factory)  # type: ignore[attr-defined]

    shortcuts = {
        name: update_wrapper(_execute_by_cursor(name), getattr(kind, name))
        for name in _EXECUTES
        if hasattr(kind, name)
    }
    return type(kind.__name__, (kind,), {"cursor": make_cursor, **shortcuts})
