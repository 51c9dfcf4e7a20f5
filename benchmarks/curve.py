"""A cost that was measured at several sizes: its row of the table, and the chart of all curves.

Input: figures by size.
Output: a Comparison of the largest size with what it may cost there; an SVG of one panel a curve,
both axes logarithmic, with a dashed line for what is expected, so that a cost which grows faster
leaves that line upwards.

- Nothing but the figures of the run is drawn.
"""

from __future__ import annotations

import math
import statistics
from html import escape

from comparison import Comparison

PANEL, ROW, EDGE, COLUMNS = (
    300,
    215,
    44,
    3,
)  # pixels of a panel with its margins; panels side by side
STYLE = (
    "text{font:12px sans-serif;fill:#444}.title{font-weight:bold}.axis{stroke:#bbb;fill:none}"
    ".expected{stroke:#999;fill:none;stroke-dasharray:4 3}.measured{stroke:#0b62a4;fill:none;stroke-width:2}circle{fill:#0b62a4}"
)


class Curve(Comparison):
    """The cost of an event for each size; as a Comparison, the largest size's and what is expected of it.

    sizes: what they are (clauses, threads); cost: whose it is; figures: nanoseconds by size, the smallest first; proportional: it may
    grow as the size does, otherwise not at all.
    """

    def __init__(
        self,
        sizes: str,
        cost: str,
        figures: dict[int, list[float]],
        proportional: bool = False,
        budget: float | None = None,
    ):
        self.sizes, self.cost, self.figures, self.proportional = sizes, cost, figures, proportional
        self.first, self.last = min(figures), max(figures)
        peer = (
            f"{self.last // self.first:,} times {self.first:,}"
            if proportional
            else f"{self.first:,}"
        )
        super().__init__(
            f"{cost}, {self.last:,} {sizes} / {peer}",
            budget,
            figures[self.last],
            [self.expected(self.last)],
        )

    def median(self, size: int) -> float:
        return statistics.median(self.figures[size])

    def expected(self, size: int) -> float:
        """By the smallest size's cost."""
        return self.median(self.first) * (size / self.first if self.proportional else 1)

    def as_json(self) -> dict[str, object]:
        return {
            "sizes": self.sizes,
            "cost": self.cost,
            "nanoseconds": {size: round(self.median(size), 1) for size in self.figures},
        }


def points(curve: Curve, costs: list[float]) -> list[tuple[float, float]]:
    """Where these costs of the curve's sizes are in its panel."""
    everything = [f(size) for f in (curve.median, curve.expected) for size in curve.figures]
    low, high = math.log(min(everything) / 1.5), math.log(max(everything) * 1.5)
    left, right = math.log(curve.first), math.log(curve.last)
    width, height = PANEL - 2 * EDGE, ROW - 2 * EDGE
    return [
        (
            EDGE + (math.log(size) - left) / (right - left) * width,
            ROW - EDGE - (math.log(cost) - low) / (high - low) * height,
        )
        for size, cost in zip(curve.figures, costs)
    ]


def line(kind: str, at: list[tuple[float, float]]) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
    return f'<polyline class="{kind}" points="{path}"/>'


def told(nanoseconds: float) -> str:
    """A cost as a reader wants it: 85 ns, 1.2 µs."""
    return f"{nanoseconds:.0f} ns" if nanoseconds < 1000 else f"{nanoseconds / 1000:.3g} µs"


def panel(curve: Curve, x: int, y: int) -> str:
    sizes = list(curve.figures)
    measured = points(curve, [curve.median(size) for size in sizes])
    parts = [
        f'<g transform="translate({x},{y})"><text class="title" x="{EDGE}" y="20">{escape(curve.cost)}</text>',
        f'<path class="axis" d="M{EDGE} {EDGE - 10}V{ROW - EDGE}H{PANEL - EDGE}"/>',
        line("expected", points(curve, [curve.expected(size) for size in sizes])),
        line("measured", measured),
    ]
    for size, (left, top) in zip(sizes, measured):
        parts.append(
            f'<circle cx="{left:.1f}" cy="{top:.1f}" r="3"/><text text-anchor="middle" x="{left:.1f}" y="{ROW - EDGE + 16}">{size:,}'
            f'</text><text text-anchor="middle" x="{left:.1f}" y="{top - 8:.1f}">{told(curve.median(size))}</text>'
        )
    parts.append(
        f'<text text-anchor="middle" x="{PANEL // 2}" y="{ROW - 10}">{escape(curve.sizes)}</text></g>'
    )
    return "\n".join(parts)


def chart(curves: list[Curve]) -> str:
    """The SVG."""
    rows = -(-len(curves) // COLUMNS)
    panels = [
        panel(curve, i % COLUMNS * PANEL, i // COLUMNS * ROW) for i, curve in enumerate(curves)
    ]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {COLUMNS * PANEL} {rows * ROW}" role="img">'
    title = "<title>Cost of an event against size, both axes logarithmic; dashed: what is expected</title>"
    return "\n".join(
        [
            head,
            title,
            f'<style>{STYLE}</style><rect width="100%" height="100%" fill="#fff"/>',
            *panels,
            "</svg>",
            "",
        ]
    )
