"""What differs between two profiles, function by function.

- Shares are compared, or, on request and for memory, amounts. Functions are the same if name and
  file are.
- Chance is that of sampling: samples are counted as independent of each other. Whether two runs of
  one program differ as much is another question, which two profiles cannot answer.
"""

from __future__ import annotations

from . import chance

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pydtrace.profile.frame_key import FrameKey
    from pydtrace.profile.stack_amounts import StackAmounts


class DifferentUnits(Exception):
    """The two profiles measure different things; the message is one line."""


class Change:
    """before, after: shares, or amounts; margin: half the 95 % interval of after - before; p: the probability of such a difference if
    nothing has changed, adjusted for all rows; both None where chance cannot be computed."""

    __slots__ = ("after", "before", "margin", "p")

    def __init__(self, before: float, after: float) -> None:
        self.before, self.after = before, after
        self.margin: float | None = None
        self.p: float | None = None

    @property
    def difference(self) -> float:
        return self.after - self.before

    @property
    def exceeds_chance(self) -> bool:
        return self.p is not None and self.p < chance.LEVEL


class FunctionChange:
    """A function's change, by itself and with what it calls."""

    __slots__ = ("own", "place", "total")

    def __init__(self, place: FrameKey, own: Change, total: Change) -> None:
        self.place, self.own, self.total = place, own, total

    @property
    def exceeds_chance(self) -> bool:
        return self.own.exceeds_chance or self.total.exceeds_chance


class ProfileDifference:
    """rows: what has changed most first; by_amount: amounts are compared, not shares; totals: of both profiles; no_chance: why chance cannot be computed."""

    def __init__(self, before: StackAmounts, after: StackAmounts, by_amount: bool) -> None:
        if before.unit != after.unit:
            raise DifferentUnits(
                f"the first profile has {before.unit}, the second {after.unit}: they cannot be compared"
            )
        self.before, self.after, self.by_amount = before, after, by_amount
        self.unit = before.unit
        self.totals = before.total or 1.0, after.total or 1.0
        self.no_chance = self._explain_no_chance()
        self.rows = self._compare_functions()

    def _explain_no_chance(self) -> str | None:
        if self.before.samples is None or self.after.samples is None:
            return "what chance explains is not known: the amounts are no numbers of samples"
        if not (self.before.samples and self.after.samples):
            return "what chance explains is not known: a profile has no samples"
        return None

    def _compare_functions(self) -> list[FunctionChange]:
        (own_before, total_before), (own_after, total_after) = (
            each.sum_functions() for each in (self.before, self.after)
        )
        rows = [
            FunctionChange(
                place,
                self.compare(own_before[place], own_after[place]),
                self.compare(total_before[place], total_after[place]),
            )
            for place in total_before.keys() | total_after.keys()
        ]
        if not self.no_chance:
            self._adjust(rows)
        rows.sort(
            key=lambda row: (
                not row.exceeds_chance,
                -abs(row.own.difference),
                -abs(row.total.difference),
                row.place.text,
            )
        )
        return rows

    def compare(self, before: float, after: float) -> Change:
        """Of two amounts; p is not adjusted yet."""
        of_before, of_after = (1.0, 1.0) if self.by_amount else self.totals
        change = Change(before / of_before, after / of_after)
        one_before, one_after = self.before.sample_amount, self.after.sample_amount
        if not self.no_chance and one_before and one_after:
            self._add_chance(
                change,
                round(before / one_before),
                round(after / one_after),
                one_before,
                one_after,
            )
        return change

    def _add_chance(
        self, change: Change, before: int, after: int, one_before: float, one_after: float
    ) -> None:
        """before, after: samples; one_before, one_after: the amount of one."""
        if self.by_amount:
            change.p = chance.compare_counts(before, after, one_after / (one_before + one_after))
            change.margin = (
                chance.Z * ((before + 1) * one_before**2 + (after + 1) * one_after**2) ** 0.5
            )
            return
        of_before, of_after = (
            round(total / one) for total, one in zip(self.totals, (one_before, one_after))
        )
        change.p = chance.compare_shares(before, of_before, after, of_after)
        change.margin = chance.share_margin(before, of_before, after, of_after)

    @staticmethod
    def _adjust(rows: list[FunctionChange]) -> None:
        """A function that calls none has one change, not two."""
        tested = [row.own for row in rows]
        tested += [
            row.total
            for row in rows
            if (row.own.before, row.own.after) != (row.total.before, row.total.after)
        ]
        adjusted = chance.adjust_for_many([change.p or 0.0 for change in tested])
        for change, p in zip(tested, adjusted, strict=True):
            change.p = p
        for row in rows:
            if (row.own.before, row.own.after) == (row.total.before, row.total.after):
                row.total.p = row.own.p
