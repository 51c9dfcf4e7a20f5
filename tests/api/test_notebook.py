"""Notebooks: tests/api/notebook_cases.py, with the packages that it needs."""

import os
import subprocess
import sys
import sysconfig

import pytest

from tests.support import pip_packages

HERE = os.path.dirname(os.path.abspath(__file__))


def test_notebooks():
    if sysconfig.get_config_var("Py_GIL_DISABLED") or sys.version_info >= (3, 15):
        pytest.skip("host: pandas or polars has no wheel for this CPython")
    folder = pip_packages.folder_of(os.path.join(HERE, "notebook_readers.txt"), depends=True)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
            os.path.join(HERE, "notebook_cases.py"),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "PYTHONPATH": folder},
    )
    assert done.returncode == 0 and "20 passed" in done.stdout, done.stdout + done.stderr
