"""pyusdt profile --off-cpu: the times that a program measured of its own waits."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

pytestmark = pytest.mark.usefixtures("bpf")
PYUSDT = os.path.join(os.path.dirname(sys.executable), "pyusdt")
PROGRAM = """
import json, sys, threading, time
spent = {}
def begins(): threading.Event().wait()
def naps(seconds):
    time.sleep(seconds)
def locked(lock):
    lock.acquire(timeout=0.4)
def measured(called, argument):
    began = time.monotonic()
    called(argument)
    spent[called.__name__] = spent.get(called.__name__, 0) + time.monotonic() - began
def works():
    for i in range(30):
        sum(range(100000))
        measured(naps, 0.01)
    measured(locked, held)
held = threading.Lock()
held.acquire()
threading.Thread(target=begins, daemon=True).start()
print("ready", flush=True)
if "wait" in sys.argv:
    sys.stdin.readline()
else:
    time.sleep(1)  # pyusdt has to find out what this process is
works()
print(json.dumps(spent))
"""


def profile(*arguments: object, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        [PYUSDT, "profile", "--off-cpu", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **options,
    )


def seconds(lines: list[str]) -> dict[str, float]:
    """{function: seconds with what it calls} of folded stacks."""
    found: dict[str, float] = {}
    for line in lines:
        stack, _, n = line.rpartition(" ")
        for name in {re.sub(r" \(.*", "", frame) for frame in stack.split(";")}:
            found[name] = found.get(name, 0) + int(n) / 1e6
    return found


def test_times_are_those_of_the_program():
    """What the kernel saw is a little less than what the program saw, which had to be woken and to ask for the time."""
    run = profile("--folded", "--", sys.executable, "-c", PROGRAM)
    assert run.returncode == 0 and run.stderr == "", run
    _, said, *lines = run.stdout.splitlines()
    spent, found = json.loads(said), seconds(lines)
    for name in ("naps", "locked"):
        assert spent[name] * 0.5 < found[name] <= spent[name], (found, spent)
    assert found["naps"] >= 0.29 and found["locked"] >= 0.39
    # it begins to wait for each of them a little after that one has begun
    assert found["works"] >= (found["naps"] + found["locked"]) * 0.98


def test_those_that_wait_already(tmp_path):
    """A thread that neither goes nor comes waits all the time; the files are of seconds, too."""
    subject = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "wait"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert subject.stdout.readline() == "ready\n"
        run = profile(
            "--threads",
            "--lines",
            "--speedscope",
            tmp_path / "p.json",
            "--flamegraph",
            tmp_path / "p.html",
            "-d",
            1,
            subject.pid,
        )
    finally:
        subject.communicate("\n")
    assert run.returncode == 0 and run.stderr == "", run
    head, *rows = run.stdout.splitlines()
    total, looks, whole = map(
        float, re.match(r"([\d.]+) s of (\d+) waits in ([\d.]+) s$", head).groups()
    )
    assert looks >= 2 and whole >= 1 and 1.8 <= total <= 2 * whole + 0.1
    shares = {
        name: float(total) for total, name in re.findall(r"([\d.]+)%  (\S.*)", "\n".join(rows))
    }
    assert 45 < shares["begins (<string>:4)"] < 55 > shares["<module> (<string>:23)"] > 45, rows
    profiles = json.loads((tmp_path / "p.json").read_text())["profiles"]
    weights = [
        weight
        for each in profiles
        for stack, weight in zip(each["samples"], each["weights"], strict=True)
        if stack
    ]
    assert sum(weights) == pytest.approx(total, abs=1e-5) and len(profiles) == 2
    assert ' s, 100.0%"' in (tmp_path / "p.html").read_text()


def test_what_it_starts():
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {PROGRAM!r}])"
    without, within = (
        seconds(
            profile("--folded", *option, "--", sys.executable, "-c", program).stdout.splitlines()[
                2:
            ]
        )
        for option in ([], ["--subprocesses"])
    )
    assert "naps" not in without and within["naps"] >= 0.29


def test_a_user_is_told():
    """Without root's rights, by root's id: another user may not be able to read our files."""
    run = subprocess.run(
        [
            "setpriv",
            "--inh-caps=-all",
            "--bounding-set=-all",
            PYUSDT,
            "profile",
            "--off-cpu",
            "--",
            "true",
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (run.returncode, run.stdout) == (1, "") and run.stderr.startswith(
        "pyusdt: --off-cpu: "
    ), run
    assert run.stderr.endswith(
        "; --wall shows by samples where threads wait, and needs no root\n"
    ), run


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--native", "1"], 2, "--off-cpu has no native frames"),
        (["--wall", "1"], 2, "not allowed with argument"),
        (["999999999"], 1, "no process 999999999"),
        (["--", "/nowhere"], 1, "failed to start /nowhere: No such file or directory"),
    ],
)
def test_bad_input(arguments, status, said):
    run = profile(*arguments)
    assert (run.returncode, run.stdout) == (status, "") and said in run.stderr
