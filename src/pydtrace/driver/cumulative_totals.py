"""What an aggregation has held since tracing began, whatever clear() and trunc() of the script
remove.

Snapshots of an aggregation come in, and what clear() or trunc() is about to remove
(Aggregates.on_removal). At most LIMIT labels are kept; what belongs to others is under None,
merged exactly.

- Labels are text. Keys with the same labels are one.
- Labels that had a row of their own keep it.
- Sums never fall, unless those of the aggregating function do.
"""

from __future__ import annotations

from pydtrace.aggregation.merge_values import merge_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pydtrace.results.aggregations import Aggregation

    Labels = tuple[str, ...]

MAX_LABELS = 1000


class CumulativeTotals:
    """Of one aggregation.  overflowed: how many keys of the last look had no labels of their own.  beside: of an aggregation whose
    labels are to be the same."""

    def __init__(
        self, limit: int = MAX_LABELS, same_labels_as: CumulativeTotals | None = None
    ) -> None:
        self._limit = limit
        self._own_labels: set[Labels] = same_labels_as._own_labels if same_labels_as else set()
        self._removed: dict[Labels | None, Any] = {}
        self.overflowed_keys = 0

    def add_removed(self, leaving: Aggregation) -> None:
        """These values are about to go."""
        self._add_values(self._removed, leaving)

    def compute_totals(self, current: Aggregation) -> dict[Labels | None, Any]:
        """All that there has been."""
        made = dict(self._removed)
        self.overflowed_keys = self._add_values(made, current)
        return made

    def _add_values(self, made: dict[Labels | None, Any], held: Aggregation) -> int:
        """Merge values into those of the same labels; how many had none of their own."""
        several: list[Any] = []
        for key, value in held.items():
            if not value.n:  # cleared
                continue
            labels = tuple(map(format_label, key))
            if labels not in self._own_labels and len(self._own_labels) >= self._limit:
                several.append(value)
            else:
                self._own_labels.add(labels)
                made[labels] = _merge_values([made[labels], value]) if labels in made else value
        if several:
            made[None] = _merge_values([made[None], *several] if None in made else several)
        return len(several)


class CurrentTotals(CumulativeTotals):
    """The same of an aggregation of which only what it holds now means something: the least or the greatest value, say."""

    def add_removed(self, leaving: Aggregation) -> None:
        """It is not there any more."""

    def compute_totals(self, current: Aggregation) -> dict[Labels | None, Any]:
        self._own_labels &= {tuple(map(format_label, key)) for key in current}
        return super().compute_totals(current)


def _merge_values(several: list[Any]) -> Any:
    """One value of several that are each of something."""
    first = several[0]
    return first.row.make_value(
        getattr(first, "params", ()), merge_words(first.row, [value.words for value in several])
    )


def format_label(part: Any) -> str:
    """A key's part as a label: bytes that are no UTF-8 are written as \\xff."""
    if isinstance(part, tuple):
        return ";".join(map(format_label, part))
    raw = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogateescape")
    return raw.decode("utf-8", "backslashreplace")
