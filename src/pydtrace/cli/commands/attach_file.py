"""The file that `pyusdt attach` asks a process to run with sys.remote_exec.

- The text is the same for one installation of pyusdt, and the file's name identifies the text.
- Only the tracer's user can write or create the file, since a process may open it minutes later.
  So the file stays, and its name is never free.
- Root's file is in a folder of root's that everybody can read, whatever user the process becomes.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat

from pydtrace._tracer import find_rundir
from pyusdt.vm.inject_env import START

_ROOT_FOLDER = (
    "/run/pyusdt"  # not below /tmp or /dev/shm: there everybody could make it before root does
)
_STATEMENT = "exec('exec(compile(open(p).read(), p, \"exec\"), n); n[\"load_provider\"](False)', {{'p': {0!r}, 'n': {{'__file__': {0!r}}}}})\n"
LOADER = os.path.join(START, "load_provider.py")


def make_attach_file() -> str:
    """The path; the file is there.  Raises OSError, with what is wrong in its text."""
    text = _STATEMENT.format(LOADER).encode()
    name = f"attach-{hashlib.sha256(text).hexdigest()[:16]}.py"
    folder = _make_folder()
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        _check_owner(fd, folder)
        if not _has_content(fd, name, text):
            _write_atomically(fd, name, text)
    finally:
        os.close(fd)
    return os.path.join(folder, name)


def _make_folder() -> str:
    if os.geteuid() != 0:
        rundir: str = find_rundir(os.getpid())
        return rundir  # another user's process cannot be attached to
    with contextlib.suppress(FileExistsError):
        os.mkdir(_ROOT_FOLDER, 0o755)
    return _ROOT_FOLDER


def _check_owner(fd: int, folder: str) -> None:
    found = os.fstat(fd)
    if found.st_uid != os.geteuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(
            errno.EPERM, "others than this user can write there: chown and chmod go-w help", folder
        )
    if folder == _ROOT_FOLDER and stat.S_IMODE(found.st_mode) != 0o755:
        os.fchmod(fd, 0o755)  # root's umask can be stricter


def _has_content(folder: int, name: str, text: bytes) -> bool:
    try:
        fd = os.open(
            name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder
        )
    except OSError:
        return False
    try:
        found = os.fstat(fd)
        return (
            stat.S_ISREG(found.st_mode)
            and found.st_uid == os.geteuid()
            and stat.S_IMODE(found.st_mode) == 0o644
            and os.read(fd, len(text) + 1) == text
        )
    finally:
        os.close(fd)


def _write_atomically(folder: int, name: str, text: bytes) -> None:
    """Under another name first: who opens it by its own sees all of it, and what had the name is replaced, not removed."""
    made = f".{name}.{os.getpid()}"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(made, dir_fd=folder)  # of a process with the same id that was killed here
    fd = os.open(
        made,
        os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC,
        0o600,
        dir_fd=folder,
    )
    try:
        os.write(fd, text)
        os.fchmod(fd, 0o644)
    finally:
        os.close(fd)
    os.rename(made, name, src_dir_fd=folder, dst_dir_fd=folder)
