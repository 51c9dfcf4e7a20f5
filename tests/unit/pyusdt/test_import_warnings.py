"""Warnings of the import: a program whose filters make warnings errors goes on, and the text is on its standard error."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize("filters", [["-W", "error"], []])
@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("PYUSDT_RUNDIR", "{folder}", "has mode 0755; run: chmod 700"),
        ("PYUSDT_FLIGHT", "foo", "'foo' is not a size"),
    ],
)
def test_a_warning_does_not_end_the_program(filters, name, value, text, tmp_path):
    tmp_path.chmod(0o755)
    done = subprocess.run(
        [sys.executable, *filters, "-c", "import pyusdt; print(pyusdt.p(1))"],
        env={**os.environ, name: value.format(folder=tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "False\n") and text in done.stderr, done
