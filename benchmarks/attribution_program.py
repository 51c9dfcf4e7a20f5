"""Spends argv[1] seconds in eight functions, from 0.5 to 30 % each, in an order that no timer can keep step with; prints what each took.

argv[2]: turns of a loop for each thousandth, so that they take 25 us to 1.5 ms (100), or a hundredth of that (1).

Output: one object of JSON, {function: seconds}, without what calling and measuring takes, which
is what a function takes that does nothing. It never sleeps: a sampler that counts threads that
run counts all of it.
"""

import json
import random
import sys
import time

SPENT = {}


def busy(name, turns):
    """A function of that name which takes so many turns."""
    names = {}
    exec(  # noqa: S102
        f"def {name}():\n    total = 0\n    for i in range({turns}):\n        total += i * i\n    return total",
        names,
    )
    return names[name]


def nothing():
    pass


FUNCTIONS = [
    nothing,
    *(
        busy(f"takes_{tenths}", int(sys.argv[2]) * tenths)
        for tenths in (300, 245, 180, 120, 90, 40, 20, 5)
    ),
]
order = random.Random(1)
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    order.shuffle(FUNCTIONS)
    for function in FUNCTIONS:
        began = time.perf_counter()
        function()
        SPENT[function.__name__] = SPENT.get(function.__name__, 0) + time.perf_counter() - began
beside = SPENT.pop("nothing")
print(json.dumps({name: spent - beside for name, spent in SPENT.items()}))
