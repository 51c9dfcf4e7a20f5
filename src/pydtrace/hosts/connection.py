"""The connection to one host: a process that a template starts (ssh, kubectl exec …), or pipes.

- Both directions carry lines of JSON; the standard error carries messages.
- Nothing waits for the host.
- The host is untrusted: _READ_SIZE bytes are read at once, and a line that is longer than
  LINE_LIMIT or nested too deeply raises HostError.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess

from pydtrace.untrusted.terminal_escape import escape_for_terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO, Any

LINE_LIMIT = 8 << 20  # bytes of a line
_READ_SIZE = 1 << 20  # bytes that are read at once, so that no host keeps the others waiting
_UNSENT_LIMIT = 4 << 20  # bytes that a host has not taken
_STDERR_LIMIT = 8192  # bytes of a line of the standard error
_EXCERPT = 60  # bytes of a line that is none: a greeting of a shell's, say
_MAX_CONTAINERS, _MAX_ITEMS = (
    1 << 18,
    1 << 20,
)  # of a line, strings' brackets and commas among them: what they become takes far more memory
_FRAGMENT_SIZE = 4096  # bytes that come alone


class HostError(Exception):
    """The host can not be gone on with; why."""


class HostRefusal(HostError):
    """It does not do what it is asked; why."""


class HostConnection:
    """Over descriptors: what it writes to, what lines and what messages come from; it closes them.  over: nothing more comes; drips: what
    came last was a small part of a line."""

    def __init__(self, to: int, out: int, err: int) -> None:
        self._in, self.out, self.err = to, out, err
        self._open = [to, out, err]
        for fd in self._open:
            os.set_blocking(fd, False)
        self._unsent, self._rest, self._stderr_rest = bytearray(), bytearray(), b""
        self.has_ended = self.got_fragment = False

    def send(self, type: str, **what: Any) -> None:
        """Now, or as much of it as the host takes, the rest with the next."""
        if self.has_ended:
            return
        self._unsent += json.dumps({"type": type, **what}, separators=(",", ":")).encode() + b"\n"
        self.flush()
        if len(self._unsent) > _UNSENT_LIMIT:
            raise HostError("it does not read what it is sent")

    def flush(self) -> None:
        with contextlib.suppress(OSError):  # who is gone is noticed where it is read
            while self._unsent:
                del self._unsent[: os.write(self._in, self._unsent)]

    def receive(self) -> Iterator[bytes]:
        """The lines that have come, for parse_line()."""
        text = self._read_available(self.out, _READ_SIZE)
        if text is None:
            self.has_ended = True
            return
        end = text.find(
            b"\n"
        )  # only what is new is looked through, and a line is put together once
        self.got_fragment = end < 0 and 0 < len(text) < _FRAGMENT_SIZE
        self._rest += text if end < 0 else text[:end]
        if len(self._rest) > LINE_LIMIT:
            raise HostError(f"a line of more than {LINE_LIMIT} bytes")
        if end >= 0:
            first, self._rest = bytes(self._rest), bytearray()
            *lines, rest = text[end + 1 :].split(b"\n")
            self._rest += rest
            yield first
            yield from lines

    def read_stderr(self) -> list[str]:
        """Lines of the standard error."""
        text = self._read_available(self.err, _STDERR_LIMIT)
        if text is None:
            text, self.err = b"\n" if self._stderr_rest else b"", -1
        *lines, rest = (self._stderr_rest + text).split(b"\n")
        if len(rest) > _STDERR_LIMIT:
            lines, rest = [*lines, rest], b""
        self._stderr_rest = rest
        return [line.decode("utf-8", "replace") for line in lines]

    @staticmethod
    def _read_available(fd: int, most: int) -> bytes | None:
        """None at the end."""
        if fd < 0:
            return b""
        try:
            return os.read(fd, most) or None
        except BlockingIOError:
            return b""
        except OSError:
            return None

    def disconnect(self) -> None:
        """The host sees the end of its input, by which it ends."""
        self.has_ended = True
        while self._open:
            with contextlib.suppress(OSError):
                os.close(self._open.pop())

    def close(self) -> None:
        self.disconnect()


class ProcessConnection(HostConnection):
    """By a process that a template starts."""

    def __init__(self, argv: list[str]) -> None:
        self.process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )  # a Ctrl-C is ours: the hosts are asked to end
        assert self.process.stdin and self.process.stdout and self.process.stderr
        super().__init__(
            *(
                _detach_pipe(pipe)
                for pipe in (self.process.stdin, self.process.stdout, self.process.stderr)
            )
        )

    def close(self) -> None:
        """End it, whatever it does."""
        self.disconnect()
        if self.process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(0.2)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def _detach_pipe(pipe: IO[bytes]) -> int:
    """Its descriptor, which the pipe does not close any more."""
    fd = os.dup(pipe.fileno())
    pipe.close()
    return fd


def parse_line(line: bytes) -> dict[str, Any]:
    """The object of a line.  HostError."""
    if line.count(b"[") + line.count(b"{") > _MAX_CONTAINERS or line.count(b",") > _MAX_ITEMS:
        raise HostError("a line of more parts than there is room for")
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        shown = escape_for_terminal(line[:_EXCERPT].decode("utf-8", "replace"))
        raise HostError(
            f"a line that is no JSON, or too deep: {shown}{' …' * (len(line) > _EXCERPT)}"
        ) from None
    if found.__class__ is not dict or found.get("type").__class__ is not str:
        raise HostError("a line that is no object with a type")
    return found  # type: ignore[no-any-return]
