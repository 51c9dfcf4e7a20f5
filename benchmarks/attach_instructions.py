#!/usr/bin/env python3
"""What an attached provider costs while no tracer runs, in machine instructions (callgrind), by version of CPython.

`.venv/bin/python benchmarks/attach_instructions.py [VERSION …]`; needs valgrind.
Output: for each version the instructions of a call of an empty function without pyusdt, and the ratios with the provider and after it left.

- Instructions do not depend on the machine's load. A way runs twice, with few calls and with many; the difference counts.
- The program enters the provider by the file that an attach runs: no ptrace() works on a program under valgrind.
- The loop allocates nothing: how many instructions an allocation has depends on what was allocated before.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from tests.support import harness, python_builds

FEW, MANY = 20_000, 120_000
PROGRAM = """
import gc, sys
from itertools import repeat
package, calls, leaves = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
def f(a, b): return a
def call(times):
    for _ in repeat(None, times): f(1, 2)
if package:
    names = {"__file__": package + "/vm/start/enter_process.py"}
    exec(open(names["__file__"]).read(), names)
    names["enter"](None, 0, "")
    if leaves: sys.modules["pyusdt.vm.attachment"].leave(None, False)
    assert ("pyusdt.vm" in sys.modules) is not bool(leaves)
gc.collect(); gc.freeze(); call(1000)
call(calls)
"""
WAYS = {"without": [""], "attached": ["package"], "detached": ["package", "leaves"]}


def count_instructions(python: str, way: str, calls: int) -> int:
    """All instructions of a program with so many calls."""
    package, *leaves = WAYS[way]
    if package:
        package = os.path.join(python_builds.ROOM, "pyusdt")
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    with tempfile.TemporaryDirectory(prefix="pyusdt-attach-", dir="/dev/shm") as rundir:
        run = subprocess.run(
            [*valgrind, python, "-c", PROGRAM, package, str(calls), *leaves],
            env={**os.environ, "PYUSDT_RUNDIR": rundir, "PYTHONHASHSEED": "0"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    found = re.search(r"Collected : (\d+)", run.stderr)
    assert found and run.returncode == 0, run.stderr
    return int(found[1])


def main() -> None:
    for version in sys.argv[1:] or harness.VERSIONS:
        python = python_builds.find(version)
        assert python
        python_builds.build(python, only_core=True)
        call = {}
        for way in WAYS:
            few, many = (count_instructions(python, way, calls) for calls in (FEW, MANY))
            call[way] = (many - few) / (MANY - FEW)
        ratios = " | ".join(
            f"{call[way] / call['without']:.3f}" for way in ("attached", "detached")
        )
        print(f"| {version} | {call['without']:.0f} | {ratios} |", flush=True)


if __name__ == "__main__":
    main()
