"""`pyusdt heap`: which allocations of a Python program still live, by stack, and which of them grow.

- The provider is brought into the program as by `pydtrace --attach`, and leaves with this command.
- The program counts (src/pyusdt/_core_c/heap_hooks.c); this command reads its table from outside.
- If this command is killed, the program ends the sampling by itself after some seconds.
"""

from __future__ import annotations

import os
import sys
import time

from pydtrace.attach.refusal import NotAttached
from pydtrace.cli.pydtrace.signals import InterruptHandler, make_waiting_command
from pydtrace.process.identity import is_alive
from pydtrace.remote_python.heap_table import HeapTable
from pydtrace.remote_python.remote_python import RemotePython, StackReadError
from pydtrace.sinks.atomic_file import write_file
from pydtrace.untrusted.watchdog import watchdog

from .attach import attach_provider, call_core, leave_unused
from .heap_report import HeapReport, HeapState
from .profile import SamplingState, profile_title

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from pydtrace.process.command import Command

_LEASE = 20.0  # seconds for which the program samples without a word of this command
_KEEP_INTERVAL, _READ_INTERVAL, _POLL = 5.0, 0.5, 0.05  # s
_READ_SHARE = 20  # the pause between two reads of a large table, in durations of one
_WATCHDOG = 30.0  # seconds that a word to the program and a read of its table may take
_STATES = 64  # that are kept, for the one at half of the time
_START_TIMEOUT = 10.0  # seconds in which a command has to become a Python


class HeapError(Exception):
    """Why there is no report, for a person."""


class HeapRecorder:
    """Reads the table of a process now and then.  Raises HeapError, StackReadError."""

    def __init__(self, pid: int, mean: int) -> None:
        self.pid, self._mean = pid, mean
        self._states: list[HeapState] = []
        self._kept_at = self._read_at = time.monotonic()
        self._is_on = False

    def start(self) -> None:
        try:
            call_core(self.pid, "heap_start", self._mean, _LEASE)
            self._is_on = True
        except NotAttached as error:
            raise HeapError(f"{error}") from None
        self.table = HeapTable(RemotePython(self.pid))
        self.read_state()

    def read_state(self) -> None:
        at = time.monotonic_ns()
        self._states.append(HeapState(self.table.read(), at))
        self.report = HeapReport(self.table, self._find_half(), self._states[-1])
        self.report.read_names()
        if len(self._states) > _STATES:
            del self._states[1:-1:2]

    def _find_half(self) -> HeapState:
        half = (self._states[0].at + self._states[-1].at) // 2
        return min(self._states, key=lambda state: abs(state.at - half))

    def work(self) -> None:
        """What is due."""
        now = time.monotonic()
        if now >= self._read_at:
            self.read_state()
            took = time.monotonic() - now
            self._read_at = time.monotonic() + max(_READ_INTERVAL, _READ_SHARE * took)
        if now - self._kept_at >= _KEEP_INTERVAL:
            self._kept_at = now
            self._keep()

    def _keep(self) -> None:
        try:
            call_core(self.pid, "heap_keep", _LEASE)
        except NotAttached as error:
            if is_alive(self.pid) and not self._states[-1].snapshot.is_on:
                raise HeapError(f"{error}") from None

    def make_report(self, older: float) -> HeapReport:
        if not self._states:
            raise HeapError(f"process {self.pid} has ended before its heap was read")
        return HeapReport(self.table, self._find_half(), self._states[-1], older)

    def stop(self) -> None:
        """The program is as before."""
        if not (self._is_on and is_alive(self.pid)):
            return
        try:
            call_core(self.pid, "heap_stop")
        except NotAttached as error:
            if is_alive(self.pid):
                print(
                    f"pyusdt: {error}; it ends the sampling by itself within {_LEASE:.0f} s",
                    file=sys.stderr,
                )


def run_heap(options: Namespace) -> tuple[str, int]:
    """(the text for the standard output, the exit status).  Raises HeapError, StackReadError, OSError."""
    command = make_waiting_command(options.command)
    sampling = SamplingState(command)
    pid = command.pid if command else options.pid
    recorder = HeapRecorder(pid, options.every)
    with InterruptHandler(sampling):
        try:
            if command:
                command.start()
            _bring_in(pid, command, sampling)
            try:
                _record(recorder, sampling, command, options)
                text = _write_output(recorder.make_report(options.older), options)
            finally:
                recorder.stop()
                if remark := leave_unused(pid):
                    print(f"pyusdt: {remark}", file=sys.stderr)
        finally:
            if command:
                command.stop(sampling)
    return text, _exit_status(command)


def _exit_status(command: Command | None) -> int:
    if command is None or not command.poll() or command.status is None:
        return 0
    ended = os.waitstatus_to_exitcode(command.status)
    return ended if ended >= 0 else 128 - ended


def _bring_in(pid: int, command: Command | None, sampling: SamplingState) -> None:
    """A command becomes a Python by and by."""
    until = time.monotonic() + _START_TIMEOUT
    while True:
        try:
            attach_provider(pid, temporary=True)
            return
        except NotAttached as error:
            has_ended = command is not None and command.poll()
            if command is None or has_ended or sampling.stopping or time.monotonic() > until:
                raise HeapError(f"{error}") from None
        time.sleep(_POLL)


def _record(
    recorder: HeapRecorder, sampling: SamplingState, command: Command | None, options: Namespace
) -> None:
    began = time.monotonic()
    with watchdog(
        f"pyusdt: process {options.pid} does not let its memory be read: gave up"
    ) as beat:
        recorder.start()
        while not sampling.stopping and not (command and command.poll()):
            beat()
            if options.duration is not None and time.monotonic() - began >= options.duration:
                break
            time.sleep(_POLL)
            try:
                recorder.work()
            except StackReadError:
                if is_alive(recorder.pid):
                    raise
                return  # what was read last is the report
        if not (command and command.poll()) and is_alive(recorder.pid):
            recorder.read_state()


def _write_output(report: HeapReport, options: Namespace) -> str:
    from pydtrace.profile.flamegraph import render_flamegraph
    from pydtrace.profile.folded import fold_stacks
    from pydtrace.profile.pprof import encode_pprof

    profile, title = report.make_profile(), f"heap of {profile_title(options)}"
    if options.pprof:
        write_file(options.pprof, encode_pprof(profile, title))
    if options.flamegraph:
        facts = (report.render_head() + report.render_remarks()).splitlines()
        write_file(options.flamegraph, render_flamegraph(profile, title, facts))
    return fold_stacks(profile) if options.folded else report.render(options.paths)
