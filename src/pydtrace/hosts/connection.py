"""The line to one host: the process that a template starts (ssh, kubectl exec, nsenter …), or what else has pipes, and the lines of JSON
through these.

In: words to start, or descriptors; objects to send.  Out: objects that came, texts of the standard error.
Always: nothing waits for the host; what it sends is no more at once than _ROUND bytes, no longer a line than LINE, and no deeper than
JSON is read; what is too much is a Broken.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess

from pydtrace.untrusted.terminal_escape import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO, Any

LINE = 8 << 20  # bytes of a line
_ROUND = 1 << 20  # bytes that are read at once, so that no host keeps the others waiting
_UNSENT = 4 << 20  # bytes that a host has not taken
_SAID = 8192  # bytes of a line of the standard error
_SHOWN = 60  # bytes of a line that is none: a greeting of a shell's, say
_CONTAINERS, _ITEMS = (
    1 << 18,
    1 << 20,
)  # of a line, strings' brackets and commas among them: what they become takes far more memory
_SMALL = 4096  # bytes that come alone


class Broken(Exception):
    """The host can not be gone on with; why."""


class Refused(Broken):
    """It does not do what it is asked; why."""


class Link:
    """Over descriptors: what it writes to, what lines and what messages come from; it closes them.  over: nothing more comes; drips: what
    came last was a small part of a line."""

    def __init__(self, to: int, out: int, err: int) -> None:
        self._in, self.out, self.err = to, out, err
        self._open = [to, out, err]
        for fd in self._open:
            os.set_blocking(fd, False)
        self._unsent, self._rest, self._said = bytearray(), bytearray(), b""
        self.over = self.drips = False

    def send(self, type: str, **what: Any) -> None:
        """Now, or as much of it as the host takes, the rest with the next."""
        if self.over:
            return
        self._unsent += json.dumps({"type": type, **what}, separators=(",", ":")).encode() + b"\n"
        self.flush()
        if len(self._unsent) > _UNSENT:
            raise Broken("it does not read what it is sent")

    def flush(self) -> None:
        with contextlib.suppress(OSError):  # who is gone is noticed where it is read
            while self._unsent:
                del self._unsent[: os.write(self._in, self._unsent)]

    def receive(self) -> Iterator[bytes]:
        """The lines that have come, for parsed()."""
        text = self._read(self.out, _ROUND)
        if text is None:
            self.over = True
            return
        end = text.find(
            b"\n"
        )  # only what is new is looked through, and a line is put together once
        self.drips = end < 0 and 0 < len(text) < _SMALL
        self._rest += text if end < 0 else text[:end]
        if len(self._rest) > LINE:
            raise Broken(f"a line of more than {LINE} bytes")
        if end >= 0:
            first, self._rest = bytes(self._rest), bytearray()
            *lines, rest = text[end + 1 :].split(b"\n")
            self._rest += rest
            yield first
            yield from lines

    def said(self) -> list[str]:
        """Lines of the standard error."""
        text = self._read(self.err, _SAID)
        if text is None:
            text, self.err = b"\n" if self._said else b"", -1
        *lines, rest = (self._said + text).split(b"\n")
        if len(rest) > _SAID:
            lines, rest = [*lines, rest], b""
        self._said = rest
        return [line.decode("utf-8", "replace") for line in lines]

    @staticmethod
    def _read(fd: int, most: int) -> bytes | None:
        """None at the end."""
        if fd < 0:
            return b""
        try:
            return os.read(fd, most) or None
        except BlockingIOError:
            return b""
        except OSError:
            return None

    def hang_up(self) -> None:
        """The host sees the end of its input, by which it ends."""
        self.over = True
        while self._open:
            with contextlib.suppress(OSError):
                os.close(self._open.pop())

    def close(self) -> None:
        self.hang_up()


class Started(Link):
    """By a process that a template starts."""

    def __init__(self, argv: list[str]) -> None:
        self.process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )  # a Ctrl-C is ours: the hosts are told to end
        assert self.process.stdin and self.process.stdout and self.process.stderr
        super().__init__(
            *(_own(pipe) for pipe in (self.process.stdin, self.process.stdout, self.process.stderr))
        )

    def close(self) -> None:
        """End it, whatever it does."""
        self.hang_up()
        if self.process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(0.2)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def _own(pipe: IO[bytes]) -> int:
    """Its descriptor, which the pipe does not close any more."""
    fd = os.dup(pipe.fileno())
    pipe.close()
    return fd


def parsed(line: bytes) -> dict[str, Any]:
    """The object of a line.  Broken."""
    if line.count(b"[") + line.count(b"{") > _CONTAINERS or line.count(b",") > _ITEMS:
        raise Broken("a line of more parts than there is room for")
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        shown = harmless(line[:_SHOWN].decode("utf-8", "replace"))
        raise Broken(
            f"a line that is no JSON, or too deep: {shown}{' …' * (len(line) > _SHOWN)}"
        ) from None
    if found.__class__ is not dict or found.get("type").__class__ is not str:
        raise Broken("a line that is no object with a type")
    return found  # type: ignore[no-any-return]
