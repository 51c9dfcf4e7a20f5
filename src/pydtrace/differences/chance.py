"""How probable a difference is if nothing has changed: the tests of `pyusdt diff`.

- compare_shares: Fisher's exact test of two shares; where counts are large, its normal
  approximation (a z test with pooled variance and continuity correction).
- compare_counts: the conditional binomial test of two Poisson counts.
- compare_distributions: the Mann-Whitney test of two histograms with the same buckets, with its
  correction for ties.
- adjust_for_many: Holm's correction. Among all rows that are marked, the probability of even one
  that is marked by chance is at most the level, whatever they depend on each other.
"""

from __future__ import annotations

import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LEVEL = 0.05
Z = 1.959963984540054  # 95 % of a normal distribution lie within so many standard deviations
_EXACT_ROOM = 200  # values that an exact test sums up, if the counts are large enough without it
_MIN_EXPECTED = 10  # the normal approximation needs expected counts of at least that
_MAX_EXACT = 100_000
_TIE = 1 + 1e-7  # probabilities that differ by less are the same


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _sum_unlikely(log_probability: Callable[[int], float], values: range, seen: int) -> float:
    """The probability of all values that are no more probable than the one that was seen."""
    logs = [log_probability(value) for value in values]
    limit = log_probability(seen) + math.log(_TIE)
    return min(1.0, math.fsum(math.exp(each) for each in logs if each <= limit))


def _two_sided(deviations: float) -> float:
    """The probability of a normal variable that is at least so many standard deviations away."""
    return math.erfc(max(0.0, deviations) / math.sqrt(2))


def compare_shares(before: int, of_before: int, after: int, of_after: int) -> float:
    """p of two shares, before/of_before and after/of_after."""
    whole, found = of_before + of_after, before + after
    if not (0 < found < whole and of_before and of_after):
        return 1.0
    expected = found * of_before / whole
    least = min(expected, found - expected, of_before - expected, of_after - (found - expected))
    values = range(max(0, found - of_after), min(found, of_before) + 1)
    if len(values) <= _EXACT_ROOM or (least < _MIN_EXPECTED and len(values) <= _MAX_EXACT):
        log_all = _log_choose(whole, found)
        return _sum_unlikely(
            lambda k: _log_choose(of_before, k) + _log_choose(of_after, found - k) - log_all,
            values,
            before,
        )
    variance = expected * (1 - found / whole) * of_after / whole
    return _two_sided((abs(before - expected) - 0.5) / math.sqrt(variance))


def share_margin(before: int, of_before: int, after: int, of_after: int) -> float:
    """Half the width of the 95 % interval of the difference of two shares (Agresti and Caffo)."""
    first, second = (before + 1) / (of_before + 2), (after + 1) / (of_after + 2)
    return Z * math.sqrt(
        first * (1 - first) / (of_before + 2) + second * (1 - second) / (of_after + 2)
    )


def compare_counts(before: int, after: int, expected_share: float = 0.5) -> float:
    """p of two counts; expected_share: which part of both together is expected before."""
    found = before + after
    if not found:
        return 1.0
    expected = found * expected_share
    if found <= _EXACT_ROOM or (
        min(expected, found - expected) < _MIN_EXPECTED and found <= _MAX_EXACT
    ):
        logs = math.log(expected_share), math.log1p(-expected_share)
        return _sum_unlikely(
            lambda k: _log_choose(found, k) + k * logs[0] + (found - k) * logs[1],
            range(found + 1),
            before,
        )
    variance = found * expected_share * (1 - expected_share)
    return _two_sided((abs(before - expected) - 0.5) / math.sqrt(variance))


def compare_distributions(before: Sequence[int], after: Sequence[int]) -> tuple[float, float]:
    """(p, the probability that a value after is larger than one before; of equal ones, half).  before, after: the counts of the same
    buckets, the lowest first."""
    n, m = sum(before), sum(after)
    if not (n and m):
        return 1.0, 0.5
    below = larger = 0.0
    ties = 0
    for first, second in zip(before, after, strict=True):
        larger += second * (below + first / 2)
        below += first
        ties += (first + second) ** 3 - (first + second)
    whole = n + m
    variance = n * m / 12 * (whole + 1 - ties / (whole * (whole - 1))) if whole > 1 else 0.0
    if variance <= 0:
        return 1.0, 0.5
    return _two_sided((abs(larger - n * m / 2) - 0.5) / math.sqrt(variance)), larger / (n * m)


def adjust_for_many(probabilities: Sequence[float]) -> list[float]:
    """Holm's: p of each row, corrected for how many rows there are."""
    order = sorted(range(len(probabilities)), key=lambda i: probabilities[i])
    adjusted = [1.0] * len(probabilities)
    least = 0.0
    for rank, i in enumerate(order):
        least = max(least, min(1.0, probabilities[i] * (len(order) - rank)))
        adjusted[i] = least
    return adjusted
