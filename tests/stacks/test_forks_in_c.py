"""A process that was forked in C, as by uWSGI and mod_wsgi: nobody has called PyOS_AfterFork_Child(), and Python's ids are the parent's."""

import json
import os
import re
import sys

import pytest

from tests.support import stacks_harness as harness

PROGRAM, STORM = (
    os.path.join(harness.STACKS, "programs", name)
    for name in ("forks_in_c.py", "fork_storm_in_c.py")
)


@pytest.mark.parametrize("python", harness.INTERPRETERS, ids=harness.name_of)
@pytest.mark.parametrize("more", [[], ["--native"]])
def test_dump(python, more):
    """The thread that there is, with its state; not the parent's other one."""
    with harness.running(python, "forks_in_c.py") as subject:
        run = harness.pyusdt("dump", "--json", *more, subject.said)
    assert run.returncode == 0, run
    (thread,) = json.loads(run.stdout)["threads"]
    assert thread["tid"] == int(subject.said) and thread["state"] == "running"
    assert [frame["function"] for frame in thread["frames"] if frame["file"] == PROGRAM][-2:] == [
        "computes",
        "<module>",
    ]


@pytest.mark.parametrize("python", harness.INTERPRETERS, ids=harness.name_of)
def test_profile(python):
    with harness.running(python, "forks_in_c.py") as subject:
        run = harness.pyusdt("profile", "-d", "0.5", "-r", "50", "--folded", subject.said)
    assert run.returncode == 0, run
    stacks = [
        line.rpartition(" ")[0] for line in run.stdout.splitlines() if re.search(r" \d+$", line)
    ]
    assert stacks and all("computes (" in stack for stack in stacks), run


@pytest.mark.parametrize("engine", ["embedded", "kernel"])
def test_stacks_of_samples(engine):
    if engine == "kernel" and os.geteuid() != 0:
        pytest.skip("host: not root")
    with harness.running(sys.executable, "forks_in_c.py") as subject:
        run = harness.pydtrace(
            "-x",
            f"engine={engine}",
            "-qn",
            "profile-97 /pid == $target/ { @[jstack(2)] = count(); } tick-1s { exit(0); }",
            "-p",
            subject.said,
        )
    assert run.returncode == 0 and re.search(
        r"^ +computes \(.*:\d+\)$", run.stdout, re.MULTILINE
    ), run


def test_the_provider_python(monkeypatch):
    """The child has a watcher of its own as soon as it runs Python code."""
    monkeypatch.setenv("PYUSDT_VM", "1")
    with harness.running(sys.executable, "forks_in_c.py") as subject:
        run = harness.pydtrace(
            "-x",
            "engine=embedded",
            "-qn",
            "python$target::works:function-entry { exit(0); } tick-20s { exit(7); }",
            "-p",
            subject.said,
        )
    assert (run.returncode, run.stderr) == (0, ""), run


def test_nobody_waits_for_ever(monkeypatch):
    """Whatever the watcher does at a fork: tracers come and go, so it takes the GIL again and again."""
    monkeypatch.setenv("PYUSDT_VM", "1")
    with harness.started([sys.executable, "-u", STORM, "150"]) as subject:
        while subject.process.poll() is None:
            harness.pydtrace(
                "-x",
                "engine=embedded",
                "-qZn",
                "python$target::work:function-entry { exit(0); } tick-100ms { exit(0); }",
                "-p",
                subject.pid,
            )
        assert subject.hear() == "ended 150" and subject.process.returncode == 0
