"""A copy of what an attached process loads, in a folder of its own file system: for containers, and for users who cannot
read the tracer's installation.

- The tracer works there with the rights of the process's user only, by descriptors, name by name and without links: it
  can be made to do nothing that this user could not do himself.
- The folder has a random name and mode 0700. It is removed as soon as the process has loaded the files: by the process itself,
  too, in case that the tracer was killed.
- The tracer holds a lock of the folder. One without it, of a tracer that was killed before, is removed by the next one.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import re
import secrets
import stat
import time

from pydtrace import _tracer
from pydtrace.process.proc_status import read_status

from .refusal import NotAttached

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PARENTS = ("/tmp", "/var/tmp", "/dev/shm")
_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_NAMES = 1000  # that are removed
_MOST_ENTRIES = 100_000  # of a folder for temporary files, that are looked at
_NAME = re.compile(r"\.pyusdt-[0-9a-f]{16}")
_STALE = 30.0  # s, within which a process has loaded what it began to load


def find_user(pid: int) -> tuple[int, int]:
    """(uid, gid) of a process in file systems.  NotAttached: it has ended."""
    status = read_status(pid)
    try:
        return int(status["Uid"].split()[3]), int(status["Gid"].split()[3])
    except (LookupError, ValueError):
        raise NotAttached(f"process {pid} has ended") from None


def can_read(pid: int, paths: Sequence[str]) -> bool:
    """Whether the process's user can read the tracer's files."""
    try:
        with _tracer.UserRights(*find_user(pid)):
            for path in paths:
                os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
    except OSError:
        return False
    return True


@contextlib.contextmanager
def place_copy(pid: int, package: str, names: Sequence[str]) -> Iterator[str]:
    """The path of the copied package as the process sees it; then it is removed.  package: the folder; names: of files in it, with
    their folders.  NotAttached."""
    contents = []
    for name in names:
        with open(os.path.join(package, name), "rb") as file:
            contents.append((f"{os.path.basename(package)}/{name}", file.read()))
    with contextlib.ExitStack() as opened:
        root = opened.enter_context(_open_root(pid))
        rights = _tracer.UserRights(*find_user(pid))
        parent, path, name, folder = opened.enter_context(_make_folder(pid, root, rights))
        try:
            with rights:
                try:
                    _write_files(folder, contents)
                except OSError as error:
                    raise NotAttached(
                        f"process {pid}: {path} cannot be filled: {error.strerror}"
                    ) from None
            yield f"{path}/{os.path.basename(package)}"
        finally:
            with contextlib.suppress(OSError, RecursionError), rights:
                _remove_content(folder, [_MOST_NAMES])
                os.rmdir(name, dir_fd=parent)


@contextlib.contextmanager
def _open_root(pid: int) -> Iterator[int]:
    try:
        root = os.open(f"/proc/{pid}/root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise NotAttached(
            f"process {pid}: its root folder cannot be looked at: {error.strerror}"
        ) from None
    try:
        yield root
    finally:
        os.close(root)


@contextlib.contextmanager
def _make_folder(
    pid: int, root: int, rights: _tracer.UserRights
) -> Iterator[tuple[int, str, str, int]]:
    """(descriptor of the folder above, path, name, descriptor) of a new folder, in the first place that files can be loaded from; else in
    one whose libraries the process loads from memory (noexec)."""
    reasons = []
    for is_noexec, place in itertools.product((False, True), _PARENTS):
        with contextlib.ExitStack() as opened:
            try:
                with rights:
                    parent = _walk(opened, root, place)
                    flags = os.fstatvfs(parent).f_flag
                    if bool(flags & os.ST_NOEXEC) != is_noexec:
                        continue
                    name = f".pyusdt-{secrets.token_hex(8)}"
                    os.mkdir(name, 0o700, dir_fd=parent)
                    folder = _open_folder(opened, name, parent)
                    fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                reasons.append((place, error.strerror or "?"))
                continue
            yield parent, f"{place}/{name}", name, folder
            return
    listed = ", ".join(f"{place}: {reason}" for place, reason in dict(reasons).items())
    raise NotAttached(
        f"process {pid}: there is no folder that it could load pyusdt from ({listed})",
        "run pyusdt inside of the container, or mount a writable folder on /tmp",
    )


def _walk(opened: contextlib.ExitStack, root: int, path: str) -> int:
    at = root
    for name in path.strip("/").split("/"):
        at = _open_folder(opened, name, at, os.O_PATH)
    return at


def _open_folder(
    opened: contextlib.ExitStack, name: str, above: int, how: int = os.O_RDONLY
) -> int:
    fd = os.open(name, how | _FOLDER, dir_fd=above)
    opened.callback(os.close, fd)
    return fd


def remove_stale_copies(pid: int) -> int:
    """Removes what tracers that were killed have left in the process's file system: how many folders."""
    removed = 0
    with contextlib.suppress(NotAttached, OSError), contextlib.ExitStack() as opened:
        root = opened.enter_context(_open_root(pid))
        opened.enter_context(_tracer.UserRights(*find_user(pid)))
        for place in _PARENTS:
            with contextlib.suppress(OSError, RecursionError):
                removed += _remove_stale_in(_walk(opened, root, place))
    return removed


def _remove_stale_in(parent: int) -> int:
    removed = 0
    with contextlib.ExitStack() as opened:
        listed = _open_folder(opened, ".", parent)
        with os.scandir(listed) as entries:
            names = [
                each.name
                for each in itertools.islice(entries, _MOST_ENTRIES)
                if _NAME.fullmatch(each.name)
            ]
    for name in names:
        with contextlib.suppress(OSError, RecursionError), contextlib.ExitStack() as opened:
            folder = _open_folder(opened, name, parent)
            if time.time() - os.fstat(folder).st_ctime < _STALE:
                continue
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)  # OSError: its tracer lives
            _remove_content(folder, [_MOST_NAMES])
            os.rmdir(name, dir_fd=parent)
            removed += 1
    return removed


def _write_files(folder: int, contents: list[tuple[str, bytes]]) -> None:
    with contextlib.ExitStack() as opened:
        folders = {"": folder}
        for path, data in contents:
            above = ""
            for name in path.split("/")[:-1]:
                here = f"{above}/{name}"
                if here not in folders:
                    os.mkdir(name, 0o700, dir_fd=folders[above])
                    folders[here] = _open_folder(opened, name, folders[above])
                above = here
            fd = os.open(
                os.path.basename(path),
                os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC,
                0o600,
                dir_fd=folders[above],
            )
            with open(fd, "wb") as file:
                file.write(data)


def _remove_content(folder: int, left: list[int]) -> None:
    """Python's own __pycache__ is there, too.  left: how many names at most."""
    for name in os.listdir(folder):
        left[0] -= 1
        if left[0] < 0:
            raise OSError("too many files")
        if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            with contextlib.ExitStack() as opened:
                _remove_content(_open_folder(opened, name, folder), left)
            os.rmdir(name, dir_fd=folder)
        else:
            os.unlink(name, dir_fd=folder)
