"""The watcher's thread (docs/security.md, "The watcher"): it keeps no right that the program gives up, and stands in nobody's way."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "programs" / "watcher_rights.py"
OUT = {
    "rights": "1 0 True\nTrue\n",
    "user": "['65534\\t65534\\t65534\\t65534'] 2\n",
    "seccomp": "0 ['2']\n",
    "alone": "1 0\nTrue\n",
    "alone_by_os": "True\n",
}


@pytest.mark.skipif(os.geteuid() != 0 or platform.machine() != "x86_64", reason="host: root has rights to give up; numbers of x86-64")
@pytest.mark.parametrize("what", OUT)
def test_what_the_program_gives_up(what):
    got = subprocess.run([sys.executable, PROGRAM, what], env={**os.environ, "PYUSDT_VM": "1"}, capture_output=True, text=True,
                         timeout=60, check=False)
    assert (got.returncode, got.stdout, got.stderr) == (0, OUT[what], ""), got
