"""`pyusdt profile PID` of an Erlang node: which functions, processes and callbacks take its time.

- The node samples itself (attach/beam_sampler.py). This process says when, so that a node that it leaves is left alone.
- A sample's process is called by its name; its callback is the outermost function that is not of a behaviour.
"""

from __future__ import annotations

from collections import Counter

from pydtrace.attach.beam_sampler import MAX_FRAMES, BeamSampler, BeamSamples
from pydtrace.profile.frame_key import FrameKey, pseudo_frame
from pydtrace.profile.profile_table import render_profile
from pydtrace.profile.sample_clock import SampleClock
from pydtrace.profile.sample_labels import PROCESS, THREAD
from pydtrace.profile.stack_profile import Profile
from pydtrace.untrusted.terminal_escape import escape_for_terminal

from .profile import Interval, SamplingState, show_progress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from pydtrace.attach.beam_sampler import Frame

RUNNING_PROCESSES = "running Erlang processes"
CALLBACK = "callback"
_TAKE_INTERVAL = 1.0  # s
_TIMEOUT = 5.0  # s, of the node's answers
_ROWS = 10
_ELIXIR = "Elixir."
_BEHAVIOURS = frozenset(
    ("proc_lib", "gen", "gen_server", "gen_statem", "gen_event", "gen_fsm", "supervisor")
    + ("gen_server2", "supervisor2")  # RabbitMQ's
    + ("Elixir.Task.Supervised", "Elixir.Agent.Server", "Elixir.DynamicSupervisor")
    + ("Elixir.GenServer", "Elixir.Task.Supervisor")
)
_NOT_READ = pseudo_frame("not read")
_OF_PYTHON = "wall", "gil", "off_cpu", "no_stop", "subprocesses", "tags", "speedscope", "mine"
_NATIVE = (
    "--native is for Python: process {} is an Erlang node. Native frames, with names under erl +JPperf true: "
    "pydtrace -n 'profile-97 /pid == $target/ {{ @[ustack()] = count(); }}' -p PID"
)


def explain_misfit(options: Namespace) -> str | None:
    """Why these options are none of a node's profile, or None."""
    if options.native:
        return _NATIVE.format(options.pid)
    for name in _OF_PYTHON:
        if getattr(options, name):
            option = name.replace("_", "-")
            return f"--{option} is for Python: process {options.pid} is an Erlang node"
    return None


def separated_labels(options: Namespace) -> list[str]:
    given = (THREAD, options.threads), (CALLBACK, options.tasks)
    return [name for name, is_given in given if is_given]


class NodeProfile:
    """profile, and what is known of the node: its name; processes, looked: how many there were, and how many a round looked at."""

    def __init__(self, options: Namespace) -> None:
        self.profile = Profile(options.rate, RUNNING_PROCESSES, separated=separated_labels(options))
        self.name = ""
        self.processes = self._looked = 0
        self._pid = options.pid

    def add_samples(self, taken: BeamSamples) -> None:
        profile = self.profile
        profile.rounds += taken.rounds
        profile.missed_rounds += taken.missed
        profile.counts["cut"] += taken.cut
        self.processes, self._looked = taken.processes, self._looked + taken.looked
        for name, frames, n in taken.samples:
            callback = find_callback(frames)
            labels = [(PROCESS, f"{self.name} {self._pid}"), (THREAD, name)]
            labels += [(CALLBACK, format_function(callback))] if callback else []
            stack = [profile.intern_frame(_make_key(frame)) for frame in reversed(frames)]
            profile.add_sample(tuple(labels), tuple(stack) or (_NOT_READ,), n)
        if taken.unread:
            profile.counts["unread"] += taken.unread
            profile.add_sample(((THREAD, "?"),), (_NOT_READ,), taken.unread)

    @property
    def looked(self) -> int:
        return round(self._looked / max(self.profile.rounds, 1))


def collect_profile(options: Namespace) -> NodeProfile:
    """Until the time is over, Ctrl-C, or the node's end.  Raises attach.refusal.NotAttached."""
    import sys

    from pydtrace.attach.refusal import NotAttached
    from pydtrace.cli.pydtrace.signals import InterruptHandler
    from pydtrace.process.identity import is_alive

    found, sampling = NodeProfile(options), SamplingState(None)
    sampler = BeamSampler(
        options.pid, _TIMEOUT, options.erlang, min(options.frames, MAX_FRAMES), options.lines,
        options.cookie_file,
    )  # fmt: skip
    found.name = sampler.name
    clock = SampleClock(options.rate, found.profile)
    is_due, progress, shows = Interval(_TAKE_INTERVAL), Interval(0.5), sys.stderr.isatty()
    try:
        with InterruptHandler(sampling):
            while not sampling.stopping and (
                options.duration is None or clock.seconds < options.duration
            ):
                sampler.request_round()
                if is_due:
                    found.add_samples(sampler.take_samples())
                if shows and progress:
                    show_progress(found.profile, clock)
                clock.wait_for_sample()
            found.add_samples(sampler.stop())
    except NotAttached:
        if is_alive(options.pid) or not found.profile.rounds:
            raise
    finally:
        found.profile.seconds = clock.seconds
        sampler.close()
        if shows:
            sys.stderr.write("\r\x1b[K")
    return found


def format_function(frame: Frame) -> str:
    """As Erlang writes it, or Elixir."""
    module, function, arity = frame[:3]
    if module.startswith(_ELIXIR):
        return f"{module.removeprefix(_ELIXIR)}.{function}/{arity}"
    return f"{module}:{function}/{arity}"


def _make_key(frame: Frame) -> FrameKey:
    return FrameKey((format_function(frame), frame[3], frame[4] or None))


def find_callback(frames: Sequence[Frame]) -> Frame | None:
    """frames: from the innermost on."""
    outermost_first = list(reversed(frames))
    for i, frame in enumerate(outermost_first):
        if frame[0] not in _BEHAVIOURS:
            return frame if i else None
    return None


# --- output --------------------------------------------------------------------------------


def render_node_profile(found: NodeProfile, whole_paths: bool) -> str:
    return (
        render_profile(found.profile, whole_paths)
        + _render_groups(found.profile, THREAD, "PROCESS")
        + _render_groups(found.profile, CALLBACK, "CALLBACK")
        + "\n"
        + render_scope(found)
    )


def render_scope(found: NodeProfile) -> str:
    """What was looked at, and what cannot be seen."""
    if found.looked >= found.processes - 1:
        looked = f"{found.processes} processes, each of them in each round"
    else:
        looked = f"{found.looked} of {found.processes} processes in each round; those that seldom run are estimated"
    return (
        f"node {escape_for_terminal(found.name)}: {looked}\n"
        "not seen: the functions of C in NIFs and BIFs, whose time is that of their callers, and the emulator's own work\n"
    )


def _render_groups(profile: Profile, label: str, title: str) -> str:
    """The samples by the value of a label."""
    shares: Counter[str] = Counter()
    for (labels, _), n in profile.stacks.items():
        shares[dict(labels).get(label, "")] += n
    samples = profile.samples
    rows = [(text, n) for text, n in shares.most_common() if text]
    if not rows:
        return ""
    lines = [f"\n SHARE  {title}\n"]
    lines += [f"{n / samples:6.1%}  {escape_for_terminal(text)}\n" for text, n in rows[:_ROWS]]
    if len(rows) > _ROWS:
        lines.append(f"        … and {len(rows) - _ROWS} more\n")
    return "".join(lines)
