"""`pyusdt attach PID`: the provider `python` into a process that runs, by sys.remote_exec (CPython 3.14 and later).

In:      a process id.
Out:     the provider in that process; NotAttached, with what can be done.
Always:  the process runs one statement of ours, at its next chance to run any Python; no name of ours is left in its modules.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time

from ..engine import NoPyusdt
from ..engine.python import has_python
from ..vm.into import START

OLDEST = 14  # minor version of CPython that has sys.remote_exec
PATIENCE = 5.0  # seconds
_STATEMENT = "exec('exec(compile(open(p).read(), p, \"exec\"), n); n[\"bring\"](False)', {{'p': {0!r}, 'n': {{'__file__': {0!r}}}}})\n"


class NotAttached(Exception):
    """Why not, and what can be done instead."""


def _minor(pid: int) -> int:
    """Of the version 3.x of a process.  NotAttached where it is no CPython, or may not be looked at."""
    from ..stacks.patience import watched
    from ..stacks.process import NoStacks, Python

    try:
        with watched(f"pyusdt: process {pid} does not let its memory be read: gave up"):
            return int(Python(pid).layout["minor"])
    except NoStacks as error:
        raise NotAttached(str(error)) from None


def _check(pid: int) -> None:
    """Only a Python of the process's version can, as the statement loads an extension of ours there, and from OLDEST on."""
    theirs, ours = _minor(pid), sys.version_info[1]
    if theirs < OLDEST:
        raise NotAttached(f"process {pid} is CPython 3.{theirs}, which can not (3.{OLDEST} and later can): {NoPyusdt.OF_PYTHON}")
    if theirs != ours:
        raise NotAttached(f"process {pid} is CPython 3.{theirs}, and this pyusdt is for 3.{ours}: only one of the same version can, the "
                          f"`pyusdt attach {pid}` of a CPython 3.{theirs} that has pyusdt installed")


def attach(pid: int) -> None:
    """Returns once the provider is in the process.  NotAttached."""
    if has_python(pid):
        return
    _check(pid)
    with tempfile.NamedTemporaryFile("w", prefix="pyusdt-attach-", suffix=".py") as script:
        script.write(_STATEMENT.format(os.path.join(START, "bring.py")))
        script.flush()
        os.chmod(script.name, 0o644)  # the process may be another user's
        try:
            sys.remote_exec(pid, script.name)  # type: ignore[attr-defined]
        except (OSError, RuntimeError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise NotAttached(f"process {pid}: {why}: {NoPyusdt.OF_PYTHON}") from None
        _wait(pid)


def _wait(pid: int) -> None:
    end = time.monotonic() + PATIENCE
    while not has_python(pid):
        if time.monotonic() > end:
            raise NotAttached(f"process {pid} has not run our statement within {PATIENCE:g} s: it waits in code that is not Python's, or its "
                              "standard error says why it could not")
        time.sleep(0.02)
