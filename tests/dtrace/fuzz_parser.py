"""Fuzzing of what reads dtrace's output: the parser of texts for people, and the reader of exact frames.

    python tests/dtrace/fuzz_parser.py --seconds 3600 [--seed N]

Input: the corpus's lines and lines made like them, cut, joined, repeated and damaged.
Output: a summary; exit status 1 and the input's path where something does not hold.

- Of any input: nothing raises; the texts that are handed over, joined, are the input; where the
  input was cut makes no difference; what is held back is bounded; time is linear.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # where the package tests is

from tests.support.dtrace_output_fuzzer import Found, fuzz


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--seed", type=int, default=int(time.time()))
    given = options.parse_args()
    try:
        print(
            "\n".join(
                [
                    time.strftime("%Y-%m-%d %H:%M:%S"),
                    *fuzz(given.seconds, given.seed),
                    "nothing found",
                ]
            )
        )
    except Found as found:
        with tempfile.NamedTemporaryFile(prefix="pyusdt-found-", delete=False) as file:
            file.write(found.data)
        print(
            f"{found}: {file.name}, {len(found.data)} bytes; seed {given.seed}; {found.__cause__!r}"
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
