"""Runs the command pyusdt."""

import os
import subprocess
import sys

import pyusdt

PYUSDT = os.path.join(os.path.dirname(sys.executable), "pyusdt")


MODULE = pyusdt._core.__file__


def run(*arguments, **environment):
    return subprocess.run(
        [PYUSDT, *arguments],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env={**os.environ, **environment},
    )
