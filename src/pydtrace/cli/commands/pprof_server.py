"""`pyusdt serve --pprof`: GET /debug/pprof/profile?seconds=10&pid=1234 answers with a profile for Parca,
Grafana Alloy and `go tool pprof`.

- Without a token only the server's own user is answered, and only on a loopback address: stacks
  say what a program does. Root profiles the processes of all users.
- Each request has a process of its own, with bounded memory, which ends with its time.
- At most MAX_REQUESTS run at a time.
"""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import threading
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from pydtrace.process.process_names import find_pids
from pydtrace.sinks.http.connection_limit import identify_peer
from pydtrace.sinks.http.token_server import TokenHandler, TokenServer
from pydtrace.untrusted.isolated_python import isolated_command
from pydtrace.untrusted.terminal_escape import escape_for_terminal

from .profile_worker import NO_PYTHON

if TYPE_CHECKING:
    from collections.abc import Callable

PATH = "/debug/pprof/profile"
MAX_REQUESTS = 4
MAX_PROCESSES = 64
MAX_SECONDS, MAX_HZ = 600.0, 1000
_DEFAULT_SECONDS, _DEFAULT_HZ = 10.0, 19
_GRACE = 30.0  # s after a request's time before its process is killed
_PROGRAM = "from pydtrace.cli.commands.profile_worker import main\nmain()\n"
_KINDS = "seconds, hz, pid and name are known"


class BadRequest(Exception):
    """The message is one line for the user."""


class ProfileRequest:
    """What a request asks for.  Raises BadRequest."""

    def __init__(self, query: str) -> None:
        given = parse_qs(query, keep_blank_values=True, max_num_fields=2 * MAX_PROCESSES)
        if unknown := given.keys() - {"seconds", "hz", "pid", "name"}:
            raise BadRequest(f"there is no parameter {min(unknown)!r}: {_KINDS}")
        self.seconds = _parse_number(given, "seconds", _DEFAULT_SECONDS, MAX_SECONDS)
        self.hz = int(_parse_number(given, "hz", _DEFAULT_HZ, MAX_HZ))
        self.pids = [_parse_pid(text) for text in given.get("pid", [])]
        for name in given.get("name", []):
            found = find_pids(name) if name else []
            if not found:
                raise BadRequest(f"no process is called {name!r}")
            self.pids += found
        if not self.pids:
            raise BadRequest("which processes? pid=NUMBER or name=TEXT, each once or more often")
        self.pids = list(dict.fromkeys(self.pids))
        if len(self.pids) > MAX_PROCESSES:
            raise BadRequest(
                f"{len(self.pids)} processes are too many: at most {MAX_PROCESSES}; a longer name= finds fewer"
            )


def _parse_number(given: dict[str, list[str]], name: str, default: float, most: float) -> float:
    text = given.get(name, [str(default)])[-1]
    try:
        number = float(text) if text.isascii() else 0.0
    except ValueError:
        number = 0.0
    if not (1 <= number <= most):
        raise BadRequest(f"{name} is a number from 1 to {most:g}, not {text[:20]!r}")
    return number


def _parse_pid(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text) > 0):
        raise BadRequest(f"{text[:20]!r} is no process id")
    return int(text)


class _Handler(TokenHandler):
    server: PprofServer

    def answer_trusted(self) -> None:
        address = urlsplit(self.path)
        if not self.server.token and not self._is_own_user():
            self.refuse(
                403, "only the user of pyusdt serve is answered; --pprof-token FILE lets others ask"
            )
        elif address.path != PATH:
            self.refuse(404, f"profiles are at {PATH}?seconds=10&pid=NUMBER")
        elif not self.server.slots.acquire(blocking=False):
            self.refuse(503, f"{MAX_REQUESTS} profiles are being taken", ("Retry-After", "10"))
        else:
            try:
                self._answer_profile(ProfileRequest(address.query))
            except (BadRequest, ValueError) as error:
                self.refuse(400, escape_for_terminal(str(error)))
            finally:
                self.server.slots.release()

    def _is_own_user(self) -> bool:
        try:
            peer = identify_peer(self.client_address, self.connection.getsockname())
        except (OSError, ValueError):
            return False
        return peer == ("uid", os.geteuid())

    def _answer_profile(self, request: ProfileRequest) -> None:
        status, content, errors = self.server.take_profile(request)
        if status == 0:
            self.send_answer(
                200,
                content,
                "application/octet-stream",
                ("Content-Disposition", 'attachment; filename="profile.pb.gz"'),
            )
        elif status == NO_PYTHON:
            self.refuse(404, escape_for_terminal(errors.strip()) or "no such process")
        else:
            self.server.report("pprof", f"a profile failed: {errors.strip()[-500:]}")
            self.refuse(500, "the profile failed; the log of pyusdt serve has the reason")


class PprofServer(TokenServer):
    """memory: bytes that a request's process may take; report(name, text): to the log."""

    max_connections = 2 * MAX_REQUESTS

    def __init__(
        self, host: str, port: int, token: bytes, memory: int, report: Callable[[str, str], None]
    ) -> None:
        self.report, self._memory = report, memory
        self.slots = threading.Semaphore(MAX_REQUESTS)
        super().__init__(host, port, _Handler, token)
        self.address = f"{self.origin}{PATH}"

    def take_profile(self, request: ProfileRequest) -> tuple[int, bytes, str]:
        """(exit status, pprof's file, what the process wrote to its standard error)."""
        words = [f"{request.seconds:g}", str(request.hz), *map(str, request.pids)]
        process = subprocess.Popen(
            isolated_command(_PROGRAM, *words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        with contextlib.suppress(OSError, AttributeError):
            resource.prlimit(process.pid, resource.RLIMIT_DATA, (self._memory, self._memory))
        try:
            content, errors = process.communicate(timeout=request.seconds + _GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            content, errors = process.communicate()
        return process.returncode, content, errors.decode("utf-8", "replace")
