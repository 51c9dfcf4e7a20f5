"""request:::span and request:::done: where the time of one request went, for `pyusdt why`.

A request collects its spans while it runs, and fires them when it ends: queries, cache commands,
calls of other services, waits for a worker or a connection, and what made it wait although it
could have gone on (another callback of its event loop, a garbage collection).

- The request is in the context, so that asyncio tasks, asyncio.to_thread and the functions that
  are handed to a pool belong to it.
- A request has a tag: its traceparent, the tag that its context has, or one of its own. Samples of
  stacks carry it.
- A request keeps at most SPANS spans, and counts the others.
- Nothing is collected while request is not traced.
"""

from __future__ import annotations

import gc
import os
import sys
import sysconfig
from collections import deque
from contextvars import ContextVar
from itertools import count
from threading import get_ident
from time import perf_counter_ns, thread_time_ns
from typing import TYPE_CHECKING, Any

from pyusdt._core import encode_tag, tag_variable

from .core import suppress_errors
from .probes import provider_probes

if TYPE_CHECKING:
    from contextvars import Token
    from types import CodeType

__all__ = ["RequestSpans", "add_span", "begin_request", "current_request", "is_traced"]

span_probe, done_probe = provider_probes("request")
current_request: ContextVar[RequestSpans | None] = ContextVar("pyusdt.request", default=None)
SPANS = 200
_FRAMES = 100  # that are searched for a line of the application
_NAME = 300  # characters of a span's name
_STALLS = 256  # that are remembered
SHORTEST_STALL = 2_000_000  # ns
_numbers = count(1)
_LIBRARIES = tuple(
    os.path.join(os.path.realpath(path), "")
    for name in ("stdlib", "platstdlib", "purelib", "platlib")
    if (path := sysconfig.get_paths().get(name))
)
_OWN = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "")
_is_library: dict[str, bool] = {}  # {file name of code: whether it is a library's}


def is_traced() -> bool:
    return bool(span_probe or done_probe)


class _Stall:
    """An interval in which other code could not go on.  request: whose code ran, thread: the one that stood; None: all threads."""

    __slots__ = ("began", "ended", "kind", "name", "request", "thread")

    def __init__(
        self, kind: str, name: str, began: int, request: RequestSpans | None, thread: int | None
    ) -> None:
        self.kind, self.name, self.request, self.thread = kind, name, request, thread
        self.began, self.ended = began, perf_counter_ns()


_stalls: deque[_Stall] = deque(maxlen=_STALLS)


def note_stall(
    kind: str,
    name: str,
    began: int,
    request: RequestSpans | None = None,
    thread: int | None = None,
) -> None:
    """An interval from `began` (perf_counter_ns()) until now; short ones are forgotten."""
    if perf_counter_ns() - began >= SHORTEST_STALL:
        _stalls.append(_Stall(kind, name[:_NAME], began, request, thread))


class RequestSpans:
    """One request, task, call or block that is traced.  kind: "http", "task", "rpc" or "tag"; block: of tag_blocks.py."""

    __slots__ = (
        "_began",
        "_cpu",
        "_left_out",
        "_spans",
        "_tag",
        "_thread",
        "_token",
        "_worker_runs",
        "block",
        "_loop_time",
        "_resumed",
        "kind",
        "name",
    )

    def __init__(self, kind: str, on_loop: bool) -> None:
        self.kind = kind
        self._spans: list[tuple[str, str, str, int, int]] = []
        self._worker_runs: list[tuple[int, int]] = []
        self._left_out = 0
        self._thread = get_ident()
        data = tag_variable.get()
        self.name = (
            data.decode("utf-8", "replace")
            if data is not None
            else f"{kind} {os.getpid()}.{next(_numbers)}"
        )
        self.block: tuple[Any, int] | None = None
        self._tag: Token[bytes | None] | None = (
            tag_variable.set(encode_tag(self.name)) if data is None else None
        )
        self._token: Token[RequestSpans | None] | None = current_request.set(self)
        self._cpu, self._began = thread_time_ns(), perf_counter_ns()
        # ns of processor time of its callbacks on the event loop, -1: it is not on one, -2: on one that is not watched;
        # what the thread had used when the callback that runs now began, -1: none runs
        self._loop_time = (0 if _is_loop_watched() else -2) if on_loop else -1
        self._resumed = self._cpu if on_loop else -1

    def resume(self) -> None:
        """A callback of it begins."""
        if self._loop_time >= 0 and not self.is_done:
            self._resumed = thread_time_ns()

    def suspend(self) -> None:
        """The callback of it ends, or the request does."""
        if self._loop_time >= 0 and self._resumed >= 0:
            self._loop_time += thread_time_ns() - self._resumed
            self._resumed = -1

    def add_worker_run(self, began: int, ended: int, cpu: int) -> None:
        """A worker ran for it, while its loop went on.  began, ended: by perf_counter_ns(); cpu: ns of processor time."""
        if self._loop_time >= 0 and not self.is_done:
            self._loop_time += cpu
            if len(self._worker_runs) < SPANS:
                self._worker_runs.append((began, ended))

    @property
    def is_done(self) -> bool:
        return self._token is None

    def add(self, kind: str, name: str, line: str, began: int, took: int) -> None:
        """began: by perf_counter_ns().  Nothing after its end: tasks that it has started may still have it in their context."""
        if not self.is_done:
            self._append(kind, name, line, began, took)

    def add_here(self, kind: str, name: Any, began: int, took: int) -> None:
        """A span that ends now, below a line of the application.  May raise, if an object that stands for the name does."""
        if self._token is not None:
            text = name if type(name) is str else _format_name(name)
            if len(self._spans) < SPANS:
                line = _find_application_line()
                self._spans.append((kind, text[:_NAME], line, began - self._began, took))
            else:
                self._left_out += 1

    def _append(self, kind: str, name: str, line: str, began: int, took: int) -> None:
        if len(self._spans) < SPANS:
            self._spans.append((kind, name[:_NAME], line, began - self._began, took))
        else:
            self._left_out += 1

    @suppress_errors
    def done(self, route: str, status: Any) -> None:
        """The end of the request.  Again: nothing more."""
        if self._token is None:
            return
        took = perf_counter_ns() - self._began
        token, self._token = self._token, None
        try:
            current_request.reset(token)
            if self._tag is not None:
                tag_variable.reset(self._tag)
        except ValueError:
            pass  # another context ends it than began it
        if _stalls:
            self._add_stalls(took)
        spans, self._spans = self._spans, []
        for span in spans if span_probe else ():
            span_probe(self.name, *span)
        done_probe(
            self.name,
            self.kind,
            route,
            str(status),
            took,
            self._read_cpu(),
            len(spans),
            self._left_out,
        )

    def leave_context(self) -> None:
        """It has ended in another context, and this one, where it began, or a copy of this one has it still."""
        current_request.set(None)
        if self._tag is not None and tag_variable.get() == encode_tag(self.name):
            tag_variable.set(None)

    def _read_cpu(self) -> int:
        """ns that its own code ran; -1: unknown."""
        if self._loop_time == -2 or get_ident() != self._thread:
            return -1
        if self._loop_time < 0:
            return thread_time_ns() - self._cpu
        self.suspend()
        return self._loop_time

    def _had_worker(self, stall: _Stall) -> bool:
        """A blocked loop delays no request for which a worker runs meanwhile."""
        return any(
            2 * (min(ended, stall.ended) - max(began, stall.began)) > stall.ended - stall.began
            for began, ended in self._worker_runs
        )

    def _add_stalls(self, took: int) -> None:
        """Those of others that lay in its time."""
        for stall in _stalls.copy():
            if stall.request is self or stall.thread not in (None, self._thread):
                continue
            if stall.thread is not None and self._had_worker(stall):
                continue
            began = max(stall.began, self._began)
            lasted = min(stall.ended, self._began + took) - began
            if lasted >= SHORTEST_STALL:
                self._append(stall.kind, stall.name, "", began, lasted)


def _is_loop_watched() -> bool:
    """Whether asyncio.py sees the callbacks of the loop that runs here: not those of uvloop or trio."""
    events = sys.modules.get("asyncio.events")
    loop = events._get_running_loop() if events is not None else None
    return type(loop).__module__.startswith("asyncio.")


@suppress_errors
def begin_request(kind: str, on_loop: bool = False) -> RequestSpans | None:
    """The request of this context from now on; None where the context has one already."""
    before = current_request.get()
    if before is not None and not before.is_done:
        return None
    if before is not None:
        before.leave_context()
    _watch_collections()
    return RequestSpans(kind, on_loop)


@suppress_errors
def add_span(kind: str, name: Any, began: int, took: int) -> None:
    """A span that ends now, of the request of this context."""
    request = current_request.get()
    if request is not None:
        request.add_here(kind, name, began, took)


def _format_name(name: Any) -> str:
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)


def _find_application_line() -> str:
    """ "/srv/shop/views.py:12 checkout" of the innermost frame that is not a library's; "" if there is none."""
    frame = sys._getframe(2)
    for _ in range(_FRAMES):
        code = frame.f_code
        known = _is_library.get(code.co_filename)
        if not (_is_library_s(code) if known is None else known):
            return f"{code.co_filename}:{frame.f_lineno} {code.co_name}"
        if frame.f_back is None:
            return ""
        frame = frame.f_back
    return ""


def _is_library_s(code: CodeType) -> bool:
    """By its file; remembered for the next time."""
    path = os.path.realpath(code.co_filename)
    known = (
        path.startswith((_OWN, *_LIBRARIES))
        or code.co_filename.startswith("<")
        or f"{os.sep}site-packages{os.sep}" in path
        or f"{os.sep}dist-packages{os.sep}" in path
    )
    if len(_is_library) < 10_000:
        _is_library[code.co_filename] = known
    return known


_collection_began = 0
_watches_collections = False


def _watch_collections() -> None:
    """From the first request that is traced on: a callback costs each collection of the program."""
    global _watches_collections
    if not _watches_collections:
        _watches_collections = True
        gc.callbacks.append(_note_collection)


def _ignore_collections() -> None:
    """A callback that removes itself would hide the next one in the list from this collection, so only the last one is removed."""
    global _watches_collections
    if not (gc.callbacks and gc.callbacks[-1] is _note_collection):
        return
    last = gc.callbacks.pop()
    if last is _note_collection:
        _watches_collections = False
    else:  # another thread has just added it
        gc.callbacks.append(last)


def _note_collection(phase: str, info: dict[str, int]) -> None:
    global _collection_began
    if not is_traced():
        _collection_began = 0
        _ignore_collections()
    elif phase == "start":
        _collection_began = perf_counter_ns()
    elif _collection_began:
        note_stall("gc", f"generation {info['generation']}", _collection_began)
        _collection_began = 0
