"""Whole runs of pydtrace beside bpftrace's and the real dtrace's, in pairs; as root (tests/oracle).

    python benchmarks/whole.py [ROUNDS]

Input: nothing.
Output: a table, exit status 1 if a row is over its budget.

- Each run is a new process, with no daemon and nothing kept from an earlier one (byte code apart,
  as after an installation); the target fires all the time, so that the event that ends a run is
  there when the probe is.
"""

import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time

from comparison import Comparison
from kernel import DTRACE, ORACLE, OURS, PYTHON, ROOT
from subjects import PYDTRACE

FIRES = """import pyusdt, time
print("ready", flush=True)
while True:
    pyusdt.p(1, 2, "a")
    time.sleep(0.0005)
"""
D = OURS[0] + '{ printf("%d\\n", arg2); exit(0); }'
BPFTRACE = OURS[1] + ' { printf("%d\\n", arg2); exit(); }'
LINES = 1000
PATIENCE = 120  # s


@contextlib.contextmanager
def target():
    with subprocess.Popen([PYTHON, "-c", FIRES], stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        yield str(process.pid)
        process.kill()


def seconds(command):
    """How long a command takes."""
    environment = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }
    begun = time.monotonic()
    subprocess.run(
        command, check=True, capture_output=True, timeout=PATIENCE, env=environment, cwd=ROOT
    )
    return time.monotonic() - begun


def long_script():
    """A script of LINES lines: four a clause, with what scripts have."""
    clause = """BEGIN
/last[{0}] < {0} && execname != "x{0}"/
{{ this->n = {0} * 3 + arg0; last[this->n] = timestamp; printf("%d %s %x\\n", this->n, strjoin("a", "b{0}"), {0} >> 1);
  @times["key", this->n % 7] = quantize(timestamp - last[{0}]); @n = count(); self->x = this->n ? {0} : 0; }}"""
    return (
        "int last[int64_t];\n"
        + "\n".join(clause.format(i) for i in range(LINES // 4))
        + "\nBEGIN { exit(0); }\n"
    )


def measure(rounds):
    commands = {}
    with contextlib.ExitStack() as stack:
        pid = stack.enter_context(target())
        script = stack.enter_context(tempfile.NamedTemporaryFile("w", suffix=".d"))
        script.write(long_script())
        script.flush()
        commands["run"] = [PYDTRACE, "-x", "engine=embedded", "-q", "-n", D, "-p", pid]
        commands["bpftrace"] = [ORACLE, "bpftrace", "-p", pid, "-e", BPFTRACE]
        commands["dtrace"] = [*DTRACE, "-q", "-n", D, "-p", pid]
        commands["chroot"] = [ORACLE, "run", "true"]
        commands["compile"] = [PYDTRACE, "-e", "-s", script.name]
        commands["dtrace compiles"] = [*DTRACE, "-e", "-s", script.name]
        samples = {name: [] for name in commands}
        for kept in range(-1, rounds):
            for name, command in commands.items():
                took = 1000 * seconds(command)
                if kept >= 0:
                    samples[name].append(took)
    chroot = statistics.median(
        samples.pop("chroot")
    )  # what entering the oracle's chroot takes is not the tracers'
    peers = {
        name: [took - chroot for took in samples[name]]
        for name in ("bpftrace", "dtrace", "dtrace compiles")
    }
    return [
        Comparison("ms, one probe, one event / bpftrace", 0.35, samples["run"], peers["bpftrace"]),
        Comparison("ms, one probe, one event / dtrace", 0.06, samples["run"], peers["dtrace"]),
        Comparison(
            f"ms, a script of {LINES} lines compiled / dtrace",
            1.0,
            samples["compile"],
            peers["dtrace compiles"],
        ),
    ]


def main():
    rows = measure(int(sys.argv[1]) if sys.argv[1:] else 11)
    for row in rows:
        print(row.row())
    return any(row.is_over() for row in rows)


if __name__ == "__main__":
    sys.exit(main())
