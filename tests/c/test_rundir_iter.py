"""Root's tracer finds the directories of all users."""

import json
import os
import shutil
import subprocess
import sys
import tempfile

import pytest

ALICE = 54001
pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="needs root for a /dev/shm of its own and another user"
)

# A tracer looks while /dev/shm is being changed, and lists it; Alice's directory comes in the same tick of that clock. (Here the
# tick is the next second, so that it is met.)
SCRIPT = """
import glob, os, subprocess, sys, time
reader, target, alice = json.loads(sys.argv[1])
for place in ["/dev/shm", *glob.glob("/tmp/pyusdt-[0-9]*")]:  # where processes of other tests have left something
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", place], check=True)
os.makedirs("/dev/shm/made/alice", 0o700)
os.chown("/dev/shm/made/alice", alice, alice)
tracer = subprocess.Popen(reader, stdout=subprocess.PIPE, text=True)
assert tracer.stdout.readline() == "ready\\n"
tick = time.time_ns() + 1_000_000_000
os.utime("/dev/shm", ns=(tick, tick))
time.sleep(0.4)
os.rename("/dev/shm/made/alice", f"/dev/shm/pyusdt-{alice}")
os.utime("/dev/shm", ns=(tick, tick))
traced = subprocess.Popen(target, user=alice, group=alice)
print(tracer.stdout.readline())
traced.kill()
"""


def test_a_directory_that_comes_in_the_tick_of_another_change(world):
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, ALICE, ALICE)
        program = shutil.copy(world.build.program("ring_target"), folder)
        reader, target = (
            world.reader_command("all", "alive", "ms=3000"),
            [program, f"{folder}/account", "1", "100"],
        )
        env = {name: value for name, value in world.env.items() if name != "PYUSDT_RUNDIR"}
        got = subprocess.run(
            [
                "unshare",
                "-mpf",
                "--mount-proc",
                "--kill-child",
                sys.executable,
                "-c",
                f"import json{SCRIPT}",
                json.dumps([reader, [*target, "wait"], ALICE]),
            ],
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    result = json.loads(got.stdout)
    assert (result["targets"], result["delivered"], result["corrupt"]) == (1, 100, 0), got
