"""The buckets of distributions: the bounds of each, in the order in which they are stored and
printed.

The compiler, which finds a value's bucket, and the consumer, which prints the counts, both read
this file. The parameters are the constants of lquantize() and llquantize().
"""

from __future__ import annotations

from functools import cache

QUANTIZE_ZERO = 63  # quantize: the bucket of the value 0
QUANTIZE_BUCKETS = 127


PERCENTILE_STEPS = 50  # percentiles: buckets from a power of two, times 50, to the next: half of one is 1 % of what is in it


class MergeError(ValueError):
    """Values of different functions, or histograms with different buckets, were to be merged."""


def quantize_value(bucket: int) -> int:
    """The value that stands for a bucket of quantize()."""
    if bucket == QUANTIZE_ZERO:
        return 0
    distance = bucket - QUANTIZE_ZERO
    return 1 << (distance - 1) if distance > 0 else -(1 << (-distance - 1))


def linear_levels(base: int, limit: int, step: int) -> int:
    """lquantize: how many buckets lie between the one below `base` and the one above."""
    return (limit - base) // step


def log_linear_orders(factor: int, low: int, high: int, steps: int) -> list[tuple[int, int, int]]:
    """llquantize: (first value, step, number of buckets) of each order of magnitude; the buckets begin at
    the first value and at the multiples of the step above it."""
    orders = []
    for exponent in range(low, high + 1):
        first, end = factor**exponent, factor ** (exponent + 1)
        step = max(1, end // steps)
        orders.append((first, step, -(-end // step) - first // step))
    return orders


def log_linear_edges(factor: int, low: int, high: int, steps: int) -> list[int]:
    """llquantize: the absolute values at which buckets begin, ascending; the last one ends the orders.

    The buckets: minus the edges from the last to the first, what is nearer to 0 than the first, the edges.
    """
    edges = []
    for first, step, count in log_linear_orders(factor, low, high, steps):
        edges += [first, *((first // step + i) * step for i in range(1, count))]
    return [*edges, factor ** (high + 1)]


@cache
def percentile_magnitudes() -> tuple[tuple[int, int], ...]:
    """percentiles: (lowest, highest magnitude) of each bucket of one sign: one for each number up to 99, then 50 from each 50 * 2^s to
    50 * 2^(s + 1).  So the middle of one is at most 1 % away from each value in it: a DDSketch of that accuracy with linear
    interpolation (Masson, Rim, Lee 2019), for integers.  The last is 2^63, which only numbers below 0 have."""
    above = [
        (mantissa << shift, (mantissa + 1 << shift) - 1)
        for shift in range(1, 58)
        for mantissa in range(PERCENTILE_STEPS, 2 * PERCENTILE_STEPS)
        if mantissa << shift < 1 << 63
    ]
    return (*((value, value) for value in range(2 * PERCENTILE_STEPS)), *above, (1 << 63, 1 << 63))


@cache
def percentile_bounds() -> tuple[tuple[int, int], ...]:
    """percentiles: (lowest, highest value) of each bucket: those below 0, from the lowest on, 0, those above."""
    magnitudes = percentile_magnitudes()
    return *((-high, -low) for low, high in reversed(magnitudes[1:])), *magnitudes[:-1]


@cache
def percentile_display_rows() -> tuple[tuple[tuple[int, int], ...], tuple[int, ...]]:
    """percentiles as a picture has them, two rows from a number to twice that number: (bounds of the rows, the row of each bucket)."""
    keys = [(low < 0, *_display_row(min(abs(low), abs(high)))) for low, high in percentile_bounds()]
    rows = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    of_bucket = tuple(rows[key] for key in keys)
    lowest = {row: low for row, (low, _) in zip(reversed(of_bucket), reversed(percentile_bounds()))}
    highest = {row: high for row, (_, high) in zip(of_bucket, percentile_bounds())}
    return tuple((lowest[row], highest[row]) for row in rows.values()), of_bucket


def _display_row(low: int) -> tuple[int, bool]:
    """(power of two, upper half) of a value; 0 has its own."""
    shift, start = 0, low
    while 0 < low < PERCENTILE_STEPS:
        low, shift = low << 1, shift - 1
    while low >= 2 * PERCENTILE_STEPS:
        low, shift = low >> 1, shift + 1
    return (shift, 2 * low >= 3 * PERCENTILE_STEPS) if start else (-64, False)
