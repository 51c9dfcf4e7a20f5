"""Coverage-guided fuzzing of the compiler, and of the interpreter and the formatter with what compiles.

    python tests/dlang/fuzz_compiler.py FOLDER [libFuzzer's options, e.g. -max_total_time=3600]

Input: FOLDER, the corpus, which grows; a new one begins with the scripts of the tests.
Output: libFuzzer's figures; the input that shows a traceback, a hang of 10 s or 500 MB in a file
crash-…, timeout-… or oom-…. Needs atheris, which has no place in requirements-dev.txt, since it
is not there for every Python.
"""

import os
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # where the package tests is

import atheris

with atheris.instrument_imports(include=["pyusdt"]):
    pass
from tests.support.compiler.arbitrary_text import WORDS, check, scripts

OPTIONS = ["-max_len=4000", "-len_control=0", "-timeout=10", "-rss_limit_mb=500"]


def mutate(data, max_size, seed):
    """Half of the time libFuzzer's own mutation; else words of D put in, and pieces moved or taken from other scripts."""
    rng = random.Random(seed)
    if rng.random() < 0.4:
        return atheris.Mutate(data, max_size)
    for _ in range(rng.randint(1, 4)):
        at = rng.randint(0, len(data))
        end = min(len(data), at + rng.choice((0, 0, 1, 3, 12, 40)))
        kind = rng.random()
        if kind < 0.5:
            piece = b" ".join(rng.choices(WORDS, k=rng.choice((1, 1, 2, 4))))
        else:
            source = data if kind < 0.7 else rng.choice(SCRIPTS)
            start = rng.randint(0, len(source))
            piece = source[start : start + rng.randint(1, 60)]
        data = data[:at] + piece + data[end:]
    return data[:max_size]


def one(data):
    check(data, run=True)


SCRIPTS = scripts()


def main(folder, *options):
    if not os.path.isdir(folder):
        os.makedirs(folder)
        for i, text in enumerate(SCRIPTS):
            with open(os.path.join(folder, f"script-{i}"), "wb") as file:
                file.write(text)
    atheris.Setup([sys.argv[0], *OPTIONS, *options, folder], one, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
