"""How the cost of an event grows with the size of a script: clauses, probes, keys (crowds.py: with who traces and who fires).

Input: rounds.
Output: a Curve for each.

- Of replays of two recordings of different length, whose difference is divided by the events that
  one has more, so that starting and compiling do not count.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator

from curve import Curve
from subjects import PYDTRACE

FEW, MORE = (
    20_000,
    200_000,
)  # events of the shorter recording, at least; by which the longer one has more
FIRES = """import pyusdt, sys, time
while not (pyusdt.probe("user_trace-i4s4") and pyusdt.probe("user_trace-n0")):
    time.sleep(0.01)
for i in range({events}):
    {fire}
    if i % 1000 == 999:
        time.sleep(0.002)
"""
RECORDED = "pyusdt$target:::user_trace-i4s4, pyusdt$target:::user_trace-n* { trace(arg2); trace(copyinstr(arg6)); }"
COUNTED_BY_KEY = "pyusdt*:::user_trace-i4s4 { @[copyinstr(arg6)] = count(); } END { trunc(@); }\n"  # a million rows are not printed
KEYED = "pyusdt*:::user_trace-i4s4 { @[copyinstr(arg6)] = quantize(arg2); }\n"
COUNTED = "pyusdt*:::user_trace-n%d { @ = count(); }\n"


def record(folder: str, fire: str, events: int) -> str:
    """The path of a recording of that many events."""
    path = os.path.join(folder, f"{events}.rec")
    script = os.path.join(folder, "fires.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write(FIRES.format(fire=fire, events=events))
    subprocess.run(
        [PYDTRACE, "-q", "--record", path, "-n", RECORDED, "-c", f"{sys.executable} {script}"],
        check=True,
        stdout=subprocess.DEVNULL,
        timeout=120,
    )
    return path


def seconds(recording: str, script: str) -> float:
    """CPU time of a replay."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [PYDTRACE, "-q", "-x", "aggsize=512m", "--replay", recording, "-n", script],
        check=True,
        stdout=subprocess.DEVNULL,
        timeout=120,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def costs(fire: str, script: str, rounds: int, least: int = 0) -> list[float]:
    """Nanoseconds for an event, one figure a round.  least: events after which nothing is new any more, no key either."""
    few = max(FEW, least)
    with tempfile.TemporaryDirectory(prefix="pyusdt-bench-") as folder:
        shorter, longer = (record(folder, fire, events) for events in (few, few + MORE))
        return [
            (seconds(longer, script) - seconds(shorter, script)) / MORE * 1e9 for _ in range(rounds)
        ]


def clauses(n: int) -> tuple[str, str]:
    """(what fires, the script) of that size; so are the next two."""
    return "pyusdt.p(i, 2, 'text')", KEYED * n


def probes(n: int) -> tuple[str, str]:
    return f"pyusdt.pn(i % {n}, i, 2, 'text')", "".join(COUNTED % i for i in range(n))


def keys(n: int) -> tuple[str, str]:
    return f"pyusdt.p(i, 2, 'text%d' % (i % {n}))", COUNTED_BY_KEY


def curve(
    of: Callable[[int], tuple[str, str]], sizes: tuple[int, ...], rounds: int, **expected
) -> Curve:
    return Curve(
        of.__name__,
        "consumer",
        {size: costs(*of(size), rounds, size) for size in sizes},
        **expected,
    )


def curves(rounds: int) -> Iterator[Curve]:
    yield curve(clauses, (1, 5, 20, 40), rounds, proportional=True, budget=1.0)
    yield curve(probes, (1, 20, 100, 400), rounds, budget=1.5)
    yield curve(keys, (100, 1_000, 10_000, 100_000, 1_000_000), rounds)
