#!/usr/bin/env python3
"""How the embedded consumer's cost of an event grows with the size of a script: clauses, probes, keys.

    benchmarks/scaling.py

In: nothing.  Out: a row for each: nanoseconds of CPU for an event at the large size, beside what they would be if they grew in
proportion (clauses) or not at all (probes and keys: an event meets one of them).  Always: of replays of two recordings of
different length, whose difference is divided by the events that one has more, so that starting and compiling do not count.
"""

import os
import resource
import subprocess
import sys
import tempfile

PYTHON = sys.executable
PYDTRACE = os.path.join(os.path.dirname(PYTHON), "pydtrace")
FEW, MANY = 20_000, 220_000  # events
FIRES = """import pyusdt, sys, time
while not (pyusdt.probe("user_trace-i4s4") and pyusdt.probe("user_trace-n0")):
    time.sleep(0.01)
for i in range({events}):
    {fire}
    if i % 1000 == 999:
        time.sleep(0.002)
"""
RECORDED = "pyusdt$target:::user_trace-i4s4, pyusdt$target:::user_trace-n* { trace(arg2); trace(copyinstr(arg6)); }"
KEYED = "pyusdt*:::user_trace-i4s4 { @[copyinstr(arg6)] = quantize(arg2); }\n"
COUNTED = "pyusdt*:::user_trace-n%d { @ = count(); }\n"
ONE = ("pyusdt.p(i, 2, 'text')", KEYED)


def record(folder, fire, events):
    """The path of a recording of that many events."""
    path = os.path.join(folder, f"{events}.rec")
    script = os.path.join(folder, "fires.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write(FIRES.format(fire=fire, events=events))
    subprocess.run([PYDTRACE, "-q", "--record", path, "-n", RECORDED, "-c", f"{PYTHON} {script}"], check=True,
                   stdout=subprocess.DEVNULL, timeout=120)
    return path


def seconds(recording, script):
    """CPU time of a replay."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([PYDTRACE, "-q", "-x", "aggsize=64m", "--replay", recording, "-n", script], check=True,
                   stdout=subprocess.DEVNULL, timeout=120)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def costs(fire, script, rounds):
    """Nanoseconds for an event, one figure a round."""
    with tempfile.TemporaryDirectory(prefix="pyusdt-bench-") as folder:
        few, many = (record(folder, fire, events) for events in (FEW, MANY))
        return [(seconds(many, script) - seconds(few, script)) / (MANY - FEW) * 1e9 for _ in range(rounds)]


def probes(n):
    return f"pyusdt.pn(i % {n}, i, 2, 'text')", "".join(COUNTED % i for i in range(n))


def keys(n):
    return f"pyusdt.p(i, 2, 'text%d' % (i % {n}))", KEYED


def rows(rounds):
    """(title, budget, figures, what they are compared with)"""
    one = costs(*ONE, rounds)
    yield "consumer, 40 clauses / 40 times one", 1.0, costs(ONE[0], KEYED * 40, rounds), [40 * cost for cost in one]
    yield "consumer, 400 probes / one", 1.5, costs(*probes(400), rounds), costs(*probes(1), rounds)
    yield "consumer, 10,000 keys / 100", None, costs(*keys(10_000), rounds), costs(*keys(100), rounds)


def main():
    from comparison import Comparison

    for row in rows(int(sys.argv[1]) if sys.argv[1:] else 5):
        print(Comparison(*row).row(), flush=True)


if __name__ == "__main__":
    main()
