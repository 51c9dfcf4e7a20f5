"""The model of a live view: each aggregation as a table with its recent past, a distribution as a
heat map over time.

A snapshot comes for each interval, and lines of text as the script printed them. A terminal
(terminal_sink.py) and a page draw the Panels.

- Bounded, whatever the script aggregates: HISTORY intervals, the past of the KEPT greatest keys,
  LINES lines of text.
- Names are kept as they are; who draws them escapes them.
- An interval holds what came in it: clear() and trunc() of the script make nothing negative.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from typing import TYPE_CHECKING, Any

from pydtrace.results.aggregation_values import Histogram
from pydtrace.untrusted.terminal_escape import escape_for_terminal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydtrace.driver.aggregation_state import AggregationState
    from pydtrace.results.aggregations import Aggregation, Key

HISTORY = 300  # intervals
MAX_KEPT_KEYS = 200  # keys whose past is kept, in each aggregation
MAX_LOG_LINES = 500
_MAX_DRAWN = 1e300  # that is drawn: what is made of it is finite, too


class KeyLine:
    """One key: its value now, and what came in each of the last intervals, the latest last.

    key: a tuple, as the API's; value: values.Number, FloatNumber or Histogram; rate: what came in the last interval, a second."""

    __slots__ = ("key", "past", "rate", "value", "_previous", "_columns", "_history")

    def __init__(self, key: Key, history: int = HISTORY) -> None:
        self.key, self.rate, self._history = key, 0.0, history
        self.value: Any = None
        self.past: deque[int] = deque(maxlen=history)
        self._previous: Any = None
        self._columns: deque[dict[int, int]] | None = None  # of a distribution: {row: what came}

    @property
    def columns(self) -> list[dict[int, int]]:
        """Of a distribution: for each interval {index of a row (values.edges()): what came}."""
        return list(self._columns or ())

    def add_value(self, value: Any, seconds: float) -> None:
        """What it is after one more interval."""
        came = _value_delta(self._previous, value)
        self.value, self._previous = value, value
        if isinstance(value, Histogram):
            self._columns = (
                self._columns if self._columns is not None else deque(maxlen=self._history)
            )
            self._columns.append(came)
            came = sum(came.values())
        came = drawable_number(came)
        self.past.append(came)
        self.rate = came / seconds if seconds > 0 else 0.0

    def skip_intervals(self, intervals: int) -> None:
        """In so many nothing came."""
        self.past.extend([0] * intervals)
        if self._columns is not None:
            self._columns.extend({} for _ in range(intervals))


def _growing_part(value: Any) -> Any:
    """What grows: the sum or the count; else the number of values."""
    return value if value.row.is_total else value.n


def _value_delta(before: Any, value: Any) -> Any:
    """What came between two values of one key; all of it where it began anew meanwhile."""
    if not isinstance(value, Histogram):
        came = _growing_part(value) - (_growing_part(before) if before is not None else 0)
        return came if came >= 0 or value.row.can_decrease else _growing_part(value)
    rows = value.rows
    old = before.rows if before is not None else (0,) * len(rows)
    if any(new < was for new, was in zip(rows, old)):
        old = (0,) * len(rows)
    return {i: new - was for i, (new, was) in enumerate(zip(rows, old)) if new != was}


class AggregationPanel:
    """One aggregation.  name: without @; row: its function, a class of dlang/builtins/aggregation_base.py; params: as the API's; lines: by
    key."""

    __slots__ = ("history", "keys", "lines", "name", "params", "row")

    def __init__(
        self, name: str, row: Any, params: tuple[int, ...], history: int = HISTORY
    ) -> None:
        self.name, self.row, self.params, self.history = name, row, params, history
        self.lines: dict[Key, KeyLine] = {}
        self.keys = 0  # that there are, those whose past is not kept, too

    def add_snapshot(self, found: Aggregation, seconds: float) -> None:
        """What it holds after one more interval."""
        self.keys = len(found)
        kept = (
            found
            if len(found) <= MAX_KEPT_KEYS
            else heapq.nlargest(MAX_KEPT_KEYS, found, key=lambda key: value_number(found[key]))
        )
        lines = self.lines
        self.lines = {key: lines.get(key) or KeyLine(key, self.history) for key in kept}
        for key, line in self.lines.items():
            line.add_value(found[key], seconds)

    @property
    def is_distribution(self) -> bool:
        return any(isinstance(line.value, Histogram) for line in self.lines.values())

    def sum_columns(self, keys: Iterable[Key] | None = None) -> list[dict[int, int]]:
        """The columns of all its lines together, or of some; the latest last, as many as the longest line has."""
        chosen = [
            self.lines[key].columns
            for key in (self.lines if keys is None else keys)
            if key in self.lines
        ]
        made: list[dict[int, int]] = [{} for _ in range(max(map(len, chosen), default=0))]
        for columns in chosen:
            for column, came in zip(made[len(made) - len(columns) :], columns):
                for bucket, count in came.items():
                    column[bucket] = column.get(bucket, 0) + count
        return made


class LiveModel:
    """All of it.  panels: in the script's order; log: lines of text, the latest last; printed: how many there ever were;
    drops: {kind: count}; history: intervals that are kept."""

    def __init__(self, history: int = HISTORY) -> None:
        self.history = history
        self.panels: dict[str, AggregationPanel] = {}
        self.log: deque[str] = deque(maxlen=MAX_LOG_LINES)
        self.drops: dict[str, int] = {}
        self.intervals = self.printed_lines = 0
        self._partial_line = ""  # a line that is not over yet

    def add_interval(self, aggregates: AggregationState, seconds: float) -> None:
        """One more interval, of so many seconds."""
        self.intervals += 1
        for definition in aggregates.program.aggregations:
            found = aggregates.take_snapshot(definition)
            panel = self.panels.get(found.name)
            if panel is None:
                if not found:
                    continue
                panel = self.panels[found.name] = AggregationPanel(
                    found.name, found.row, found.params, self.history
                )
            panel.add_snapshot(found, seconds)

    def skip_intervals(self, intervals: int) -> None:
        """So many intervals in which nothing came to what there is."""
        if intervals := min(max(intervals, 0), self.history):
            self.intervals += intervals
            for panel in self.panels.values():
                for line in panel.lines.values():
                    line.skip_intervals(intervals)

    def add_text(self, text: bytes) -> None:
        """Text of the script's."""
        *lines, self._partial_line = (
            self._partial_line + text.decode("utf-8", "surrogateescape")
        ).split("\n")
        lines = [line for line in lines if line]
        self.log.extend(lines)
        self.printed_lines += len(lines)
        self._partial_line = self._partial_line[-4096:]

    def add_drops(self, kind: str, count: int) -> None:
        self.drops[kind] = self.drops.get(kind, 0) + count


# --- as people read it ----------------------------------------------------------------------


def bucket_label(edge: tuple[int | None, int | None]) -> str:
    """A bucket's name, of its bounds: its lowest value."""
    low, high = edge
    if low is None:
        return f"<= {short_number(high)}"
    return short_number(low) if high is not None else f">= {short_number(low)}"


def drawable_number(number: Any) -> Any:
    """The number, or one that can be drawn in its place: a traced process may add up infinities, and what is no number."""
    if not isinstance(number, float) or abs(number) <= _MAX_DRAWN:
        return number
    return 0.0 if math.isnan(number) else math.copysign(_MAX_DRAWN, number)


def short_number(number: Any) -> str:
    """A number in at most seven characters: 1234567 is 1.23M."""
    if isinstance(number, float) and not math.isfinite(number):
        return f"{number:g}"
    size = abs(number)
    for scale, suffix in (
        (1e18, "E"),
        (1e15, "P"),
        (1e12, "T"),
        (1e9, "G"),
        (1e6, "M"),
        (1e3, "k"),
    ):
        if size >= max(scale, 1e4) * 0.9995:
            return f"{number / scale:.3g}{suffix}"
    return f"{number:.4g}" if isinstance(number, float) else str(int(number))


def format_key(key: Key) -> str:
    """A key as a line of text."""
    return "  ".join(
        escape_for_terminal(part if isinstance(part, str) else str(part)) for part in key
    )


def value_number(value: Any) -> float:
    """What a value is sorted and drawn by."""
    return float(drawable_number(value.n if isinstance(value, Histogram) else value))
