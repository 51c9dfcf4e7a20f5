"""pyusdt profile: shares against what the program itself measured, what ends it, and the files that it writes."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter

import pytest

from pydtrace import _tracer
from pydtrace.process import proc_threads
from pydtrace.process.command import Command
from pydtrace.profile.sampled_process import SampledProcess
from pydtrace.profile.sampler_options import ALL, RUNNING, SamplerOptions
from pydtrace.profile.stack_profile import Profile
from pydtrace.unwind.thread_capture import ThreadCapture
from tests.support import stacks_harness as harness
from tests.support.made_up.flame_pages import page_data
from tests.support.speedscope_schema import check_speedscope

SHARES = os.path.join(harness.STACKS, "programs", "shares.py")


def counted(lines: str) -> list[tuple[str, int]]:
    """(stack, samples) of folded stacks."""
    return [(stack, int(n)) for stack, n in (line.rsplit(" ", 1) for line in lines.splitlines())]


def shares(lines: str, *names: str) -> dict[str, float]:
    """{function: its share of the samples, with what it calls} of folded stacks."""
    found = dict.fromkeys(names, 0)
    samples = sum(n for _, n in counted(lines))
    for stack, n in counted(lines):
        for name in names:
            found[name] += n * (f";{name} (" in stack)
    return {name: n / samples for name, n in found.items()}


FUNCTIONS = "first", "second", "through", "inner", "sleeps", "thread"


def samples_in(profile: Profile) -> dict[str, int]:
    """{function of in_turn_functions.py: its samples, with what it calls}"""
    return {
        name: sum(
            n
            for (_, stack), n in profile.stacks.items()
            if name in {place.function for place in stack}
        )
        for name in FUNCTIONS
    }


def look_for(process: SampledProcess, profile: Profile, function: str, n: int) -> None:
    """Until there are so many more samples in a function; a thread that waits for the GIL has none."""
    wanted, until = samples_in(profile)[function] + n, time.monotonic() + 30
    while samples_in(profile)[function] < wanted:
        process.sample_threads()
        process.take_counts()
        assert time.monotonic() < until, (function, profile.stacks)


@pytest.mark.parametrize("python", harness.INTERPRETERS, ids=harness.name_of)
def test_each_sample_is_of_the_function_that_runs(python):
    with harness.running(python, "in_turn_functions.py") as subject:
        profile = Profile(100, "running threads")
        process, function = (
            SampledProcess(subject.pid, profile, SamplerOptions(RUNNING)),
            subject.said,
        )
        until, slept = time.monotonic() + 30, -1
        while (
            samples_in(profile)["sleeps"] != slept
        ):  # on a busy machine that thread may still be on its way to sleep
            assert time.monotonic() < until, profile.stacks
            slept = samples_in(profile)["sleeps"]
            look_for(process, profile, "thread", 3)
        for _ in range(5):
            look_for(process, profile, function, 1)  # the thread is on its way there
            before = samples_in(profile)
            look_for(process, profile, "thread", 20)
            after = samples_in(profile)
            inside = {function, "thread", "inner" if function == "through" else function}
            assert {name: after[name] - before[name] for name in FUNCTIONS} == {
                name: 20 * (name in inside) for name in FUNCTIONS
            }
            subject.write_line()
            function = subject.hear()


@pytest.mark.long  # by time: of a machine on which nothing else runs
@pytest.mark.parametrize("python", harness.INTERPRETERS, ids=harness.name_of)
def test_shares_are_what_the_program_measured(python):
    """Of the time that it ran or could have run; the thread that sleeps has none.

    A share of n samples lies within four of its standard deviations, and how many there are rests on the machine."""
    with harness.running(python, "shares.py", 3) as subject:
        run = harness.pyusdt("profile", "--folded", "--rate", 200, subject.pid, timeout=20)
        spent = json.loads(subject.hear())
    assert (run.returncode, run.stderr) == (0, ""), run
    found, whole = (
        shares(run.stdout, "most", "some", "through", "burn", "sleeps"),
        sum(spent.values()),
    )
    samples = sum(n for _, n in counted(run.stdout))
    assert samples > 30, run
    for name, seconds in spent.items():
        assert abs(found[name] - seconds / whole) < 0.03 + 4 * (0.25 / samples) ** 0.5, (
            found,
            spent,
            samples,
        )
    assert found["burn"] <= found["through"] and found["sleeps"] == 0


@pytest.mark.parametrize("python", harness.INTERPRETERS, ids=harness.name_of)
def test_native_frames(python):
    """The functions of C that Python's functions call stand behind them, and the program's result is what it is."""
    program = "import zlib\ndef packs():\n    return len(zlib.compress(bytes(range(256)) * 20000, 9))\nprint(sum(packs() for _ in range(20)))"
    run = harness.pyusdt("profile", "--native", "--folded", "--", python, "-c", program)
    assert run.returncode == 0 and run.stderr == "", run
    printed, *lines = run.stdout.splitlines()
    assert (
        printed
        == subprocess.run(
            [python, "-c", program], capture_output=True, text=True, check=True
        ).stdout.strip()
    )
    assert any(
        "libz" in frame or "deflate" in frame
        for line in lines
        for frame in line.partition(";packs (")[2].split(";")[1:]
    ), lines
    assert not any("_PyEval_EvalFrameDefault" in line for line in lines)


def told_apart(python: str, argument: list[str], options: SamplerOptions, turns: int) -> None:
    """For each turn of tasks_in_turn.py: 20 samples are told apart by what the program says."""
    with harness.running(python, "tasks_in_turn.py", *argument) as subject:
        profile = Profile(100, "running threads")
        process, name = SampledProcess(subject.pid, profile, options), subject.said
        for _ in range(turns):
            look_until(
                process, profile, name, 1
            )  # where contexts are is looked for ten times a second
            before = names_of(profile)
            look_until(process, profile, name, 20)
            seen = names_of(profile) - before
            assert seen.total() - seen[name] <= 2 and set(seen) <= {name, "task ?", "tag ?"}, (
                name,
                seen,
            )
            subject.write_line()
            name = subject.hear()


def look_until(process: SampledProcess, profile: Profile, name: str, n: int) -> None:
    """Until there are so many more samples of a name."""
    until, wanted = time.monotonic() + 60, names_of(profile)[name] + n
    while names_of(profile)[name] < wanted:
        process.sample_threads()
        time.sleep(0.001)
        assert time.monotonic() < until, (name, names_of(profile))


def names_of(profile: Profile) -> Counter[str]:
    found: Counter[str] = Counter()
    for name, stacks in profile.group_by_thread():
        for stack, n in stacks:
            if any(place.function == "spins" for place in stack):
                found[name] += n
    return found


@pytest.mark.parametrize("python", harness.INTERPRETERS, ids=harness.name_of)
def test_tasks_are_told_apart(python):
    told_apart(python, [], SamplerOptions(RUNNING, tasks=True), 7)


def test_tags_are_told_apart():
    told_apart(sys.executable, ["tags"], SamplerOptions(RUNNING, tags=True), 5)


@pytest.mark.parametrize("python", harness.INTERPRETERS, ids=harness.name_of)
def test_a_thread_that_moves_is_stopped(python):
    """Of a program that does nothing but call small functions stacks are whole, and it goes on as if nothing had been.  A thread that
    got its processor between the two looks is not stopped, so a few are marked."""
    profile = Profile(100, "running threads")
    with harness.running(python, "fast_calls.py") as subject:
        process = SampledProcess(subject.pid, profile, SamplerOptions(RUNNING, stop=True))
        until = time.monotonic() + 60
        while profile.samples < 300:
            process.sample_threads()
            assert time.monotonic() < until, profile.samples
        process.close()
        assert proc_threads.read_state_letter(subject.pid, subject.pid) == "R"
        with open(f"/proc/{subject.pid}/status") as status:
            assert "TracerPid:\t0\n" in status.read()
    assert profile.counts.total() <= profile.samples / 10, profile.counts
    assert all(
        stack[0].function == "<module>" or any(frame.function.startswith("[") for frame in stack)
        for _, stack in profile.stacks
    )


def test_what_stands_still_is_not_stopped():
    """It counts all the same."""
    profile = Profile(100, "threads")
    with harness.running(sys.executable, "fast_calls.py") as subject:
        os.kill(subject.pid, signal.SIGSTOP)
        while proc_threads.read_state_letter(subject.pid, subject.pid) != "T":
            pass
        process = SampledProcess(subject.pid, profile, SamplerOptions(ALL, stop=True))
        for _ in range(20):
            process.sample_threads()
            assert process.looker.stopped == []
        process.close()
    assert profile.samples == 20


def test_a_thread_that_stops_late(monkeypatch):
    """It is let go by the next look, or by close(); and who waits for the end of the command takes no stop for it."""
    command = Command([sys.executable, SHARES, "60"])
    try:
        command.start()
        memory = _tracer.Memory(command.pid)
        capture, real = ThreadCapture(memory, child=True), _tracer.stop_threads

        def late(memory, tids, child):
            real(memory, tids, child)
            return {}, dict.fromkeys(tids, errno.EAGAIN)

        for let_go in (lambda: capture.copy_threads([], False, list), capture.close):
            with monkeypatch.context() as patched:
                patched.setattr(_tracer, "stop_threads", late)
                while proc_threads.read_state_letter(command.pid, command.pid) != "t":
                    assert capture.copy_threads([command.pid], False, list) == ({}, [])
            assert not command.poll()
            let_go()
            assert (
                proc_threads.read_state_letter(command.pid, command.pid) != "t"
                and not command.poll()
            )
    finally:
        command.stop()
    assert os.WTERMSIG(command.status) == signal.SIGTERM


def test_threads_that_wait_count_by_wall_time():
    with harness.running(sys.executable, "shares.py", 30) as subject:
        run = harness.pyusdt("profile", "--folded", "--wall", "--threads", "-d", 1, subject.pid)
    assert shares(run.stdout, "sleeps")["sleeps"] == pytest.approx(0.5, abs=0.02)
    assert {re.sub(r"\d+", "N", line.split(";")[0]) for line in run.stdout.splitlines()} == {
        "MainThread N",
        "Thread-N (sleeps) N",
    }
    assert len({line.split(";")[0] for line in run.stdout.splitlines()}) == 2


@pytest.mark.parametrize("python", harness.INTERPRETERS, ids=harness.name_of)
def test_a_thread_that_takes_the_place_of_one_that_has_ended(python):
    """glibc gives it the same memory, and before 3.11 Python knows it by nothing else."""
    profile = Profile(100, "running threads")
    with harness.running(python, "in_turn.py") as subject:
        process, idents = (
            SampledProcess(subject.pid, profile, SamplerOptions(RUNNING, threads=True)),
            {subject.said},
        )
        for turn in range(1, 4):
            until = time.monotonic() + 30
            while (
                len(
                    {
                        thread
                        for thread, stack in profile.stacks
                        if stack[-1].function.endswith("spins")
                    }
                )
                < turn
            ):
                process.sample_threads()
                assert time.monotonic() < until, (turn, profile.stacks)
            subject.write_line()
            idents.add(subject.hear())
    assert len(idents) < 4 or harness.minor_of(python) > 10  # else it shows nothing


def test_a_command_and_its_files(tmp_path):
    """The table, speedscope's file and the flame graph are of the same samples; --lines tells lines apart."""
    scope, page = tmp_path / "p.json", tmp_path / "p.html"
    run = harness.pyusdt(
        *["profile", "--lines", "--speedscope", scope, "--flamegraph", page],
        *["--", sys.executable, SHARES, 1],
    )
    assert run.returncode == 0 and run.stderr == "", run
    printed = run.stdout.splitlines()
    assert printed[0] == "ready" and json.loads(printed[1]).keys() == {"most", "some", "through"}
    samples = int(
        re.match(r"(\d+) samples of running threads in [\d.]+ s, \d+ rounds at 97 Hz$", printed[2])[
            1
        ]
    )
    file = json.loads(scope.read_text())
    check_speedscope(file)
    weights = [
        weight
        for each in file["profiles"]
        for stack, weight in zip(each["samples"], each["weights"], strict=True)
        if stack
    ]
    assert sum(weights) == pytest.approx(samples / 97)
    lines = {frame.get("line") for frame in file["shared"]["frames"] if frame["name"] == "most"}
    assert len(lines) > 1 and None not in lines
    names = page_data(page.read_text())["names"]
    assert any(name == "most" and whole.startswith(f"{SHARES}:") for name, _, whole in names)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.html", "p.json"]


def test_what_it_starts_is_in_it_where_asked_for():
    program = f"import subprocess, sys\nsubprocess.run([sys.executable, {SHARES!r}, '1.5'])"
    without, within = (
        harness.pyusdt("profile", "--folded", *option, "--", sys.executable, "-c", program)
        for option in ([], ["--subprocesses"])
    )
    assert "most (" not in without.stdout and "most (" in within.stdout


def test_a_shell_that_becomes_a_python():
    run = harness.pyusdt(
        "profile", "--folded", "--", "sh", "-c", f"sleep 0.3; exec {sys.executable} {SHARES} 1"
    )
    assert run.returncode == 0 and "most (" in run.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_what_there_is(number):
    with harness.running(sys.executable, "shares.py", 60) as subject:
        process = subprocess.Popen(
            [harness.PYUSDT, "profile", str(subject.pid)], stdout=subprocess.PIPE, text=True
        )
        time.sleep(2)
        process.send_signal(number)
        printed, _ = process.communicate(timeout=20)
        assert process.returncode == 0 and "most (" in printed
        assert subject.process.poll() is None


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ([], 2, "pyusdt profile: error: give a process id, or -- and a command\n"),
        (["1", "--", "true"], 2, "pyusdt profile: error: give a process id, or -- and a command\n"),
        (["999999999"], 1, "pyusdt: no process 999999999\n"),
        (["--", "sh", "-c", "exit 4"], 4, "(sh) has ended before a Python was seen in it"),
        (["--", "true"], 1, "(true) has ended before a Python was seen in it"),
        (["--", "/nowhere"], 1, "pyusdt: failed to run /nowhere: No such file or directory\n"),
        (
            ["--flamegraph", "/nowhere/x.html", "1"],
            2,
            "pyusdt profile: error: /nowhere/x.html: there is no such folder\n",
        ),
        (["--rate", "5000", "1"], 2, "a number from 1 to 1000 is wanted, not '5000'"),
        (["--wall", "--gil", "1"], 2, "not allowed with argument"),
        (["--off-cpu", "--tasks", "1"], 2, "--off-cpu tells threads apart, neither tasks nor tags"),
        (
            ["--no-stop", "--native", "1"],
            2,
            "--native needs stopped threads: it does not work with --no-stop",
        ),
    ],
)
def test_bad_input(arguments, status, said):
    run = harness.pyusdt("profile", *arguments)
    assert (run.returncode, run.stdout) == (status, "") and said in run.stderr


def test_what_is_no_python():
    with harness.started(["sh", "-c", "echo ready; read line"]) as subject:
        run = harness.pyusdt("profile", subject.pid)
    assert (
        run.returncode == 1
        and f"pyusdt: process {subject.pid} (sh) is not a CPython process" in run.stderr
    )


def test_a_file_that_can_not_be_written():
    run = harness.pyusdt("profile", "--flamegraph", "/dev/full", "--", sys.executable, SHARES, 1)
    assert (
        run.returncode == 1
        and "pyusdt: failed to write to /dev/full: No space left on device\n" in run.stderr
    )


# ---- whose ----


def profiled_until(seen: str, *arguments: object) -> str:
    """What `pyusdt profile --folded` prints, in seconds of it, as soon as this regular expression is in it."""
    until, found = time.monotonic() + 60, ""
    while not re.search(seen, found):
        assert time.monotonic() < until, found
        found = harness.pyusdt("profile", "--folded", "-d", 1, *arguments).stdout
    return found


def test_of_another_user():
    """Root may, and the program goes on."""
    if os.geteuid() != 0:
        pytest.skip("host: not root")
    program = "def spins():\n    while True: pass\nprint('ready')\nspins()"
    with harness.started(
        ["/usr/bin/python3", "-u", "-c", program], user=65534, group=65534, extra_groups=[]
    ) as subject:
        found = profiled_until(";spins ", subject.pid)
        assert subject.process.poll() is None
    assert {re.sub(r" \(.*?\)", "", stack) for stack, _ in counted(found)} <= {
        "<module>;spins",
        "<module>",
    }


GUNICORN = """
def busy():
    return sum(i * i for i in range(100_000))
def application(environ, start_response):
    body = str(busy()).encode()
    start_response("200 OK", [("Content-Length", str(len(body))), ("Connection", "close")])
    return [body]
"""


@contextlib.contextmanager
def asked(address: str):
    """Requests, one after the other, as long as it lasts."""
    done = threading.Event()

    def ask() -> None:
        while not done.is_set():
            with socket.socket(socket.AF_UNIX) as client, contextlib.suppress(OSError):
                client.settimeout(20)
                client.connect(address)
                client.sendall(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
                while client.recv(4096):
                    pass
            done.wait(0.001)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def test_workers_of_gunicorn(tmp_path):
    """The master's id and --subprocesses: what the workers do for requests is seen, and they go on answering."""
    (tmp_path / "web.py").write_text(GUNICORN)
    address = str(tmp_path / "socket")
    gunicorn = os.path.join(os.path.dirname(sys.executable), "gunicorn")
    command = [
        gunicorn,
        "--workers",
        "2",
        "--bind",
        f"unix:{address}",
        "--chdir",
        str(tmp_path),
        "web:application",
    ]
    master = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with asked(address):
            profiled_until(r";application \([^;]*web\.py\);busy \(", "--subprocesses", master.pid)
        assert master.poll() is None
    finally:
        master.terminate()
        master.wait(60)
