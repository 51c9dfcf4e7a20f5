"""Run pydtrace or pyusdt for an answer: for a time, with a bound on what it prints.

- The command gets no standard input, and no option from the environment (DTRACE_OPT_…).
- It ends with this process, and is killed if it ignores that its time is over.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from typing import IO

from pydtrace.untrusted.isolated_python import DIES_WITH_PARENT, isolated_command

MAX_OUTPUT = 1 << 20  # bytes that are read of each stream; what follows is counted
_END_TIMEOUT = 20.0  # s from SIGINT until it is killed
_PROGRAM = {
    name: f"{DIES_WITH_PARENT}\nfrom {module} import main\nsys.argv[0] = {name!r}\nmain()\n"
    for name, module in (
        ("pydtrace", "pydtrace.cli.pydtrace.main"),
        ("pyusdt", "pydtrace.cli.commands.main"),
    )
}


class Answer:
    """status: of the command, negative for a signal; output, messages: what it printed; cut: bytes that were not read."""

    __slots__ = ("cut", "messages", "output", "status")

    def __init__(self, status: int, output: str, messages: str, cut: int) -> None:
        self.status, self.output, self.messages, self.cut = status, output, messages, cut


class _Reader(threading.Thread):
    """Reads a stream to its end, and keeps the beginning."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self._stream, self._kept, self.cut = stream, bytearray(), 0
        self.start()

    def run(self) -> None:
        while part := os.read(self._stream.fileno(), 65536):
            room = MAX_OUTPUT - len(self._kept)
            self._kept += part[:room]
            self.cut += max(0, len(part) - room)

    def read_text(self) -> str:
        self.join()
        return self._kept.decode("utf-8", "replace")


def run_command(name: str, *arguments: str, seconds: float, interrupt: bool = False) -> Answer:
    """The answer of `pydtrace …` or `pyusdt …` after so many seconds at the most.  interrupt: the time is its work, which Ctrl-C ends."""
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith("DTRACE_OPT_")
    }
    command = isolated_command(_PROGRAM[name], str(os.getpid()), *arguments)
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    ) as process:
        assert process.stdout and process.stderr
        readers = [_Reader(process.stdout), _Reader(process.stderr)]
        try:
            _await_end(process, seconds, interrupt)
        finally:
            if process.poll() is None:
                process.kill()
        output, messages = (reader.read_text() for reader in readers)
    return Answer(process.returncode, output, messages, sum(reader.cut for reader in readers))


def _await_end(process: subprocess.Popen[bytes], seconds: float, interrupt: bool) -> None:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT if interrupt else signal.SIGTERM)
        try:
            process.wait(_END_TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
