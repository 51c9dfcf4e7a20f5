"""Which exceptions are no bug of pyusdt's, but a limit of this machine, or of this process on it, and what to do."""

from __future__ import annotations

import errno
import os

_FILES = "too many files are open: `ulimit -n` shows how many this process may have; raise it"
_MEMORY = "no memory is left: `ulimit -v` and `ulimit -d` show what this process may have, memory.max of its cgroup what all there may have"
_THREADS = "no further thread can be started: `ulimit -u`, `ulimit -v`, or pids.max of the cgroup, is too low"
_BY_NUMBER = {
    errno.EMFILE: _FILES,
    errno.ENOMEM: _MEMORY,
    errno.ENFILE: "too many files are open on this machine: /proc/sys/fs/file-max is too low",
}


def explain_host_limit(error: BaseException) -> str | None:
    """None: it is not known to be one."""
    if isinstance(error, MemoryError):
        return _MEMORY
    if isinstance(error, OSError):
        return _BY_NUMBER.get(error.errno or 0)
    if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
        return _THREADS
    if isinstance(error, ImportError):  # the loader's text for a library
        if os.strerror(errno.EMFILE) in str(error):
            return _FILES
        if "failed to map segment" in str(error) or os.strerror(errno.ENOMEM) in str(error):
            return _MEMORY
    if isinstance(error, SystemError) and "without exception set" in str(
        error
    ):  # CPython's import, where memory ends in it
        return _MEMORY
    return None
