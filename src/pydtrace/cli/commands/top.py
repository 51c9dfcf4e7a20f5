"""`pyusdt top`: the processes that are traced, and those that could be, redrawn at an interval.

It reads the processes with pyusdt, the use of their rings (_tracer.list_ring_usage()), the
tracers with programs in the kernel (engine/kernel/bpf_tracers.py), and the semaphores that other
tracers raise. On a terminal it draws a screen; else it prints the tables of one interval.

- Nothing is attached. Names of processes are escaped.
- Rates of the embedded engine are bytes, since a ring counts these. Rates of programs in the
  kernel are runs, which the kernel counts for root while top asks for it.
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

from .list_command import count_raised, find_semaphores, without_code_locations
from .semaphore_reader import LISTENERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    ProcessKey = tuple[
        int, str
    ]  # a pid, and "" or, where that is a pid of another namespace, what the process calls itself

_BUILTIN_PROVIDERS = ("pyusdt", "erlang", "python")  # providers that are not a program's own
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
_MIN_PROCESSES = 3  # processes that a low terminal shows before it has room for the tracers' table
_TEXT_COLUMNS = (
    "PROCESS",
    "OWN PROVIDERS",
    "TRACED BY",
    "NAME",
    "TRACES",
)  # columns that begin at the left
OTHERS = "others"
_UNCOUNTED = (
    f"{OTHERS}: tracers that pyusdt cannot read (perf, gdb; without root, the kernel engine and bpftrace): "
    "only they count their events"
)
_NO_PROCESSES = "no process that you may trace has pyusdt in it: `import pyusdt` in a program, or `pyusdt attach PID`"
_RUNS = "RUNS/s: how often programs of tracers ran in the kernel; a program that several processes share is only in the tracer's row"
_RUNS_UNKNOWN = "RUNS/s: only root can make the kernel count them"
_MAX_TRACES = 3  # places that a tracer's row names
SORTS = ("KB/s", "LOST", "PID")
_FILE_BUDGET = 3.0, 20  # seconds at once, and one of how many, for the files of a user's processes


class ProcessRow:
    """A process.  tracers: pids of those that read its rings; kernel: of those that have programs for it in the kernel; others: probes
    that others listen to (perf, gdb); rate: bytes a second; unread: of what its rings hold, the share that nobody has read; lost,
    losses: events, all that there were, and a second; runs: how often programs for this process alone ran, a second; None: not known."""

    __slots__ = (
        "kernel_tracers",
        "drop_rate",
        "drops",
        "name",
        "foreign_probes",
        "pid",
        "probes",
        "providers",
        "byte_rate",
        "run_rate",
        "tracers",
        "unread_share",
    )

    def __init__(self, pid: int, name: str) -> None:
        self.pid, self.name = pid, name
        self.probes = self.drops = self.foreign_probes = 0
        self.providers: list[str] = []
        self.tracers: list[int] = []
        self.kernel_tracers: list[int] = []
        self.byte_rate = self.drop_rate = self.unread_share = 0.0
        self.run_rate: float | None = None

    @property
    def is_traced(self) -> bool:
        return bool(self.tracers or self.kernel_tracers or self.foreign_probes)

    def format_cells(self) -> tuple[str, ...]:
        """As text, in the order of HEADINGS."""
        tracers = [
            *map(str, self.tracers),
            *(f"{pid} (kernel)" for pid in self.kernel_tracers),
            *(
                [f"{OTHERS} ({self.foreign_probes} of {self.probes})"]
                if self.foreign_probes
                else []
            ),
        ]
        rings = (
            (
                f"{self.byte_rate / 1000:.1f}",
                f"{self.unread_share:.0%}",
                str(self.drops),
                f"{self.drop_rate:.0f}",
            )
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
            _format_number(self.run_rate),
        )


class KernelRow:
    """A tracer that has programs in the kernel.  found: a running.Tracer; runs, losses: a second; lost: all; None: not known."""

    __slots__ = ("tracer", "drop_rate", "drops", "name", "run_rate")

    def __init__(
        self,
        tracer: Any,
        name: str,
        run_rate: float | None,
        drops: int | None,
        drop_rate: float | None,
    ) -> None:
        self.tracer, self.name, self.run_rate, self.drops, self.drop_rate = (
            tracer,
            name,
            run_rate,
            drops,
            drop_rate,
        )

    def format_cells(self) -> tuple[str, ...]:
        """As text, in the order of KERNEL_HEADINGS."""
        links = self.tracer.links.values()
        named = list(dict.fromkeys(_describe_link(link) for link in links))
        more = f" and {len(named) - _MAX_TRACES} more" if len(named) > _MAX_TRACES else ""
        return (
            str(self.tracer.pid),
            escape_for_terminal(self.name),
            str(len(self.tracer.runs)),
            str(sum(link.places for link in links)),
            escape_for_terminal(", ".join(named[:_MAX_TRACES]) + more) or "-",
            _format_number(self.run_rate),
            _format_number(self.drops),
            _format_number(self.drop_rate),
        )


def _describe_link(link: Any) -> str:
    """Where a program is attached, in few words."""
    if link.path:
        return (
            f"{os.path.basename(link.path)} of {link.pid}"
            if link.pid
            else str(os.path.basename(link.path))
        )
    return str(link.tracepoint or link.kind)


def _format_number(number: float | None) -> str:
    return "-" if number is None else f"{number:.0f}"


class ActivitySampler:
    """Takes a look now and then; sample_rows() is of what came between the last two.  counting: the kernel counts how often programs run.

    kernel: [KernelRow], after sample_rows()."""

    def __init__(self, counting: bool = False) -> None:
        self._before: dict[tuple[ProcessKey, int], tuple[int, int]] = {}
        self._sites: dict[tuple[ProcessKey, int], tuple[set[int], set[str]]] = {}
        self._file_budgets: dict[int, CpuTimeBudget] = {}  # by user
        self._counting = counting
        self._run_counts: dict[tuple[int, int], int] = {}  # (tracer, program): how often
        self._drop_counts: dict[int, int | None] = {}  # by tracer
        self.kernel: list[KernelRow] = []
        self._sampled_at, self._has_sampled = time.monotonic(), False

    def sample_rows(self) -> list[ProcessRow]:
        """All processes; the first time rates are of no interval, and 0."""
        now = time.monotonic()
        seconds, self._sampled_at = now - self._sampled_at, now
        found = list_processes()
        before, self._before = self._before, {}
        filled: defaultdict[ProcessKey, list[int]] = defaultdict(lambda: [0, 0])
        for pid, tracer, published, unread, room, lost, elsewhere in list_ring_usage():
            who = pid, elsewhere
            row = found.get(who) or found.setdefault(
                who, ProcessRow(pid, process_names.describe_row(*who))
            )
            row.tracers.append(tracer)
            row.drops += lost
            filled[who][0] += unread
            filled[who][1] += room
            row.unread_share = filled[who][0] / filled[who][1] if filled[who][1] else 0.0
            self._before[who, tracer] = published, lost
            came, gone = before.get(
                (who, tracer), (0, 0) if self._has_sampled else (published, lost)
            )
            if seconds > 0:
                row.byte_rate += max(0, published - came) / seconds
                row.drop_rate += max(0, lost - gone) / seconds
        self._add_kernel_tracers(found, seconds)
        self._has_sampled = True
        return list(found.values())

    def _add_kernel_tracers(self, found: dict[ProcessKey, ProcessRow], seconds: float) -> None:
        """Those that have programs in the kernel, and who else raises semaphores.  Where these are is known until the process has other
        probes."""
        tracers = bpf_tracers.find_tracers()
        rates = self._measure_rates(tracers, seconds)
        before, self._sites = self._sites, {}
        for who, row in found.items():
            if who[1]:
                continue
            addresses, paths = self._sites[who, row.probes] = before.get(
                (who, row.probes)
            ) or self._find_semaphores(row.pid)
            counted = 0
            for tracer in tracers:
                if links := tracer.links_of(row.pid, paths):
                    row.kernel_tracers.append(tracer.pid)
                    counted += sum(link.counters for link in links)
                    alone = [
                        rates[tracer.pid, program] for program in tracer.exclusive_programs(row.pid)
                    ]
                    if self._counting and alone:
                        row.run_rate = (row.run_rate or 0.0) + sum(alone)
            row.foreign_probes = max(0, count_raised(row.pid, addresses) - counted)

    def _find_semaphores(self, pid: int) -> tuple[set[int], set[str]]:
        """None where the files of its user's processes have taken too long already."""
        time_left = self._file_budgets.setdefault(
            read_process_user(pid), CpuTimeBudget(*_FILE_BUDGET)
        )
        if not time_left.is_available:
            return set(), set()
        with time_left.charge_time():
            return find_semaphores(pid)

    def _measure_rates(self, tracers: list[Any], seconds: float) -> dict[tuple[int, int], float]:
        """How often each (tracer, program) ran, a second."""
        now = {
            (tracer.pid, program): count
            for tracer in tracers
            for program, count in tracer.runs.items()
        }
        rates = {
            each: max(0, count - self._run_counts.get(each, 0 if self._has_sampled else count))
            / (seconds or 1)
            for each, count in now.items()
        }
        self._run_counts, before, self._drop_counts = (
            now,
            self._drop_counts,
            {tracer.pid: tracer.count_drops() for tracer in tracers},
        )
        self.kernel = []
        for tracer in sorted(tracers, key=lambda tracer: tracer.pid):
            lost = self._drop_counts[tracer.pid]
            losses = (
                None
                if lost is None
                else max(0, lost - (before.get(tracer.pid) or (0 if self._has_sampled else lost)))
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


def list_processes() -> dict[ProcessKey, ProcessRow]:
    """The processes that have pyusdt in them, but this one."""
    found: dict[ProcessKey, ProcessRow] = {}
    own = os.getpid()
    for pid, provider, *_, elsewhere in without_code_locations(list_probes()):
        who = pid, elsewhere
        if who == (own, ""):
            continue
        row = found.get(who) or found.setdefault(
            who, ProcessRow(pid, process_names.describe_row(*who))
        )
        row.probes += 1
        short = provider.removesuffix(str(pid))
        if short not in _BUILTIN_PROVIDERS and short not in row.providers:
            row.providers.append(short)
    return found


def sort_rows(rows: list[ProcessRow], by: str) -> list[ProcessRow]:
    """By "PID", or the greatest first; what is traced stands before what is not."""
    if by == "PID":
        return sorted(rows, key=lambda row: row.pid)
    return sorted(
        rows,
        key=lambda row: (
            not row.is_traced,
            -(row.byte_rate if by == "KB/s" else row.drops),
            row.pid,
        ),
    )


def footer_lines(
    rows: list[ProcessRow], kernel: Sequence[KernelRow] = (), counting: bool = False
) -> list[str]:
    """What the tables can not tell: lines; none where they tell all."""
    lines = [] if rows else [_NO_PROCESSES]
    return (
        lines
        + [_RUNS if counting else _RUNS_UNKNOWN] * bool(kernel)
        + [_UNCOUNTED] * any(row.foreign_probes for row in rows)
        + LISTENERS.messages
    )


class ScreenUnavailable(Exception):
    """What draws one is not installed; the message says what to do."""


def sample_tables(interval: float) -> tuple[list[list[list[str]]], list[str]]:
    """What came in one interval: one or two tables as rows of cells, the headings first; and the foot."""
    with bpf_tracers.RunStatistics() as statistics:
        looks = ActivitySampler(counting := not statistics.reason)
        looks.sample_rows()
        time.sleep(interval)
        rows = sort_rows(looks.sample_rows(), SORTS[0])
    made = [[list(HEADINGS), *(list(row.format_cells()) for row in rows)]]
    if looks.kernel:
        made.append([list(KERNEL_HEADINGS), *(list(row.format_cells()) for row in looks.kernel)])
    return made, footer_lines(rows, looks.kernel, counting)


def run_screen(interval: float) -> None:
    """On the terminal, until q or Ctrl-C."""
    try:
        from rich.console import Console
        from rich.live import Live
    except ImportError:
        raise ScreenUnavailable(
            "a screen needs rich: pip install 'pydtrace[live]'; --once prints a table without it"
        ) from None
    from pydtrace.sinks.live.terminal_sink import KeyReader

    console = Console(highlight=False, markup=False, emoji=False)
    with (
        bpf_tracers.RunStatistics() as statistics,
        KeyReader(sys.stdin.fileno()) as keys,
        Live(console=console, screen=True, auto_refresh=False) as screen,
    ):
        _update_screen(keys, screen, interval, not statistics.reason)


def _update_screen(keys: Any, screen: Any, interval: float, counting: bool) -> None:
    looks, by, paused, rows = ActivitySampler(counting), 0, False, list[ProcessRow]()
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
                rows, due = looks.sample_rows(), time.monotonic() + interval
                pressed.append("")
            if pressed:
                size = screen.console.size = _terminal_size()
                status = f"every {interval:g} s, by {SORTS[by]}{'  paused' if paused else ''}"
                screen.update(
                    render_screen(sort_rows(rows, SORTS[by]), status, size, looks.kernel, counting),
                    refresh=True,
                )
            time.sleep(0.05)
    except KeyboardInterrupt:
        return


def _terminal_size() -> Any:
    """The terminal's own size, as rich has it, which believes the environment."""
    from rich.console import ConsoleDimensions

    return ConsoleDimensions(*os.get_terminal_size(sys.stdout.fileno()))


def render_screen(
    rows: list[ProcessRow],
    status: str,
    size: tuple[int, int],
    kernel: Sequence[KernelRow] = (),
    counting: bool = False,
) -> Any:
    """The screen.  size: its columns and lines; processes for which it has none are a number."""
    from rich.console import Group
    from rich.text import Text

    width, height = size
    footer = footer_lines(rows, kernel, counting)
    room = max(_MIN_PROCESSES, height - 2 - len(footer) - (len(kernel) + 2 if kernel else 0))
    listed = rows if len(rows) <= room else rows[: room - 1]
    traced = sum(row.is_traced for row in rows)
    head = Text(
        f"{traced} traced, {len(rows) - traced} more can be  {status}",
        style="bold",
        no_wrap=True,
        overflow="ellipsis",
    )
    head.append(f"  {_HELP}", style="dim")
    parts: list[Any] = [
        head,
        _make_grid(
            HEADINGS,
            _NARROW,
            width,
            [(row.format_cells(), "" if row.is_traced else "dim") for row in listed],
        ),
    ]
    if len(listed) < len(rows):
        parts.append(Text(f"… and {len(rows) - len(listed)} more", style="dim"))
    if kernel:
        parts += [
            Text(""),
            _make_grid(
                KERNEL_HEADINGS, _KERNEL_NARROW, width, [(row.format_cells(), "") for row in kernel]
            ),
        ]
    return Group(
        *parts, *(Text(line, style="dim", no_wrap=True, overflow="ellipsis") for line in footer)
    )


def _make_grid(
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
            heading in _TEXT_COLUMNS
        )  # a column that has no no_wrap is made narrower before those that have
        table.add_column(heading, justify="left" if text else "right", no_wrap=not text)
    for cells, style in rows:
        table.add_row(
            *(Text(cells[index], no_wrap=True, overflow="ellipsis") for index in shown), style=style
        )
    return table
