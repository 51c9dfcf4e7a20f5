"""The difference of two profiles as a table for a terminal, and as JSON."""

from __future__ import annotations

import json

from pydtrace.profile.short_paths import ShortPaths
from pydtrace.untrusted.terminal_escape import escape_for_terminal

from . import chance

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pydtrace.profile.stack_amounts import StackAmounts

    from .profile_difference import Change, FunctionChange, ProfileDifference

ROWS = 25
FEW_ROWS = 10  # of those that chance explains
MIN_CHANGE = 0.001  # of the whole: what has changed by less is not shown
_SCALES = {
    "bytes": ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")),
    "seconds": ((1, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")),
}


def format_amount(amount: float, unit: str) -> str:
    scales = _SCALES.get(unit)
    if not scales:
        return f"{amount:.0f}"
    factor, name = next((each for each in scales if abs(amount) >= each[0]), scales[-1])
    return f"{amount / factor:.3g} {name}" if amount else "0"


def describe_profile(profile: StackAmounts) -> str:
    amount = f"{format_amount(profile.total, profile.unit)}"
    if profile.unit == "samples" or profile.samples is None:
        return amount if profile.unit in _SCALES else f"{amount} {profile.unit}"
    return f"{profile.samples} samples, {amount}"


def render_head(difference: ProfileDifference, before: str, after: str) -> str:
    """before, after: the names of the files."""
    width = max(len(escape_for_terminal(name)) for name in (before, after))
    lines = [
        f"{word:<6}  {escape_for_terminal(name):<{width}}  {describe_profile(profile)}\n"
        for word, name, profile in (
            ("before", before, difference.before),
            ("after", after, difference.after),
        )
    ]
    return "".join(lines) + render_verdict(difference)


def render_verdict(difference: ProfileDifference) -> str:
    """How many functions have changed by more than chance explains."""
    if difference.no_chance:
        return f"{difference.no_chance}\n"
    n, of = sum(row.exceeds_chance for row in difference.rows), len(difference.rows)
    return (
        f"{n} of {of} functions changed by more than the chance of sampling explains (*): "
        f"if none had changed, even one * would have a probability below {chance.LEVEL:.0%}\n"
    )


class _ChangeCells:
    """The columns of a change; by_amount, unit: as in ProfileDifference."""

    def __init__(self, by_amount: bool, unit: str) -> None:
        self._by_amount, self._unit = by_amount, unit

    def format_cells(self, change: Change) -> list[str]:
        if self._by_amount:
            margin = (
                f" ± {format_amount(change.margin, self._unit)}"
                if change.margin is not None
                else ""
            )
            sign = "+" if change.difference > 0 else ""
            cells = [format_amount(each, self._unit) for each in (change.before, change.after)]
            difference = f"{sign}{format_amount(change.difference, self._unit)}{margin}"
        else:
            margin = f" ± {100 * change.margin:.1f}" if change.margin is not None else ""
            cells = [f"{each:.1%}" for each in (change.before, change.after)]
            difference = f"{100 * change.difference:+.1f}{margin}"
        return [*cells, difference, "*" if change.exceeds_chance else ""]


def _select_rows(difference: ProfileDifference) -> list[FunctionChange]:
    """Those that are shown: what chance does not explain, and the largest others."""
    whole = max(difference.before.total, difference.after.total) if difference.by_amount else 1
    marked = [row for row in difference.rows if row.exceeds_chance]
    others = [
        row
        for row in difference.rows
        if not row.exceeds_chance
        and max(abs(row.own.difference), abs(row.total.difference)) >= MIN_CHANGE * whole
    ]
    room = ROWS if difference.no_chance else max(0, FEW_ROWS - len(marked))
    return marked[:ROWS] + others[:room]


def render_difference(difference: ProfileDifference, before: str, after: str) -> str:
    changed = _select_rows(difference)
    paths = ShortPaths({row.place.file for row in difference.rows})
    cells = _ChangeCells(difference.by_amount, difference.unit)
    rows = [
        ["", "", "SELF", "", "", "", "TOTAL", "", ""],
        [*["BEFORE", "AFTER", "CHANGE", ""] * 2, "FUNCTION"],
        *(
            [
                *cells.format_cells(row.own),
                *cells.format_cells(row.total),
                escape_for_terminal(row.place.shorten(paths).text),
            ]
            for row in changed
        ),
    ]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    lines = [
        "  ".join([*(c.rjust(w) for c, w in zip(row, widths, strict=False)), row[-1]]).rstrip()
        + "\n"
        for row in rows
    ]
    if len(difference.rows) > len(changed):
        lines.append(f"… and {len(difference.rows) - len(changed)} that changed less\n")
    head = render_head(difference, before, after)
    return head + ("\n" + "".join(lines) if changed else "no difference\n")


def _encode_change(change: Change) -> dict[str, Any]:
    return {
        "before": change.before,
        "after": change.after,
        "margin": change.margin,
        "p": change.p,
    }


def _encode_row(row: FunctionChange) -> dict[str, Any]:
    place = {"function": row.place.function, "file": row.place.file, "line": row.place.line}
    return {
        **place,
        "self": _encode_change(row.own),
        "total": _encode_change(row.total),
        "exceeds_chance": row.exceeds_chance if row.own.p is not None else None,
    }


def encode_difference(difference: ProfileDifference) -> str:
    """An object of JSON in a line for each function."""
    return "".join(json.dumps(_encode_row(row)) + "\n" for row in difference.rows)
