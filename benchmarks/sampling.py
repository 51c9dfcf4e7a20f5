#!/usr/bin/env python3
"""What a Python program pays while it is sampled: `pyusdt profile` beside py-spy, in one run.

In: rounds (default 9), and an interpreter (default: this one).  Out: a row a sampler: medians of the program's wall and processor time
against the program alone, and the processor time that the sampler itself took.
Always: the samplers take turns in every round, at 97 looks a second, each starting the program; py-spy, pinned in sampling.txt, is in a
virtual environment of its own.  (austin's wheel needs a newer libc than Debian 12 has.)
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys

import subjects

HERE = os.path.dirname(os.path.abspath(__file__))
PYUSDT = os.path.join(os.path.dirname(sys.executable), "pyusdt")
PROGRAM = """
import json, time
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
wall, cpu = time.perf_counter(), time.process_time()
for _ in range(4): fib(28)
print(json.dumps([time.perf_counter() - wall, time.process_time() - cpu]))
"""


def py_spy() -> str:
    """Its path; installed where it is not yet."""
    folder = os.path.join(subjects.BUILD, "sampling")
    path = os.path.join(folder, "bin", "py-spy")
    if not os.path.exists(path):
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([os.path.join(folder, "bin", "pip"), "install", "--quiet", "--disable-pip-version-check", "-r",
                        os.path.join(HERE, "sampling.txt")], check=True)
    return path


def commands(python: str) -> dict[str, list[str]]:
    program = [python, "-c", PROGRAM]
    record = [py_spy(), "record", "--rate", "97", "--format", "raw", "--output", "/dev/null"]
    return {"alone": program, "pyusdt profile": [PYUSDT, "profile", "--folded", "--", *program],
            "py-spy record": [*record, "--", *program], "py-spy --nonblocking": [*record, "--nonblocking", "--", *program]}


def measured(command: list[str]) -> tuple[float, float, float]:
    """(wall, processor time of the program, processor time beside it), in seconds."""
    before = os.times()
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    after = os.times()
    wall, cpu = json.loads(next(line for line in printed.splitlines() if line.startswith("[")))
    return wall, cpu, sum(after[2:4]) - sum(before[2:4]) - cpu


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    wanted = commands(sys.argv[2] if len(sys.argv) > 2 else sys.executable)
    runs: dict[str, list[tuple[float, float, float]]] = {name: [] for name in wanted}
    for _ in range(rounds):
        for name, command in wanted.items():
            runs[name].append(measured(command))
    medians = {name: [statistics.median(column) for column in zip(*rows, strict=True)] for name, rows in runs.items()}
    alone = medians["alone"]
    for name, (wall, cpu, beside) in medians.items():
        print(f"{name:22} wall {wall / alone[0]:.3f}  processor {cpu / alone[1]:.3f}  beside it {beside - alone[2]:.2f} s")


if __name__ == "__main__":
    main()
