"""@probe.wrap: a function, coroutine, generator or asynchronous generator function with a probe around each run of it.

In:      a Probe and the function.
Out:     what calls the function while the probe is off, and an observer of it while it is on: (0, name, "entry") when
         it begins, (nanoseconds, name, "return") when it returns, "raise" where an exception leaves it, "close" where a
         generator is closed.  A run that began while the probe was off fires nothing at its end.
Always:  arguments, values, exceptions and what is sent or thrown in go through unchanged.  Loaded by Probe.wrap() only.
"""

from __future__ import annotations

from functools import update_wrapper
from time import perf_counter_ns
from typing import Any

from pyusdt._core import Probe, wrapped

_GENERATOR, _COROUTINE, _ITERABLE_COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x100, 0x200  # code.co_flags


def wrap(probe: Probe, function: Any) -> Any:
    """The function with the probe around it.  TypeError for what can not be called."""
    if not callable(function):
        raise TypeError(f"wrap() takes a function, not {type(function).__name__}"
                        " (a classmethod or staticmethod goes around what is wrapped)")
    flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
    if flags & (_COROUTINE | _ITERABLE_COROUTINE):
        observer = _coroutine
    elif flags & _ASYNC_GENERATOR:
        observer = _async_generator
    else:
        observer = _generator if flags & _GENERATOR else _function
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return update_wrapper(wrapped(probe, function, observer(_Run(probe, name), function)), function)


class _Run:
    """Fires one probe around one function."""

    __slots__ = ("fire", "name")

    def __init__(self, probe: Probe, name: str) -> None:
        self.name = name
        limit = probe.max_arguments
        if probe.provider == "pyusdt" and limit == 1:  # user_trace-s1
            self.fire = lambda duration, what: probe(f"{what} {name}")
        else:
            self.fire = lambda duration, what: probe(*(duration, name, what)[:limit])

    def entry(self) -> int:
        self.fire(0, "entry")
        return perf_counter_ns()

    def leave(self, entered: int, what: str) -> None:
        self.fire(perf_counter_ns() - entered, what)


def _function(run: _Run, function: Any) -> Any:
    def observed(*args: Any, **keywords: Any) -> Any:
        entered = run.entry()
        try:
            result = function(*args, **keywords)
        except BaseException:
            run.leave(entered, "raise")
            raise
        run.leave(entered, "return")
        return result

    return observed


def _coroutine(run: _Run, function: Any) -> Any:
    async def observed(*args: Any, **keywords: Any) -> Any:
        entered = run.entry()
        try:
            result = await function(*args, **keywords)
        except BaseException:
            run.leave(entered, "raise")
            raise
        run.leave(entered, "return")
        return result

    return observed


def _generator(run: _Run, function: Any) -> Any:
    def observed(*args: Any, **keywords: Any) -> Any:
        entered = run.entry()
        try:
            result = yield from function(*args, **keywords)
        except GeneratorExit:
            run.leave(entered, "close")
            raise
        except BaseException:
            run.leave(entered, "raise")
            raise
        run.leave(entered, "return")
        return result

    return observed


def _async_generator(run: _Run, function: Any) -> Any:
    """There is no `yield from` for these: what is sent or thrown in is passed on by hand."""

    async def observed(*args: Any, **keywords: Any) -> Any:
        entered = run.entry()
        inner = function(*args, **keywords)
        try:
            step = inner.__anext__()
            while True:
                try:
                    value = await step
                except StopAsyncIteration:
                    break
                try:
                    sent = yield value
                except GeneratorExit:
                    await inner.aclose()
                    raise
                except BaseException as error:  # noqa: BLE001 - it is thrown on
                    step = inner.athrow(error)
                else:
                    step = inner.asend(sent)
        except GeneratorExit:
            run.leave(entered, "close")
            raise
        except BaseException:
            run.leave(entered, "raise")
            raise
        run.leave(entered, "return")

    return observed
