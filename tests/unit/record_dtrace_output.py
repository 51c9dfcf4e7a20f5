"""Record what the real dtrace prints for the consumer's cases: tests/unit/dtrace_output/SCRIPT.d and NAME.r.

    python tests/unit/record_dtrace_output.py [NAME …]      (as root; see tests/oracle/oracle)

CPU numbers are masked, since they are not the script's.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # where the package tests is

from tests.support.formatter.dtrace_output import ask_oracle
from tests.support.formatter.formatter_cases import CASES
from tests.support.paths import TESTS

FOLDER = os.path.join(TESTS, "unit", "dtrace_output")


def main(names):
    os.makedirs(FOLDER, exist_ok=True)
    for case in CASES:
        if names and case.name not in names:
            continue
        path = os.path.join(FOLDER, case.script + ".d")
        with open(path, "w", encoding="ascii") as script:
            script.write(case.source())
        with open(os.path.join(FOLDER, case.name + ".r"), "wb") as expected:
            expected.write(ask_oracle(path, case.options))
        print(case.name)


if __name__ == "__main__":
    main(sys.argv[1:])
