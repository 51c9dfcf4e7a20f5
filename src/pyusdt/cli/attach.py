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

from .._tracer import list_probes
from ..engine import NoPyusdt
from ..vm.into import START

PATIENCE = 5.0  # seconds
_STATEMENT = "exec('exec(compile(open(p).read(), p, \"exec\"), n); n[\"bring\"](False)', {{'p': {0!r}, 'n': {{'__file__': {0!r}}}}})\n"


class NotAttached(Exception):
    """Why not, and what can be done instead."""


def is_there(pid: int) -> bool:
    """Whether the process has the provider."""
    try:
        return any(probe[1] == f"python{pid}" for probe in list_probes(None, pid))
    except OSError:
        return False


def attach(pid: int) -> None:
    """Returns once the provider is in the process.  NotAttached."""
    if is_there(pid):
        return
    remote_exec = getattr(sys, "remote_exec", None)
    if remote_exec is None:
        raise NotAttached(f"this is CPython {sys.version_info[0]}.{sys.version_info[1]}, which can not: {NoPyusdt.OF_PYTHON}")
    with tempfile.NamedTemporaryFile("w", prefix="pyusdt-attach-", suffix=".py") as script:
        script.write(_STATEMENT.format(os.path.join(START, "bring.py")))
        script.flush()
        os.chmod(script.name, 0o644)  # the process may be another user's
        try:
            remote_exec(pid, script.name)
        except (OSError, RuntimeError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise NotAttached(f"process {pid}: {why}: {NoPyusdt.OF_PYTHON}") from None
        _wait(pid)


def _wait(pid: int) -> None:
    end = time.monotonic() + PATIENCE
    while not is_there(pid):
        if time.monotonic() > end:
            raise NotAttached(f"process {pid} has not run our statement within {PATIENCE:g} s: it waits in code that is not Python's, or its "
                              "standard error says why it could not")
        time.sleep(0.02)
