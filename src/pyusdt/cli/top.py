"""pyusdt top: the processes that are traced, and those that can be, drawn anew each interval.

In: the processes with pyusdt in them, what the rings of the traced ones say (_tracer.look()), and the semaphores that other tracers
raise.  Out: a screen where the output is a terminal; else one table of one interval.
Always: only looks: nothing is attached to or switched on; names of processes are shown, not obeyed.  Rates are bytes: what a ring
holds is counted in these, and events in their tracer.
"""

from __future__ import annotations

import os
import sys
import time
from collections import defaultdict

from .._tracer import list_probes, look
from ..data.harmless import harmless
from . import processes
from .found import raised, semaphores, without_places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Who = tuple[int, str]  # a pid, and "" or, where that is a pid of another namespace, what the process calls itself

_EVERYWHERE = ("pyusdt", "erlang", "python")  # providers that are not a program's own
_HELP = "q quit  s sort  p pause  + - interval"
HEADINGS = ("PID", "PROCESS", "PROBES", "OWN PROVIDERS", "TRACED BY", "KB/s", "UNREAD", "LOST", "LOST/s")
_NARROW, _WIDE = ("PID", "PROCESS", "TRACED BY", "KB/s", "LOST", "LOST/s"), 90  # the columns of a terminal that has not so many
OTHERS = "others"
_UNCOUNTED = f"{OTHERS}: the kernel engine, perf, bpftrace, gdb: what comes to these, they alone can count"
SORTS = ("KB/s", "LOST", "PID")


class Row:
    """A process.  tracers: pids; others: probes that other tracers listen to (the kernel engine, perf, gdb); rate: bytes a second; unread: of what its rings hold, the share that nobody has read; lost, losses:
    events, all that there were, and a second."""

    __slots__ = ("losses", "lost", "name", "others", "pid", "probes", "providers", "rate", "tracers", "unread")

    def __init__(self, pid: int, name: str) -> None:
        self.pid, self.name = pid, name
        self.probes = self.lost = self.others = 0
        self.providers: list[str] = []
        self.tracers: list[int] = []
        self.rate = self.losses = self.unread = 0.0

    @property
    def traced(self) -> bool:
        return bool(self.tracers or self.others)

    def cells(self) -> tuple[str, ...]:
        """As text, in the order of HEADINGS."""
        tracers = [*map(str, self.tracers), *([f"{OTHERS} ({self.others} of {self.probes})"] if self.others else [])]
        return (str(self.pid), harmless(self.name), str(self.probes), harmless(", ".join(self.providers)) or "-",
                ", ".join(tracers) or "-", *((f"{self.rate / 1000:.1f}", f"{self.unread:.0%}", str(self.lost),
                                                            f"{self.losses:.0f}") if self.tracers else ("-",) * 4))


class Looks:
    """Takes a look now and then; rows() is of what came between the last two."""

    def __init__(self) -> None:
        self._before: dict[tuple[Who, int], tuple[int, int]] = {}
        self._semaphores: dict[tuple[Who, int], set[int]] = {}
        self._when, self._looked = time.monotonic(), False

    def rows(self) -> list[Row]:
        """All processes; the first time rates are of no interval, and 0."""
        now = time.monotonic()
        seconds, self._when = now - self._when, now
        found = known()
        before, self._before = self._before, {}
        filled: defaultdict[Who, list[int]] = defaultdict(lambda: [0, 0])
        for pid, tracer, published, unread, room, lost, elsewhere in look():
            who = pid, elsewhere
            row = found.get(who) or found.setdefault(who, Row(pid, processes.told(*who)))
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
        self._looked = True
        self._count_others(found)
        return list(found.values())

    def _count_others(self, found: dict[Who, Row]) -> None:
        """Where the semaphores are is known until the process has other probes."""
        before, self._semaphores = self._semaphores, {}
        for who, row in found.items():
            if not who[1]:
                places = before.get((who, row.probes))
                self._semaphores[who, row.probes] = semaphores(row.pid) if places is None else places
                row.others = raised(row.pid, self._semaphores[who, row.probes])


def known() -> dict[Who, Row]:
    """The processes that have pyusdt in them, but this one."""
    found: dict[Who, Row] = {}
    own = os.getpid()
    for pid, provider, *_, elsewhere in without_places(list_probes()):
        who = pid, elsewhere
        if who == (own, ""):
            continue
        row = found.get(who) or found.setdefault(who, Row(pid, processes.told(*who)))
        row.probes += 1
        short = provider.removesuffix(str(pid))
        if short not in _EVERYWHERE and short not in row.providers:
            row.providers.append(short)
    return found


def ordered(rows: list[Row], by: str) -> list[Row]:
    """By "PID", or the greatest first; what is traced stands before what is not."""
    if by == "PID":
        return sorted(rows, key=lambda row: row.pid)
    return sorted(rows, key=lambda row: (not row.traced, -(row.rate if by == "KB/s" else row.lost), row.pid))


def foot(rows: list[Row]) -> str:
    """What the table can not tell; "" where it tells all."""
    return _UNCOUNTED if any(row.others for row in rows) else ""


class NoScreen(Exception):
    """What draws one is not installed; the message says what to do."""


def table(interval: float) -> tuple[list[list[str]], str]:
    """What came in one interval, as rows of cells, the headings first; and the foot."""
    looks = Looks()
    looks.rows()
    time.sleep(interval)
    rows = ordered(looks.rows(), SORTS[0])
    return [list(HEADINGS), *(list(row.cells()) for row in rows)], foot(rows)


def watch(interval: float) -> None:
    """On the terminal, until q or Ctrl-C."""
    try:
        from rich.console import Console
        from rich.live import Live
    except ImportError:
        raise NoScreen("a screen needs rich: pip install pyusdt[live]; --once prints a table without it") from None
    from ..report.live import Keys

    console = Console(highlight=False, markup=False, emoji=False)
    with Keys(sys.stdin.fileno()) as keys, Live(console=console, screen=True, auto_refresh=False) as screen:
        _watch(keys, screen, interval)


def _watch(keys: Any, screen: Any, interval: float) -> None:
    looks, by, paused, rows = Looks(), 0, False, list[Row]()
    due = 0.0
    try:
        while True:
            pressed = list(keys.pressed())
            for key in pressed:
                if key == "q":
                    return
                by = (by + 1) % len(SORTS) if key == "s" else by
                paused = not paused if key in "p " else paused
                interval = min(60.0, interval * 2) if key == "+" else max(0.25, interval / 2) if key == "-" else interval
            if time.monotonic() >= due and not paused:
                rows, due = looks.rows(), time.monotonic() + interval
                pressed.append("")
            if pressed:
                width, screen.console.size = _size()
                said = f"every {interval:g} s, by {SORTS[by]}{'  paused' if paused else ''}"
                screen.update(drawn(ordered(rows, SORTS[by]), said, width), refresh=True)
            time.sleep(0.05)
    except KeyboardInterrupt:
        return


def _size() -> tuple[int, Any]:
    """The terminal's own width and size: rich believes the environment."""
    from rich.console import ConsoleDimensions

    size = os.get_terminal_size(sys.stdout.fileno())
    return size.columns, ConsoleDimensions(*size)


def drawn(rows: list[Row], said: str, width: int) -> Any:
    """The screen."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    traced = sum(row.traced for row in rows)
    head = Text(f"{traced} traced, {len(rows) - traced} more can be  {said}", style="bold", no_wrap=True, overflow="ellipsis")
    head.append(f"  {_HELP}", style="dim")
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    shown = [index for index, heading in enumerate(HEADINGS) if width >= _WIDE or heading in _NARROW]
    for heading in (HEADINGS[index] for index in shown):
        is_text = heading in ("PROCESS", "OWN PROVIDERS", "TRACED BY")
        table.add_column(heading, justify="left" if is_text else "right", no_wrap=True, overflow="ellipsis")
    for row in rows:
        cells = row.cells()
        table.add_row(*(Text(cells[index]) for index in shown), style="" if row.traced else "dim")
    return Group(head, table, Text(foot(rows), style="dim", no_wrap=True, overflow="ellipsis"))
