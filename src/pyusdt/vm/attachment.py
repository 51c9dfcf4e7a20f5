"""The provider `python` in a process that a tracer has attached to, and its way out again.

- What was brought in leaves: probes, thread, control file, modules, what wraps functions. The shared object of the
  extension stays mapped, as Python cannot unload one, and so do three functions that os.fork() calls, which do nothing.
- A program that had imported pyusdt itself keeps it.
"""

from __future__ import annotations

import sys

from pyusdt import _core, vm
from pyusdt._core import forget_ended, unpublish, vm_sessions

_is_in = False
_had_pyusdt = False
_had_provider = False
_temporary = False
_core_identity = ""


def enter(had_pyusdt: bool, temporary: bool, core: str) -> None:
    """had_pyusdt: the program had imported pyusdt before; core: which extension this is.  Raises OSError, RuntimeError."""
    global _is_in, _had_pyusdt, _had_provider, _temporary, _core_identity
    if _is_in:  # two tracers at once
        _temporary = _temporary and temporary
        return
    _had_pyusdt, _had_provider = had_pyusdt, vm.is_enabled()
    _temporary, _is_in, _core_identity = temporary, True, core
    if not _had_provider:
        try:
            vm.enable(sites=had_pyusdt)
        except BaseException:
            leave(None, False)
            raise


def leave(_report: object, if_unused: bool) -> None:
    """if_unused: only if it was to leave with its last tracer, and no other traces."""
    global _is_in
    if _had_provider or (if_unused and (not _temporary or vm_sessions() > 0)):
        return
    _is_in = False
    vm.withdraw()
    if _had_pyusdt:
        return
    forget_ended()
    unpublish()
    _keep_extension()
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyusdt"]:
        del sys.modules[name]


def _keep_extension() -> None:
    """For the next attach: start/enter_process.py."""
    import _imp

    _imp._pyusdt_extension = (_core, _core_identity)  # type: ignore[attr-defined]
