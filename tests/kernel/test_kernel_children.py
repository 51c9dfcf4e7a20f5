"""The kernel engine and children: what a provider's pattern stands for beside -c, and -x children from the first instruction on."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys

import pytest

import pyusdt
from pydtrace.engine.kernel import uprobe_attach
from pydtrace.engine.kernel.unwind import bpf_native_unwinder
from tests.support.kernel_harness import DATA, compile_c, pydtrace, start_pydtrace, wait_until

pytestmark = pytest.mark.usefixtures("bpf")
EVERYBODY = {(1, 0): 1, (0, 1): 1, (0, 2): 1, (0, 77): 1}
COUNT = "{ @[pid == $target, arg0] = count(); }"


@pytest.fixture
def family(tmp_path):
    """(A program, another file of the same, which it becomes in a child)."""
    first = compile_c(os.path.join(DATA, "family.c"), tmp_path / "first")
    shutil.copy(first, tmp_path / "second")
    return first, str(tmp_path / "second")


def counted(*arguments):
    out, err, status = pydtrace("-q", *arguments)
    assert (err, status) == ("", 0)
    return {
        (int(a), int(b)): int(n)
        for a, b, n in re.findall(r"^ +(\d+) +(\d+) +(\d+)$", out, re.MULTILINE)
    }


def test_a_pattern_stands_for_all_processes_beside_a_command(family):
    first, second = family
    assert (
        counted("-x", f"file={second}", "-n", f"tea*:::work {COUNT}", "-c", f"{first} {second}")
        == EVERYBODY
    )


def test_target_is_the_command_alone(family):
    assert counted("-n", f"tea$target:::work {COUNT}", "-c", " ".join(family)) == {(1, 0): 1}


def test_children_are_followed_from_the_first_instruction(family):
    """The program that a child becomes is not known before."""
    assert (
        counted("-x", "children", "-n", f"tea$target:::work {COUNT}", "-c", " ".join(family))
        == EVERYBODY
    )


def test_functions_of_children(family):
    found = counted(
        "-x",
        "children",
        "-n",
        "pid$target:a.out:main:entry { @[pid == $target, 0] = count(); }",
        "-c",
        " ".join(family),
    )
    assert found == {(1, 0): 1, (0, 0): 1}


def test_children_leaves_others_out(family):
    first, second = family
    script = f'while :; do "{first}" "{second}"; done'
    others = subprocess.Popen(["sh", "-c", script], stdout=subprocess.DEVNULL)
    try:
        assert (
            counted("-x", "children", "-n", f"tea$target:::work {COUNT}", "-c", " ".join(family))
            == EVERYBODY
        )
    finally:
        others.kill()
        others.wait()


def test_the_api_follows_children(family):
    first, second = family
    with pyusdt.trace(
        "tea*:::work { @[arg0] = count(); }", cmd=[first, second], engine="kernel", file=second
    ) as t:
        t.wait(20)
    assert {key[0]: int(value) for key, value in t.aggregations[""].items()} == {
        0: 1,
        1: 1,
        2: 1,
        77: 1,
    }


HOLDS = """
import sys
from pydtrace.engine.kernel import resume_guard as guard
from pydtrace.engine.kernel.descendants import Descendants
guard.HOLD_LIMIT = float(sys.argv[2])
family = Descendants([int(sys.argv[1])], True)
family.begin()
print("ready", flush=True)
sys.stdin.readline()
for pid in [pid for pid, held in family.read_members().items() if held]:
    family.release_member(pid)
print(family.take_late_count(), flush=True)
"""

# A command that is held before its first instruction, by a tracer that then waits for a line.
HOLDS_COMMAND = """
import sys
from pydtrace.bpf import syscalls as kernel
from pydtrace.process.command import Command
from pydtrace.engine.kernel import resume_guard as guard
from pydtrace.engine.kernel.uprobe_attach import Attacher
from pydtrace.engine.kernel.command_hold import CommandHold
guard.HOLD_LIMIT = float(sys.argv[1])
command = Command(["/usr/bin/sleep", "60"])
hold = CommandHold(Attacher(), "/usr/bin/sleep", command.pid)
command.start()
while not hold.is_held():
    pass
print(command.pid, flush=True)
sys.stdin.readline()
"""


@contextlib.contextmanager
def tracer_of(script, *arguments):
    with subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as tracer:
        try:
            yield tracer
        finally:
            tracer.kill()


@contextlib.contextmanager
def held_member(limit):
    """(a process that has become a program which was not looked at, whoever is to look)."""
    with subprocess.Popen(["sh", "-c", "read x; exec sleep 60"], stdin=subprocess.PIPE) as process:
        try:
            with tracer_of(HOLDS, process.pid, limit) as tracer:
                assert tracer.stdout.readline() == "ready\n"
                process.stdin.write(b"\n")
                process.stdin.flush()
                wait_until(lambda: _state(process.pid) == "T")
                yield process, tracer
        finally:
            process.kill()


def test_a_tracer_that_is_killed_leaves_nobody_stopped():
    with held_member(limit=1000) as (process, tracer):
        tracer.kill()
        wait_until(lambda: _state(process.pid) == "S")


def test_a_tracer_that_is_stopped_leaves_nobody_stopped():
    """It says so once it goes on."""
    with held_member(limit=0.2) as (process, tracer):
        tracer.send_signal(signal.SIGSTOP)
        wait_until(lambda: _state(process.pid) == "S")
        tracer.send_signal(signal.SIGCONT)
        assert tracer.communicate("\n", timeout=60)[0] == "1\n"


def test_a_tracer_in_time_is_not_late():
    with held_member(limit=1000) as (process, tracer):
        assert tracer.communicate("\n", timeout=60)[0] == "0\n"
        wait_until(lambda: _state(process.pid) == "S")


@pytest.mark.parametrize(("limit", "number"), [(1000, signal.SIGKILL), (0.2, signal.SIGSTOP)])
def test_a_held_command_goes_on(limit, number):
    with tracer_of(HOLDS_COMMAND, limit) as tracer:
        pid = int(tracer.stdout.readline())
        try:
            assert limit < 1 or _state(pid) == "T"
            tracer.send_signal(number)
            wait_until(lambda: _state(pid) == "S")
        finally:
            os.kill(pid, signal.SIGKILL)


def _state(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(") ")[2][0]


FRAMES = re.compile(
    r"`(\w+)[.\w]*(?:\+0x[0-9a-f]+)?$", re.MULTILINE
)  # without .isra.0 and its like
STACK = ["deepest", "middle", "main", "__libc_start_call_main"]


@pytest.mark.parametrize("scope", ["-p", "children", "everyone"])
def test_stacks_of_children_that_are_over_at_once(tmp_path, running, scope):
    """What a child's code is the tracer knows by its parent, which fires nothing itself; and so its names, when all are over."""
    if why := bpf_native_unwinder.find_table_obstacle(
        os.uname().machine, uprobe_attach.kernel_version()
    ):
        pytest.skip(f"host: {why}")
    process = running(
        program=compile_c(
            os.path.join(DATA, "forking.c"), tmp_path / "forking", "-fomit-frame-pointer"
        )
    )
    assert process.stdout.readline() == "ready\n"
    options, provider = {
        "-p": ([], "forking*"),
        "children": (["-x", "children"], "forking$target"),
        "everyone": ([], "forking*"),
    }[scope]
    named = ["-p", process.pid] if scope != "everyone" else []
    tracer = start_pydtrace(
        *options,
        "-q",
        "-n",
        f'tick-{2000 if scope == "everyone" else 200}ms /!on/ {{ on = 1; printf("on\\n"); }} {provider}:::work {{ @[arg0, ustack(4)] = count(); }}',
        *named,
        wait_for="on",
    )
    for _ in range(3):
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "over\n"
    tracer.send_signal(signal.SIGINT)
    out, err = tracer.communicate(timeout=20)
    assert FRAMES.findall(out) == STACK * 2 and re.findall(r"^ +(\d+)$", out, re.MULTILINE) == [
        "1",
        "3",
        "2",
        "3",
    ], (out, err)


def test_stacks_of_a_command_s_children(tmp_path):
    """It is held until its tables are known, beside -x children, too."""
    if why := bpf_native_unwinder.find_table_obstacle(
        os.uname().machine, uprobe_attach.kernel_version()
    ):
        pytest.skip(f"host: {why}")
    program = compile_c(
        os.path.join(DATA, "forking.c"), tmp_path / "forking", "-fomit-frame-pointer"
    )
    out, err, _ = pydtrace(
        "-x",
        "children",
        "-qn",
        "forking$target:::work { @[arg0, ustack(4)] = count(); }",
        "-c",
        program,
        input="\n" * 100,
    )
    assert FRAMES.findall(out) == STACK * 2 and re.findall(r"^ +(\d+)$", out, re.MULTILINE) == [
        "1",
        "100",
        "2",
        "100",
    ], (out, err)
