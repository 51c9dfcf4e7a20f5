"""Record what the real dtrace does with cases/tst/*/tst.*.d: the .r file beside each.

    python tests/dlang/record_cases.py [NAME …]      (as root; see tests/oracle/oracle)
    python tests/dlang/record_cases.py --random SEED COUNT      make cases/tst/integers/tst.random-SEED.d, and record it

A .r file: the exit status, then the run-time errors without their pc, then an empty line, then the
standard output.  CPU numbers are masked, since they are not the script's.
"""

import os
import random
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # where the package tests is

from tests.support.compiler.integer_expressions import Generator, d_program
from tests.support.compiler.recorded_cases import CASES, SCRIPTS, expectation
from tests.support.paths import ORACLE


def ask_oracle(path):
    command = [ORACLE, "dtrace", "-s", path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    lines = done.stderr.splitlines()
    errors = [
        line.removeprefix("dtrace: ") for line in lines if line.startswith("dtrace: error in")
    ]
    if not errors and done.stderr and "matched" not in done.stderr:
        raise RuntimeError(f"{path}: {done.stderr}")
    return expectation(done.returncode, errors, done.stdout)


def make_random(seed, count):
    """Write a script of random expressions; returns its file name."""
    generator = Generator(random.Random(seed), as_dtrace=True)
    expressions = [generator.make(1 + i % 4) for i in range(count)]
    name = f"tst.random-{seed}.d"
    path = os.path.join(CASES, "tst", "integers", name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(d_program(generator.variables, expressions))
    SCRIPTS.append(path)
    return name


def main(names):
    if names[:1] == ["--random"]:
        names = [make_random(int(names[1]), int(names[2]))]
    for path in SCRIPTS:
        if not names or os.path.basename(path) in names:
            with open(path.removesuffix(".d") + ".r", "w", encoding="utf-8") as file:
                file.write(ask_oracle(path))
            print(os.path.basename(path))


if __name__ == "__main__":
    main(sys.argv[1:])
