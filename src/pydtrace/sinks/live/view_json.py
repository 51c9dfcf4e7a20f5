"""A view as plain data for the page (web_assets/view.js) that draws it.

- Numbers that are drawn are finite and at most 2^53; a text has the exact value.
- Text is kept as it is: the page puts it into the document as text, never as HTML.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydtrace.results.aggregation_values import Histogram, display_edges

from .readable_values import (
    bucket_label,
    drawable_number,
    key_heading,
    panel_title,
    quantity,
    short_number,
    value_number,
)

if TYPE_CHECKING:
    from .live_model import AggregationPanel, KeyLine, LiveModel
    from .run_facts import RunFacts

MAX_INTERVALS = 600  # intervals that a page has at most
LIVE_INTERVALS = 120  # that a page shows at once, and has which is sent anew each second
_LOG = 200  # lines


def full_state(
    view: LiveModel,
    now: float,
    interval: float,
    past: int = MAX_INTERVALS,
    facts: RunFacts | None = None,
) -> dict[str, Any]:
    """All that there is; now: seconds since 1970, of the last interval's end; past: so many intervals at most."""
    return {
        **_make_header(view, now, interval),
        "facts": facts and facts.to_plain(now, view.drops, False),
        "panels": [_make_panel(each, past) for each in view.panels.values()],
        "log": _log_lines(view, _LOG),
    }


def finished_state(view: LiveModel, now: float, facts: RunFacts) -> dict[str, Any]:
    """The whole run, of a view that keeps it."""
    seconds = max(now - facts.began, 0.001)
    columns = max(view.columns, 1)
    return {
        **_make_header(view, now, seconds / columns),
        "intervals": columns,
        "finished": True,
        "seconds": [round(view.seconds.get(column, 0.0), 6) for column in range(columns)],
        "facts": facts.to_plain(now, view.drops, True),
        "panels": [_make_run_panel(each, columns, seconds) for each in view.panels.values()],
        "log": _log_lines(view, _LOG),
    }


def state_delta(view: LiveModel, now: float, interval: float, lines: int) -> dict[str, Any]:
    """What the last interval has changed; lines: of the log, how many are new."""
    return {
        **_make_header(view, now, interval),
        "panels": [_make_panel(each, 1) for each in view.panels.values()],
        "log": _log_lines(view, min(lines, _LOG)),
    }


def encode_event(event: str, members: dict[str, Any]) -> str:
    """As JSON on one line; what: "whole", "step"."""
    return json.dumps({"what": event, **members}, separators=(",", ":"), default=str)


def _make_header(view: LiveModel, now: float, interval: float) -> dict[str, Any]:
    return {
        "now": round(now, 3),
        "interval": interval,
        "intervals": view.intervals,
        "drops": view.drops,
    }


def _log_lines(view: LiveModel, count: int) -> list[str]:
    return [_clean_text(line) for line in list(view.log)[-count:]] if count else []


def _clean_text(text: str) -> str:
    """Bytes that were not UTF-8 are no characters of JSON's."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _make_panel(panel: AggregationPanel, past: int) -> dict[str, Any]:
    lines = panel.lines.values()
    used = {bucket for line in lines for column in line.columns for bucket in column}
    return _frame_panel(panel, past, used, [_make_line(line, past, panel.unit) for line in lines])


def _make_run_panel(panel: AggregationPanel, columns: int, seconds: float) -> dict[str, Any]:
    """The same of the whole run, of so many columns and seconds."""
    used = {
        bucket
        for line in panel.lines.values()
        for column in line.run.columns.values()
        if isinstance(column, dict)
        for bucket in column
    }
    lines = [_make_run_line(line, columns, seconds, panel.unit) for line in panel.lines.values()]
    return _frame_panel(panel, columns, used, lines)


def _frame_panel(
    panel: AggregationPanel, past: int, used: set[int], lines: list[dict[str, Any]]
) -> dict[str, Any]:
    """used: the buckets that anything came to."""
    title, what = panel_title(panel.name, panel.expression, panel.key_texts)
    plain = {
        "name": _clean_text(panel.name),
        "title": _clean_text(title),
        "expression": _clean_text(what),
        "heading": _clean_text(key_heading(panel.key_texts)),
        "function": panel.row.function_name,
        "unit": panel.unit if panel.row.is_total else "",
        "keys": panel.keys,
        "total": _format_total(panel),
        "past": past,
        "lines": lines,
    }
    if panel.is_distribution:
        named = display_edges(panel.row, panel.params)
        plain["percents"] = [name for name, _ in panel.row.shown_percentiles]
        plain["buckets"] = {
            bucket: bucket_label(named[bucket], panel.unit)
            for bucket in range(min(used, default=0), max(used, default=-1) + 1)
        }
    return plain


def _format_total(panel: AggregationPanel) -> str:
    if panel.row.is_total:
        return quantity(panel.total, panel.unit)
    return f"{short_number(panel.total)} values"


def _make_line(line: KeyLine, past: int, unit: str) -> dict[str, Any]:
    plain = _frame_line(line, unit, line.rate)
    plain["past"] = list(line.past)[-past:]
    if isinstance(line.value, Histogram):
        plain["columns"] = [_pack_column(column) for column in line.columns[-past:]]
    return plain


def _make_run_line(line: KeyLine, columns: int, seconds: float, unit: str) -> dict[str, Any]:
    run = line.run.columns
    came = [run.get(column) for column in range(min(run, default=columns), columns)]
    sums = [sum(each.values()) if isinstance(each, dict) else each or 0 for each in came]
    past = [drawable_number(each) for each in sums]
    plain = _frame_line(line, unit, drawable_number(sum(past) / seconds))
    plain["past"] = past
    if isinstance(line.value, Histogram):
        plain["columns"] = [_pack_column(each or {}) for each in came]
    return plain


def _format_rate(rate: float, unit: str) -> str:
    if unit:
        return quantity(rate, unit)
    return f"{rate:.1f}" if abs(rate) < 10 else short_number(round(rate))


def _pack_column(column: dict[int, int]) -> list[int]:
    return [part for item in column.items() for part in item]


def _frame_line(line: KeyLine, unit: str, rate: float) -> dict[str, Any]:
    """unit: of the value; rate: what came in a second."""
    value = line.value
    plain = {
        "key": [_clean_text(str(part)) for part in line.key],
        "number": value_number(value),
        "rate": rate,
        "per_second": _format_rate(rate, unit if value.row.is_total else ""),
        "value": short_number(value.n) if isinstance(value, Histogram) else quantity(value, unit),
    }
    if isinstance(value, Histogram):
        plain["percentiles"] = [
            quantity(value.percentile(percent) or 0, unit)
            for _, percent in value.row.shown_percentiles
        ]
    return plain
