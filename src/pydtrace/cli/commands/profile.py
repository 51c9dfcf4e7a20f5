"""`pyusdt profile`: which functions a Python program spends its time in, as a table, folded stacks
or files.

- The process is not changed. Only a running thread is stopped, for moments; with --no-stop none
  is.
- Ctrl-C and the end of the process end the sampling; the samples collected by then are printed.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from datetime import datetime, timezone

from pydtrace.cli.pydtrace.signals import InterruptHandler, make_waiting_command
from pydtrace.engine import Targets
from pydtrace.profile.pprof_schema import NoProtobuf, load_profile_message
from pydtrace.profile.profile_table import (
    render_head,
    render_profile,
    render_remarks,
    render_unseen,
)
from pydtrace.profile.sample_clock import SampleClock
from pydtrace.profile.sample_order import SampleOrder
from pydtrace.profile.sampler import Sampler
from pydtrace.profile.sampler_options import WORDS, SamplerOptions
from pydtrace.profile.stack_profile import Profile
from pydtrace.remote_python.remote_python import EndedBeforePython, StackReadError
from pydtrace.sinks.atomic_file import write_file
from pydtrace.untrusted.watchdog import watchdog

from .stack_options import needs_threads, separated_labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from pydtrace.process.command import Command

_RETRY_INTERVAL = 0.02  # seconds between looks at what is no Python yet
_CHILDREN_SHARE = 0.1  # of the time, at most, for looks for processes that were started
_PROGRESS_INTERVAL = 0.5
_ROUNDS = 0.5  # seconds for which rounds go on without a look at the command and the terminal


class SamplingState:
    """What signals say (cli/pydtrace/signals.py)."""

    output_complete = False
    command_timeout: float | None = None

    def __init__(self, command: Command | None) -> None:
        self.targets = Targets((), command)
        self.stopping = self.interrupted = self.aborting = False


class TimeShare:
    """What may take a share of the time, and is due whenever it has not."""

    def __init__(self, share: float) -> None:
        self._share, self._next = share, 0.0

    def run_if_due(self, work: Callable[[], None]) -> None:
        begun = time.monotonic()
        if begun >= self._next:
            work()
            ended = time.monotonic()
            self._next = ended + (ended - begun) / self._share


class Interval:
    """What is due every so often."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._last = seconds, 0.0

    def __bool__(self) -> bool:
        now = time.monotonic()
        if now - self._last < self._seconds:
            return False
        self._last = now
        return True


def show_progress(profile: Profile, clock: SampleClock) -> None:
    """On the terminal, where there is one."""
    sys.stderr.write(f"\r{clock.seconds:.0f} s, {profile.samples} samples; Ctrl-C ends it\x1b[K")
    sys.stderr.flush()


def run_sampler(
    sampler: Sampler,
    profile: Profile,
    clock: SampleClock,
    options: Namespace,
    has_ended: Callable[[], bool],
) -> None:
    """Until the time is over, nothing is left to sample, or has_ended(): the command has, or Ctrl-C was typed."""
    retry, look_for_children, tell = (
        Interval(_RETRY_INTERVAL),
        TimeShare(_CHILDREN_SHARE),
        Interval(_PROGRESS_INTERVAL),
    )
    shows = sys.stderr.isatty()
    while not has_ended() and (options.duration is None or clock.seconds < options.duration):
        if options.subprocesses:
            look_for_children.run_if_due(sampler.add_children)
        sampler.retry_waiting(fresh=not retry)
        if not sampler.sample_processes() or (
            options.pid is not None and not sampler.has_processes and not profile.rounds
        ):
            break
        if shows and tell:
            show_progress(profile, clock)
        left = _ROUNDS if options.duration is None else options.duration - clock.seconds
        sampler.run_rounds(clock, 0.0 if options.subprocesses else min(left, _ROUNDS))
    if shows:
        sys.stderr.write("\r\x1b[K")


def _thread_selection(options: Namespace) -> str:
    return "all" if options.wall else "gil" if options.gil else "running"


def exit_status(ended: int) -> int:
    """That of a shell for os.waitstatus_to_exitcode()."""
    return ended if ended >= 0 else 128 - ended


def collect_profile(options: Namespace) -> Profile:
    """The Profile.  Raises NoStacks where there was nothing to sample, OSError where the command can not be started."""
    if options.off_cpu:
        from .offcpu_profile import profile_off_cpu as waits

        return waits(options)
    profile = Profile(
        options.rate, WORDS[_thread_selection(options)], separated=separated_labels(options)
    )
    profile.folds_libraries = options.mine
    if options.speedscope:
        profile.order = SampleOrder()
    command = make_waiting_command(options.command)
    sampling = SamplingState(command)
    with InterruptHandler(sampling):
        try:
            why_none = _fill_profile(options, profile, sampling)
            if command and command.poll() and command.status is not None:
                profile.exit_status = os.waitstatus_to_exitcode(command.status)
        finally:
            if command:
                command.stop(sampling)
    if not profile.rounds:
        if sampling.stopping and why_none:
            raise StackReadError(f"interrupted before a Python was seen; the last look: {why_none}")
        if command and command.poll() and command.status is not None:
            raise EndedBeforePython.for_command(
                command.pid, command.argv[0], os.waitstatus_to_exitcode(command.status)
            )
        raise why_none or StackReadError(
            f"process {command.pid if command else options.pid} has ended, and no Python was seen in it"
        )
    return profile


def _fill_profile(
    options: Namespace, profile: Profile, sampling: SamplingState
) -> StackReadError | None:
    """Fills the profile; why nothing was seen."""
    command = sampling.targets.command
    pid = command.pid if command else options.pid

    def has_ended() -> bool:
        return sampling.stopping or (command is not None and command.poll())

    with watchdog(f"pyusdt: process {pid} does not let its memory be read: gave up") as beat:
        sampler = Sampler(
            profile,
            SamplerOptions(
                _thread_selection(options),
                options.lines,
                needs_threads(options),
                options.frames,
                options.native,
                not options.no_stop,
                options.tasks,
                options.tags,
            ),
            beat,
            command.pid if command else None,
        )
        try:
            if command:
                command.watch_group()
                command.start()
            sampler.add_process(pid)
            clock = SampleClock(options.rate, profile)
            run_sampler(sampler, profile, clock, options, has_ended)
            profile.seconds = clock.seconds
        finally:
            sampler.close()
    why_none: StackReadError | None = sampler.no_python_reason
    return why_none


# --- output --------------------------------------------------------------------------------


def profile_title(options: Namespace) -> str:
    return " ".join(options.command) if options.command else f"process {options.pid}"


def profile_facts(profile: Profile) -> list[str]:
    """What a page says of it, besides its title."""
    began = datetime.fromtimestamp(profile.began_ns / 1e9, timezone.utc).astimezone()
    return [
        socket.gethostname(),
        began.strftime("%Y-%m-%d %H:%M:%S %z"),
        *f"{render_head(profile)}{render_remarks(profile)}".splitlines(),
    ]


def write_output(profile: Profile, options: Namespace) -> str:
    """Writes the files; the text for the standard output."""
    write_files(profile, options)
    if options.folded:
        from pydtrace.profile.folded import fold_stacks

        sys.stderr.write(render_unseen(profile))
        return fold_stacks(profile)
    return render_profile(profile, options.paths)


def write_files(profile: Profile, options: Namespace) -> None:
    from pydtrace.profile.flamegraph import render_flamegraph
    from pydtrace.profile.pprof import encode_pprof
    from pydtrace.profile.speedscope import make_speedscope

    if options.speedscope:
        write_file(options.speedscope, json.dumps(make_speedscope(profile, profile_title(options))))
    if options.pprof:
        write_file(options.pprof, encode_pprof(profile, profile_title(options)))
    if options.flamegraph:
        page = render_flamegraph(profile, profile_title(options), profile_facts(profile))
        write_file(options.flamegraph, page)


def check_options(options: Namespace) -> str | None:
    """What is wrong with the options together, or None."""
    if bool(options.command) == (options.pid is not None):
        return "give a process id, or -- and a command"
    if options.off_cpu and options.native:
        return "--off-cpu has no native frames: sched:::off-cpu { @[ustack()] = count(); } of pydtrace has those that the kernel finds"
    if options.off_cpu and (options.tasks or options.tags):
        return (
            "--off-cpu tells threads apart, neither tasks nor tags: the kernel does not know them"
        )
    if options.no_stop and options.native:
        return "--native needs stopped threads: it does not work with --no-stop"
    return check_files(options.speedscope, options.flamegraph, options.pprof)


def check_files(*paths: str | None) -> str | None:
    """What is wrong with the files to write, or None.  The last one is pprof's."""
    for path in paths:
        if path and not os.path.isdir(os.path.dirname(os.path.abspath(path))):
            return f"{path}: there is no such folder"
    return _check_protobuf() if paths[-1] else None


def _check_protobuf() -> str | None:
    """What is wrong, before a profile is taken."""
    try:
        load_profile_message()
    except NoProtobuf as error:
        return str(error)
    return None
