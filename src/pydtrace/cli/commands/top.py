# mypy: ignore-errors
"""pyusdt top: the processes that are traced, and those that can be, drawn anew each interval.

In: the processes with pyusdt in them, what the rings of the traced ones say (_tracer.list_ring_usage()), the tracers that have programs in the
kernel (engine/kernel/bpf_tracers.py), and the semaphores that other tracers raise.  Out: a screen where the output is a terminal; else the
tables of one interval.
Always: only looks: nothing is attached to; names of processes are shown, not obeyed.  Rates of the embedded engine are bytes: what a
ring holds is counted in these, and events in their tracer.  Those of programs in the kernel are how often they ran, which the kernel
counts for root, while top asks it to.
"""

from __future__ import annotations

import os
import sys
import time
from collections import defaultdict

from pydtrace._tracer import list_probes, list_ring_usage
from pydtrace.engine.kernel import bpf_tracers
from pydtrace.process import process_names
from pydtrace.untrusted.cpu_time_budget import CpuTimeBudget
from pydtrace.untrusted.io_worker import read_process_user
from pydtrace.untrusted.terminal_escape import escape_for_terminal

from .list_command import raised, semaphores, without_places
from .semaphore_reader import LISTENERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Who = tuple[
        int, str
    ]  # a pid, and "" or, where that is a pid of another namespace, what the process calls itself

_EVERYWHERE = ("pyusdt", "erlang", "python")  # providers that are not a program's own
_HELP = "q quit  s sort  p pause  + - interval"
HEADINGS = (
    "PID",
    "PROCESS",
    "PROBES",
    "OWN PROVIDERS",
    "TRACED BY",
    "KB/s",
    "UNREAD",
    "LOST",
    "LOST/s",
    "RUNS/s",
)
_NARROW, _WIDE = (
    ("PID", "PROCESS", "TRACED BY", "KB/s", "LOST", "RUNS/s"),
    100,
)  # the columns of a terminal that has not so many
KERNEL_HEADINGS = ("TRACER", "NAME", "PROGRAMS", "PLACES", "TRACES", "RUNS/s", "LOST", "LOST/s")
_KERNEL_NARROW = ("TRACER", "NAME", "TRACES", "RUNS/s", "LOST")
_LEAST = 3  # processes that a low terminal shows before it has room for the tracers' table
_TEXTS = (
    "PROCESS",
    "OWN PROVIDERS",
    "TRACED BY",
    "NAME",
    "TRACES",
)  # columns that begin at the left
OTHERS = "others"
_UNCOUNTED = (
    f"{OTHERS}: tracers that can not be looked into (perf, gdb; for who is not root, the kernel engine and bpftrace): what "
    "comes to these, they alone can count"
)
_NOBODY = "no process that you may trace has pyusdt in it: a program has it from `import pyusdt` on"
_RUNS = "RUNS/s: how often programs of tracers ran in the kernel; a program that several processes share stands in the tracer's row alone"
_LACK = "RUNS/s: the kernel counts for root alone how often programs run"
_MOST_TRACES = 3  # places that a tracer's row names
SORTS = ("KB/s", "LOST", "PID")
_FILES = 3.0, 20  # seconds at once, and one of how many, for the files of a user's processes


class Row:
    """A process.  tracers: pids of those that read its rings; kernel: of those that have programs for it in the kernel; others: probes
    that others listen to (perf, gdb); rate: bytes a second; unread: of what its rings hold, the share that nobody has read; lost,
    losses: events, all that there were, and a second; runs: how often programs for this process alone ran, a second; None: not known."""

    __slots__ = (
        "kernel",
        "losses",
        "lost",
        "name",
        "others",
        "pid",
        "probes",
        "providers",
        "rate",
        "runs",
        "tracers",
        "unread",
    )

    def __init__(self, pid: int, name: str) -> None:
        self.pid, self.name = pid, name
        self.probes = self.lost = self.others = 0
        self.providers: list[str] = []
        self.tracers: list[int] = []
        self.kernel: list[int] = []
        self.rate = self.losses = self.unread = 0.0
        self.runs: float | None = None

    @property
    def traced(self) -> bool:
        return bool(self.tracers or self.kernel or self.others)

    def cells(self) -> tuple[str, ...]:
        """As text, in the order of HEADINGS."""
        tracers = [
            *map(str, self.tracers),
            *(f"{pid} (kernel)" for pid in self.kernel),
            *([f"{OTHERS} ({self.others} of {self.probes})"] if self.others else []),
        ]
        rings = (
            (f"{self.rate / 1000:.1f}", f"{self.unread:.0%}", str(self.lost), f"{self.losses:.0f}")
            if self.tracers
            else ("-",) * 4
        )
        return (
            str(self.pid),
            escape_for_terminal(self.name),
            str(self.probes),
            escape_for_terminal(", ".join(self.providers)) or "-",
            ", ".join(tracers) or "-",
            *rings,
            _number(self.runs),
        )


class KernelRow:
    """A tracer that has programs in the kernel.  found: a running.Tracer; runs, losses: a second; lost: all; None: not known."""

    __slots__ = ("found", "losses", "lost", "name", "runs")

    def __init__(
        self, found: Any, name: str, runs: float | None, lost: int | None, losses: float | None
    ) -> None:
        self.found, self.name, self.runs, self.lost, self.losses = found, name, runs, lost, losses

    def cells(self) -> tuple[str, ...]:
        """As text, in the order of KERNEL_HEADINGS."""
        links = self.found.links.values()
        named = list(dict.fromkeys(_place(link) for link in links))
        more = f" and {len(named) - _MOST_TRACES} more" if len(named) > _MOST_TRACES else ""
        return (
            str(self.found.pid),
            escape_for_terminal(self.name),
            str(len(self.found.runs)),
            str(sum(link.places for link in links)),
            escape_for_terminal(", ".join(named[:_MOST_TRACES]) + more) or "-",
            _number(self.runs),
            _number(self.lost),
            _number(self.losses),
        )


def _place(link: Any) -> str:
    """Where a program is attached, in few words."""
    if link.path:
        return (
            f"{os.path.basename(link.path)} of {link.pid}"
            if link.pid
            else str(os.path.basename(link.path))
        )
    return str(link.tracepoint or link.kind)


def _number(number: float | None) -> str:
    return "-" if number is None else f"{number:.0f}"


class Looks:
    """Takes a look now and then; rows() is of what came between the last two.  counting: the kernel counts how often programs run.

    kernel: [KernelRow], after rows()."""

    def __init__(self, counting: bool = False) -> None:
        self._before: dict[tuple[Who, int], tuple[int, int]] = {}
        self._sites: dict[tuple[Who, int], tuple[set[int], set[str]]] = {}
        self._time: dict[int, CpuTimeBudget] = {}  # by user
        self._counting = counting
        self._ran: dict[tuple[int, int], int] = {}  # (tracer, program): how often
        self._lost: dict[int, int | None] = {}  # by tracer
        self.kernel: list[KernelRow] = []
        self._when, self._looked = time.monotonic(), False

    def rows(self) -> list[Row]:
        """All processes; the first time rates are of no interval, and 0."""
        now = time.monotonic()
        seconds, self._when = now - self._when, now
        found = known()
        before, self._before = self._before, {}
        filled: defaultdict[Who, list[int]] = defaultdict(lambda: [0, 0])
        for pid, tracer, published, unread, room, lost, elsewhere in list_ring_usage():
            who = pid, elsewhere
            row = found.get(who) or found.setdefault(
                who, Row(pid, process_names.describe_row(*who))
            )
            row.tracers.append(tracer)
            row.lost += lost
            filled[who][0] += unread
            filled[who][1] += room
            row.unread = filled[who][0] / filled[who][1] if filled[who][1] else 0.0
            self._before[who, tracer] = published, lost
            came, gone = before.get((who, tracer), (0, 0) if self._looked else (published, lost))
            if seconds > 0:
                row.rate += max(0, published - came) / seconds
                row.losses += max(0, lost - gone) / seconds
        self._look_into_kernel(found, seconds)
        self._looked = True
        return list(found.values())

    def _look_into_kernel(self, found: dict[Who, Row], seconds: float) -> None:
        """Those that have programs in the kernel, and who else raises semaphores.  Where these are is known until the process has other
        probes."""
        tracers = bpf_tracers.find_tracers()
        rates = self._rates(tracers, seconds)
        before, self._sites = self._sites, {}
        for who, row in found.items():
            if who[1]:
                continue
            addresses, paths = self._sites[who, row.probes] = before.get(
                (who, row.probes)
            ) or self._semaphores(row.pid)
            told = 0
            for tracer in tracers:
                if links := tracer.links_of(row.pid, paths):
                    row.kernel.append(tracer.pid)
                    told += sum(link.counters for link in links)
                    alone = [
                        rates[tracer.pid, program] for program in tracer.exclusive_programs(row.pid)
                    ]
                    if self._counting and alone:
                        row.runs = (row.runs or 0.0) + sum(alone)
            row.others = max(0, raised(row.pid, addresses) - told)

    def _semaphores(self, pid: int) -> tuple[set[int], set[str]]:
        """None where the files of its user's processes have taken too long already."""
        time_left = self._time.setdefault(read_process_user(pid), CpuTimeBudget(*_FILES))
        if not time_left.is_available:
            return set(), set()
        with time_left.charge_time():
            return semaphores(pid)

    def _rates(self, tracers: list[Any], seconds: float) -> dict[tuple[int, int], float]:
        """How often each (tracer, program) ran, a second."""
        now = {
            (tracer.pid, program): count
            for tracer in tracers
            for program, count in tracer.runs.items()
        }
        rates = {
            each: max(0, count - self._ran.get(each, 0 if self._looked else count)) / (seconds or 1)
            for each, count in now.items()
        }
        self._ran, before, self._lost = (
            now,
            self._lost,
            {tracer.pid: tracer.count_drops() for tracer in tracers},
        )
        self.kernel = []
        for tracer in sorted(tracers, key=lambda tracer: tracer.pid):
            lost = self._lost[tracer.pid]
            losses = (
                None
                if lost is None
                else max(0, lost - (before.get(tracer.pid) or (0 if self._looked else lost)))
                / (seconds or 1)
            )
            runs = (
                sum(rates[tracer.pid, program] for program in tracer.runs)
                if self._counting
                else None
            )
            self.kernel.append(
                KernelRow(tracer, process_names.display_name(tracer.pid), runs, lost, losses)
            )
        return rates


def known() -> dict[Who, Row]:
    """The processes that have pyusdt in them, but this one."""
    found: dict[Who, Row] = {}
    own = os.getpid()
    for pid, provider, *_, elsewhere in without_places(list_probes()):
        who = pid, elsewhere
        if who == (own, ""):
            continue
        row = found.get(who) or found.setdefault(who, Row(pid, process_names.describe_row(*who)))
        row.probes += 1
        short = provider.removesuffix(str(pid))
        if short not in _EVERYWHERE and short not in row.providers:
            row.providers.append(short)
    return found


def ordered(rows: list[Row], by: str) -> list[Row]:
    """By "PID", or the greatest first; what is traced stands before what is not."""
    if by == "PID":
        return sorted(rows, key=lambda row: row.pid)
    return sorted(
        rows, key=lambda row: (not row.traced, -(row.rate if by == "KB/s" else row.lost), row.pid)
    )


def foot(rows: list[Row], kernel: Sequence[KernelRow] = (), counting: bool = False) -> list[str]:
    """What the tables can not tell: lines; none where they tell all."""
    told = [] if rows else [_NOBODY]
    return (
        told
        + [_RUNS if counting else _LACK] * bool(kernel)
        + [_UNCOUNTED] * any(row.others for row in rows)
        + LISTENERS.messages
    )


class NoScreen(Exception):
    """What draws one is not installed; the message says what to do."""


def tables(interval: float) -> tuple[list[list[list[str]]], list[str]]:
    """What came in one interval: one or two tables as rows of cells, the headings first; and the foot."""
    with bpf_tracers.RunStatistics() as statistics:
        looks = Looks(counting := not statistics.reason)
        looks.rows()
        time.sleep(interval)
        rows = ordered(looks.rows(), SORTS[0])
    made = [[list(HEADINGS), *(list(row.cells()) for row in rows)]]
    if looks.kernel:
        made.append([list(KERNEL_HEADINGS), *(list(row.cells()) for row in looks.kernel)])
    return made, foot(rows, looks.kernel, counting)


def watch(interval: float) -> None:
    """On the terminal, until q or Ctrl-C."""
    try:
        from rich.console import Console
        from rich.live import Live
    except ImportError:
        raise NoScreen(
            "a screen needs rich: pip install pyusdt[live]; --once prints a table without it"
        ) from None
    from pydtrace.sinks.live.terminal_sink import KeyReader

    console = Console(highlight=False, markup=False, emoji=False)
    with (
        bpf_tracers.RunStatistics() as statistics,
        KeyReader(sys.stdin.fileno()) as keys,
        Live(console=console, screen=True, auto_refresh=False) as screen,
    ):
        _watch(keys, screen, interval, not statistics.reason)


def _watch(keys: Any, screen: Any, interval: float, counting: bool) -> None:
    looks, by, paused, rows = Looks(counting), 0, False, list[Row]()
    due = 0.0
    try:
        while True:
            pressed = list(keys.read_keys())
            for key in pressed:
                if key == "q":
                    return
                by = (by + 1) % len(SORTS) if key == "s" else by
                paused = not paused if key in "p " else paused
                interval = (
                    min(60.0, interval * 2)
                    if key == "+"
                    else max(0.25, interval / 2)
                    if key == "-"
                    else interval
                )
            if time.monotonic() >= due and not paused:
                rows, due = looks.rows(), time.monotonic() + interval
                pressed.append("")
            if pressed:
                size = screen.console.size = _size()
                said = f"every {interval:g} s, by {SORTS[by]}{'  paused' if paused else ''}"
                screen.update(
                    drawn(ordered(rows, SORTS[by]), said, size, looks.kernel, counting),
                    refresh=True,
                )
            time.sleep(0.05)
    except KeyboardInterrupt:
        return


def _size() -> Any:
    """The terminal's own size, as rich has it, which believes the environment."""
    from rich.console import ConsoleDimensions

    return ConsoleDimensions(*os.get_terminal_size(sys.stdout.fileno()))


def drawn(
    rows: list[Row],
    said: str,
    size: tuple[int, int],
    kernel: Sequence[KernelRow] = (),
    counting: bool = False,
) -> Any:
    """The screen.  size: its columns and lines; processes for which it has none are a number."""
    from rich.console import Group
    from rich.text import Text

    width, height = size
    told = foot(rows, kernel, counting)
    room = max(_LEAST, height - 2 - len(told) - (len(kernel) + 2 if kernel else 0))
    listed = rows if len(rows) <= room else rows[: room - 1]
    traced = sum(row.traced for row in rows)
    head = Text(
        f"{traced} traced, {len(rows) - traced} more can be  {said}",
        style="bold",
        no_wrap=True,
        overflow="ellipsis",
    )
    head.append(f"  {_HELP}", style="dim")
    parts: list[Any] = [
        head,
        _grid(
            HEADINGS, _NARROW, width, [(row.cells(), "" if row.traced else "dim") for row in listed]
        ),
    ]
    if len(listed) < len(rows):
        parts.append(Text(f"… and {len(rows) - len(listed)} more", style="dim"))
    if kernel:
        parts += [
            Text(""),
            _grid(KERNEL_HEADINGS, _KERNEL_NARROW, width, [(row.cells(), "") for row in kernel]),
        ]
    return Group(
        *parts, *(Text(line, style="dim", no_wrap=True, overflow="ellipsis") for line in told)
    )


def _grid(
    headings: Sequence[str],
    narrow: Sequence[str],
    width: int,
    rows: list[tuple[tuple[str, ...], str]],
) -> Any:
    """narrow: the headings that a narrow terminal shows; rows: cells, and their style."""
    from rich.table import Table
    from rich.text import Text

    shown = [index for index, heading in enumerate(headings) if width >= _WIDE or heading in narrow]
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for heading in (headings[index] for index in shown):
        text = (
            heading in _TEXTS
        )  # a column that has no no_wrap is made narrower before those that have
        table.add_column(heading, justify="left" if text else "right", no_wrap=not text)
    for cells, style in rows:
        table.add_row(
            *(Text(cells[index], no_wrap=True, overflow="ellipsis") for index in shown), style=style
        )
    return table
