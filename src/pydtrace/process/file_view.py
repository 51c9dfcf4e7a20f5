"""Checks if a process sees the same file under a path as the tracer; containers and chroots do not.

- Each folder and link on the way, and the file, must be the same for both.
- Nothing is opened for reading, and no link of the process is followed.
- A process that changes its root or its mounts later sees other files.
"""

from __future__ import annotations

import contextlib
import os
import stat

_MAX_LINKS = 40  # as the kernel follows


def sees_same_file(pid: int, path: str) -> bool:
    """Raises OSError if the path is not there for the tracer, or the process's root may not be looked at."""
    for _ in range(_MAX_LINKS):
        target = _walk_path(pid, path)
        if not isinstance(target, str):
            return target
        path = target
    return False


def _walk_path(pid: int, path: str) -> str | bool:
    """One walk from both roots: the path that the first link on the way leads to; else whether all is the same."""
    with contextlib.ExitStack() as opened:

        def open_step(name: str, folder: int | None) -> int:
            fd = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            opened.callback(os.close, fd)
            return fd

        ours = open_step("/", None)
        theirs = open_step(
            "root/.", open_step(f"/proc/{pid}", None)
        )  # O_NOFOLLOW is for the last name only
        names = [name for name in path.split("/") if name]
        for i, name in enumerate(["", *names]):
            if name:
                ours = open_step(name, ours)
                try:
                    theirs = open_step(name, theirs)
                except OSError:
                    return False
            found = os.fstat(ours)
            if not os.path.samestat(found, os.fstat(theirs)):
                return False
            if stat.S_ISLNK(found.st_mode):
                target = os.readlink("", dir_fd=ours)
                before = "" if target.startswith("/") else "/".join(["", *names[: i - 1]])
                return "/".join([before, target, *names[i:]])
    return True
