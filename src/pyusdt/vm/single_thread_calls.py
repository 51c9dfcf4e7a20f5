"""System calls that need a process of one thread, or restrict only the calling thread: the watcher's
thread ends before them.

They are os.unshare() and os.setns() of CPython 3.12 and later, and the C functions of these calls
as ctypes finds them after enable(); paused() is for calls that go another way. The watcher's
thread starts again afterwards, so it inherits the restriction; but not after a seccomp filter for
one thread, since the filter might kill the program for it.

- Arguments, results and errors are the same as without pyusdt. docs/reference/security.md, "The watcher",
  says why it is a thread.
"""

from __future__ import annotations

import os
import sys
from functools import wraps

from pyusdt._core import vm_pause, vm_pause_for_filter, vm_resume, vm_undo_filter
from pyusdt.import_callbacks import call_when_imported, forget_callback

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_CALLS = ("unshare", "setns")

_INHERITED = frozenset((*_CALLS, "capset", "cap_set_proc", "landlock_restrict_self"))
_OBSERVED = frozenset((*_INHERITED, "prctl", "seccomp", "seccomp_load", "syscall"))
_PR_SET_SECCOMP = 22
_SECCOMP_FILTER_FLAG_TSYNC = 1

_SYSCALL_NAMES = {
    "x86_64": {
        126: "capset",
        157: "prctl",
        272: "unshare",
        308: "setns",
        317: "seccomp",
        446: "landlock_restrict_self",
    },
    "aarch64": {
        91: "capset",
        97: "unshare",
        167: "prctl",
        268: "setns",
        277: "seccomp",
        446: "landlock_restrict_self",
    },
}.get(os.uname().machine, {})


class paused:
    """`with paused():` no thread of pyusdt's is in this process, and what traces it is noticed when the block has ended."""

    def __enter__(self) -> None:
        vm_pause()

    def __exit__(self, *_of: object) -> None:
        vm_resume()


def wrap_calls() -> None:
    for name in _CALLS:
        call = getattr(os, name, None)
        if call is not None and not hasattr(call, "__wrapped__"):
            setattr(os, name, _pause_around(call))
    call_when_imported("ctypes", _wrap_ctypes, lambda _error: None)


def unwrap_calls() -> None:
    """A function that another wrapper has wrapped meanwhile stays."""
    for name in _CALLS:
        call = getattr(os, name, None)
        if getattr(call, "pyusdt_wraps", False):
            setattr(os, name, call.__wrapped__)  # type: ignore[union-attr]
    forget_callback("ctypes")
    ctypes: Any = sys.modules.get("ctypes")
    find = getattr(getattr(ctypes, "CDLL", None), "__getitem__", None)
    if getattr(find, "pyusdt_wraps", False):
        ctypes.CDLL.__getitem__ = find.__wrapped__  # type: ignore[union-attr]


def _pause_around(call: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(call)
    def alone(*values: Any, **named: Any) -> Any:
        with paused():
            return call(*values, **named)

    alone.pyusdt_wraps = True  # type: ignore[attr-defined]
    return alone


# ---- ctypes ----


def _wrap_ctypes(ctypes: Any) -> None:
    find = ctypes.CDLL.__getitem__

    @wraps(find)
    def find_function(library: Any, name: Any) -> Any:
        function = find(library, name)
        if (
            not isinstance(name, str)
            or name not in _OBSERVED
            or type(function) is not library._FuncPtr
        ):
            return function
        function = _function_type(library._FuncPtr, name)((name, library))
        function.__name__ = name
        return function

    find_function.pyusdt_wraps = True  # type: ignore[attr-defined]
    ctypes.CDLL.__getitem__ = find_function


def _function_type(base: Any, name: str) -> Any:
    class _FuncPtr(base):  # type: ignore[misc]  # of the library that is asked
        _flags_ = base._flags_
        _restype_ = base._restype_

        def __call__(self, *values: Any, **named: Any) -> Any:
            call: str | None
            call, numbers = name, [getattr(value, "value", value) for value in values[:3]]
            if call == "syscall":
                call, numbers = _syscall_name(numbers), numbers[1:]
            if call in _INHERITED:
                with paused():
                    return super().__call__(*values, **named)
            if _sets_filter(call, numbers):
                return _leave_before(super().__call__, values, named)
            return super().__call__(*values, **named)

    return _FuncPtr


def _syscall_name(numbers: list[Any]) -> str | None:
    return _SYSCALL_NAMES.get(numbers[0]) if numbers and isinstance(numbers[0], int) else None


def _sets_filter(call: str | None, numbers: list[Any]) -> bool:
    """A seccomp filter for the calling thread only."""
    if call == "prctl":
        return numbers[:1] == [_PR_SET_SECCOMP]
    if call == "seccomp":
        return numbers[:1] in ([0], [1]) and not (
            len(numbers) > 1
            and isinstance(numbers[1], int)
            and numbers[1] & _SECCOMP_FILTER_FLAG_TSYNC
        )
    return call == "seccomp_load"


def _leave_before(call: Callable[..., Any], values: tuple[Any, ...], named: dict[str, Any]) -> Any:
    vm_pause_for_filter()
    try:
        result = call(*values, **named)
    except BaseException:
        vm_undo_filter()
        raise
    if isinstance(result, int) and result < 0:
        vm_undo_filter()
    return result
