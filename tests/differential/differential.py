"""The same random D programs through pydtrace's engines and the real dtrace: what they print, clause by clause.

    python tests/differential/differential.py --clauses 10000 [--seed N] [--kind numbers|strings|events] [--kernel]
        [--coverage FILE] [--state FILE]

Input: seeds.
Output: Difference objects; on the command line each with its clause's text, and a table of what
was covered.

- A clause's text stands alone on its line, so that one which is refused, or whose code the kernel
  refuses to the real dtrace, is taken out and told, and the others are compared.
"""

import argparse
import collections
import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # where the package tests is

from tests.support.random_programs import random_clauses
from tests.support.random_programs.compare_engines import KINDS, compare, covered, kind_of, make

# --- the command line -------------------------------------------------------------------


class Run:
    """What was compared so far.  file: where it is kept, so that a run that was stopped goes on; or None."""

    def __init__(self, file, seed):
        self.file, self.counts = file, collections.Counter()
        self.first, self.seed, self.compared, self.differences = seed, seed, 0, 0
        if file and os.path.exists(file):
            with open(file, encoding="utf-8") as saved:
                state = json.load(saved)
            self.counts.update({tuple(key): n for key, n in state.pop("counts")})
            self.first, self.seed = state["first"], state["seed"]
            self.compared, self.differences = state["compared"], state["differences"]

    def add(self, program, numbers, differences):
        self.counts.update(covered(program, numbers))
        self.compared, self.seed, self.differences = (
            self.compared + len(numbers),
            self.seed + 1,
            self.differences + differences,
        )
        if self.file:
            state = {
                "counts": list(self.counts.items()),
                "first": self.first,
                "seed": self.seed,
                "compared": self.compared,
                "differences": self.differences,
            }
            with open(self.file, "w", encoding="utf-8") as file:
                json.dump(state, file)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--clauses", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--size", type=int, help="clauses of a program")
    parser.add_argument("--kind", choices=KINDS, help="only programs of this kind")
    parser.add_argument(
        "--only",
        nargs="+",
        default=(),
        choices=random_clauses.KINDS,
        help="only clauses of these kinds",
    )
    parser.add_argument("--kernel", action="store_true", help="through the kernel engine, too")
    parser.add_argument(
        "--reference",
        choices=["dtrace", "embedded"],
        default="dtrace",
        help="embedded: compare the kernel engine with it",
    )
    parser.add_argument(
        "--keep",
        help="write the programs that differ to this folder: they depend on what was covered before",
    )
    parser.add_argument("--state", help="a file: go on from where a run with it was stopped")
    parser.add_argument(
        "--coverage", help="write a table of what was compared to this file, and a row to runs.tsv"
    )
    return parser.parse_args()


def main():
    options = arguments()
    engines = ["embedded", "kernel"] if options.kernel else ["embedded"]
    if options.reference == "embedded":
        engines = ["kernel"]
    so_far = Run(options.state, options.seed)
    while so_far.compared < options.clauses:
        begun, seed = time.monotonic(), so_far.seed
        kind = options.kind or kind_of(seed)
        program = make(
            seed,
            collections.Counter(so_far.counts),
            kind,
            options.size,
            options.reference != "dtrace",
            "kernel" in engines,
            options.only,
        )
        numbers, found = compare(program, engines, options.reference)
        so_far.add(program, numbers, len(found))
        for difference in found:
            print(difference)
        if found and options.keep:
            with open(os.path.join(options.keep, f"seed{seed}.d"), "w", encoding="utf-8") as file:
                file.write(program.text(numbers))
        print(
            f"seed {seed}, {kind}: {len(numbers)} clauses, {len(found)} differences, {time.monotonic() - begun:.0f} s; "
            f"{so_far.compared} so far",
            flush=True,
        )
    if options.coverage:
        from tests.support.random_programs.coverage_table import keep, table

        seeds = range(so_far.first, so_far.seed)
        keep(so_far.compared, so_far.differences, engines, seeds)
        with open(options.coverage, "w", encoding="utf-8") as file:
            file.write(table(so_far.counts, so_far.compared, so_far.differences, engines, seeds))
    return 1 if so_far.differences else 0


if __name__ == "__main__":
    sys.exit(main())
