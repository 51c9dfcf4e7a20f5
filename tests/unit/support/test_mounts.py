"""The tests' own /tmp: a checkout that lies below it stays there (tests/support/mounts.py)."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.support import mounts

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="host: not root")


def test_a_checkout_below_tmp_stays():
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        root = Path(folder, "a b", "checkout")
        root.mkdir(parents=True)
        (root / "file").write_text("there")
        script = f"{mounts.empty('/dev/shm', '/tmp', root=str(root))} && cat '{root}/file' && ls /tmp /dev/shm"
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, check=True
        )
        assert done.stdout == f"there/dev/shm:\n\n/tmp:\n{os.path.basename(folder)}\n"
        assert (root / "file").read_text() == "there"
