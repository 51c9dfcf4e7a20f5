"""The USDT sites of the provider `python`, which are of a provider `pyvm`: what kernel tracers see, beside ours and alone.

Input: programs/vm_marks.py and vm_all.py; bpftrace, our own kernel engine; root.

- A program counts itself what it calls from the moment on when its tracer says that it sees it.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import sys

import pytest

from tests.support import harness
from tests.support.python_vm_scripts import table_of

MARKS = os.path.join(harness.PROGRAMS, "vm_marks.py")
CALLS = 500
BPFTRACE = """usdt:{0}:pyvm:function__entry /str(arg1) == "mark" && !@seen/ {{ @seen = 1; printf("seen\\n"); }}
usdt:{0}:pyvm:function__entry /str(arg1) == "step"/ {{ @[str(arg0), arg2, arg3, str(arg4)] = count(); }}"""
OURS = """python$target:__main__:mark:function-entry /!seen/ {{ seen = 1; printf("seen\\n"); }}
python$target:__main__:step:function-entry {{ @ = count(); }}"""


@contextlib.contextmanager
def marking(python: str = sys.executable, **more: str):
    """(a process of vm_marks.py, the path that it says)"""
    with harness.running(
        [python, MARKS], stdin=subprocess.PIPE, env={**os.environ, **more}
    ) as process:
        yield process, process.stdout.readline().strip()


def say(process: subprocess.Popen, what: object) -> None:
    process.stdin.write(f"{what}\n")
    process.stdin.flush()


def end(tracer: subprocess.Popen) -> str:
    tracer.send_signal(signal.SIGINT)
    run = harness.finish(tracer, 60)
    assert run.status == 0, run
    return run.stdout


def test_bpftrace_and_our_own_at_once(root):
    """Each sees each call once."""
    if lacking := harness.tools("bpftrace"):
        pytest.skip(f"no {lacking}")
    with open(MARKS) as file:
        line = 1 + file.read().split("\n").index("def step(n):")
    with marking() as (process, path):
        assert os.path.basename(path).startswith("pyvm"), path
        theirs = harness.start(
            ["bpftrace", "-p", str(process.pid), "-e", BPFTRACE.format(path)],
            env={**os.environ, "BPFTRACE_STRLEN": "128"},
        )
        ours = harness.start([harness.PYDTRACE, "-q", "-n", OURS.format(), "-p", str(process.pid)])
        assert (
            any("seen" in line for line in iter(theirs.stdout.readline, ""))
            and ours.stdout.readline() == "seen\n"
        )
        say(process, CALLS)
        assert process.stdout.readline() == "stepped\n"
        assert f"@[{MARKS}, {line}, 0, __main__]: {CALLS}\n" in end(theirs)
        assert end(ours).split() == [str(CALLS)]


def test_every_probe_has_a_site(root):
    """By our own kernel engine; what fires is what docs/reference/python-vm.md has for this CPython, but for audit, which was not asked for."""
    command = [sys.executable, "-m", "pyusdt", os.path.join(harness.PROGRAMS, "vm_all.py"), "again"]
    script = 'pyvm$target:::gc-done /!seen/ { seen = 1; printf("seen\\n"); } pyvm$target::: { @[probename] = count(); }'
    with harness.running(command, stdin=subprocess.PIPE) as process:

        def again() -> None:
            say(process, "")
            assert process.stdout.readline() == "done\n"

        again()
        tracer = harness.start(
            [harness.PYDTRACE, "-q", "-x", "engine=kernel", "-n", script, "-p", str(process.pid)]
        )
        while not select.select([tracer.stdout], [], [], 0)[0]:  # it has been noticed, or has ended
            again()
        again()
        seen = dict(re.findall(r"^  (\S+) +(\d+)$", end(tracer), re.MULTILINE))
    assert set(seen) == table_of(sys.version_info[1]) - {"audit"}, seen
