"""Looks in C (c/pystack/stack_looks.h): which threads are read, stopped and counted; in a model."""

from __future__ import annotations

import os
import subprocess

from tests.support import stacks_harness as harness


def test_looks_at_a_model(tmp_path):
    program, core = (
        str(tmp_path / "looks"),
        os.path.join(os.path.dirname(harness.STACKS), "..", "c"),
    )
    names = ("stack_looks", "stack_counts", "code_identities", "cpython_offsets")
    sources = [f"{core}/pystack/{name}.c" for name in names]
    options = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-g"]
    options += ["-fsanitize=address,undefined", f"-I{core}"]
    main = f"{harness.STACKS}/looks_main.c"
    subprocess.run(["gcc", *options, main, *sources, "-o", program], check=True)
    run = subprocess.run([program], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
