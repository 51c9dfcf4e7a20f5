"""The screen of --live: a view drawn by rich, and the keys that change it.

- It has as many lines as the terminal, at any size.
- Without colour (NO_COLOR, a terminal without any) the heat map is of characters.
"""

from __future__ import annotations

import math
import os
import time
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleDimensions, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from pydtrace.results.aggregation_values import Histogram, display_edges
from pydtrace.untrusted.terminal_escape import escape_for_terminal

from .readable_values import (
    bucket_label,
    format_key,
    format_seconds,
    key_heading,
    panel_title,
    quantity,
    short_number,
    value_number,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import RenderableType

    from .live_model import AggregationPanel, KeyLine, LiveModel

_BARS = " ▁▂▃▄▅▆▇█"
_SHADES = " .:-=+*#%@"  # of a heat map without colour
_RAMP = (
    17,
    18,
    19,
    20,
    26,
    32,
    38,
    44,
    80,
    122,
    190,
    226,
    220,
    214,
    208,
    202,
    196,
)  # xterm's colours, from cold to hot
_SORTS = ("value", "rate", "key")
_MIN_SPARKLINE = 4  # columns: a line's past is shown if there is room for so much of it
_MAX_KEY_SHARE = 0.6  # of a terminal's columns: longer keys are shortened
_PERCENTILE_ORDER = (50, 99, 90)  # the percentiles that are shown first where there is little room
_GAP = 2  # columns between two columns of a table
_HEAT_LABEL = 15  # columns of a bucket's label
_MIN_LOG_LINES = 3  # lines of what the script printed, where it printed anything
_HELP = "q quit  p pause  s sort  / filter  Tab next  + - interval"


class TerminalView:
    """A context manager.  paused: nothing is to be taken in; typing: keys go into the filter."""

    def __init__(self, view: LiveModel, fd: int, engine: str) -> None:
        self.paused = self.typing = False
        self._view, self._engine = view, engine
        self._filter, self._sort, self._first = "", 0, 0
        self._began = time.monotonic()
        self._file = os.fdopen(os.dup(fd), "w", encoding="utf-8", errors="replace")
        self._console = Console(file=self._file, highlight=False, markup=False, emoji=False)
        self._live = Live(
            console=self._console,
            screen=True,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._adopt_size()

    def __enter__(self) -> TerminalView:  # noqa: PYI034
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()
        self._file.close()

    def _adopt_size(self) -> None:
        """Take over the terminal's size: rich looks at those of the standard streams, whichever it writes to."""
        self._size = os.get_terminal_size(self._file.fileno())
        self._console.size = ConsoleDimensions(*self._size)

    def is_resized(self) -> bool:
        return os.get_terminal_size(self._file.fileno()) != self._size

    # --- keys ---------------------------------------------------------------------------------

    def press_key(self, key: str) -> None:
        if key in "p ":
            self.paused = not self.paused
        elif key == "s":
            self._sort = (self._sort + 1) % len(_SORTS)
        elif key == "\t":
            self._first += 1

    def type_key(self, key: str) -> None:
        """A key of the filter: it ends with Enter; Escape takes it away."""
        if not self.typing:
            self.typing, self._filter = True, ""
        elif key in "\r\n":
            self.typing = False
        elif key == "\x1b":
            self.typing, self._filter = False, ""
        elif key in "\x7f\b":
            self._filter = self._filter[:-1]
        elif key.isprintable():
            self._filter += key

    # --- drawing ------------------------------------------------------------------------------

    def draw_screen(self, interval: float) -> None:
        self._adopt_size()
        width, height = self._size
        drawn: list[RenderableType] = [self._draw_header(interval)]
        log = [
            Text(escape_for_terminal(line), no_wrap=True, overflow="ellipsis")
            for line in self._view.log
        ]
        panels = list(self._view.panels.values())
        start = self._first % len(panels) if panels else 0
        room = height - 1
        least = min(max(_MIN_LOG_LINES, height // 4), len(log)) + 1 if log else 0
        for panel, share in _divide_lines(panels[start:] + panels[:start], room - least):
            for part in self._draw_panel(panel, share, width, interval):
                drawn.append(part)
                room -= part.row_count + 1 if isinstance(part, Table) else 1
        if log and room > 1:
            drawn.append(
                Text("─ printed ".ljust(width, "─"), style="dim", no_wrap=True, overflow="crop")
            )
            drawn += log[-(room - 1) :]
        self._live.update(Group(*drawn), refresh=True)

    def _draw_header(self, interval: float) -> Text:
        seconds = int(time.monotonic() - self._began)
        text = Text(no_wrap=True, overflow="ellipsis")
        text.append(
            f"{seconds // 60:02}:{seconds % 60:02}  every {interval:g} s  {self._engine}",
            style="bold",
        )
        if lost := sum(self._view.drops.values()):
            text.append(f"  {lost} drops", style="bold red")
        if self.paused:
            text.append("  paused", style="bold yellow")
        if self.typing or self._filter:
            text.append(f"  /{self._filter}{'_' if self.typing else ''}", style="cyan")
        text.append(f"  {_HELP}", style="dim")
        return text

    def _draw_panel(
        self, panel: AggregationPanel, share: int, width: int, interval: float
    ) -> Iterable[RenderableType]:
        lines = self._select_lines(panel)
        title = _make_title(panel)
        title.append(
            f"  {panel.keys} keys, by {_SORTS[self._sort]}" if panel.keys > 1 else "", style="dim"
        )
        yield title
        room = share - 1
        if panel.is_distribution:
            rows = _heat_rows(panel, [line.key for line in lines])
            shown = _fullest_rows(
                rows,
                max(1, (room + 1) // 2, room - min(len(lines), 3) - 1) if len(lines) > 1 else room,
            )
            title.append(
                f"  {len(shown)} of {len(rows)} lines" if len(shown) < len(rows) else "",
                style="dim",
            )
            yield from (self._draw_heat_row(row, width) for row in shown)
            room -= len(shown)
            if shown and room > len(lines) + 1:
                yield _draw_heat_axis(rows, width, interval)
                room -= 1
        if room > 1 and (len(lines) > 1 or not panel.is_distribution or (lines and lines[0].key)):
            yield _make_table(panel, lines[: room - 1], width)

    def _select_lines(self, panel: AggregationPanel) -> list[KeyLine]:
        """The lines that the filter leaves, sorted."""
        lines = [
            line
            for line in panel.lines.values()
            if self._filter.lower() in format_key(line.key).lower()
        ]
        by = _SORTS[self._sort]
        if by == "key":
            return sorted(lines, key=lambda line: format_key(line.key))
        return sorted(
            lines,
            key=lambda line: line.rate if by == "rate" else value_number(line.value),
            reverse=True,
        )

    def _draw_heat_row(self, row: tuple[str, list[int], int], width: int) -> Text:
        label, counts, most = row
        text = Text(f"{label:>{_HEAT_LABEL - 1}} ", no_wrap=True, overflow="crop")
        coloured = self._console.color_system is not None and not self._console.no_color
        for count in counts[-(width - _HEAT_LABEL - 1) :]:
            if coloured:
                shade = _pick_shade(count, most, len(_RAMP))
                text.append(" ", style=f"on color({_RAMP[shade - 1]})" if shade else "")
            else:
                text.append(_SHADES[_pick_shade(count, most, len(_SHADES) - 1)])
        return text


def _divide_lines(
    panels: list[AggregationPanel], room: int
) -> Iterable[tuple[AggregationPanel, int]]:
    """How many lines each gets, the first ones first; what one does not need is the next one's.  The first, which Tab chooses, may have
    half of them."""
    for index, panel in enumerate(panels):
        share = min(
            max(room // (2 if index == 0 and len(panels) > 1 else len(panels) - index), 4),
            room,
            _wanted_lines(panel),
        )
        if share < 2:
            return
        room -= share
        yield panel, share


def _wanted_lines(panel: AggregationPanel) -> int:
    heat = len(_heat_rows(panel, panel.lines)) if panel.is_distribution else 0
    return 1 + heat + bool(heat) + (len(panel.lines) + 1 if len(panel.lines) > 1 or not heat else 2)


def _pick_shade(count: int, most: int, shades: int) -> int:
    """0 for nothing, else 1 to shades, by the logarithm."""
    if count <= 0:
        return 0
    return 1 + round((shades - 1) * math.log1p(count) / math.log1p(most)) if most > 1 else shades


def _heat_rows(panel: AggregationPanel, keys: Iterable[Any]) -> list[tuple[str, list[int], int]]:
    """(label, what came in each interval, the most of all) for each bucket from the highest to the lowest that anything came to."""
    columns = panel.sum_columns(keys)
    used = {bucket for column in columns for bucket in column}
    if not used:
        return []
    most = max(max(column.values(), default=0) for column in columns)
    named = display_edges(panel.row, panel.params)
    return [
        (
            bucket_label(named[bucket], panel.unit),
            [column.get(bucket, 0) for column in columns],
            most,
        )
        for bucket in range(max(used), min(used) - 1, -1)
    ]


def _fullest_rows(
    rows: list[tuple[str, list[int], int]], room: int
) -> list[tuple[str, list[int], int]]:
    """As many of them as there is room for: those to which the most came, in their order; one above which some are left out says so."""
    sums = [sum(counts) for _, counts, _ in rows]
    chosen = sorted(sorted(range(len(rows)), key=lambda row: -sums[row])[:room])
    return [
        (f"… {rows[row][0]}" if row and row - 1 not in chosen else rows[row][0], *rows[row][1:])
        for row in chosen
    ]


def _draw_sparkline(past: list[int]) -> str:
    most = max(map(abs, past), default=0)
    return "".join(
        _BARS[min(len(_BARS) - 1, math.ceil(abs(count) * (len(_BARS) - 1) / most))] if most else " "
        for count in past
    )


def _make_title(panel: AggregationPanel) -> Text:
    name, what = panel_title(panel.name, panel.expression, panel.key_texts)
    made = Text(escape_for_terminal(name), style="bold", no_wrap=True, overflow="ellipsis")
    return made.append(f" = {escape_for_terminal(what)}" if what else "")


def _draw_heat_axis(rows: list[tuple[str, list[int], int]], width: int, interval: float) -> Text:
    """How long ago the first column of a heat map was; the last is now."""
    columns = min(len(rows[0][1]), max(width - _HEAT_LABEL - 1, 0))
    began = f"{'-' + format_seconds(columns * interval):>{_HEAT_LABEL - 1}} "
    return Text(f"{began}{'now':>{max(columns, 3)}}", style="dim", no_wrap=True, overflow="crop")


def _make_table(panel: AggregationPanel, lines: list[KeyLine], width: int) -> Table:
    """Keys first: percentiles, and then the past, have the room that keys and values leave."""
    heads, rows = _table_cells(panel, lines)
    keys = min(max(len(row[0]) for row in [heads, *rows]), max(int(width * _MAX_KEY_SHARE), 1))
    kept, room = _fitting_columns(heads, rows, width - keys)
    table = Table(box=None, padding=(0, _GAP, 0, 0), show_edge=False, header_style="dim")
    table.add_column(heads[0], width=keys, no_wrap=True, overflow="ellipsis")
    for column in kept:
        table.add_column(heads[column], justify="right", no_wrap=True)
    past = room - _GAP
    if past >= _MIN_SPARKLINE:
        table.add_column("", width=past, no_wrap=True)
    for line, cells in zip(lines, rows, strict=True):
        shown = [cells[0], *(cells[column] for column in kept)]
        if past >= _MIN_SPARKLINE:
            shown.append(_draw_sparkline(list(line.past)[-past:]))
        table.add_row(*map(Text, shown))
    return table


def _table_cells(
    panel: AggregationPanel, lines: list[KeyLine]
) -> tuple[list[str], list[list[str]]]:
    """(heads, rows) of all columns: the key, the value, the rate, each percentile."""
    percents = panel.row.shown_percentiles
    function = "values" if panel.is_distribution else panel.row.function_name
    heading = escape_for_terminal(key_heading(panel.key_texts)) or "key"
    rows = []
    for line in lines:
        value = line.value
        shown = (
            short_number(value_number(value))
            if isinstance(value, Histogram)
            else quantity(value, panel.unit)
        )
        found = [quantity(value.percentile(each) or 0, panel.unit) for _, each in percents]
        rows.append([format_key(line.key), shown, short_number(round(line.rate, 1)), *found])
    return [heading, function, "/s", *(name for name, _ in percents)], rows


def _fitting_columns(heads: list[str], rows: list[list[str]], room: int) -> tuple[list[int], int]:
    """The columns behind the key that there is room for, the value and the rate always; the room that is left."""
    widths = [
        max(len(row[column]) for row in [heads, *rows]) + _GAP for column in range(len(heads))
    ]
    room -= _GAP + widths[1] + widths[2]
    percents = sorted(range(3, len(heads)), key=lambda column: _percentile_rank(heads[column]))
    kept = []
    for column in percents:
        if widths[column] > room:
            break
        room -= widths[column]
        kept.append(column)
    return [1, *sorted(kept), 2], room


def _percentile_rank(head: str) -> int:
    order = [f"p{percent}" for percent in _PERCENTILE_ORDER]
    name = head.split(" ")[0]
    return order.index(name) if name in order else len(order)
