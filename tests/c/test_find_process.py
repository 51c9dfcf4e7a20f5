"""Finding a process's run directory: that of a process in another mount namespace is where our environment says, or the system
puts it."""

import os
import subprocess
import sys

import pytest

NOBODY = 65534

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="needs root for a namespace and another user's directory"
)
FIND = """
import sys
from pydtrace import _tracer
try:
    print(_tracer.find_rundir(int(sys.argv[1])))
except OSError as error:
    print(error.errno, error)
"""


@pytest.fixture
def shown(world):
    """What is found of a process of root's in another mount namespace."""
    program = "import pyusdt, sys; print('ready', flush=True); sys.stdin.read()"
    process = subprocess.Popen(
        ["unshare", "--mount", sys.executable, "-c", program],
        env=world.env,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout.readline() == "ready\n"
    yield (
        lambda: (
            subprocess.run(
                [sys.executable, "-c", FIND, str(process.pid)],
                env=world.env,
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
    )
    process.communicate()


def test_its_own(world, shown):
    assert shown() == f"{world.rundir}\n"


def test_of_another_user(world, shown):
    """Root could open it: it is not what the process's user owns."""
    os.chown(world.rundir, NOBODY, NOBODY)
    assert shown().startswith("1 ") and "does not belong to uid 0" in shown()
    os.chown(world.rundir, 0, 0)


def test_open_to_others(world, shown):
    world.rundir.chmod(0o755)
    assert shown().startswith("1 ") and "must be 0700" in shown()
