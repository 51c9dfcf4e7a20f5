"""The same processes under the sanitizers: their verdict is the exit code, so check what ran and what it said."""

import os
import subprocess

import pytest

from tests.support.core.programs import check


@pytest.mark.parametrize("variant, threads, count", [("tsan", 3, 3000), ("asan", 3, 10000)])
def test_session_under_sanitizer(world, variant, threads, count):
    """Both sides in it. For the races between processes there is the model."""
    target = world.target("a", threads, count, "wait", variant=variant)
    reader = world.reader(f"pid={target.pid}", "bufsize=1048576", variant=variant)
    out, err = reader.communicate(timeout=120)
    assert reader.returncode == 0, err
    assert target.wait() == 0, target.stderr.read()
    assert '"targets": 1' in out and "Sanitizer" not in err + target.stderr.read()


def test_several_sessions_under_tsan(world):
    """Three at once on the threads of one process: each is complete."""
    target = world.target("a", 3, 1500, "wait", "pace=100", variant="tsan")
    readers = [
        world.reader(f"pid={target.pid}", "bufsize=8388608", "alive", variant="tsan")
        for _ in range(3)
    ]
    results = [world.finish(reader, timeout=120) for reader in readers]
    assert target.wait(timeout=60) == 0, target.stderr.read()
    for result in results:
        check(result)
        assert 0 < result["delivered"] + result["dropped"] <= world.account("a").returned


@pytest.mark.parametrize("variant", ["tsan", "asan"])
def test_killed_tracer_under_sanitizer(world, variant):
    target = world.target("a", 3, 0, "until-off", "wait", variant=variant)
    world.reader(f"pid={target.pid}", "die=500", variant=variant).wait(timeout=60)
    assert target.wait(timeout=60) == 0, target.stderr.read()


def test_growing_under_tsan(world):
    """Threads that collide, so that rings are added while others fire."""
    result = world.trace(
        "bufsize=1048576",
        command=world.target_command("a", 6, 1000, "signal", variant="tsan"),
        variant="tsan",
    )
    check(result)
    assert result["delivered"] + result["dropped"] == world.account("a").returned


def test_publishing_at_once_under_tsan(world):
    child = world.start([world.build.program("publish_main", "tsan")])
    _, err = child.communicate(timeout=60)
    assert child.returncode == 0, err


@pytest.mark.parametrize(
    "variant, mode",
    [
        ("asan", "broken"),
        ("asan", "odd"),
        ("asan", "deep"),
        ("tsan", "broken"),
        ("tsan", "threads"),
    ],
)
def test_native_stacks_under_sanitizer(world, variant, mode):
    """Taken for the flight recorder; test_native_stacks.py of tests/integration says what is in them."""
    library = world.folder / "loaded.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", os.devnull, "-o", library], check=True)
    child = world.start(
        [world.build.program("stack_target", variant), "1000", mode, str(library)],
        PYUSDT_FLIGHT="64k",
        PYUSDT_FLIGHT_FRAMES="200",
    )
    out, err = child.communicate(timeout=120)
    told = [
        line for line in err.splitlines() if "ASan doesn't fully support makecontext" not in line
    ]
    assert (child.returncode, told) == (0, [])
    assert int(out.split()[1]) > 0
