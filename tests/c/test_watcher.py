"""The watcher: a process is told that somebody traces, before it has fired anything (docs/internals/ring.md, "Wakeup")."""

import signal
import subprocess
import sys

import pytest

PYDTRACE = [sys.executable, "-c", "from pydtrace.cli.pydtrace.main import main; main()"]


def run(world, scenario, variant="hooks"):
    got = subprocess.run(
        [world.build.program("watch_main", variant), scenario],
        env=world.env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (got.returncode, got.stdout, got.stderr) == (0, "ok\n", ""), got


@pytest.mark.parametrize("scenario", ["bell", "between"])
def test_the_bell(world, scenario):
    """Where nothing but the bell ends its waiting."""
    run(world, scenario, "bell")


@pytest.mark.parametrize(
    "scenario", ["storm", "semaphore", "fork", "signals", "stop", "end", "gone"]
)
def test_scenario(world, scenario):
    run(world, scenario)


@pytest.mark.parametrize(
    "variant, scenarios",
    [
        ("tsan", ("storm", "semaphore", "signals", "stop", "end", "gone")),
        ("asan", ("storm", "fork", "stop", "end", "gone")),
    ],
)
def test_under_a_sanitizer(world, variant, scenarios):
    for scenario in scenarios:
        run(world, scenario, variant)


def watching(world, variant="plain"):
    """A process that fires nothing unless it is told that somebody wants it."""
    return world.start(
        [world.build.program("places_target", variant), "3", "1", "watch", "wait", "linger"]
    )


def test_a_tracer_rings(world):
    child = watching(world, "bell")
    tracer = subprocess.Popen(
        [*PYDTRACE, "-x", "engine=embedded", "-n", "vm*:::function-entry { }", "-Z"],
        env=world.env,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout.readline() == "wanted\n"
    tracer.send_signal(signal.SIGINT)
    assert child.stdout.readline() == "unwanted\n"
    tracer.communicate()


def test_a_tracer_killed_before_it_rings(world):
    """The bit is found at the next look, the tracer's death, which nobody who fires would find, by the watcher itself."""
    child = watching(world)
    reader = world.reader(
        "all", "targets=1", "want=vm*:function-entry", variant="hooks", HOOK="31:1"
    )
    assert reader.wait(timeout=60) == -signal.SIGKILL
    assert child.stdout.readline() == "wanted\n"
    assert child.stdout.readline() == "unwanted\n"
