"""What an aggregation has ever held: clear() and trunc() of the script take nothing away.

In: snapshots of what an aggregation holds, and, just before that goes, of what clear() or trunc() takes out of it
(Aggregates.departing).  Out: {labels: value}, with at most LIMIT labels; what is of further ones is under None, merged exactly.
Always: labels are text, and keys with the same are one; labels that have once been there by themselves stay so; the sums of what is
given out never fall, unless the aggregating function's do.
"""

from __future__ import annotations

from pydtrace.aggregation.merge_values import merge_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pydtrace.results.aggregations import Aggregation

    Labels = tuple[str, ...]

LIMIT = 1000


class Totals:
    """Of one aggregation.  overflowed: how many keys of the last look had no labels of their own.  beside: of an aggregation whose
    labels are to be the same."""

    def __init__(self, limit: int = LIMIT, beside: Totals | None = None) -> None:
        self._limit = limit
        self._own: set[Labels] = beside._own if beside else set()
        self._gone: dict[Labels | None, Any] = {}
        self.overflowed = 0

    def depart(self, leaving: Aggregation) -> None:
        """These values are about to go."""
        self._add(self._gone, leaving)

    def look(self, held: Aggregation) -> dict[Labels | None, Any]:
        """All that there has been."""
        made = dict(self._gone)
        self.overflowed = self._add(made, held)
        return made

    def _add(self, made: dict[Labels | None, Any], held: Aggregation) -> int:
        """Merge values into those of the same labels; how many had none of their own."""
        several: list[Any] = []
        for key, value in held.items():
            if not value.n:  # cleared
                continue
            labels = tuple(map(shown, key))
            if labels not in self._own and len(self._own) >= self._limit:
                several.append(value)
            else:
                self._own.add(labels)
                made[labels] = _merged([made[labels], value]) if labels in made else value
        if several:
            made[None] = _merged([made[None], *several] if None in made else several)
        return len(several)


class Present(Totals):
    """The same of an aggregation of which only what it holds now means something: the least or the greatest value, say."""

    def depart(self, leaving: Aggregation) -> None:
        """It is not there any more."""

    def look(self, held: Aggregation) -> dict[Labels | None, Any]:
        self._own &= {tuple(map(shown, key)) for key in held}
        return super().look(held)


def _merged(several: list[Any]) -> Any:
    """One value of several that are each of something."""
    first = several[0]
    return first.row.value(
        getattr(first, "params", ()), merge_words(first.row, [value.words for value in several])
    )


def shown(part: Any) -> str:
    """A key's part as a label: bytes that are no UTF-8 are written as \\xff."""
    if isinstance(part, tuple):
        return ";".join(map(shown, part))
    raw = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogateescape")
    return raw.decode("utf-8", "backslashreplace")
