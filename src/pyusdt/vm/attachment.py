"""The provider `python` in a process that a tracer has attached to, and its way out again.

- What was brought in leaves: probes, thread, control file, modules, what wraps functions. The shared object of the
  extension stays mapped, as Python cannot unload one, and so do three functions that os.fork() calls, which do nothing.
- A program that had imported pyusdt itself keeps it.
- Another part of pyusdt can be brought in as well (enter_part()); it leaves with the provider.
- One thread at a time enters or leaves. enter_process.py loads the modules again if they have left before it could enter.
"""

from __future__ import annotations

import _imp
import _thread
import contextlib
import sys
from importlib import import_module

from pyusdt import _core, vm
from pyusdt._core import forget_ended, heap_stop, unpublish, vm_sessions, vm_when_unused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_is_in = False
_has_left = False  # with all modules, so nothing finds this one any more
_had_pyusdt = False
_had_provider = False
_temporary = 0.0
_core_identity = ""
_CHANGE_TIMEOUT = 4.0  # s
_change = _thread.allocate_lock()
_parts: list[Callable[[], object]] = []  # how what was brought in beside the provider leaves


@contextlib.contextmanager
def _changing() -> Iterator[None]:
    """RuntimeError: another thread takes too long."""
    if not _change.acquire(timeout=_CHANGE_TIMEOUT):
        raise RuntimeError(
            "another thread attaches or detaches, or did when this process was forked"
        )
    try:
        yield
    finally:
        _change.release()


def enter(had_pyusdt: bool, temporary: float, core: str) -> bool:
    """had_pyusdt: the program had imported pyusdt before; temporary: seconds without a tracer after which it leaves by itself, as its
    tracer was killed, 0: it stays; core: which extension this is.  False: the modules have left meanwhile.  Raises OSError,
    RuntimeError."""
    with _changing():
        if not _has_left:
            _enter(had_pyusdt, temporary, core)
        return not _has_left


def _enter(had_pyusdt: bool, temporary: float, core: str) -> None:
    global _is_in, _had_pyusdt, _had_provider, _temporary, _core_identity
    if _is_in:  # two tracers at once
        _temporary = _temporary and temporary
        _leave_when_unused()
        return
    _had_pyusdt, _had_provider = had_pyusdt, vm.is_enabled()
    _temporary, _is_in, _core_identity = temporary, True, core
    if not _had_provider:
        _leave_when_unused()
        try:
            vm.enable(sites=had_pyusdt)
        except BaseException:
            _leave(False)
            raise


def enter_part(_report: object, module: str) -> None:
    """module: of pyusdt, whose enter() returns what takes it out again, or None if it was in already.  Raises what that raises."""
    if not _is_in:
        raise RuntimeError("the provider has left meanwhile")
    _imp.acquire_lock()  # a fork waits for it, so that no child has half a module
    try:
        part = import_module(module)
    finally:
        _imp.release_lock()
    leave_part = part.enter()
    if leave_part is not None:
        _parts.append(leave_part)


def _leave_when_unused() -> None:
    vm_when_unused(_temporary, _thread.start_new_thread, (_leave_quietly, ()))


def _leave_quietly() -> None:
    """On a thread of its own: the watcher's cannot end itself."""
    with contextlib.suppress(BaseException):  # the program runs, whatever is wrong with us
        leave(None, True)


def leave(_report: object, if_unused: bool) -> None:
    """if_unused: only if it was to leave with its last tracer, and no other traces.  Raises RuntimeError."""
    with _changing():
        if _is_in:
            _leave(if_unused)


def _leave(if_unused: bool) -> None:
    global _is_in, _has_left
    if if_unused and (not _temporary or vm_sessions() > 0):
        if not _had_provider:
            _leave_when_unused()
        return
    while _parts:
        _parts.pop()()
    if _had_provider:
        return
    _is_in = False
    heap_stop(None)
    vm_when_unused(0, _leave_quietly, ())
    vm.withdraw()
    if _had_pyusdt:
        return
    _imp.acquire_lock()  # enter_process.py looks under it for what is there
    try:
        forget_ended()
        unpublish()
        _keep_extension()
        for name in [name for name in sys.modules if name.partition(".")[0] == "pyusdt"]:
            del sys.modules[name]
        _has_left = True
    finally:
        _imp.release_lock()


def _keep_extension() -> None:
    """For the next attach: start/enter_process.py."""
    _imp._pyusdt_extension = (_core, _core_identity)  # type: ignore[attr-defined]
