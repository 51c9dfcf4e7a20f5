"""@tag("…"): a function, coroutine function or generator function, each call of which has a tag.

- The tag is that of the call only: a generator's caller keeps its own between two steps.
- tag.__call__() and hooks of frameworks load this module.
"""

from __future__ import annotations

from functools import wraps
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction
from typing import Any

from ._core import tag_variable


class TaggedRun:
    """`with` it around one run; pyusdt's own, which is no block of the program."""

    __slots__ = ("_data", "_token")

    def __init__(self, data: bytes | None) -> None:
        self._data = data

    def __enter__(self) -> None:
        self._token = tag_variable.set(self._data)

    def __exit__(self, *exception: object) -> None:
        try:
            tag_variable.reset(self._token)
        except ValueError:
            pass  # another context, as tag.__exit__() has it


def tag_function(data: bytes | None, function: Any) -> Any:
    """The function with the tag.  TypeError for what can not be called."""
    if not callable(function):
        raise TypeError(f"tag() decorates a function, not {type(function).__name__}")
    if isasyncgenfunction(function):
        raise TypeError("tag() does not decorate asynchronous generators: use `with` in them")
    if iscoroutinefunction(function):
        return wraps(function)(_tag_coroutine(data, function))
    return wraps(function)(
        _tag_generator(data, function)
        if isgeneratorfunction(function)
        else _tag_plain_function(data, function)
    )


def _tag_plain_function(data: bytes | None, function: Any) -> Any:
    def run(*args: Any, **keywords: Any) -> Any:
        with TaggedRun(data):
            return function(*args, **keywords)

    return run


def _tag_coroutine(data: bytes | None, function: Any) -> Any:
    async def run(*args: Any, **keywords: Any) -> Any:
        with TaggedRun(data):
            return await function(*args, **keywords)

    return run


def _tag_generator(data: bytes | None, function: Any) -> Any:
    def run(*args: Any, **keywords: Any) -> Any:
        generator = function(*args, **keywords)
        step, given = generator.send, None
        while True:
            try:
                with TaggedRun(data):
                    value = step(given)
            except StopIteration as end:
                return end.value
            try:
                step, given = generator.send, (yield value)
            except GeneratorExit:
                with TaggedRun(data):
                    generator.close()
                raise
            except BaseException as error:  # noqa: BLE001 - it is thrown on
                step, given = generator.throw, error

    return run
