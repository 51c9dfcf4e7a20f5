"""A tracer that forks: the child has a copy of its session, and must neither keep it alive nor end it."""

import os
import signal
import time

import pytest

from tests.support.core.programs import check


def child_of(pid):
    """The one child of a process."""
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return int(file.read())


@pytest.fixture
def children():
    """Processes of ours that nobody else ends."""
    pids = []
    yield pids
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("kept", [False, True])
def test_its_child_does_not_end_the_session(world, kept):
    """The child polls, stops, closes, leaves: the session goes on, and has all events."""
    target = world.target("a", 2, 3000, "wait", "pace=100")
    reader = world.reader(
        f"pid={target.pid}",
        "bufsize=4194304",
        "child=1",
        "alive",
        *(["keep=boot", "tell"] if kept else []),
    )
    assert reader.stdout.readline() == "ready\n"
    result = world.finish(reader)
    check(result)
    assert result["delivered"] + result["dropped"] == 6000 == world.account("a").returned


def test_its_child_does_not_keep_the_session(world, children):
    """The tracer is killed, and the child lives on: the session is dead, and undone by the process that fires."""
    target = world.target("a", 1, 10**12, "wait", "pace=1000")
    reader = world.reader(f"pid={target.pid}", "child=60000", "alive")
    assert reader.stdout.readline() == "ready\n"
    children.append(child_of(reader.pid))
    time.sleep(0.1)
    assert any(name.endswith("ring0") for name in world.files())
    reader.kill()
    reader.wait()
    end = time.monotonic() + 20
    while len(world.files()) > 1:
        assert time.monotonic() < end and target.poll() is None, world.files()
        time.sleep(0.01)
    assert world.files()[0].endswith(".ctl")
    os.kill(children[0], 0)  # the child has been there all the time
