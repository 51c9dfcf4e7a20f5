"""A control file that a process has just made, and not filled yet, stays: its process may be alive in another pid namespace."""

from __future__ import annotations

import os
import sys
import time

import pytest

from tests.support import harness

PUBLISHES, SESSION = "import pyusdt", "import pyusdt\nwith pyusdt.trace('BEGIN { }', pid=0): pass"


@pytest.mark.parametrize("code", [PUBLISHES, SESSION])
def test_only_an_old_one_is_removed(tmp_path, code):
    tmp_path.chmod(0o700)
    made = tmp_path / f"{2**22 - 1}-1-0.ctl"  # of no process here
    made.write_bytes(bytes(4096))
    made.chmod(0o600)
    command, environment = (
        [sys.executable, "-c", code],
        {**os.environ, "PYUSDT_RUNDIR": str(tmp_path)},
    )
    first = harness.run(command, env=environment)
    assert made.exists(), first
    os.utime(made, (0, time.time() - 100))
    second = harness.run(command, env=environment)
    assert not made.exists(), second
