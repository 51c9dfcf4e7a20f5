"""Threads of the operating system, and waits for them, also in a program that gevent or eventlet has patched.

Definitions: a program is patched if threads, locks and time.sleep() are greenlets' there.
Invariants:
- A thread that is started here runs beside the program's, whatever is patched.
- A wait here lets the other greenlets of a patched program run: it looks every few milliseconds and sleeps by the program's own sleep().
- Nothing here imports gevent or eventlet.
"""

from __future__ import annotations

import _thread
import importlib.machinery
import importlib.util
import time
from _queue import Empty, SimpleQueue  # of C: `queue` is patched
from functools import cache
from types import BuiltinFunctionType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

__all__ = [
    "Empty",
    "SimpleQueue",
    "get_item",
    "is_patched",
    "make_lock",
    "sleep_really",
    "start_thread",
    "thread_id",
]

_TURN = 0.005  # seconds between two looks in a patched program


def is_patched() -> bool:
    return type(_thread.start_new_thread) is not BuiltinFunctionType


@cache
def _load_fresh(name: str) -> ModuleType:
    """A builtin module as it was before somebody patched it.  It is the caller's alone: sys.modules keeps the patched one."""
    spec = importlib.machinery.BuiltinImporter.find_spec(name)
    assert spec and spec.loader, name
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _unpatched_module(name: str, module: ModuleType) -> Any:
    return _load_fresh(name) if is_patched() else module


def start_thread(function: Callable[[], Any]) -> None:
    """Start function() in a thread that does not keep the interpreter from ending.  Raises RuntimeError where no thread can be started."""
    _unpatched_module("_thread", _thread).start_new_thread(function, ())


def make_lock() -> Any:
    """A lock that threads may hold for moments only, since all greenlets of a thread wait for it."""
    return _unpatched_module("_thread", _thread).allocate_lock()


def thread_id() -> int:
    """Of the thread of the operating system, as threading.get_ident() is where nothing is patched."""
    found: int = _unpatched_module("_thread", _thread).get_ident()
    return found


def sleep_really(seconds: float) -> None:
    """Sleep in a thread that start_thread() has started."""
    _unpatched_module("time", time).sleep(seconds)


def get_item(items: SimpleQueue[Any], seconds: float) -> Any:
    """The next item.  Raises Empty after so many seconds."""
    if not is_patched():
        return items.get(timeout=max(seconds, 0.0))
    deadline = time.monotonic() + seconds
    while True:
        try:
            return items.get_nowait()
        except Empty:
            if time.monotonic() >= deadline:
                raise
        time.sleep(_TURN)
