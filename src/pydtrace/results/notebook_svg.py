"""Histograms and aggregations as inline SVG for notebooks.

- The HTML needs no script and no file.
- Keys, which are anybody's text, are escaped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .aggregation_values import Bucket, Histogram
    from .aggregations import Aggregation, Key

_ROW, _LABELS, _BARS, _WIDTH = 18, 150, 320, 560  # pixels


def _bucket_label(bucket: Bucket) -> str:
    low, high, _ = bucket
    if low is None:
        return f"&lt; {high + 1}"
    if high is None:
        return f"≥ {low}"
    return f"{low}" if low == high else f"{low} … {high}"


def draw_histogram(value: Histogram) -> str:
    """The buckets from top to bottom, a bar each; where increments made a count negative, its size.  Of percentiles() these stand
    below."""
    buckets = value.pictured
    most = max((abs(bucket.count) for bucket in buckets), default=1)
    rows = []
    for i, bucket in enumerate(buckets):
        y = i * _ROW
        rows.append(
            f'<text x="{_LABELS - 6}" y="{y + 13}" text-anchor="end">{_bucket_label(bucket)}</text>'
            f'<rect x="{_LABELS}" y="{y + 2}" width="{_BARS * abs(bucket.count) / most:.1f}" height="{_ROW - 4}" '
            f'fill="#4878a8"/><text x="{_LABELS + _BARS + 6}" y="{y + 13}">{bucket.count}</text>'
        )
    if value.n and (percentiles := value.to_dict().get("percentiles")):
        text = "  ".join(f"{name} {number}" for name, number in percentiles.items())
        rows.append(f'<text x="0" y="{len(buckets) * _ROW + 13}">{text}</text>')
    height = max(1, len(rows)) * _ROW
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" role="img" '
        f'aria-label="{value.function} of {value.n} values" font-family="monospace" font-size="12" '
        f'fill="currentColor">{"".join(rows)}</svg>'
    )


class Picture:
    """SVG: a notebook shows it; save() writes it into a file."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_html_(self) -> str:
        return self.svg

    def save(self, path: str) -> None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)

    def __repr__(self) -> str:
        return f"<a picture: {len(self.svg)} bytes of SVG>"


def draw_aggregation(found: Aggregation, most: int) -> Picture:
    """Bars, the greatest first; of distributions a histogram below each key."""
    if found.row.is_distribution:
        chosen = sorted(found.items(), key=lambda item: item[1].words[0], reverse=True)[:most]
        parts = [(key, draw_histogram(value)) for key, value in chosen]
        return Picture(_stack_pictures(found.name, parts))
    rows = sorted(
        ((float(value), key, value) for key, value in found.items()),
        key=lambda row: row[0],
        reverse=True,
    )[:most]
    greatest = max((abs(number) for number, _, _ in rows), default=0) or 1
    bars = "".join(
        f'<text x="{_LABELS - 6}" y="{i * _ROW + 13}" text-anchor="end">{_format_key(key)}</text>'
        f'<rect x="{_LABELS}" y="{i * _ROW + 2}" width="{_BARS * min(1, abs(number) / greatest):.1f}" height="{_ROW - 4}" fill="#4878a8"/>'
        f'<text x="{_LABELS + _BARS + 6}" y="{i * _ROW + 13}">{value}</text>'
        for i, (number, key, value) in enumerate(rows)
    )
    return Picture(_wrap_svg(bars, max(1, len(rows)) * _ROW, f"@{found.name}"))


def _format_key(key: Key) -> str:
    from html import escape

    from pydtrace.untrusted.terminal_escape import escape_for_terminal

    text = escape_for_terminal(
        ", ".join(part if isinstance(part, str) else str(part) for part in key)
    )
    return escape(
        (text if len(text) <= 24 else f"{text[:23]}…").encode("utf-8", "replace").decode()
    )


def _stack_pictures(name: str, parts: list[tuple[Key, str]]) -> str:
    """Pictures with a line above each."""
    body, y = "", 0
    for key, svg in parts:
        height = int(svg.split(' height="', 1)[1].split('"', 1)[0])
        body += f'<text x="0" y="{y + 14}" font-weight="bold">{_format_key(key)}</text><g transform="translate(0 {y + _ROW})">{svg}</g>'
        y += height + 2 * _ROW
    return _wrap_svg(body, max(y, _ROW), f"@{name}")


def _wrap_svg(body: str, height: int, label: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" role="img" aria-label="{label}" '
        f'font-family="monospace" font-size="12" fill="currentColor">{body}</svg>'
    )
