"""How spread_tag(True) carries a tag to where contexts do not go: threads, executors, child
processes.

The tag of the context at Thread.start(), Executor.submit() or Process.start() is set, with
spreading on, around what runs there.

- The methods are replaced once, at the first spread_tag(True), and do what they did before in
  contexts that do not spread.
- Only spread_tag() loads this module.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from ._core import tag_variable

_spreading: ContextVar[bool] = ContextVar("pyusdt_spreading", default=False)
_installed = False


def set_spreading(on: bool) -> bool:
    """Turn spreading on or off in this context; returns what it was."""
    before = _spreading.get()
    if on:
        _wrap_methods()
    _spreading.set(on)
    return before


class _TaggedCall:
    """A call under a tag.  Picklable where the function is, so it goes to other processes too."""

    __slots__ = ("function", "data")

    def __init__(self, function: Any, data: bytes | None) -> None:
        self.function = function
        self.data = data

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        token = tag_variable.set(self.data)
        before = set_spreading(True)
        try:
            return self.function(*args, **keywords)
        finally:
            set_spreading(before)
            tag_variable.reset(token)


class _TaggedRun:
    """A thread's or process's run() under a tag; it stands in the instance until it is called."""

    __slots__ = ("owner", "data")

    def __init__(self, owner: Any, data: bytes | None) -> None:
        self.owner = owner
        self.data = data

    def __call__(self) -> None:
        del self.owner.run  # the class's again
        _TaggedCall(self.owner.run, self.data)()


def _wrap_start(start: Any) -> Any:
    def start_tagged(self: Any) -> None:
        if not _spreading.get() or "run" in vars(self):
            start(self)
            return
        self.run = _TaggedRun(self, tag_variable.get())
        try:
            start(self)
        except BaseException:
            vars(self).pop("run", None)
            raise

    return start_tagged


def _wrap_submit(submit: Any) -> Any:
    def submit_tagged(self: Any, fn: Any, /, *args: Any, **keywords: Any) -> Any:
        if not _spreading.get():
            return submit(self, fn, *args, **keywords)
        token = _spreading.set(
            False
        )  # a worker that is started now serves others too: only the call is tagged
        try:
            return submit(self, _TaggedCall(fn, tag_variable.get()), *args, **keywords)
        finally:
            _spreading.reset(token)

    return submit_tagged


def _wrap_methods() -> None:
    global _installed
    if _installed:
        return
    _installed = True
    import functools
    import threading
    from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
    from multiprocessing.process import BaseProcess

    for cls, name, wrap in (
        (threading.Thread, "start", _wrap_start),
        (BaseProcess, "start", _wrap_start),
        (ThreadPoolExecutor, "submit", _wrap_submit),
        (ProcessPoolExecutor, "submit", _wrap_submit),
    ):
        original = getattr(cls, name)
        setattr(cls, name, functools.wraps(original)(wrap(original)))
