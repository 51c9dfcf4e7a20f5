"""A histogram as an inline SVG, for notebooks.

In: a values.Histogram.  Out: HTML that needs nothing else: no script, no file.  Always: what it shows is the
buckets' bounds and counts, numbers only, so there is nothing to escape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .values import Bucket, Histogram

_ROW, _LABELS, _BARS, _WIDTH = 18, 150, 320, 560  # pixels


def _label(bucket: Bucket) -> str:
    low, high, _ = bucket
    if low is None:
        return f"&lt; {high + 1}"
    if high is None:
        return f"≥ {low}"
    return f"{low}" if low == high else f"{low} … {high}"


def histogram(value: Histogram) -> str:
    """The buckets from top to bottom, a bar each; where increments made a count negative, its size."""
    buckets = value.buckets
    most = max((abs(bucket.count) for bucket in buckets), default=1)
    rows = []
    for i, bucket in enumerate(buckets):
        y = i * _ROW
        rows.append(
            f'<text x="{_LABELS - 6}" y="{y + 13}" text-anchor="end">{_label(bucket)}</text>'
            f'<rect x="{_LABELS}" y="{y + 2}" width="{_BARS * abs(bucket.count) / most:.1f}" height="{_ROW - 4}" '
            f'fill="#4878a8"/><text x="{_LABELS + _BARS + 6}" y="{y + 13}">{bucket.count}</text>'
        )
    height = max(1, len(buckets)) * _ROW
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" role="img" '
        f'aria-label="{value.function} of {value.n} values" font-family="monospace" font-size="12" '
        f'fill="currentColor">{"".join(rows)}</svg>'
    )
