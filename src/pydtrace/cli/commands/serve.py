"""`pyusdt serve`: trace each script of a folder by a pydtrace of its own, as long as the script
stays there.

A folder has NAME.d, and NAME.args with further options of pydtrace, as words of a shell. It may have
NAME.why, with the options of a `pyusdt why --keep` that runs in the same way. What the
scripts print goes to the standard error, with the script's name before each line; systemd is
informed of the state (sd_notify(3)).

- Each script ends and restarts by itself: later after each failure, and anew when its files
  change; all at SIGHUP.
- Processor and memory of a script are bounded.
- Only files that nobody but root and this command's user can have written are read.
- The scripts end when this process ends, in whatever way.
"""

from __future__ import annotations

import contextlib
import os
import resource
import selectors
import shlex
import signal
import socket
import stat
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from pydtrace.untrusted.isolated_python import DIES_WITH_PARENT, isolated_command
from pydtrace.untrusted.terminal_escape import escape_for_terminal
from pydtrace.untrusted.trusted_files import changeable_by_others, is_owned_by_root_or_me

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType
    from typing import IO

    from .pprof_server import PprofServer

_SCAN_INTERVAL = 1.0  # s between two looks at the folder
_MIN_RESTART_DELAY, _MAX_RESTART_DELAY = (
    1.0,
    60.0,
)  # s before a script that failed is started again: the double each time
_HEALTHY_TIME = 60.0  # s: who has run for so long has not failed at once
_STOP_TIMEOUT = (
    20.0  # s for a script's END and for what its receivers are still to get, before it is killed
)
_MAX_LINE = 8192  # bytes of a line, at the most
_STATUS_CPU_LIMIT = 4  # pydtrace's exit status where -x maxcpu has ended it
_PROGRAM = f"""{DIES_WITH_PARENT}
from pydtrace.cli.pydtrace.main import main
main()
"""

_WHY_PROGRAM = f"""{DIES_WITH_PARENT}
from pydtrace.cli.commands.main import main
main()
"""
_WHY = ".why"
_WHY_RATE = ("--rate", "19")  # samples a second, unless the file says otherwise

FileSignature = tuple[tuple[int, ...], ...]  # of a script's files, what changes when they change


class NotServed(Exception):
    """Nothing can be served; the message is one line for the user."""


class Script:
    """One script, and the pydtrace that traces it, if it runs."""

    def __init__(self, name: str, signature: FileSignature) -> None:
        self.name, self.signature = name, signature
        self.process: subprocess.Popen[bytes] | None = None
        self.started_at = self.start_at = 0.0  # when it was started; when it is to be, monotonic
        self.finished = False  # it is not to be started again until it changes
        self.kill_at = 0.0  # when it is killed, monotonic; 0: it was not asked to end
        self._restart_delay = _MIN_RESTART_DELAY
        self._partial_line = b""  # of a line that is not whole

    def start(self, folder: str, memory: int, cpu: int) -> None:
        """NotServed where its options can not be read; OSError."""
        command = self._make_command(folder, cpu)
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        with contextlib.suppress(
            OSError, AttributeError
        ):  # it has ended; there are no limits of others here
            resource.prlimit(self.process.pid, resource.RLIMIT_DATA, (memory, memory))
        self.started_at, self.kill_at = time.monotonic(), 0.0

    def _make_command(self, folder: str, cpu: int) -> list[str]:
        me, path = str(os.getpid()), os.path.join(folder, self.name)
        if self.name.endswith(_WHY):
            words = _read_arguments(path)
            if not any(word.partition("=")[0] == "--keep" for word in words):
                raise NotServed(f"{path}: --keep FOLDER is needed: where the evidence is kept")
            return isolated_command(_WHY_PROGRAM, me, "why", f"--cpu={cpu}", *_WHY_RATE, *words)
        words = _read_arguments(f"{path}.args")
        limit = f"maxcpu={cpu}"
        return isolated_command(_PROGRAM, me, "-q", "-Z", "-x", limit, *words, "-s", f"{path}.d")

    def request_stop(self) -> None:
        """END runs, the aggregations are printed."""
        if self.process and not self.kill_at:
            self.process.terminate()
            self.kill_at = time.monotonic() + _STOP_TIMEOUT

    def request_restart(self) -> None:
        """Once it has ended, whatever it ended by before."""
        self.finished, self.start_at = False, 0.0
        self.request_stop()

    def handle_exit(self, status: int) -> str:
        """It has ended; report that."""
        now = time.monotonic()
        self.process = None
        if self.kill_at:
            return "stopped"
        if status == 0:
            self.finished = True
            return "the script has ended; it runs again when its files change"
        self._restart_delay = (
            _MIN_RESTART_DELAY
            if now - self.started_at > _HEALTHY_TIME
            else min(2 * self._restart_delay, _MAX_RESTART_DELAY)
        )
        wait = _MAX_RESTART_DELAY if status == _STATUS_CPU_LIMIT else self._restart_delay
        self.start_at = now + wait
        why = f"signal {-status}" if status < 0 else f"exit status {status}"
        return f"ended with {why}: it is started again in {wait:g} s"

    def split_lines(self, data: bytes) -> Iterator[str]:
        """The whole lines that there are now; data: b"" at its end."""
        *lines, self._partial_line = (self._partial_line + data).split(b"\n")
        if len(self._partial_line) > _MAX_LINE or not data:
            lines, self._partial_line = [*lines, self._partial_line], b""
        for line in filter(None, lines):
            yield escape_for_terminal(line[:_MAX_LINE].decode("utf-8", "replace"))


class Supervisor:
    """folder: of the scripts; memory: bytes, cpu: percent of a processor, that each may take.  pprof: the address at which profiles are answered, or None; pprof_token:
    the file that has the token for it, or None."""

    def __init__(
        self,
        folder: str,
        memory: int,
        cpu: int,
        pprof: tuple[str, int] | None = None,
        pprof_token: str | None = None,
    ) -> None:
        self._folder, self._memory, self._cpu = folder, memory, cpu
        self._pprof, self._pprof_token = pprof, pprof_token
        self._scripts: dict[str, Script] = {}
        self._refused: dict[str, str] = {}  # name: why, as reported
        self._selector = selectors.DefaultSelector()
        self._ending = self._restart_requested = False

    def run(self) -> None:
        """Until SIGTERM or SIGINT; SIGHUP: all are started anew.  NotServed."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._handle_stop_signal)
        signal.signal(signal.SIGHUP, self._handle_restart_signal)
        self._scan_folder()
        server = self._start_pprof()
        _notify_systemd("READY=1")
        next_look = 0.0
        while not (self._ending and all(each.process is None for each in self._scripts.values())):
            self._read_output(0.2)
            now = time.monotonic()
            if not self._ending and now >= next_look:
                next_look = now + _SCAN_INTERVAL
                self._scan_folder()
                _notify_systemd(f"WATCHDOG=1\nSTATUS={self._describe_state()}")
            self._start_and_kill(now)

        if server:
            server.stop()

    def _start_pprof(self) -> PprofServer | None:
        """NotServed."""
        if self._pprof is None:
            return None
        from pydtrace.profile.pprof_schema import NoProtobuf, load_profile_message
        from pydtrace.sinks.http.token_server import read_token

        from .pprof_server import PprofServer

        host, port = self._pprof
        try:
            load_profile_message()
            token = read_token(self._pprof_token) if self._pprof_token else b""
            server = PprofServer(host, port, token, self._memory, _report_line)
        except (NoProtobuf, OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise NotServed(f"--pprof: {reason}") from None
        server.connection_cost.report = lambda text: _report_line("pprof", text)
        server.start()
        _report_line("pprof", f"profiles are at {server.address}")
        return server

    def _handle_stop_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._ending = True

    def _handle_restart_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._restart_requested = True

    def _describe_state(self) -> str:
        running = sum(each.process is not None for each in self._scripts.values())
        return f"{running} of {len(self._scripts)} scripts run, {len(self._refused)} are refused"

    # --- the folder ---------------------------------------------------------------------------

    def _scan_folder(self) -> None:
        if self._restart_requested:
            self._restart_requested = False
            for each in self._scripts.values():
                each.request_restart()
        found = self._find_scripts()
        for name, seen in found.items():
            script = self._scripts.get(name)
            if script is None:
                self._scripts[name] = Script(name, seen)
            elif script.signature != seen:
                script.signature = seen
                script.request_restart()
        for name in [name for name in self._scripts if name not in found]:
            self._scripts[name].request_stop()
            self._scripts[name].finished = True
            if self._scripts[name].process is None:
                del self._scripts[name]

    def _find_scripts(self) -> dict[str, FileSignature]:
        """{name: what its files are} of those that may be traced; for the others the reason is reported."""
        try:
            os.stat(self._folder)  # one that is not there is said to be so, whoever could make it
            if others := changeable_by_others(self._folder):
                raise NotServed(_explain_untrusted(others))
            names = sorted(
                each.removesuffix(".d")
                for each in os.listdir(self._folder)
                if each.endswith((".d", _WHY)) and not each.startswith(".")
            )
        except OSError as error:
            raise NotServed(f"{self._folder}: {error.strerror}") from None
        found, refused = {}, {}
        for name in names:
            try:
                found[name] = _read_signature(os.path.join(self._folder, name))
            except (OSError, NotServed) as error:
                refused[name] = getattr(error, "strerror", None) or str(error)
                if self._refused.get(name) != refused[name]:
                    _report_line(name, f"not traced: {refused[name]}")
        self._refused = refused
        return found

    # --- the scripts --------------------------------------------------------------------------

    def _start_and_kill(self, now: float) -> None:
        for script in self._scripts.values():
            if self._ending:
                script.request_stop()
            elif not script.finished and script.process is None and now >= script.start_at:
                self._start_script(script)
            if script.process and script.kill_at and now >= script.kill_at:
                script.process.kill()

    def _start_script(self, script: Script) -> None:
        try:
            script.start(self._folder, self._memory, self._cpu)
        except (OSError, NotServed) as error:
            script.finished = True
            _report_line(script.name, f"not traced: {getattr(error, 'strerror', None) or error}")
            return
        process = script.process
        if process and process.stdout:
            os.set_blocking(process.stdout.fileno(), False)
            self._selector.register(process.stdout, selectors.EVENT_READ, script)
            _report_line(script.name, f"traced by process {process.pid}")

    def _read_output(self, timeout: float) -> None:
        if not self._selector.get_map():
            time.sleep(timeout)
            return
        for key, _ in self._selector.select(timeout):
            self._forward_output(key.fileobj, key.data)  # type: ignore[arg-type]

    def _forward_output(self, pipe: IO[bytes], script: Script) -> None:
        data = os.read(pipe.fileno(), 65536)
        for line in script.split_lines(data):
            _report_line(script.name, line)
        if not data and script.process:
            self._selector.unregister(pipe)
            pipe.close()
            _report_line(script.name, script.handle_exit(script.process.wait()))


# --- which files are trusted ------------------------------------------------------------------------


def _check_trusted(path: str, found: os.stat_result) -> None:
    """NotServed where others could have written it."""
    if not is_owned_by_root_or_me(found):
        raise NotServed(_explain_untrusted(path))


def _explain_untrusted(path: str) -> str:
    return f"{path} can be written by others than root and the user of pyusdt serve: chown and chmod go-w help"


def _read_signature(path: str) -> FileSignature:
    """Of NAME.d and NAME.args, or of NAME.why.  NotServed, OSError."""
    found = []
    for file in (path,) if path.endswith(_WHY) else (f"{path}.d", f"{path}.args"):
        try:
            status = os.lstat(file)
        except FileNotFoundError:
            if not file.endswith(".args"):
                raise
            continue
        if not stat.S_ISREG(status.st_mode):
            raise NotServed(f"{file} is no regular file")
        _check_trusted(file, status)
        found.append(
            (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        )
    return tuple(found)


def _read_arguments(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8") as file:
            return shlex.split(file.read(), comments=True)
    except FileNotFoundError:
        return []
    except ValueError as error:
        raise NotServed(f"{path}: {error}") from None


# --- notifications -----------------------------------------------------------------------------


def _report_line(name: str, text: str) -> None:
    print(f"{escape_for_terminal(name)}: {text}", file=sys.stderr, flush=True)


def _notify_systemd(text: str) -> None:
    """systemd, if it has started us."""
    path = os.environ.get("NOTIFY_SOCKET")
    if path:
        with (
            contextlib.suppress(OSError),
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as there,
        ):
            there.connect("\0" + path[1:] if path.startswith("@") else path)
            there.send(text.encode())
