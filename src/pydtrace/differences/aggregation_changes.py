"""The difference of two runs' aggregations as a table for a terminal, and as JSON."""

from __future__ import annotations

import json

from pydtrace.untrusted.terminal_escape import escape_for_terminal

from . import chance

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .aggregation_difference import AggregatedValue, AggregationChange

ROWS = 50


def _format_number(value: float | None) -> str:
    return "-" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _format_value(each: AggregatedValue | None) -> str:
    if each is None:
        return "-"
    if each.buckets is None:
        return _format_number(each.value)
    if each.median is None:
        return "no values"
    low, high = each.median
    return _format_number(low) if low == high else f"{_format_number(low)}..{_format_number(high)}"


def _format_change(row: AggregationChange) -> str:
    if row.before is None or row.after is None:
        return "new" if row.before is None else "gone"
    if row.larger is not None:
        return f"larger in {row.larger:.0%}"
    first, second = row.before.value, row.after.value
    if first is None or second is None:
        return "other parameters"
    return f"x {second / first:.3g}" if first else f"{second - first:+g}"


def _format_keys(row: AggregationChange) -> str:
    return ", ".join(
        key if isinstance(key, str) else json.dumps(key) for key in json.loads(row.keys)
    )


def render_aggregations(rows: list[AggregationChange]) -> str:
    changed = [row for row in rows if row.is_change]
    tested = [row for row in rows if row.p is not None]
    n = sum(row.exceeds_chance for row in tested)
    head = (
        f"{n} of {len(tested)} counts and distributions changed by more than chance explains (*): "
        f"if none had changed, even one * would have a probability below {chance.LEVEL:.0%}\n"
    )
    if len(tested) < len(rows):
        head += f"of {len(rows) - len(tested)} values chance is not computed: only count() and distributions in both runs keep enough for it\n"
    if not changed:
        return head + "no difference\n"
    cells = [
        ["AGGREGATION", "BEFORE", "AFTER", "CHANGE", "", "KEYS"],
        *(
            [
                f"@{'' if row.name == '_' else row.name} {row.function}",
                _format_value(row.before),
                _format_value(row.after),
                _format_change(row),
                "*" if row.exceeds_chance else "",
                _format_keys(row),
            ]
            for row in changed[:ROWS]
        ),
    ]
    cells = [[escape_for_terminal(cell) for cell in row] for row in cells]
    widths = [max(len(row[i]) for row in cells) for i in range(5)]
    lines = [
        "  ".join(
            [row[0].ljust(widths[0])]
            + [cell.rjust(width) for cell, width in zip(row[1:5], widths[1:], strict=True)]
            + row[5:]
        ).rstrip()
        + "\n"
        for row in cells
    ]
    if len(changed) > ROWS:
        lines.append(f"… and {len(changed) - ROWS} more\n")
    return head + "\n" + "".join(lines)


def _encode_value(each: AggregatedValue | None) -> object:
    return None if each is None else {"n": each.n, "value": each.value, "buckets": each.buckets}


def encode_aggregations(rows: list[AggregationChange]) -> str:
    """An object of JSON in a line for each key."""
    return "".join(
        json.dumps(
            {
                "name": row.name,
                "keys": json.loads(row.keys),
                "function": row.function,
                "before": _encode_value(row.before),
                "after": _encode_value(row.after),
                "larger": row.larger,
                "p": row.p,
                "exceeds_chance": row.exceeds_chance if row.p is not None else None,
            }
        )
        + "\n"
        for row in rows
    )
