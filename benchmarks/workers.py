#!/usr/bin/env python3
"""What two consumers (-x workers=2) take for events that wait in the rings, beside what one takes.

    benchmarks/workers.py [ROUNDS]

Input: nothing.
Output: a row for each script: ns an event, wall time.

- The events are all there before anybody looks, so that the producers take no time from the
  consumers, and none is lost, else it fails.
"""

import subprocess
import sys
import time

from comparison import Comparison

from pydtrace.dlang.compile import compile_program
from pydtrace.engine import Targets
from pydtrace.engine.embedded.engine import EmbeddedEngine

PROCESSES, EACH = 2, 100_000
FIRES = f"""import pyusdt, sys, time
print(flush=True)
while not pyusdt.probe("user_trace-i4s4"):
    time.sleep(0.01)
for i in range({EACH}):
    pyusdt.p(i, i % 2000, "text")
print(flush=True)
sys.stdin.read()
"""
PROBE = "pyusdt*:::user_trace-i4s4"
SCRIPTS = {
    "keyed quantize": PROBE + " { @[copyinstr(arg6)] = quantize(arg2); }",
    "2,000 keys": PROBE + " { @[arg3] = count(); }",
}


def drain(script: str, consumers: int) -> float:
    """Wall time of an event, ns."""
    targets = [
        subprocess.Popen(
            [sys.executable, "-c", FIRES], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for _ in range(PROCESSES)
    ]
    options = {"bufsize": 64 << 20, "workers": consumers}
    try:
        for target in targets:
            target.stdout.readline()
        engine = EmbeddedEngine(compile_program(script, options=options), options)
        engine.open(Targets([target.pid for target in targets]))
        engine.begin()
        for target in targets:
            target.stdout.readline()
        seen, start = 0, time.perf_counter_ns()
        while seen < PROCESSES * EACH:
            engine.poll(0)
            seen, before = engine._session.stats()["delivered"], seen
            if seen == before and engine.drops()["principal"]:
                raise RuntimeError(f"lost: {engine.drops()}")
        taken = time.perf_counter_ns() - start
        engine.end()
        engine.close()
        return taken / seen
    finally:
        for target in targets:
            target.stdin.close()
            target.stdout.close()
            target.wait(timeout=60)


def rows(rounds: int) -> list[tuple]:
    """(title, ns of two, ns of one) of each script."""
    found = []
    for what, script in SCRIPTS.items():
        ours, peer = [], []
        for _ in range(rounds):
            peer.append(drain(script, 1))
            ours.append(drain(script, 2))
        found.append((f"two consumers, {what} / one, wall time", ours, peer))
    return found


if __name__ == "__main__":
    for title, ours, peer in rows(int(sys.argv[1]) if len(sys.argv) > 1 else 9):
        print(Comparison(title, None, ours, peer).row())
