"""Whether memory stays flat while tracing goes on: the API's and pydtrace's, on the embedded engine.

    python tests/api/soak.py --seconds 3600 --rate 2000

Input: how long, and how many events a second the target fires.
Output: resident memory of the target and of both tracers over time; exit status 1 where it grew.

- Each event is got by both tracers (they count them) or counted as dropped, which a machine that
  is busy with other things does; with records, aggregations of all kinds, variables,
  speculations, printa() and trunc() every second.

What waits for a tracer takes memory, up to the size of the rings and to `buffer` records, and Python keeps what it once took.  So
the tracers are stopped for a while at first, that the queues are long before memory is looked at.  A machine that lets them wait
in other ways still shows as steps (tests/results); a leak grows with the events.
"""

import argparse
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # where the package tests is

from tests.support.memory_soak import report, soak


def main():
    import tempfile

    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--rate", type=int, default=2000)
    given = options.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="pyusdt-soak-", dir="/dev/shm") as rundir,
        tempfile.TemporaryDirectory() as folder,
    ):
        os.environ["PYUSDT_RUNDIR"] = rundir
        lines, wrong = report(soak(given.seconds, given.rate, folder))
    print(
        "\n".join(
            [
                f"{time.strftime('%Y-%m-%d %H:%M:%S')}: {given.seconds:.0f} s, {given.rate} events/s",
                *lines,
                *wrong,
            ]
        )
    )
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
