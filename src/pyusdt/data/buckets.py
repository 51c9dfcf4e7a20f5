"""The buckets of the distributions: where each begins.

In: the constant parameters of lquantize() and llquantize().  Out: numbers for the compiler, which finds
a value's bucket, and for the consumer, which prints them.
Always: both see the same buckets, in the order in which they are printed and stored.
"""

from __future__ import annotations

QUANTIZE_ZERO = 63  # quantize: the bucket of the value 0
QUANTIZE_BUCKETS = 127


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
