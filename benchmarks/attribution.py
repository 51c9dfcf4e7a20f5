#!/usr/bin/env python3
"""How far shares of a profile are from what the program measured: `pyusdt profile` beside py-spy and perf, in one run.

Input: rounds (default 3), seconds of each (default 30), an interpreter (default: this one; perf
needs 3.12 or later, and its row is left out without), and how long its functions take: 100
(default) is 25 us to 1.5 ms, 1 a hundredth of it.
Output: a row a sampler: the median over the rounds of the largest and of the mean error, in
points of a hundred, over the functions that take above 1 %, with what chance alone gives: the
largest error that a sampler without any fault has in half of the runs, and in 19 of 20, if each
of so many samples is drawn for itself. (Looks that come late in clusters, on a loaded machine,
are not.)

- The samplers take turns in every round, at 499 looks a second, each starting the program, whose
  own times of the same run are what its shares are compared with.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import Counter

import sampling

HZ = "499"
_DRAWS = 500
PROGRAM = os.path.join(sampling.HERE, "attribution_program.py")


def folded(lines: list[str]) -> Counter[str]:
    """{innermost function: samples} of lines "a (file);b (file) n"."""
    found: Counter[str] = Counter()
    for line in lines:
        if match := re.fullmatch(r"(?:.*;)?(\w+) \([^;]*\) (\d+)", line):
            found[match[1]] += int(match[2])
    return found


def script(text: str) -> Counter[str]:
    """The same of what `perf script` prints: one paragraph a sample, innermost first; Python's functions are called py::NAME:FILE."""
    innermost = (re.search(r"py::(\w+):", paragraph) for paragraph in text.split("\n\n"))
    return Counter(match[1] for match in innermost if match)


def run(command: list[str]) -> tuple[dict[str, float], list[str]]:
    """(what the program measured, the other lines that were printed)"""
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return json.loads(next(line for line in lines if line.startswith("{"))), [
        line for line in lines if not line.startswith("{")
    ]


def by_pyusdt(program: list[str], folder: str) -> tuple[dict[str, float], Counter[str]]:
    spent, lines = run([sampling.PYUSDT, "profile", "-r", HZ, "--folded", "--", *program])
    return spent, folded(lines)


def by_looking(program: list[str], folder: str) -> tuple[dict[str, float], Counter[str]]:
    spent, lines = run(
        [sampling.PYUSDT, "profile", "--no-stop", "-r", HZ, "--folded", "--", *program]
    )
    return spent, folded(lines)


def by_py_spy(program: list[str], folder: str) -> tuple[dict[str, float], Counter[str]]:
    out = os.path.join(folder, "py-spy")
    spent, _ = run(
        [
            os.path.join(sampling.tools(), "py-spy"),
            "record",
            "--rate",
            HZ,
            "--function",
            "--format",
            "raw",
            "--output",
            out,
            "--",
            *program,
        ]
    )
    with open(out) as file:
        return spent, folded(file.read().splitlines())


def by_perf(program: list[str], folder: str) -> tuple[dict[str, float], Counter[str]]:
    out = os.path.join(folder, "perf")
    spent, _ = run(
        [
            "perf",
            "record",
            "-q",
            "-e",
            "cpu-clock",
            "-F",
            HZ,
            "-g",
            "-o",
            out,
            "--",
            program[0],
            "-X",
            "perf",
            *program[1:],
        ]
    )
    return spent, script(
        subprocess.run(
            ["perf", "script", "-i", out], capture_output=True, text=True, check=True
        ).stdout
    )


def knows_perf(python: str) -> bool:
    return (
        bool(shutil.which("perf"))
        and subprocess.run(
            [python, "-X", "perf", "-c", "import sys; sys.activate_stack_trampoline"],
            capture_output=True,
            check=False,
        ).returncode
        == 0
    )


def by_chance(shares: list[float], n: int) -> tuple[float, float]:
    """(the median, the 95th percentile) of the largest error in points where n samples are drawn."""
    draw, found = random.Random(1), []
    for _ in range(_DRAWS):
        drawn = [draw.gauss(n * share, (n * share * (1 - share)) ** 0.5) for share in shares]
        found.append(
            100
            * max(
                abs(each / sum(drawn) - share)
                for each, share in zip(drawn, shares, strict=True)
                if share > 0.01
            )
        )
    return statistics.median(found), statistics.quantiles(found, n=20)[-1]


def errors(
    spent: dict[str, float], samples: Counter[str]
) -> tuple[float, float, float, float, int]:
    """(largest error, mean error, by chance in half of the runs, in 19 of 20) in points, and how many samples there were."""
    whole, n = sum(spent.values()), sum(samples[name] for name in spent)
    shares = {name: seconds / whole for name, seconds in spent.items() if seconds > 0.01 * whole}
    found = [100 * abs(samples[name] / n - share) for name, share in shares.items()]
    return (
        max(found),
        statistics.mean(found),
        *by_chance([seconds / whole for seconds in spent.values()], n),
        n,
    )


def main() -> None:
    rounds, seconds, python, turns = [
        *sys.argv[1:],
        *("3", "30", sys.executable, "100")[len(sys.argv) - 1 :],
    ]
    samplers = {
        "pyusdt profile": by_pyusdt,
        "pyusdt profile --no-stop": by_looking,
        "py-spy record": by_py_spy,
        **({"perf record": by_perf} if knows_perf(python) else {}),
    }
    rows: dict[str, list[tuple[float, float, float, float, int]]] = {name: [] for name in samplers}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(int(rounds)):
            for name, sampler in samplers.items():
                rows[name].append(errors(*sampler([python, PROGRAM, seconds, turns], folder)))
    for name, found in rows.items():
        largest, mean, chance, often, n = (
            statistics.median(column) for column in zip(*found, strict=True)
        )
        print(
            f"{name:22} largest error {largest:.2f}  mean {mean:.2f}  by chance {chance:.2f}, {often:.2f} points  {n:.0f} samples"
        )


if __name__ == "__main__":
    main()
