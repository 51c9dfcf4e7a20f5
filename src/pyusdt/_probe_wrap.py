"""@probe.wrap: a function, coroutine, generator or asynchronous generator function with a probe
around each call.

It fires (0, name, "entry") at the beginning; then (nanoseconds, name, "return"), "raise" where an
exception leaves it, or "close" where a generator is closed. A call that began while the probe was
disabled fires nothing at its end.

- Arguments, values, exceptions and what is sent or thrown in are passed on unchanged.
- Only Probe.wrap() loads this module.
"""

from __future__ import annotations

from functools import update_wrapper
from time import perf_counter_ns
from typing import Any

from ._core import Probe, wrapped

_GENERATOR, _COROUTINE, _ITERABLE_COROUTINE, _ASYNC_GENERATOR = (
    0x20,
    0x80,
    0x100,
    0x200,
)  # code.co_flags


def wrap(probe: Probe, function: Any) -> Any:
    """The function with the probe around it; of a staticmethod or classmethod one around that.  TypeError for what can not be called."""
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(wrap(probe, function.__func__))
    if not callable(function):
        raise TypeError(f"wrap() takes a function, not {type(function).__name__}")
    flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
    if flags & (_COROUTINE | _ITERABLE_COROUTINE):
        observer = _observe_coroutine
    elif flags & _ASYNC_GENERATOR:
        observer = _observe_async_generator
    else:
        observer = _observe_generator if flags & _GENERATOR else _observe_function
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    fire = _make_fire(probe, name)
    return update_wrapper(wrapped(probe, function, observer(fire, function)), function)


def _make_fire(probe: Probe, name: str) -> Any:
    """What fires the probe for a function of that name, given the nanoseconds and what has happened."""
    limit = probe.max_arguments
    if probe.provider == "pyusdt" and limit == 1:  # user_trace-s1
        return lambda duration, what: probe(f"{what} {name}")
    return lambda duration, what: probe(*(duration, name, what)[:limit])


class _ObservedRun:
    """`with` it around one run of a function.  closing: what GeneratorExit is called that leaves it."""

    __slots__ = ("closing", "entered", "fire")

    def __init__(self, fire: Any, closing: str = "raise") -> None:
        self.fire = fire
        self.closing = closing

    def __enter__(self) -> None:
        self.fire(0, "entry")
        self.entered = perf_counter_ns()

    def __exit__(
        self, exception_type: type[BaseException] | None, exception: object, traceback: object
    ) -> None:
        took = perf_counter_ns() - self.entered
        if exception_type is None:
            self.fire(took, "return")
        else:
            self.fire(took, self.closing if issubclass(exception_type, GeneratorExit) else "raise")


def _observe_function(fire: Any, function: Any) -> Any:
    def observed(*args: Any, **keywords: Any) -> Any:
        with _ObservedRun(fire):
            return function(*args, **keywords)

    return observed


def _observe_coroutine(fire: Any, function: Any) -> Any:
    async def observed(*args: Any, **keywords: Any) -> Any:
        with _ObservedRun(fire):
            return await function(*args, **keywords)

    return observed


def _observe_generator(fire: Any, function: Any) -> Any:
    def observed(*args: Any, **keywords: Any) -> Any:
        with _ObservedRun(fire, "close"):
            return (yield from function(*args, **keywords))

    return observed


def _observe_async_generator(fire: Any, function: Any) -> Any:
    """There is no `yield from` for these: what is sent or thrown in is passed on by hand."""

    async def observed(*args: Any, **keywords: Any) -> Any:
        with _ObservedRun(fire, "close"):
            inner = function(*args, **keywords)
            step = inner.__anext__()
            while True:
                try:
                    value = await step
                except StopAsyncIteration:
                    return
                try:
                    sent = yield value
                except GeneratorExit:
                    await inner.aclose()
                    raise
                except BaseException as error:  # noqa: BLE001 - it is thrown on
                    step = inner.athrow(error)
                else:
                    step = inner.asend(sent)

    return observed
