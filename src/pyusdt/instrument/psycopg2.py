"""psycopg2: db:::query-start and query-done, by derived classes of cursors and connections, since
psycopg2's own are written in C.

- A program that asks for a class of cursors or connections gets one derived from it.
"""

from __future__ import annotations

from functools import lru_cache, update_wrapper
from typing import Any

from . import dbapi
from .core import replace_attribute, suppress_errors

_keep_classes = lru_cache(maxsize=256)  # of classes: programs have few


@_keep_classes
def _cursor_class(kind: type) -> Any:
    return dbapi.cursor(kind)


@_keep_classes
def _connection_class(kind: type, cursors: type) -> Any:
    """A class of connections like this one, all of whose cursors fire."""

    def cursor(
        self: Any, name: Any = None, cursor_factory: Any = None, *arguments: Any, **named: Any
    ) -> Any:
        return kind.cursor(  # type: ignore[attr-defined]
            self,
            name,
            _traced_cursor_factory(cursor_factory or self.cursor_factory or cursors),
            *arguments,
            **named,
        )

    return type(kind.__name__, (kind,), {"cursor": cursor})


def _traced_cursor_factory(factory: Any) -> Any:
    """A function that makes cursors is left as it is."""
    return _cursor_class(factory) if isinstance(factory, type) else factory


@suppress_errors
def _traced_connection_factory(asked: Any, extensions: Any) -> Any:
    kind = asked or extensions.connection
    return _connection_class(kind, extensions.cursor) if isinstance(kind, type) else kind


def install_queries(psycopg2: Any) -> None:
    connect = psycopg2.connect

    def connecting(
        dsn: Any = None, connection_factory: Any = None, *arguments: Any, **named: Any
    ) -> Any:
        factory = (
            _traced_connection_factory(connection_factory, psycopg2.extensions)
            or connection_factory
        )
        return connect(dsn, factory, *arguments, **named)

    replace_attribute(psycopg2, "connect", update_wrapper(connecting, connect))
