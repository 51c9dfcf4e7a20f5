"""pyusdt top: the processes that are traced, and those that can be, drawn anew each interval.

In: the processes with pyusdt in them, what the rings of the traced ones say (_tracer.look()).  Out: a screen where the output is a
terminal; else one table of one interval.
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
from .found import without_places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_EVERYWHERE = ("pyusdt", "erlang", "python")  # providers that are not a program's own
_HELP = "q quit  s sort  p pause  + - interval"
HEADINGS = ("PID", "PROCESS", "PROBES", "OWN PROVIDERS", "TRACED BY", "KB/s", "UNREAD", "LOST", "LOST/s")
_NARROW, _WIDE = ("PID", "PROCESS", "TRACED BY", "KB/s", "LOST", "LOST/s"), 90  # the columns of a terminal that has not so many
SORTS = ("KB/s", "LOST", "PID")


class Row:
    """A process.  tracers: pids; rate: bytes a second; unread: of what its rings hold, the share that nobody has read; lost, losses:
    events, all that there were, and a second."""

    __slots__ = ("losses", "lost", "name", "pid", "probes", "providers", "rate", "tracers", "unread")

    def __init__(self, pid: int, name: str) -> None:
        self.pid, self.name = pid, name
        self.probes = self.lost = 0
        self.providers: list[str] = []
        self.tracers: list[int] = []
        self.rate = self.losses = self.unread = 0.0

    def cells(self) -> tuple[str, ...]:
        """As text, in the order of HEADINGS."""
        traced = bool(self.tracers)
        return (str(self.pid), harmless(self.name), str(self.probes), harmless(", ".join(self.providers)) or "-",
                ", ".join(map(str, self.tracers)) or "-", *((f"{self.rate / 1000:.1f}", f"{self.unread:.0%}", str(self.lost),
                                                            f"{self.losses:.0f}") if traced else ("-",) * 4))


class Looks:
    """Takes a look now and then; rows() is of what came between the last two."""

    def __init__(self) -> None:
        self._before: dict[tuple[int, int], tuple[int, int]] = {}
        self._when, self._looked = time.monotonic(), False

    def rows(self) -> list[Row]:
        """All processes; the first time rates are of no interval, and 0."""
        now = time.monotonic()
        seconds, self._when = now - self._when, now
        found = known()
        before, self._before = self._before, {}
        filled: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0])
        for pid, tracer, published, unread, room, lost in look():
            row = found.setdefault(pid, Row(pid, processes.called(pid)))
            row.tracers.append(tracer)
            row.lost += lost
            filled[pid][0] += unread
            filled[pid][1] += room
            row.unread = filled[pid][0] / filled[pid][1] if filled[pid][1] else 0.0
            self._before[pid, tracer] = published, lost
            came, gone = before.get((pid, tracer), (0, 0) if self._looked else (published, lost))
            if seconds > 0:
                row.rate += max(0, published - came) / seconds
                row.losses += max(0, lost - gone) / seconds
        self._looked = True
        return list(found.values())


def known() -> dict[int, Row]:
    """{pid: Row} of the processes that have pyusdt in them, but this one."""
    found: dict[int, Row] = {}
    own = os.getpid()
    for pid, provider, *_ in without_places(list_probes()):
        if pid == own:
            continue
        row = found.get(pid) or found.setdefault(pid, Row(pid, processes.called(pid)))
        row.probes += 1
        short = provider.removesuffix(str(pid))
        if short not in _EVERYWHERE and short not in row.providers:
            row.providers.append(short)
    return found


def ordered(rows: list[Row], by: str) -> list[Row]:
    """By "PID", or the greatest first; what is traced stands before what is not."""
    if by == "PID":
        return sorted(rows, key=lambda row: row.pid)
    return sorted(rows, key=lambda row: (not row.tracers, -(row.rate if by == "KB/s" else row.lost), row.pid))


class NoScreen(Exception):
    """What draws one is not installed; the message says what to do."""


def table(interval: float) -> list[list[str]]:
    """What came in one interval, as rows of cells, the headings first."""
    looks = Looks()
    looks.rows()
    time.sleep(interval)
    return [list(HEADINGS), *(list(row.cells()) for row in ordered(looks.rows(), SORTS[0]))]


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

    traced = sum(bool(row.tracers) for row in rows)
    head = Text(f"{traced} traced, {len(rows) - traced} more can be  {said}", style="bold", no_wrap=True, overflow="ellipsis")
    head.append(f"  {_HELP}", style="dim")
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    shown = [index for index, heading in enumerate(HEADINGS) if width >= _WIDE or heading in _NARROW]
    for heading in (HEADINGS[index] for index in shown):
        is_text = heading in ("PROCESS", "OWN PROVIDERS", "TRACED BY")
        table.add_column(heading, justify="left" if is_text else "right", no_wrap=True, overflow="ellipsis")
    for row in rows:
        cells = row.cells()
        table.add_row(*(Text(cells[index]) for index in shown), style="" if row.tracers else "dim")
    return Group(head, table)
