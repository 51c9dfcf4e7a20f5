"""Sessions merged: what two saw, each its half of the events, is what one saw that had them all."""

import pickle
import random

import pytest

import pyusdt

FUNCTIONS = [
    "count()",
    "sum(arg3)",
    "min(arg3)",
    "max(arg3)",
    "avg(arg3)",
    "stddev(arg3)",
    "quantize(arg3)",
    "lquantize(arg3, -1000, 1000, 100)",
    "llquantize(arg3, 10, 0, 6, 20)",
    "quantize(arg3, arg2)",
]
SCRIPT = (
    "pyusdt$target:::user_trace-i4s4 /WHERE/ {"
    + "".join(
        f" @a{i}[copyinstr(arg6), arg2 % 3] = {function}; @whole{i} = {function};"
        for i, function in enumerate(FUNCTIONS)
    )
    + " }"
)


@pytest.mark.parametrize("seed", range(3))
def test_halves_merged_are_the_whole(usdt, seed):
    """f(f(x0) ∪ f(x1)) = f(x0 ∪ x1), through everything from the probe to the snapshot; also of what was pickled, as hosts send it."""
    rng = random.Random(seed)
    x0, x1, both = (
        usdt.trace(SCRIPT.replace("WHERE", where))
        for where in ("arg4 == 0", "arg4 == 1", "arg4 < 2")
    )
    with x0, x1, both:
        for _ in range(300):
            value = rng.choice((rng.randrange(-100, 100), rng.randrange(-(2**62), 2**62)))
            pyusdt.p(
                rng.randrange(1, 10), value, rng.randrange(2), rng.choice(("get", "put", "größe"))
            )
    snapshots = [dict(fired.tracing.aggregations) for fired in (x0, x1, both)]
    for name, whole in snapshots[2].items():
        one, two = (pickle.loads(pickle.dumps(found[name])) for found in snapshots[:2])
        for merged in (one.merge(two), two.merge(one)):
            assert dict(merged) == dict(whole), name
            assert {key: value.words for key, value in merged.items()} == {
                key: value.words for key, value in whole.items()
            }, name
    assert sum(len(whole) for whole in snapshots[2].values()) == len(FUNCTIONS) * (9 + 1)
