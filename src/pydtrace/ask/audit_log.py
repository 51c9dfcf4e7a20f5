"""The record of what was asked: a line of JSON when a call begins, and one when it has ended.

- A call whose beginning cannot be written is not made.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import time
from typing import Any

_MAX_TEXT = 4096  # characters of an argument


class AuditLog:
    """path: a file to which lines are appended, None: the standard error."""

    def __init__(self, path: str | None = None) -> None:
        self._fd = sys.stderr.fileno() if path is None else _open_log(path)
        self._calls = 0

    def begin_call(self, tool: str, arguments: dict[str, Any]) -> int:
        """The number of the call."""
        self._calls += 1
        shown = {
            name[:100]: value[:_MAX_TEXT] if isinstance(value, str) else value
            for name, value in arguments.items()
        }
        self._write_line({"call": self._calls, "tool": tool[:100], "arguments": shown})
        return self._calls

    def end_call(self, call: int, seconds: float, refusal: str | None) -> None:
        self._write_line({"call": call, "seconds": round(seconds, 3), "refused": refusal})

    def _write_line(self, members: dict[str, Any]) -> None:
        when = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        line = {"time": when, "pid": os.getpid(), "uid": os.getuid(), **members}
        os.write(self._fd, f"{json.dumps(line, default=str)}\n".encode())


def _open_log(path: str) -> int:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    fd = os.open(path, flags, 0o600)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(None, "not a regular file", path)
    return fd
