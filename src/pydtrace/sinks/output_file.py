"""A command's output: a file descriptor, and the sinks that write to one.

- What is written is flushed at once. An error names the file.
- Notices go to the standard error, never into the file.
"""

from __future__ import annotations

import errno
import os

from pydtrace.driver.sink import Sink

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Notify(Protocol):
        """A line on the standard error; error: False where the option quiet silences it."""

        def __call__(self, message: str, error: bool = True) -> None: ...


class OutputError(Exception):
    """The output can not be written to; the message is one line for the user."""


class Output:
    """A file descriptor and its name for messages."""

    __slots__ = ("_first", "fd", "name")

    def __init__(self, fd: int, name: str) -> None:
        self.fd, self.name = fd, name
        self._first = fd, name

    def reopen(self, path: bytes) -> None:
        """Write to another file from now on (empty: to the first one); OSError."""
        fd, name = self._first
        if path:
            fd, name = (
                os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666),
                os.fsdecode(path),
            )
        if self.fd != self._first[0]:
            os.close(self.fd)
        self.fd, self.name = fd, name

    def truncate(self) -> None:
        """Empty the file, if it is one."""
        try:
            os.ftruncate(self.fd, 0)
            os.lseek(self.fd, 0, os.SEEK_SET)
        except OSError:
            pass

    def write(self, text: bytes) -> None:
        """BrokenPipeError where the reader is gone, OutputError for other failures."""
        view = memoryview(text)
        try:
            while view:
                view = view[os.write(self.fd, view) :]
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise
            raise OutputError(f"failed to write to {self.name}: {error.strerror}") from None


def write_stdout(text: str) -> None:
    """A text on the standard output; bytes that are no UTF-8 stand in it as surrogates, and go out as they are."""
    Output(1, "<stdout>").write(text.encode("utf-8", "surrogateescape"))


class OutputSink(Sink):
    """A sink of a command, which has an output and a standard error."""

    def __init__(self, output: Output, notify: Notify) -> None:
        self.output, self._notify = output, notify

    def text(self, text: bytes) -> None:
        self.output.write(text)

    def notice(self, text: str, error: bool = True) -> None:
        self._notify(text, error)

    def reopen(self, path: bytes) -> None:
        self.output.reopen(path)

    def truncate(self) -> None:
        self.output.truncate()
