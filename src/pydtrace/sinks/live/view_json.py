"""A view as plain data for the page (web_assets/view.js) that draws it.

- Numbers that are drawn are finite and at most 2^53; a text has the exact value.
- Text is kept as it is: the page puts it into the document as text, never as HTML.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydtrace.results.aggregation_values import Histogram, display_edges

from .live_model import bucket_label, short_number, value_number

if TYPE_CHECKING:
    from .live_model import AggregationPanel, KeyLine, LiveModel

MAX_INTERVALS = 600  # intervals that a page has at most, which shows 120 at once
LIVE_INTERVALS = 120  # that a page has which is sent anew each second
_LOG = 200  # lines


def full_state(
    view: LiveModel, now: float, interval: float, past: int = MAX_INTERVALS
) -> dict[str, Any]:
    """All that there is; now: seconds since 1970, of the last interval's end; past: so many intervals at most."""
    return {
        **_make_header(view, now, interval),
        "panels": [_make_panel(each, past) for each in view.panels.values()],
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
    plain = {
        "name": _clean_text(panel.name),
        "function": panel.row.function_name,
        "keys": panel.keys,
        "past": past,
        "lines": [_make_line(line, past) for line in panel.lines.values()],
    }
    if panel.is_distribution:
        named = display_edges(panel.row, panel.params)
        used = {
            bucket for line in panel.lines.values() for column in line.columns for bucket in column
        }
        plain["percents"] = [name for name, _ in panel.row.shown_percentiles]
        plain["buckets"] = {
            bucket: bucket_label(named[bucket])
            for bucket in range(min(used, default=0), max(used, default=-1) + 1)
        }
    return plain


def _make_line(line: KeyLine, past: int) -> dict[str, Any]:
    value = line.value
    plain = {
        "key": [_clean_text(str(part)) for part in line.key],
        "number": value_number(value),
        "rate": line.rate,
        "value": short_number(value.n if isinstance(value, Histogram) else value),
        "past": list(line.past)[-past:],
    }
    if isinstance(value, Histogram):
        plain["columns"] = [
            [part for item in column.items() for part in item] for column in line.columns[-past:]
        ]
        plain["percentiles"] = [
            short_number(value.percentile(percent) or 0)
            for _, percent in value.row.shown_percentiles
        ]
    return plain
