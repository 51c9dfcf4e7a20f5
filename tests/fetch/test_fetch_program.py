"""Paths to values, read in the traced process by a verified program, against an oracle in Python."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.support import stacks_harness as harness
from tests.support.paths import TESTS
from tests.support.python_headers import headers

FOLDER = os.path.join(TESTS, "fetch")
SOURCES = os.path.join(os.path.dirname(TESTS), "src", "pyusdt")
PATHS = int(os.environ.get("PYUSDT_FETCH_PATHS", "20000"))
PYTHONS = [each for each in harness.INTERPRETERS if harness.minor_of(each) >= 10]


@pytest.mark.parametrize("python", PYTHONS, ids=harness.name_of)
def test_random_paths(python, tmp_path):
    sources = [
        f"{FOLDER}/fetch_main.c",
        *(
            f"{SOURCES}/_core_c/vm/{each}.c"
            for each in ("fetch_program", "object_reads", "frame_reads", "value_conditions")
        ),
    ]
    subprocess.run(
        ["gcc", "-std=gnu11", "-Wall", "-Werror", "-O1", "-g", "-shared", "-fPIC", f"-I{SOURCES}"]
        + [*headers(python), *sources, "-o", str(tmp_path / "fetch_main.so")],
        check=True,
    )
    program = os.path.join(FOLDER, "programs", "random_paths.py")
    run = subprocess.run(
        [python, program, str(tmp_path), "1", str(PATHS)],
        capture_output=True,
        text=True,
        check=False,
    )
    if harness.name_of(python).endswith("t"):
        assert run.stdout == "not supported\n"
        return
    assert (run.returncode, run.stderr) == (0, ""), run.stderr
    ok, paths, present = run.stdout.split()
    assert ok == "ok" and int(paths) == PATHS and int(present) > PATHS // 10
