"""Random bytes and mutated scripts through the real command line: pydtrace as a process, from its start to its end.

    python tests/dlang/fuzz_command.py SECONDS [--seed N] [--keep FOLDER]

Input: the tests' scripts.
Output: each run that shows a traceback, dies by a signal, needs CPU_SECONDS or MEGABYTES, or is
not done after WALL_SECONDS: its arguments, and its script in FOLDER; at the end how many runs
ended how. Exit status 1 if there was one.

- Nothing destructive is allowed, and no process but /bin/true is traced.
"""

import argparse
import collections
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # where the package tests is

from tests.support.compiler.arbitrary_text import mutated, scripts

CPU_SECONDS, WALL_SECONDS, MEGABYTES = 10, 120, 500
PYDTRACE = os.path.join(os.path.dirname(sys.executable), "pydtrace")
OPTIONS = [
    "-q",
    "-F",
    "-Z",
    "-S",
    "-v",
    "-e",
    "-l",
    "-V",
    "-h",
    "-G",
    "-A",
    "-f",
    "-m",
    "-P",
    "-i",
    "-n",
    "-D",
    "-U",
    "-L",
    "-I",
    "-C",
    "-b",
    "-B",
    "-X",
    "-H",
    "-x",
    "0",
    "1",
    "-1",
    "4k",
    "99999999999999999999",
    "BEGIN",
    "x=y",
    "-xstrsize=8",
    "-xstrsize=0",
    "-xaggsize=64",
    "-xbufsize=4",
    "-xdynvarsize=9",
    "-xspecsize=16",
    "-xnspec=0",
    "-xswitchrate=1hz",
    "-xaggrate=1ns",
    "-xerrtags",
    "-xdefaultargs",
    "-xpyusdt",
    "-xstackframes=3",
    "-xtregs=1",
    "-xaggsortkey",
    "-xaggsortpos=9",
    "-xbufpolicy=ring",
    "-xbufpolicy=fill",
    "-xquiet=no",
    "-xnosuch",
    "-xagghist",
    "-xaggpack",
    "-xaggzoom",
    "-xencoding=ascii",
    "-xtree=7",
    "-xdebug",
    "-xengine=embedded",
    "-xengine=kernel",
    "--dump=ast",
    "--dump=types",
    "--dump=bpf",
    "--json",
    "--xml",
    "--",
    "''",
    "é",
    "$1",
    "/dev/null",
]


def attempt(rng, texts, folder):
    """The arguments of one run, and its script."""
    text = rng.randbytes(rng.randint(0, 300)) if rng.random() < 0.2 else mutated(rng, texts)
    text = text.replace(b"destructive", b"quiet")
    path = os.path.join(folder, "script.d")
    with open(path, "wb") as file:
        file.write(text)
    arguments = ["-c", "/bin/true"]
    if rng.random() < 0.4:
        arguments += rng.choices(OPTIONS, k=rng.randint(1, 3))
    if rng.random() < 0.3:
        return [*arguments, "-n", os.fsdecode(text.replace(b"\0", b" "))], text
    return [*arguments, "-s", path], text


def run(arguments, folder):
    """(status, what it said, CPU seconds, wall seconds, megabytes)"""
    begun = time.monotonic()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [PYDTRACE, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            cwd=folder,
            start_new_session=True,
        )
        while True:
            done, status, usage = os.wait4(process.pid, os.WNOHANG)
            wall = time.monotonic() - begun
            if done:
                break
            if wall > WALL_SECONDS:
                os.killpg(process.pid, signal.SIGKILL)
            time.sleep(0.02)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        return (
            process.returncode,
            said.read(),
            usage.ru_utime + usage.ru_stime,
            wall,
            usage.ru_maxrss / 1024,
        )


def fault(status, said, cpu, wall, megabytes):
    """What is wrong with a run, or ""."""
    if b"Traceback" in said or b"bug in pydtrace" in said:
        return "a traceback"
    if status < 0:
        return f"ended by signal {-status} after {wall:.0f} s"
    if cpu > CPU_SECONDS:
        return f"{cpu:.0f} s of CPU time"
    return f"{megabytes:.0f} MB" if megabytes > MEGABYTES else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("seconds", type=float)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", default=".")
    options = parser.parse_args()
    rng, texts, begun = random.Random(options.seed), scripts(), time.monotonic()
    ended, most, faults = collections.Counter(), [0.0, 0.0], 0
    with tempfile.TemporaryDirectory(prefix="pyusdt-fuzz-") as folder:
        os.environ["PYUSDT_RUNDIR"] = folder
        while time.monotonic() - begun < options.seconds:
            arguments, text = attempt(rng, texts, folder)
            try:
                found = run(arguments, folder)
            except ValueError:  # an argument that no command line can have
                continue
            ended[found[0]] += 1
            most = [max(most[0], found[2]), max(most[1], found[4])]
            if wrong := fault(*found):
                faults += 1
                path = os.path.join(options.keep, f"fault-{options.seed}-{faults}.d")
                with open(path, "wb") as file:
                    file.write(text)
                print(f"{wrong}: {arguments[:-1]} {path}\n    {found[1][-300:]!r}", flush=True)
    print(
        f"{sum(ended.values())} runs, {faults} faults; exit statuses {dict(ended)}; at most {most[0]:.1f} s of CPU time, {most[1]:.0f} MB"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
