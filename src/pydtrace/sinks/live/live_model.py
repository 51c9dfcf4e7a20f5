"""The model of a live view: each aggregation as a table with its recent past, a distribution as a
heat map over time.

A snapshot comes for each interval, and lines of text as the script printed them. A terminal
(terminal_sink.py) and a page draw the Panels.

- Bounded, whatever the script aggregates: HISTORY intervals, the past of the MAX_KEPT_KEYS
  greatest keys, MAX_LOG_LINES lines of text.
- A view of a finished run has all of it, in at most `columns` columns: if there is no room for
  one more, each two become one.
- Names are kept as they are; who draws them escapes them.
- An interval holds what came in it: clear() and trunc() of the script make nothing negative.
"""

from __future__ import annotations

import heapq
from collections import deque
from typing import TYPE_CHECKING, Any

from pydtrace.results.aggregation_values import Histogram

from .readable_values import drawable_number, replace_macros, unit_of_name, value_number

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydtrace.driver.aggregation_state import AggregationState
    from pydtrace.results.aggregations import Aggregation, Key

HISTORY = 300  # intervals
MAX_KEPT_KEYS = 200  # keys whose past is kept, in each aggregation
MAX_LOG_LINES = 500


class WholeRun:
    """What came to one key in the whole run.  columns: {column: number, or of a distribution {row: number}}; a column to which
    nothing came is not there."""

    __slots__ = ("columns",)

    def __init__(self) -> None:
        self.columns: dict[int, Any] = {}

    def add_delta(self, column: int, came: Any) -> None:
        if came:
            before = self.columns.get(column)
            self.columns[column] = came if before is None else _add_deltas(before, came)

    def halve_columns(self) -> None:
        """Each two columns become one."""
        before, self.columns = self.columns, {}
        for column, came in before.items():
            self.add_delta(column // 2, came)


def _add_deltas(one: Any, other: Any) -> Any:
    if not isinstance(one, dict):
        return one + other
    return {row: one.get(row, 0) + other.get(row, 0) for row in {**one, **other}}


class KeyLine:
    """One key: its value now, and what came in each of the last intervals, the latest last.

    key: a tuple, as the API's; value: values.Number, FloatNumber or Histogram; rate: what came in the last interval, a second."""

    __slots__ = ("key", "past", "rate", "run", "value", "_previous", "_columns", "_history")

    def __init__(self, key: Key, history: int = HISTORY, previous: Any = None) -> None:
        self.key, self.rate, self._history = key, 0.0, history
        self.value: Any = None
        self.past: deque[int] = deque(maxlen=history)
        self.run = WholeRun()
        self._previous = previous
        self._columns: deque[dict[int, int]] | None = None  # of a distribution: {row: what came}

    @property
    def columns(self) -> list[dict[int, int]]:
        """Of a distribution: for each interval {index of a row (values.edges()): what came}."""
        return list(self._columns or ())

    def add_value(self, value: Any, seconds: float, column: int | None = None) -> None:
        """What it is after one more interval.  column: of the whole run, if that is kept."""
        came = _value_delta(self._previous, value)
        self.value, self._previous = value, value
        if column is not None:
            self.run.add_delta(column, came)
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
    key; argument, key_texts: as the script has them (program.AggDef)."""

    __slots__ = (
        "argument",
        "history",
        "key_texts",
        "keys",
        "lines",
        "name",
        "params",
        "row",
        "_all_values",
    )

    def __init__(
        self, name: str, row: Any, params: tuple[int, ...], history: int = HISTORY
    ) -> None:
        self.name, self.row, self.params, self.history = name, row, params, history
        self.argument, self.key_texts = "", ()  # type: str, tuple[str, ...]
        self.lines: dict[Key, KeyLine] = {}
        self.keys = 0  # that there are, those whose past is not kept, too
        self._all_values: Aggregation | None = None  # of the last snapshot

    def add_snapshot(self, found: Aggregation, seconds: float, column: int | None = None) -> None:
        """What it holds after one more interval."""
        known = self._all_values if self._all_values and self.keys > MAX_KEPT_KEYS else {}
        self.keys, self._all_values = len(found), found
        kept = (
            found
            if len(found) <= MAX_KEPT_KEYS
            else heapq.nlargest(MAX_KEPT_KEYS, found, key=lambda key: value_number(found[key]))
        )
        lines = self.lines
        self.lines = {
            key: lines.get(key) or KeyLine(key, self.history, known.get(key)) for key in kept
        }
        for key, line in self.lines.items():
            line.add_value(found[key], seconds, column)

    @property
    def total(self) -> Any:
        """The sum of all keys' values; of means and extremes, and of distributions, the number of values."""
        return sum(_growing_part(value) for value in (self._all_values or {}).values())

    @property
    def expression(self) -> str:
        """What the script assigns to it."""
        return f"{self.row.function_name}({self.argument})"

    @property
    def unit(self) -> str:
        """The unit of what is aggregated, by the aggregation's name; "" of counts, and if the name has none."""
        return "" if self.row.function_name == "count" else unit_of_name(self.name)

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
    drops: {kind: count}; history: intervals that are kept; columns: at most so many of the whole run, 0: it is not kept;
    step: intervals that are one column; seconds: of each column."""

    def __init__(self, history: int = HISTORY, columns: int = 0) -> None:
        self.history, self._max_columns, self.step = history, columns, 1
        self.seconds: dict[int, float] = {}
        self.panels: dict[str, AggregationPanel] = {}
        self.log: deque[str] = deque(maxlen=MAX_LOG_LINES)
        self.drops: dict[str, int] = {}
        self.intervals = self.printed_lines = 0
        self._partial_line = ""  # a line that is not over yet

    @property
    def columns(self) -> int:
        """How many columns the whole run has."""
        return -(-self.intervals // self.step) if self._max_columns else 0

    def add_interval(
        self, aggregates: AggregationState, seconds: float, intervals: int = 1
    ) -> None:
        """One more interval, of so many seconds.  intervals: as how many it counts."""
        self._count_intervals(intervals)
        self._add_seconds(seconds)
        column = self.columns - 1 if self._max_columns else None
        for definition in aggregates.program.aggregations:
            found = aggregates.take_snapshot(definition)
            panel = self.panels.get(found.name)
            if panel is None:
                if not found:
                    continue
                panel = self.panels[found.name] = AggregationPanel(
                    found.name, found.row, found.params, self.history
                )
                words = aggregates.program.arguments
                panel.argument = replace_macros(definition.argument, words)
                panel.key_texts = tuple(
                    replace_macros(text, words) for text in definition.key_texts
                )
            panel.add_snapshot(found, seconds, column)

    def _add_seconds(self, seconds: float) -> None:
        """The last column is so much longer."""
        if self._max_columns:
            self.seconds[self.columns - 1] = self.seconds.get(self.columns - 1, 0.0) + seconds

    def _count_intervals(self, intervals: int) -> None:
        self.intervals += intervals
        while self._max_columns and self.columns > self._max_columns:
            self.step *= 2
            before, self.seconds = self.seconds, {}
            for column, seconds in before.items():
                self.seconds[column // 2] = self.seconds.get(column // 2, 0.0) + seconds
            for panel in self.panels.values():
                for line in panel.lines.values():
                    line.run.halve_columns()

    def skip_intervals(self, intervals: int, seconds: float = 0.0) -> None:
        """So many intervals, of so many seconds each, in which nothing came to what there is."""
        if intervals := min(max(intervals, 0), self.history):
            for _ in range(intervals):
                self._count_intervals(1)
                self._add_seconds(seconds)
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
