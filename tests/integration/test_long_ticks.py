"""tick-100ms for minutes, and aggregations' and exit()'s rates beside it: the period is kept, whatever else runs."""

import itertools
import os
import statistics
import subprocess
import sys
import time

import pytest

from tests.support import harness
from tests.support.compiler import verifier

SECONDS = int(os.environ.get("PYUSDT_TEST_SECONDS", "180"))
PERIOD = 100_000_000
SCRIPT = f"""tick-100ms {{ printf("%d\\n", timestamp); }} tick-1s {{ @seconds = count(); }} tick-{SECONDS}s {{ exit(0); }}"""


@pytest.fixture
def load():
    """As many busy processes as there are processors, for the test alone."""
    busy = [
        subprocess.Popen(["nice", sys.executable, "-c", "while True: pass"])
        for _ in range(os.cpu_count() or 1)
    ]
    yield
    for process in busy:
        process.kill()
        process.wait()


@pytest.mark.long
@pytest.mark.parametrize("engine", ["embedded", "kernel", "dtrace"])
def test_the_period_is_kept(engine, load):
    """dtrace is there to compare with: its numbers are printed, and it keeps to the same bounds."""
    if engine != "embedded" and verifier.why_not_loadable():
        pytest.skip(f"host: {verifier.why_not_loadable()}")
    command = (
        [harness.ORACLE, "dtrace"]
        if engine == "dtrace"
        else [harness.PYDTRACE, "-x", f"engine={engine}"]
    )
    begun = time.monotonic()
    got = harness.run(
        [
            *command,
            "-q",
            "-x",
            "switchrate=20hz",
            "-x",
            "statusrate=10ms",
            "-x",
            "cleanrate=1hz",
            "-n",
            SCRIPT,
        ],
        timeout=SECONDS + 120,
    )
    assert got.status == 0, got
    lines = got.stdout.split()
    seconds, ticks = int(lines[-1]), [int(line) for line in lines[:-1]]
    places = [(tick - ticks[0] + PERIOD // 2) % PERIOD - PERIOD // 2 for tick in ticks]
    tenth = len(ticks) // 10
    first, last = statistics.median(places[:tenth]), statistics.median(places[-tenth:])
    late = sorted(tick - before for before, tick in itertools.pairwise(ticks))
    print(
        f"{engine}: {len(ticks)} of {10 * SECONDS} ticks, {seconds} of {SECONDS} seconds, moved by {(last - first) / 1e6:.3f} ms, "
        f"longest gap {late[-1] / 1e6:.1f} ms, 99 % below {late[len(late) * 99 // 100] / 1e6:.1f} ms, "
        f"{time.monotonic() - begun - SECONDS:.1f} s besides, load {os.getloadavg()[0]:.0f}"
    )
    assert ticks == sorted(ticks)
    assert abs(last - first) < PERIOD / 20, "the ticks drift"
    assert abs(ticks[-1] - ticks[0] - 1e9 * SECONDS) < 2e9, "the last tick is not at the end"
    assert len(ticks) <= 10 * SECONDS + 1 and seconds <= SECONDS
