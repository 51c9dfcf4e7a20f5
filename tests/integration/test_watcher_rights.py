"""The watcher's thread (docs/reference/security.md, "The watcher"): it keeps no right that the program gives up, and stands in nobody's way."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import python_builds

PROGRAM = Path(__file__).parent / "programs" / "watcher_rights.py"
OUT = {
    "rights": "1 0 True\nTrue\n",
    "rights_by_ctypes": "[('0000000000000000', '0000000000000000', '1')]\n",
    "user": "['65534\\t65534\\t65534\\t65534'] 2\n",
    "seccomp": "0 ['2']\n",
    "alone": "1 0\nTrue\n",
    "alone_by_os": "True\n",
    "alone_by_ctypes": "0 True\n-1 Invalid argument unshare True\nTrue\n",
    "in_a_block": "1 1\nTrue\n",
    "landlock": "True True\n",
    "filtered_by_prctl": "0\n1 True\n",
    "filtered_by_number": "0\n1 True\n",
    "filtered_while_disabled": "0\n1 True\n",
}


@pytest.mark.skipif(
    os.geteuid() != 0 or platform.machine() != "x86_64",
    reason="host: root has rights to give up; numbers of x86-64",
)
@pytest.mark.parametrize("version", [f"3.{sys.version_info[1]}", "3.14"])
@pytest.mark.parametrize("what", OUT)
def test_what_the_program_gives_up(what, version):
    python = python_builds.find(version)
    python_builds.build(python)
    got = subprocess.run(
        [python, PROGRAM, what],
        env={**os.environ, "PYUSDT_VM": "1", "PYTHONPATH": python_builds.ROOM},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (got.returncode, got.stdout, got.stderr) == (0, OUT[what], ""), got


@pytest.mark.skipif(
    os.geteuid() != 0 or platform.machine() != "x86_64",
    reason="host: root may make a user namespace",
)
def test_a_program_that_imports_ctypes_later():
    """`python -m pyusdt`: the program finds no other finder of modules afterwards."""
    code = (
        "import sys; finders = len(sys.meta_path); import ctypes; libc = ctypes.CDLL(None, use_errno=True); "
        "print(libc.unshare(0x10000000), finders - len(sys.meta_path))"
    )
    got = subprocess.run(
        [sys.executable, "-m", "pyusdt", "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (got.returncode, got.stdout, got.stderr) == (0, "0 1\n", ""), got
