"""What differs between the aggregations of two runs of one script, key by key: lines of `pydtrace --json`.

- A count is compared with a count as if both runs had lasted equally long; a distribution by the
  order of its values. The others keep too little for a test: chance is not computed.
- The lines are untrusted.
"""

from __future__ import annotations

import json

from . import chance

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Key = tuple[str, str, str]  # aggregation, keys as JSON, function
    Buckets = list[tuple[float | None, float | None, int]]

MAX_KEYS = 1 << 20


_COUNT = "count"  # the function, as pydtrace --json names it


class UnreadableAggregations(Exception):
    """Lines that are no output of `pydtrace --json`; the message names the line."""


class AggregatedValue:
    """n: how many values went in; value: of a single value; buckets: (lowest, highest, count) of a distribution, in order."""

    __slots__ = ("buckets", "n", "params", "value")

    def __init__(self, row: dict[str, Any]) -> None:
        self.n = int(row.get("n", 0))
        self.value = row.get("value")
        if self.value is not None and not isinstance(self.value, (int, float)):
            raise ValueError(f"value {self.value!r}")
        self.params = row.get("params")
        self.buckets: Buckets | None = None
        if "buckets" in row:
            self.buckets = [(low, high, int(count)) for low, high, count in row["buckets"]]
            for low, high, count in self.buckets:
                if count < 0 or not all(
                    isinstance(x, (int, float, type(None))) for x in (low, high)
                ):
                    raise ValueError(f"bucket {[low, high, count]}")

    @property
    def median(self) -> tuple[float | None, float | None] | None:
        """The bucket that has it."""
        left = sum(count for _, _, count in self.buckets or ()) / 2
        for low, high, count in self.buckets or ():
            left -= count
            if left <= 0 < count:
                return low, high
        return None


def read_aggregations(lines: list[str]) -> dict[Key, AggregatedValue]:
    """Raises UnreadableAggregations."""
    found: dict[Key, AggregatedValue] = {}
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
            if row["type"] == "hello":
                raise UnreadableAggregations("lines of --json=2 are not read: --json=1 is wanted")
            if row["type"] != "aggregation":
                continue
            key = str(row["name"]), json.dumps(row["keys"]), str(row["function"])
            found[key] = AggregatedValue(row)
        except (LookupError, TypeError, ValueError, RecursionError, OverflowError):
            raise UnreadableAggregations(f"line {number} is no output of pydtrace --json") from None
        if len(found) > MAX_KEYS:
            raise UnreadableAggregations(f"more than {MAX_KEYS} keys")
    return found


class AggregationChange:
    """before, after: None where the run has no such key; p: None where chance is not computed; larger: the probability that a value
    after is larger than one before, of distributions."""

    __slots__ = ("after", "before", "function", "keys", "larger", "name", "p")

    def __init__(
        self, key: Key, before: AggregatedValue | None, after: AggregatedValue | None
    ) -> None:
        self.name, self.keys, self.function = key
        self.before, self.after = before, after
        self.p: float | None = None
        self.larger: float | None = None
        if self.function == _COUNT:
            self.p = chance.compare_counts(
                *(int(each.value or 0) if each else 0 for each in (before, after))
            )
        elif (
            before and after and before.buckets and after.buckets and before.params == after.params
        ):
            self.p, self.larger = chance.compare_distributions(
                *_align_buckets(before.buckets, after.buckets)
            )

    @property
    def exceeds_chance(self) -> bool:
        return self.p is not None and self.p < chance.LEVEL

    @property
    def effect(self) -> float:
        """How large the change is, from 0 to 1: of distributions by their order, else by the values' ratio."""
        if self.larger is not None:
            return abs(2 * self.larger - 1)
        if self.before is None or self.after is None:
            return 1.0
        first, second = (abs(float(each.value or 0)) for each in (self.before, self.after))
        return 1 - min(first, second) / max(first, second) if max(first, second) else 0.0

    @property
    def is_change(self) -> bool:
        if self.before is None or self.after is None:
            return True
        sides = ((each.value, each.buckets, each.params) for each in (self.before, self.after))
        return next(sides) != next(sides)


def _align_buckets(before: Buckets, after: Buckets) -> tuple[list[int], list[int]]:
    """The counts of the same buckets."""
    sides = [{(low, high): count for low, high, count in each} for each in (before, after)]
    order = sorted(
        sides[0].keys() | sides[1].keys(),
        key=lambda bucket: float("-inf") if bucket[0] is None else bucket[0],
    )
    first, second = ([side.get(bucket, 0) for bucket in order] for side in sides)
    return first, second


def compare_aggregations(
    before: dict[Key, AggregatedValue], after: dict[Key, AggregatedValue]
) -> list[AggregationChange]:
    """What has changed most first, by aggregation; p is adjusted for all."""
    rows = [
        AggregationChange(key, before.get(key), after.get(key))
        for key in before.keys() | after.keys()
    ]
    tested = [row for row in rows if row.p is not None]
    adjusted = chance.adjust_for_many([row.p or 0.0 for row in tested])
    for row, p in zip(tested, adjusted, strict=True):
        row.p = p
    rows.sort(
        key=lambda row: (row.name, row.function, not row.exceeds_chance, -row.effect, row.keys)
    )
    return rows
