"""concurrent.futures, multiprocessing.pool and anyio: pool, around each function that is handed over
to a worker.

Probes: pool:::call-start and call-done, in the thread or process that calls the function.

- What is handed over can be pickled if the function can. Results and exceptions are passed on
  unchanged.
- While nobody traces, the function itself is handed over; such a call fires nothing later.
"""

from __future__ import annotations

from functools import update_wrapper
from time import perf_counter_ns, thread_time_ns
from typing import Any

from . import request_spans
from .core import function_name, replace_attribute, suppress_errors, type_name, wrap_method
from .probes import provider_probes
from .request_spans import done_probe, span_probe

_start, _done = provider_probes("pool")
_SUBMIT_METHODS = (
    "apply_async",
    "_map_async",
    "imap",
    "imap_unordered",
)  # of multiprocessing's pools; the others call these


class _Call:
    """One call that is traced, until it is done."""

    __slots__ = ("_cpu", "_request", "began", "name", "waited")

    def __init__(
        self,
        function: Any,
        submitted_at: int,
        request: request_spans.RequestSpans | None,
    ) -> None:
        self.began = perf_counter_ns()
        self.name, self.waited = function_name(function), self.began - submitted_at
        _start(self.name, self.waited)
        if request is not None:
            request.add("queue", f"a worker for {self.name}", "", submitted_at, self.waited)
        self._request, self._cpu = request, thread_time_ns()

    @suppress_errors
    def done(self, error: BaseException | None = None) -> None:
        ended = perf_counter_ns()
        took = ended - self.began
        if self._request is not None:
            self._request.add_worker_run(self.began, ended, thread_time_ns() - self._cpu)
        _done(self.name, took, self.waited, type_name(type(error)) if error is not None else "")


@suppress_errors
def _begin_call(
    function: Any, submitted_at: int, request: request_spans.RequestSpans | None
) -> _Call:
    return _Call(function, submitted_at, request)


class _SubmittedFunction:
    """A function on its way to a worker, when it was handed over, and by which request; another process does not know the request."""

    __slots__ = ("function", "request", "submitted_at")

    def __init__(self, function: Any, submitted_at: int) -> None:
        self.function, self.submitted_at = function, submitted_at
        self.request: request_spans.RequestSpans | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _SubmittedFunction, (self.function, self.submitted_at)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        traced = (
            _begin_call(self.function, self.submitted_at, self.request)
            if _start or _done or span_probe or done_probe
            else None
        )
        if traced is None:
            return self.function(*arguments, **named)
        try:
            result = self.function(*arguments, **named)
        except BaseException as error:
            traced.done(error)
            raise
        traced.done()
        return result


def _is_watched() -> bool:
    """Of a call that belongs to no request only pool is of interest."""
    return bool(_start or _done) or request_spans.current_request.get() is not None


def _hand_over(function: Any) -> _SubmittedFunction:
    submitted = _SubmittedFunction(function, perf_counter_ns())
    submitted.request = request_spans.current_request.get()
    return submitted


def _wrap_submit(method: Any) -> Any:
    """Around method(pool, function, …), whose function may be named func in a pool of multiprocessing's."""

    def submit(self: Any, *arguments: Any, **named: Any) -> Any:
        if (_start or _done or span_probe or done_probe) and _is_watched():
            if arguments:
                arguments = (_hand_over(arguments[0]), *arguments[1:])
            elif "func" in named:
                named["func"] = _hand_over(named["func"])
        return method(self, *arguments, **named)

    return submit


def install_threads(thread: Any) -> None:
    wrap_method(thread.ThreadPoolExecutor, "submit", _wrap_submit)


def install_processes(process: Any) -> None:
    wrap_method(process.ProcessPoolExecutor, "submit", _wrap_submit)


def install_pools(pool: Any) -> None:
    for name in _SUBMIT_METHODS:
        wrap_method(pool.Pool, name, _wrap_submit)


def install_threads_of_anyio(to_thread: Any) -> None:
    """run_sync(function, …), by which Starlette and FastAPI call what is no coroutine function."""
    run_sync = to_thread.run_sync

    async def handing_over(function: Any, *arguments: Any, **named: Any) -> Any:
        if (_start or _done or span_probe or done_probe) and _is_watched():
            function = _hand_over(function)
        return await run_sync(function, *arguments, **named)

    replace_attribute(to_thread, "run_sync", update_wrapper(handing_over, run_sync))
