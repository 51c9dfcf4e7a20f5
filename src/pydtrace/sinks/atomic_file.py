"""A file that appears at its path when it is complete.

- An existing file stays until the new one replaces it, whatever ends the process.
- What is no regular file (a pipe, /dev/full) is written directly.
- The temporary name cannot be foreseen and is created anew, so that nobody who may write in the
  folder can have put a link there. A link of another user in such a folder is not followed,
  whatever fs.protected_symlinks is.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat

from .output_file import OutputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


_MAX_LINKS = 40  # that are followed, as the kernel does


def _resolve_links(path: str) -> str:
    """What it leads to: OSError where a link is another user's, by the kernel's rule for folders like /tmp.  Whoever puts a link in
    the place of what was looked at here has it replaced, not followed."""
    for _ in range(_MAX_LINKS):
        folder = os.path.realpath(os.path.dirname(path))
        path = os.path.join(folder, os.path.basename(path))
        try:
            found = os.lstat(path)
        except FileNotFoundError:
            return path
        if not stat.S_ISLNK(found.st_mode):
            return path
        if not _is_trusted(found.st_uid, os.stat(folder)):
            raise PermissionError(errno.EACCES, "")
        path = os.path.join(folder, os.readlink(path))
    raise OSError(errno.ELOOP, "")


def _is_trusted(owner: int, folder: os.stat_result) -> bool:
    return owner in (os.geteuid(), folder.st_uid) or not (
        folder.st_mode & stat.S_ISVTX and folder.st_mode & stat.S_IWOTH
    )


class AtomicFile:
    """path: the user's; writing: what is to be written to, once it was made, None again once it was given up."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._target_path = path
        self.part_path: str | None = None

    def create_file(self, mode: int = 0o666) -> str:
        """Makes what is to be written to: OSError.  mode: of a new file, less the umask."""
        self._target_path = _resolve_links(self.path)  # of a link what it leads to
        is_other = os.path.exists(self._target_path) and not os.path.isfile(self._target_path)
        writing = (
            self._target_path
            if is_other
            else f"{self._target_path}.{os.getpid()}.{secrets.token_hex(4)}.part"
        )
        if not is_other:
            os.close(os.open(writing, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode))
        self.part_path = writing
        return writing

    @contextlib.contextmanager
    def report_errors(self) -> Iterator[None]:
        """OutputError for what goes wrong in the block with the file; it is removed then."""
        try:
            yield
        except OSError as error:
            self.discard_file()
            why = os.strerror(error.errno) if error.errno else error
            raise OutputError(f"failed to write to {self.path}: {why}") from None

    def commit_file(self) -> None:
        """It is whole, and closed; nothing where it was given up."""
        if self.part_path and self.part_path != self._target_path:
            with self.report_errors():
                os.replace(self.part_path, self._target_path)

    def discard_file(self) -> None:
        if self.part_path and self.part_path != self._target_path:
            with contextlib.suppress(OSError):
                os.unlink(self.part_path)
        self.part_path = None


def write_file(path: str, content: str | bytes, mode: int = 0o666) -> None:
    """A file that is there when it is whole.  mode: less the umask.  Raises OutputError."""
    aside = AtomicFile(path)
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    with aside.report_errors(), open(aside.create_file(mode), "wb") as file:
        file.write(data)
    aside.commit_file()
