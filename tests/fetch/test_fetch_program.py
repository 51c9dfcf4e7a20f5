"""Paths to values, read in the traced process by a verified program, against an oracle in Python."""

from __future__ import annotations

import importlib
import os
import random
import subprocess
import sys

import pytest

from pydtrace.program import secret_names
from tests.support import stacks_harness as harness
from tests.support.paths import TESTS
from tests.support.python_headers import headers

FOLDER = os.path.join(TESTS, "fetch")
SOURCES = os.path.join(os.path.dirname(TESTS), "src", "pyusdt")
PATHS = int(os.environ.get("PYUSDT_FETCH_PATHS", "20000"))
SECONDS = float(os.environ.get("PYUSDT_FETCH_SECONDS", "3"))
PYTHONS = [each for each in harness.INTERPRETERS if harness.minor_of(each) >= 10]


PARTS = [
    "fetch_program",
    "object_reads",
    "frame_reads",
    "object_locks",
    "value_conditions",
    "value_text",
    "known_types",
    "secret_names",
]


def build(python, folder, *flags: str) -> None:
    parts = [f"{SOURCES}/_core_c/vm/{each}.c" for each in PARTS]
    options = ["-std=gnu11", "-Wall", "-Werror", "-O1", "-g", "-shared", "-fPIC", f"-I{SOURCES}"]
    options += [*flags, *headers(python), "-o", str(folder / "fetch_main.so")]
    subprocess.run(["gcc", *options, f"{FOLDER}/fetch_main.c", *parts], check=True)


def test_names_of_secrets_are_those_of_pydtrace(tmp_path, monkeypatch):
    """The list is in C, too: random names of its words and of others."""
    build(sys.executable, tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    is_secret = importlib.import_module("fetch_main").is_secret
    chance = random.Random(1)
    words = [
        *secret_names._LISTED.split(),
        *["DB", "x1", "user", "HTTP", "Server", "count", "pass", "pw", "7", "s", "token", "größe"],
    ]
    for _ in range(20000):
        picked = [chance.choice(words) for _ in range(chance.randrange(1, 4))]
        picked = [chance.choice([str, str.upper, str.title])(each) for each in picked]
        name = chance.choice(["", "_", "-", ".", "s_"]).join(picked) + chance.choice(["", "s", "1"])
        assert is_secret(name) == secret_names.is_on_list(name), name


def run(python, folder, program: str, *arguments: str, **environment: str) -> list[str]:
    done = subprocess.run(
        [python, os.path.join(FOLDER, "programs", program), str(folder), *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("python", PYTHONS, ids=harness.name_of)
def test_random_paths(python, tmp_path):
    build(python, tmp_path)
    ok, paths, present = run(python, tmp_path, "random_paths.py", "1", str(PATHS))
    assert ok == "ok" and int(paths) == PATHS and int(present) > PATHS // 10


@pytest.mark.parametrize("minor", [10, 11, 13])  # each layout of dicts
def test_random_paths_with_sanitizers(minor, tmp_path):
    """Every object is a block of malloc()'s, whose ends ASan watches."""
    python = next(each for each in PYTHONS if harness.minor_of(each) == minor)
    build(python, tmp_path, "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
    library = subprocess.check_output(["gcc", "-print-file-name=libasan.so"], text=True).strip()
    settings = {"LD_PRELOAD": library, "ASAN_OPTIONS": "detect_leaks=0", "PYTHONMALLOC": "malloc"}
    ok, *_ = run(python, tmp_path, "random_paths.py", "2", str(PATHS // 5), **settings)
    assert ok == "ok"


@pytest.mark.parametrize("python", PYTHONS, ids=harness.name_of)
def test_objects_that_other_threads_change(python, tmp_path):
    """With the GIL nothing changes within a read, so a short time will do."""
    seconds = SECONDS if harness.name_of(python).endswith("t") else SECONDS / 3
    build(python, tmp_path)
    ok, reads, present, _ = run(python, tmp_path, "changing_objects.py", str(seconds))
    assert ok == "ok" and int(reads) > 1000 and int(present) > 100
