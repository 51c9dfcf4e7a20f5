"""Numbers, keys and names of aggregations as people read them, in a terminal and on a page.

- An aggregation has a unit if its name is one or ends with one: @ms, @wait_us, @bytes.
- Times are converted to the unit in which they are short: 1234567 ns are 1.23 ms.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from pydtrace.results.aggregation_values import Histogram
from pydtrace.untrusted.terminal_escape import escape_for_terminal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pydtrace.results.aggregations import Key

_MAX_DRAWN = 1e300  # that is drawn: what is made of it is finite, too
_TIMES = (("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0))  # in ns
_UNIT_NAMES = {
    **{name: "ns" for name in ("ns", "nsec", "nsecs", "nanoseconds")},
    **{name: "us" for name in ("us", "usec", "usecs", "microseconds")},
    **{name: "ms" for name in ("ms", "msec", "msecs", "milliseconds")},
    **{name: "s" for name in ("sec", "secs", "seconds")},
    "bytes": "bytes",
}
_MACRO = re.compile(r"\$\$?(\d{1,3})\b")
_KEY_PREFIX = re.compile(r"^(?:copyinstr\((\w+)\)|(?:arg\.|self->|this->|task->)(\w+))$")


def unit_of_name(name: str) -> str:
    """The unit that the name of an aggregation ends with; "" if it does with none."""
    return _UNIT_NAMES.get(name.lower().rpartition("_")[2], "")


def quantity(number: Any, unit: str) -> str:
    """A number with its unit: quantity(1234567, "ns") is 1.23 ms."""
    factors = dict(_TIMES)
    if unit in factors and math.isfinite(number):
        nanoseconds = number * factors[unit]
        for name, factor in _TIMES:
            if abs(nanoseconds) >= factor * 0.9995:
                return f"{_three_digits(nanoseconds / factor)} {name}"
    return f"{short_number(number)} {unit}".rstrip()


def format_seconds(seconds: float) -> str:
    """A length of time, in words: 75 s are 1 min 15 s."""
    if seconds < 60:
        return quantity(max(seconds, 0), "s")
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"


def _three_digits(number: float) -> str:
    return f"{number:.3g}" if abs(number) < 999.5 else short_number(round(number))


def key_heading(key_texts: Iterable[str]) -> str:
    """The heading of a column of keys: arg.route and self->route are "route"."""
    return "  ".join(
        _KEY_PREFIX.sub(lambda found: found[1] or found[2], text) for text in key_texts
    )


def replace_macros(text: str, words: Sequence[str]) -> str:
    """Text of a script with the values of $1, $2 … in it.  words: those of the program, $0 first."""
    return _MACRO.sub(
        lambda found: words[int(found[1])] if int(found[1]) < len(words) else found[0], text
    )


def panel_title(name: str, expression: str, key_texts: Iterable[str]) -> tuple[str, str]:
    """(what an aggregation is called, what it is): ("@ms", "quantize(arg.ms) by arg.route"); without a name the first is the second."""
    by = ", ".join(key_texts)
    what = f"{expression} by {by}" if by else expression
    return (f"@{name}", what) if name else (what, "")


def bucket_label(edge: tuple[int | None, int | None], unit: str = "") -> str:
    """A bucket's name, of its bounds: its lowest value."""
    low, high = edge
    if low is None:
        return f"<= {quantity(high, unit)}"
    return quantity(low, unit) if high is not None else f">= {quantity(low, unit)}"


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
