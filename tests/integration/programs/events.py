"""A fixed sequence of events on several probes: integers of both signs and many sizes, strings of both kinds."""

from traced import wait_for_tracer

import pyusdt

wait_for_tracer()
COLOURS = ["red", "green", "blue"]
for i in range(12):
    with pyusdt.tag(COLOURS[i % 3]):
        pyusdt.p(
            i,
            5 - i,
            i * 2**33,
            -(2**31) - i,
            f"item {i}",
            "even" if i % 2 == 0 else "odd",
            "",
            "x" * i,
        )
pyusdt.p(1)
pyusdt.p("only a string")
pyusdt.pn(1, 11, "one")
pyusdt.pn(2, 22, "two")
pyusdt.pn(950, 99, "last")
pyusdt.user_trace_s1("a message")
