"""asyncio: loop, around Handle._run(), which calls each callback of asyncio's own loops.

Probes: loop:::callback-done, and slow-callback for those that took longer than their loop's
slow_callback_duration (0.1 s unless the program sets it), with or without asyncio's debug mode.

- Callbacks of uvloop are not seen; a tracer of these probes is informed where uvloop has been
  imported.
"""

from __future__ import annotations

from threading import get_ident
from time import perf_counter_ns
from typing import Any

from pyusdt._core import remark
from pyusdt.framework_probes import FRAMEWORK_PROBES

from .core import function_name, suppress_errors, wrap_method
from .http import current_scope, read_route
from .probes import provider_probes
from .request_spans import SHORTEST_STALL, current_request, done_probe, note_stall, span_probe

_done, _slow = provider_probes("loop")


def _callback_name(handle: Any, callback: Any) -> str:
    """Of a step of a task the name of its coroutine; where that serves a request, the application's function and its route."""
    scope = handle._context.get(current_scope) if current_scope in handle._context else None
    if scope is not None and scope.get("endpoint") is not None:
        return f"{function_name(scope['endpoint'])} {read_route(scope)}".rstrip()
    coroutine = getattr(getattr(callback, "__self__", None), "get_coro", None)
    return (
        getattr(coroutine(), "__qualname__", "")
        if coroutine is not None
        else function_name(callback)
    )


@suppress_errors
def _fire_callback(handle: Any, callback: Any, took: int) -> None:
    slow = took > handle._loop.slow_callback_duration * 1e9
    if _done or slow:
        name = _callback_name(handle, callback)
        _done(name, took)
        if slow:
            _slow(name, took)


@suppress_errors
def _resume_request(handle: Any) -> None:
    request = handle._context.get(current_request)
    if request is not None:
        request.resume()


@suppress_errors
def _suspend_request(handle: Any, callback: Any, began: int) -> None:
    """The others of its loop had to wait for the callback."""
    request = handle._context.get(current_request)
    if request is not None:
        request.suspend()
    if perf_counter_ns() - began >= SHORTEST_STALL:
        note_stall("loop", _callback_name(handle, callback), began, request, get_ident())


def _wrap_run(run: Any) -> Any:
    def _run(self: Any) -> Any:
        if not (_done or _slow or span_probe or done_probe):
            return run(self)
        callback = self._callback  # a callback may cancel its handle, which forgets it then
        if span_probe or done_probe:
            _resume_request(self)
        began = perf_counter_ns()
        try:
            return run(self)
        finally:
            if _done or _slow:
                _fire_callback(self, callback, perf_counter_ns() - began)
            if span_probe or done_probe:
                _suspend_request(self, callback, began)

    return _run


def install_callbacks(events: Any) -> None:
    wrap_method(events.Handle, "_run", _wrap_run)


def remark_foreign_loop(module: Any) -> None:
    remark(
        "loop",
        " ".join(FRAMEWORK_PROBES["loop"]),
        f"{module.__name__} is loaded, whose event loop tells nothing of its callbacks: only those of asyncio's own loops are seen",
    )
