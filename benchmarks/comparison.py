"""A line of a table of figures: ours, a peer's, and how they compare."""

from __future__ import annotations

import statistics


class Comparison:
    """One line of the table: the median of `ours` over the median of `peer`, and the most it may be (None: it is told only)."""

    def __init__(self, title: str, budget: float | None, ours: list[float], peer: list[float]):
        self.title, self.budget = title, budget
        self.ours, self.peer = statistics.median(ours), statistics.median(peer)
        self.ratio = self.ours / self.peer

    def row(self) -> str:
        start = f"{self.title:52} {self.ours:8.1f} {self.peer:8.1f} {self.ratio:7.2f}"
        return (
            start
            if self.budget is None
            else f"{start} {self.budget:7.2f}  {'OVER' if self.is_over() else 'ok'}"
        )

    def is_over(self) -> bool:
        return self.budget is not None and self.ratio > self.budget
