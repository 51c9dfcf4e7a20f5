"""concurrent.futures, multiprocessing.pool and anyio: pool, around each function that is handed over to a worker.

In:      concurrent.futures.thread, .process, multiprocessing.pool and anyio.to_thread, when they have been imported.
Out:     pool:::call-start and call-done, in the thread or process that calls the function.
Always:  what is handed over can be pickled where the function can; results and exceptions go through unchanged.  While nobody traces, the
         function itself is handed over: what was handed over then fires nothing.
"""

from __future__ import annotations

from functools import update_wrapper
from time import perf_counter_ns
from typing import Any

from .core import function_name, harmless, name_of, wrap_method
from .probes import probes

_start, _done = probes("pool")
_HANDS_OVER = (
    "apply_async",
    "_map_async",
    "imap",
    "imap_unordered",
)  # of multiprocessing's pools; the others call these


class _Call:
    """One call that is traced, until it is done."""

    __slots__ = ("began", "name", "waited")

    def __init__(self, function: Any, asked: int) -> None:
        self.began = perf_counter_ns()
        self.name, self.waited = function_name(function), self.began - asked
        _start(self.name, self.waited)

    @harmless
    def done(self, error: BaseException | None = None) -> None:
        took = perf_counter_ns() - self.began
        _done(self.name, took, self.waited, name_of(type(error)) if error is not None else "")


@harmless
def _begin(function: Any, asked: int) -> _Call:
    return _Call(function, asked)


class _HandedOver:
    """A function on its way to a worker, and when it was handed over."""

    __slots__ = ("asked", "function")

    def __init__(self, function: Any, asked: int) -> None:
        self.function, self.asked = function, asked

    def __reduce__(self) -> tuple[Any, ...]:
        return _HandedOver, (self.function, self.asked)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        traced = _begin(self.function, self.asked) if _start or _done else None
        if traced is None:
            return self.function(*arguments, **named)
        try:
            result = self.function(*arguments, **named)
        except BaseException as error:
            traced.done(error)
            raise
        traced.done()
        return result


def _handing_over(method: Any) -> Any:
    """Around method(pool, function, …), whose function may be named func in a pool of multiprocessing's."""

    def hand_over(self: Any, *arguments: Any, **named: Any) -> Any:
        if _start or _done:
            now = perf_counter_ns()
            if arguments:
                arguments = (_HandedOver(arguments[0], now), *arguments[1:])
            elif "func" in named:
                named["func"] = _HandedOver(named["func"], now)
        return method(self, *arguments, **named)

    return hand_over


def see_threads(thread: Any) -> None:
    wrap_method(thread.ThreadPoolExecutor, "submit", _handing_over)


def see_processes(process: Any) -> None:
    wrap_method(process.ProcessPoolExecutor, "submit", _handing_over)


def see_pools(pool: Any) -> None:
    for name in _HANDS_OVER:
        wrap_method(pool.Pool, name, _handing_over)


def see_threads_of_anyio(to_thread: Any) -> None:
    """run_sync(function, …), by which Starlette and FastAPI call what is no coroutine function."""
    run_sync = to_thread.run_sync

    async def handing_over(function: Any, *arguments: Any, **named: Any) -> Any:
        if _start or _done:
            function = _HandedOver(function, perf_counter_ns())
        return await run_sync(function, *arguments, **named)

    to_thread.run_sync = update_wrapper(handing_over, run_sync)
