"""The command of -c, which exists before it runs, so that it is traced from its first probe on.

- Its pid is known to the session and to the script ($target) before start().
- If the tracer dies before start(), the child ends without running anything.
- The child runs no Python code (c/session/gated_child.h).
- An engine may start the command itself: leave_start_to_engine().
- At the end of tracing the command gets one signal, unless the terminal has already sent it one.
"""

from __future__ import annotations

import os
import signal
import time

from pydtrace import _tracer

from .group_witness import GroupWitness
from .identity import is_alive, read_comm, send_signal, start_ticks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    class User(Protocol):
        """Who may interrupt: as driver.driver.Driver."""

        interrupted: bool
        aborting: bool
        command_timeout: float | None


_END_TIMEOUT = (
    10.0  # s that a command may take to end where nobody is there who could interrupt again
)
_KILL_DELAY = 0.5  # s from SIGTERM to SIGKILL where the user is in a hurry
_REPORT_DELAY = 0.5  # s until the user is informed what is waited for


class NoUser:
    """A user who does not interrupt."""

    interrupted = aborting = False
    command_timeout: float | None = None


class Command:
    """argv: list of str; pid: the child's process id, which the command keeps.  outlives_tracer: it runs on where the thread that made it is
    gone without a word, killed."""

    def __init__(self, argv: list[str], outlives_tracer: bool = True) -> None:
        self.argv = argv
        self.environment: dict[str, str] = {}  # variables that it gets besides ours
        self._started_by_other = False
        self._start_ticks: int | None = None
        self.status: int | None = None  # wait status, once it has ended
        self.report: Callable[[str], object] = lambda text: None  # how the user is informed
        self._witness: GroupWitness | None = None
        gate_read, self._gate = os.pipe()
        self._failure, failure_write = os.pipe()
        try:
            self.pid = _tracer.fork_gated(
                [*map(os.fsencode, argv)],
                (gate_read, failure_write),
                (self._gate, self._failure),
                outlives_tracer,
            )
        finally:
            os.close(gate_read)
            os.close(failure_write)

    def leave_start_to_engine(self) -> None:
        """Somebody else starts the command: start() will do nothing.  What it ends with is not known then; its pid is, once
        set_pid() has set it."""
        os.close(self._gate)
        os.close(self._failure)
        self._gate = -1
        os.waitpid(self.pid, 0)
        self._started_by_other = True
        self.pid = 0

    def set_pid(self, pid: int) -> None:
        """What somebody else has started has this id."""
        if pid != self.pid:
            self.pid, self._start_ticks = pid, start_ticks(pid)

    def start(self) -> None:
        """Let the command run.  Raises OSError if it can not be started."""
        if self._started_by_other:
            return
        variables = b"".join(
            os.fsencode(f"{name}={value}") + b"\0" for name, value in self.environment.items()
        )
        os.write(self._gate, len(variables).to_bytes(4, "little") + variables)
        os.close(self._gate)
        self._gate = -1
        code = os.read(self._failure, 16)  # closed by a successful exec
        os.close(self._failure)
        if code:
            self.wait()
            raise OSError(int(code), os.strerror(int(code)), self.argv[0])

    @property
    def is_waiting(self) -> bool:
        """It does not run yet: until then it is a copy of this process."""
        return self._gate >= 0

    def poll(self) -> bool:
        """True once the command has ended."""
        if self._started_by_other:
            return not (self.pid and is_alive(self.pid))
        if self.status is None and self._has_ended():
            self.wait()
        return self.status is not None

    def _has_ended(self) -> bool:
        """A child whose stack is read stops for a moment; wait() returns for that, too, and would take it from who reads the stack."""
        said = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return said is not None and said.si_code in (os.CLD_EXITED, os.CLD_KILLED, os.CLD_DUMPED)

    def wait(self) -> None:
        while self.status is None:
            status = os.waitpid(self.pid, 0)[1]
            if not os.WIFSTOPPED(status):
                self.status = status

    def watch_group(self) -> None:
        """To be called before start(): stop() then knows whether the command has got the signal that has ended the tracing."""
        try:
            self._witness = GroupWitness()
        except OSError:  # the command is then sent a signal in any case
            self._witness = None

    def stop(self, user: User | None = None) -> None:
        """End it, and return when it has ended; nothing if it has.

        It is sent SIGTERM, unless it has got the signal that has ended the tracing.  Then it may take user.command_timeout s to end.  None: as
        long as it needs where a signal has ended the tracing (user.interrupted), else _LONGEST.  Where the user interrupts again
        (user.aborting; KeyboardInterrupt), or for the first time while this waits, it is killed _HURRIED after a SIGTERM."""
        if self._gate >= 0:
            os.close(
                self._gate
            )  # never started: it ends by itself, unless another child has this end of the gate as well
            self._gate = -1
            self._send_signal(signal.SIGKILL)
            self.wait()
        try:
            if not self.poll():
                self._terminate(user or NoUser())
        finally:
            if self._witness:
                self._witness.close()
                self._witness = None

    def _terminate(self, user: User) -> None:
        interrupted = user.interrupted
        signalled = self._was_signalled(interrupted)
        if not signalled:
            self._send_signal(signal.SIGTERM)
        seconds = (
            _END_TIMEOUT
            if user.command_timeout is None and not interrupted
            else user.command_timeout
        )
        try:
            self._await_end(seconds, lambda: user.aborting or user.interrupted != interrupted)
        except KeyboardInterrupt:
            pass
        if self.poll():
            return
        if signalled:
            self._send_signal(signal.SIGTERM)
        self._await_end(_KILL_DELAY, lambda: False)
        if not self.poll():
            self._send_signal(signal.SIGKILL)
            if not self._started_by_other:
                self.wait()

    def _was_signalled(self, interrupted: bool) -> bool:
        """One that has left our process group has got nothing that was sent to the group."""
        try:
            return bool(
                self._witness
                and os.getpgid(self.pid) == os.getpgrp()
                and self._witness.was_signalled(interrupted)
            )
        except OSError:
            return False

    def _await_end(self, seconds: float | None, is_interrupted: Callable[[], bool]) -> None:
        began, silent = time.monotonic(), True
        while not self.poll() and not is_interrupted():
            passed = time.monotonic() - began
            if seconds is not None and passed > seconds:
                return
            if silent and passed > _REPORT_DELAY and seconds != _KILL_DELAY:
                silent = False
                at_most = "" if seconds is None else f" {seconds:g} s at most"
                self.report(
                    f"waiting{at_most} for process {self.pid} ({read_comm(self.pid) or self.argv[0]}) to end; Ctrl-C ends it at once"
                )
            time.sleep(0.01)

    def _send_signal(self, number: int) -> None:
        try:
            send_signal(
                self.pid,
                number,
                lambda: not self._started_by_other or start_ticks(self.pid) == self._start_ticks,
            )
        except OSError:  # another's child may be gone by now, or be another user's
            pass
