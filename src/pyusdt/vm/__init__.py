"""The provider `python`: probes of what CPython itself does, in an unprepared program
(docs/reference/python-vm.md).

It is enabled by enable(), by PYUSDT_VM=1 in the environment of a program that imports pyusdt, or
by `python -m pyusdt app.py`. A tracer sees python:::function-entry, line, exception-raise,
gc-start … as `python<pid>`, and the same as USDT sites of the provider `pyvm`.

- While nobody traces it costs one sleeping thread, the watcher; nothing is set in the interpreter
  then.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading  # noqa: F401 - the probes of threads are in it, whoever imports it first

from pyusdt._core import (
    tag_variable,
    vm_inject_children,
    vm_is_first,
    vm_keep_exceptions,
    vm_missing_parts,
    vm_pause,
    vm_probes,
    vm_resume,
    vm_shut_down,
    vm_sites,
    vm_start,
    vm_stop,
)

from .single_thread_calls import paused, unwrap_calls, wrap_calls

__all__ = ["disable", "enable", "enable_as_asked", "paused", "probes", "sites", "trouble"]

_registered = False


def enable(*, audit: bool = False, sites: bool = True) -> None:
    """The provider is there, and notices from now on when somebody traces it.  Again: nothing more.

    audit: with the probe `audit`, for good: CPython never takes an audit hook out again.  The first enable() of the process
    decides.  sites: with the object of sites(), which is a file in the user's cache.  OSError where the process can not be traced at
    all, RuntimeError in a sub-interpreter.
    """
    global _registered
    if (
        vm_is_first()
    ):  # before the watcher runs; nothing takes these back, so they are there once a process
        os.register_at_fork(before=vm_pause, after_in_parent=vm_resume, after_in_child=vm_resume)
    vm_start(audit, sites)
    if not _registered:
        _registered = True
        atexit.register(vm_shut_down)
        wrap_calls()


def is_enabled() -> bool:
    """Whether enable() was called, and withdraw() was not."""
    return _registered


def withdraw() -> None:
    """disable(), and what enable() has changed in Python is as before."""
    global _registered
    vm_stop()
    _registered = False
    atexit.unregister(vm_shut_down)
    unwrap_calls()


def enable_as_asked(value: str) -> None:
    """PYUSDT_VM in the environment of a program that imports pyusdt: 1, or audit for that probe as well.  Nothing is raised."""
    try:
        enable(audit=value == "audit")
    except (OSError, RuntimeError) as error:
        from pyusdt.warn_without_raising import warn_without_raising

        warn_without_raising(
            f"no provider python (PYUSDT_VM): {error}; see `pyusdt help python-vm`", 4
        )


def keep_exceptions() -> None:
    """PYUSDT_FLIGHT=exceptions in the environment of a program that imports pyusdt: enable(), and the last exceptions are kept
    in a file (docs/howto/exceptions.md).  Nothing is raised."""
    try:
        enable()
        vm_keep_exceptions(tag_variable)
    except (OSError, RuntimeError) as error:
        from pyusdt.warn_without_raising import warn_without_raising

        warn_without_raising(
            f"no exceptions are kept (PYUSDT_FLIGHT): {_explain(error)}; see `pyusdt help exceptions`",
            4,
        )


def _explain(error: Exception) -> str:
    import errno

    if isinstance(error, OSError) and error.errno in (errno.ENOTSUP, errno.EOPNOTSUPP):
        return (
            "the run directory is not on a tmpfs; set PYUSDT_RUNDIR to one that is, below /dev/shm"
        )
    return str(error)


def disable() -> None:
    """No event any more, and no thread.  The probes stay in the list."""
    vm_stop()


def probes() -> list[str]:
    """The names of the probes that this version of CPython can have."""
    return [name for name, since, _places in vm_probes() if since <= sys.version_info[1]]


def follow(asked: str, folder: str) -> None:
    """The provider goes on into what this program becomes and, as asked for, into Pythons that it starts; for start/load_provider.py."""
    vm_inject_children(asked, folder)


def sites() -> str:
    """The path of the object with the USDT sites of the provider `pyvm`, for bpftrace and others; "" before enable() and where there
    can be none."""
    return vm_sites()


def trouble() -> str:
    """What is wanted by a tracer now and can not be had, for a person; or ''."""
    return vm_missing_parts()
