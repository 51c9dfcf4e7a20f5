"""Each system call and each allocation of the tracer's C core fails once: what is lost is reported, with the reason, and fails --strict."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys

import pytest

from tests.support import harness

FIRED = 40
PROGRAMS = {
    "fires.py": f"import pyusdt\nfor i in range({FIRED}):\n    pyusdt.p(i)\n",
    "calls.py": f"def work():\n    pass\n\n\nfor i in range({FIRED}):\n    work()\n",
}
SCRIPTS = {  # name -> (script, program)
    "one": ("pyusdt$target:::user_trace-i4s4 { @ = count(); }", "fires.py"),
    "all": ("pyusdt*:::user_trace-i4s4 { @ = count(); }", "fires.py"),
    "places": (
        "python$target:__main__:work:function-entry { @[probefunc] = count(); }",
        "calls.py",
    ),
    "records": (
        "pyusdt$target:::user_trace-i4s4 { @ = count(); @last[arg2 < 0] = max(arg2); } END { printa(@); }",
        "fires.py",
    ),
}
ALLOCATIONS = ("malloc", "calloc", "realloc", "strdup", "strndup")
ERRORS = {"kill": ["EPERM"], "getrandom": ["EAGAIN"], "pthread_create": ["EAGAIN"]}
COMMON = ["ENOMEM", "EMFILE", "EIO", "EACCES", "EINTR", "ENOSPC"]
SAMPLE = ["calloc", "mmap", "syscall-217", "syscall-437"]  # getdents64, openat2


class Tracer:
    """Runs pydtrace with one call failing."""

    def __init__(self, folder, name):
        self._folder, calls = folder, f"{folder}/failing_calls.so"
        subprocess.run(
            [
                "gcc",
                "-shared",
                "-fPIC",
                "-O1",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-o",
                calls,
                os.path.join(harness.INTEGRATION, "failing_calls.c"),
                "-ldl",
            ],
            check=True,
        )
        script, program = SCRIPTS[name]
        for file, text in PROGRAMS.items():
            (folder / file).write_text(text)
        rundir = folder / "run"
        rundir.mkdir(mode=0o700)
        self._variables = (
            {} if name == "all" and os.geteuid() == 0 else {"PYUSDT_RUNDIR": str(rundir)}
        )
        self._words = [
            "pydtrace",
            "--strict",
            "-x",
            "engine=embedded",
            "-Zqn",
            script,
            "-c",
            f"{sys.executable} {folder}/{program}",
        ]
        self._process = subprocess.Popen(
            [sys.executable, os.path.join(harness.INTEGRATION, "failing_tracer.py"), calls],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "LD_PRELOAD": calls, "FAILING_OBJECT": "_tracer"},
        )

    def run(self, failing=None, log=None):
        outputs = [str(self._folder / "out"), str(self._folder / "err")]
        self._process.stdin.write(
            json.dumps([failing, self._words, self._variables, outputs, log]) + "\n"
        )
        self._process.stdin.flush()
        status = json.loads(self._process.stdout.readline())
        texts = []
        for path in outputs:
            with open(path, errors="backslashreplace") as file:
                texts.append(file.read())
        return harness.Run([*self._words, failing or ""], status, *texts)

    def calls(self):
        """{function: how often a run calls it}"""
        log = str(self._folder / "calls")
        got = self.run(log=log)
        assert got.status == 0 and str(FIRED) in got.stdout.split() and not got.stderr, got
        with open(log) as file:
            return {name: int(count) for name, count in map(str.split, file)}

    def close(self):
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


@pytest.fixture
def tracer_of(tmp_path):
    made = []

    def make(name):
        made.append(Tracer(tmp_path, name))
        return made[0]

    yield make
    for each in made:
        each.close()


def fault(got):
    """What is wrong with how a run ended, or None."""
    if got.status is None:
        return "hangs"
    if got.status < 0 or "Traceback" in got.stderr or re.search(r"[^\x20-\x7e\n]", got.stderr):
        return "crashes"
    if got.status == 0:
        return None if str(FIRED) in got.stdout.split() else "loses events in silence"
    return None if got.stderr.strip() else "fails without a reason"


def check(tracer, chosen):
    wrong = []
    for name, number, error in chosen:
        got = tracer.run(f"{name}:{number}:{getattr(errno, error)}")
        if what := fault(got):
            wrong.append(f"{name} {number} {error} {what}: {got}")
    assert not wrong, "\n".join(wrong)


def test_a_sample_of_calls_fails(tracer_of):
    tracer = tracer_of("one")
    calls = tracer.calls()
    assert calls.keys() > set(SAMPLE), calls
    check(tracer, [(name, calls[name] - back, "ENOMEM") for name in SAMPLE for back in (0, 1)])


def test_the_reason_is_told_and_strict_fails(tracer_of):
    """The ring of the process can not be mapped at first; what it has is read later."""
    tracer = tracer_of("one")
    last = tracer.calls()["mmap"]
    for number in range(
        last + 1, last - 5, -1
    ):  # how many there are before it depends on who comes first
        got = tracer.run(f"mmap:{number}:{errno.ENOMEM}")
        if "its ring cannot be read" in got.stderr:
            break
    assert got.status == 3 and str(FIRED) in got.stdout.split(), got
    assert re.search(r"process \d+: its ring cannot be read: Cannot allocate memory", got.stderr), (
        got
    )
    assert "1 failure to read a traced process" in got.stderr, got


@pytest.mark.long
@pytest.mark.parametrize("name", SCRIPTS)
def test_each_call_fails_once(tracer_of, name):
    tracer = tracer_of(name)
    check(
        tracer,
        [
            (function, number, error)
            for function, count in tracer.calls().items()
            for error in (["ENOMEM"] if function in ALLOCATIONS else ERRORS.get(function, COMMON))
            for number in range(1, count + 1)
        ],
    )
