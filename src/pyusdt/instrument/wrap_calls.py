"""Probes around each call of a framework's method, for the parts that see nothing but such calls.

begin(*arguments, **named) gets the call's arguments, and returns an object whose done(result,
error) is called at the end, or None where this call is not traced. wrap_call(begin),
wrap_async_call(begin) and call_before(note) are for wrap_method().

- Results and exceptions are passed on unchanged.
- begin() and done() must not raise (core.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["wrap_call", "wrap_async_call", "call_before"]


def wrap_call(begin: Callable[..., Any]) -> Callable[[Any], Any]:
    def around_method(method: Any) -> Any:
        def called(*arguments: Any, **named: Any) -> Any:
            traced = begin(*arguments, **named)
            if traced is None:
                return method(*arguments, **named)
            try:
                result = method(*arguments, **named)
            except BaseException as error:
                traced.done(None, error)
                raise
            traced.done(result)
            return result

        return called

    return around_method


def wrap_async_call(begin: Callable[..., Any]) -> Callable[[Any], Any]:
    """The same of a coroutine function."""

    def around_method(method: Any) -> Any:
        async def called(*arguments: Any, **named: Any) -> Any:
            traced = begin(*arguments, **named)
            if traced is None:
                return await method(*arguments, **named)
            try:
                result = await method(*arguments, **named)
            except BaseException as error:
                traced.done(None, error)
                raise
            traced.done(result)
            return result

        return called

    return around_method


def call_before(note: Callable[..., Any]) -> Callable[[Any], Any]:
    """note() is called with what the method is called with, before it."""

    def around_method(method: Any) -> Any:
        def called(*arguments: Any, **named: Any) -> Any:
            note(*arguments, **named)
            return method(*arguments, **named)

        return called

    return around_method
