"""Which processes -c, -p, a provider's pattern and -x children are about, on the embedded engine and in the API."""

from __future__ import annotations

import os
import re
import sys
import time

import pytest

import pyusdt
from tests.support import harness

pytestmark = pytest.mark.own_processes
FAMILY = """
import os, subprocess, sys, pyusdt
if len(sys.argv) > 1:
    pyusdt.p(3, "exec")
    sys.exit()
pyusdt.p(1, "parent")
if os.fork() == 0:
    pyusdt.p(2, "fork")
    os._exit(0)
os.wait()
subprocess.run([sys.executable, __file__, "child"])
"""
CHILDREN = {"parent": 1, "fork": 1, "exec": 1}


@pytest.fixture
def family(tmp_path):
    path = tmp_path / "family.py"
    path.write_text(FAMILY)
    return f"{sys.executable} {path}"


def counted(script: str, *options: str) -> dict[str, int]:
    """What the aggregation of a script has, by its first key."""
    shown = harness.run([harness.PYDTRACE, "-q", *options, "-n", script])
    assert (shown.status, shown.stderr) == (0, ""), shown
    return {key: int(n) for key, n in re.findall(r"^  (\w+) +(\d+)$", shown.stdout, re.MULTILINE)}


def test_the_progeny_of_a_command_is_known_after_its_end(family):
    script = "pyusdt*:::user_trace-i4s4 /progenyof($target)/ { @[copyinstr(arg6)] = count(); }"
    assert counted(script, "-c", family) == CHILDREN


def test_the_parent_is_the_one_that_forked(family):
    script = "pyusdt*:::user_trace-i4s4 /ppid == $target/ { @[copyinstr(arg6)] = count(); }"
    assert counted(script, "-c", family) == {"fork": 1, "exec": 1}


def test_a_recording_has_the_parents(family, tmp_path):
    path = str(tmp_path / "family.rec")
    assert (
        harness.run(
            [
                harness.PYDTRACE,
                "-q",
                "--record",
                path,
                "-n",
                "pyusdt*:::user_trace-i4s4 { }",
                "-c",
                family,
            ]
        ).status
        == 0
    )
    script = (
        "pyusdt*:::user_trace-i4s4 /progenyof($target) && ppid/ { @[copyinstr(arg6)] = count(); }"
    )
    assert counted(script, "--replay", path) == CHILDREN


def test_children_adds_them_to_the_target(family):
    script = "pyusdt$target:::user_trace-i4s4 { @[copyinstr(arg6)] = count(); }"
    assert counted(script, "-c", family) == {"parent": 1}
    assert counted(script, "-x", "children", "-c", family) == CHILDREN


def test_children_leaves_others_out(family):
    """A program that is nobody's child, and fires all the time."""
    with harness.running(
        [
            sys.executable,
            "-c",
            "import pyusdt, time\nwhile True: pyusdt.p(9, 'stranger'); time.sleep(.001)",
        ]
    ):
        script = "pyusdt$target:::user_trace-i4s4 { @[copyinstr(arg6)] = count(); }"
        assert counted(script, "-x", "children", "-c", family) == CHILDREN


@pytest.mark.parametrize(
    ("script", "options", "said"),
    [
        (
            "pyusdt$target:::user_trace-i4s4, erlang*:::user_trace-i4s4 { }",
            ("-c", "true"),
            "a script can have one of the two",
        ),
        ("pyusdt*:::user_trace-i4s4 { }", (), "-c or -p is missing"),
        (
            "pyusdt$target:::user_trace-i4s4 { }",
            ("-p", str(os.getpid()), "-p", str(os.getppid())),
            "give -p once",
        ),
    ],
)
def test_what_children_cannot_follow_is_refused(script, options, said):
    shown = harness.run([harness.PYDTRACE, "-x", "children", "-n", script, *options])
    assert shown.status == 1 and said in shown.stderr, shown


def test_a_command_of_the_api_has_its_children(family):
    with pyusdt.trace(
        "pyusdt*:::user_trace-i4s4 { @[copyinstr(arg6)] = count(); }", cmd=family
    ) as t:
        t.wait(20)
    assert {key[0]: int(value) for key, value in t.aggregations[""].items()} == CHILDREN


def test_a_process_of_the_api_has_its_children():
    """And no others: the tracer's own child fires, and one that was there before."""
    with (
        harness.running(
            [
                sys.executable,
                "-c",
                "import pyusdt, time\nwhile True: pyusdt.p(9, 'stranger'); time.sleep(.001)",
            ]
        ),
        harness.running([sys.executable, "-uc", FORKS], stdin=-1) as process,
    ):
        assert process.stdout.readline() == "ready\n"
        with pyusdt.trace(
            "pyusdt*:::user_trace-i4s4 { @[arg2, ppid] = count(); }", pid=process.pid
        ) as t:
            process.stdin.write("\n")
            process.stdin.flush()
            t.wait(20)
        parent = os.getpid()
        assert {key: int(value) for key, value in t.aggregations[""].items()} == {
            (1, parent): 1,
            (2, process.pid): 1,
        }


def test_p_limits_patterns():
    """Scripts whose descriptions are patterns show the process of -p and its children; beside $target a pattern stands for all."""
    stranger = [
        sys.executable,
        "-c",
        "import pyusdt, time\nwhile True: pyusdt.p(9, 'stranger'); time.sleep(.001)",
    ]
    pattern = "pyusdt*:::user_trace-i4s4 { @[arg2] = count(); }"
    both = "pyusdt*:::user_trace-i4s4, pyusdt$target:::user_trace-s1 { @[arg2] = count(); } tick-1s { exit(0); }"
    with (
        harness.running(stranger),
        harness.running([sys.executable, "-uc", FORKS], stdin=-1) as process,
    ):
        assert process.stdout.readline() == "ready\n"
        command = [harness.PYDTRACE, "-q", "-x", "engine=embedded", "-p", str(process.pid), "-n"]
        with harness.running([*command, f'BEGIN {{ printf("begun\\n"); }} {pattern}']) as tracer:
            assert tracer.stdout.readline() == "begun\n"
            time.sleep(0.5)
            process.stdin.write("\n")
            process.stdin.flush()
            shown = harness.finish(tracer, 20)
        assert re.findall(r"(\d+) +(\d+)$", shown.stdout, re.MULTILINE) == [("1", "1"), ("2", "1")]
    with (
        harness.running(stranger),
        harness.running([sys.executable, "-uc", FORKS], stdin=-1) as process,
    ):
        assert process.stdout.readline() == "ready\n"
        shown = harness.run(
            [harness.PYDTRACE, "-q", "-x", "engine=embedded", "-p", str(process.pid), "-n", both]
        )
        assert re.search(r"9 +\d+$", shown.stdout, re.MULTILINE), shown


FORKS = """
import os, sys, pyusdt
pyusdt.p(0)
print("ready", flush=True)
sys.stdin.readline()
pyusdt.p(1)
if os.fork() == 0:
    pyusdt.p(2)
    os._exit(0)
os.wait()
"""


def test_names_that_are_not_ascii(tmp_path):
    path = tmp_path / "names.py"
    path.write_text("def größe(): pass\nfor _ in range(3): größe()\n", encoding="utf-8")
    shown = harness.run(
        [
            harness.PYDTRACE,
            "-q",
            "-n",
            "python$target:__main__:größe:function-entry { @ = count(); }",
            "-c",
            f"{sys.executable} {path}",
        ]
    )
    assert (shown.stdout.split(), shown.stderr) == (["3"], "")
