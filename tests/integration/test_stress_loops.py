"""The same again and again, with another moment or shape each time: attaching, killing, forking, processes of every kind.

A few rounds each in `make test`, hundreds in `make test-long` (tests/results/long-tests.md).  Programs count what they fire;
every event arrives or is counted as dropped, the program goes on, and no file stays.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import pytest

from tests.support import harness

pytestmark = pytest.mark.own_processes
PRINT = 'pyusdt*:::user_trace-i4s4 { printf("%d %d %d\\n", pid, arg2, arg3); }'
COUNT = 'pyusdt*:::user_trace-i4s4 { @fired = count(); } END { printa("%@d\\n", @fired); }'


def rounds(few, many):
    return pytest.mark.parametrize("rounds", [few, pytest.param(many, marks=pytest.mark.long)])


@pytest.fixture
def world():
    """world: a run directory's path, in the environment for pydtrace and its targets."""
    path = Path(tempfile.mkdtemp(prefix="pyusdt-test-rounds-", dir="/dev/shm"))
    path.chmod(0o700)
    before, os.environ["PYUSDT_RUNDIR"] = os.environ["PYUSDT_RUNDIR"], str(path)
    yield path
    os.environ["PYUSDT_RUNDIR"] = before
    shutil.rmtree(path)


def account(got: harness.Run, fired: int) -> None:
    """What COUNT printed, and what was dropped, is what was fired."""
    counted = re.search(r"^\d+$", got.stdout, re.MULTILINE)
    assert got.status == 0 and fired == (int(counted[0]) if counted else 0) + harness.count_drops(
        got.stderr
    ), (
        fired,
        got,
    )


def program(tmp_path, code: str) -> str:
    """A command line that runs the code."""
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(code))
    return f"{sys.executable} {path}"


def first_of(path: Path) -> str:
    """The first line of what a tracer writes to a file (-o), once it is there."""
    harness.wait_until(lambda: path.exists() and "\n" in path.read_text())
    return path.read_text().split("\n")[0]


@rounds(5, 500)
def test_attached_and_detached(world, pydtrace, tmp_path, rounds):
    """By exit(), Ctrl-C and SIGKILL: what each sees has no holes, and the process fires on for nobody."""
    chance = random.Random(rounds)
    fires = "import pyusdt, time, itertools\nfor i in itertools.count(): pyusdt.p(i); time.sleep(0.0005)\n"
    with harness.running([sys.executable, "-c", fires]) as target:
        harness.wait_until(lambda: any(world.iterdir()))
        for round in range(rounds):
            how, out = round % 3, tmp_path / str(round)
            ends = "tick-50ms { exit(0); }" if how == 0 else "tick-1h { }"
            with harness.running(
                [harness.PYDTRACE, "-qo", str(out), "-n", PRINT, "-n", ends, "-p", str(target.pid)]
            ) as tracer:
                first_of(out)
                time.sleep(chance.random() * 0.05)
                if how:
                    tracer.send_signal(signal.SIGINT if how == 1 else signal.SIGKILL)
                got = harness.finish(tracer, 30)
            seen = [int(line.split()[1]) for line in out.read_text().split("\n") if line]
            assert (
                got.status == (-signal.SIGKILL if how == 2 else 0) and got.stderr == "" and seen
            ), (how, got)
            assert seen == list(range(seen[0], seen[0] + len(seen))), (how, seen)
            assert target.poll() is None
    assert pydtrace("-qn", "BEGIN { exit(0); }").status == 0
    assert list(world.iterdir()) == []  # the last tracer swept what the killed ones left


@rounds(4, 150)
def test_killed_targets(world, tmp_path, rounds):
    """Three threads, SIGKILL at any moment: each thread's events are there from the first on, but for drops."""
    chance = random.Random(rounds)
    command = program(
        tmp_path,
        """
        import itertools, os, threading, pyusdt
        def fire(n):
            for i in itertools.count(): pyusdt.p(i, n)
        for n in range(3): threading.Thread(target=fire, args=(n,)).start()
    """,
    )
    for round in range(rounds):
        out = tmp_path / str(round)
        with harness.running(
            [harness.PYDTRACE, "-qb", "16m", "-o", str(out), "-n", PRINT, "-c", command]
        ) as tracer:
            pid = int(first_of(out).split()[0])
            time.sleep(chance.random() * 0.05)
            os.kill(pid, signal.SIGKILL)
            got = harness.finish(tracer, 120)
        of_thread: dict[int, list[int]] = {}
        for _, i, thread in (
            map(int, line.split()) for line in out.read_text().split("\n") if line
        ):
            of_thread.setdefault(thread, []).append(i)
        assert got.status == 0 and of_thread, got.stderr
        out.unlink()
        for seen in of_thread.values():
            assert seen == sorted(set(seen))
            assert harness.count_drops(got.stderr) or seen == list(range(len(seen)))
        assert list(world.iterdir()) == []


@rounds(1, 36)
def test_fork_storms(world, pydtrace, tmp_path, rounds):
    """Children and grandchildren that fire as soon as they can and are gone."""
    chance = random.Random(rounds)
    for _ in range(rounds):
        children, grandchildren, events = (
            chance.randint(5, 40),
            chance.randint(0, 3),
            chance.randint(1, 30),
        )
        command = program(
            tmp_path,
            f"""
            import os, pyusdt
            def child(n):
                if os.fork() == 0:
                    for i in range({events}): pyusdt.p(i)
                    for _ in range(n): child(0)
                    for _ in range(n): os.wait()
                    os._exit(0)
            for _ in range({children}): child({grandchildren})
            for _ in range({children}): os.wait()
        """,
        )
        account(
            pydtrace("-qb", "64k", "-n", COUNT, "-c", command, timeout=120),
            children * (1 + grandchildren) * events,
        )
        assert list(world.iterdir()) == []


@rounds(1, 60)
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_pools(world, pydtrace, tmp_path, method, rounds):
    """multiprocessing's workers, which are replaced after a few tasks, so that many live shortly."""
    command = program(
        tmp_path,
        f"""
        import multiprocessing, pyusdt
        def work(n):
            return sum(pyusdt.p(i, n) for i in range(n))
        if __name__ == "__main__":
            with multiprocessing.get_context("{method}").Pool(2, maxtasksperchild=3) as pool:
                pool.map(work, range(12), chunksize=1)
                pool.close()
                pool.join()
    """,
    )
    for _ in range(rounds):
        account(pydtrace("-qn", COUNT, "-c", command, timeout=120), sum(range(12)))
        assert list(world.iterdir()) == []


@rounds(1, 60)
def test_sub_interpreters(world, pydtrace, tmp_path, rounds):
    """Made and destroyed, while the main one fires, too."""
    command = f"{sys.executable} {tmp_path / 'program.py'}"
    program(
        tmp_path,
        f"""
        import sys
        sys.path.insert(0, {harness.PROGRAMS!r})
        import interpreters, pyusdt
        for n in range(20):
            one = interpreters.create()
            one.exec("import pyusdt\\nfor i in range(10): pyusdt.p(i)")
            pyusdt.p(n)
            one.close()
    """,
    )
    for _ in range(rounds):
        account(pydtrace("-qn", COUNT, "-c", command, timeout=120), 220)
        assert list(world.iterdir()) == []


@rounds(1, 100)
def test_stopped_targets(world, rounds):
    """SIGSTOP, for longer than a tracer looks and shorter, also where it attaches to one that is stopped."""
    chance = random.Random(rounds)
    fires = "import pyusdt, time\nfor i in range(600): pyusdt.p(i); time.sleep(0.001)\n"
    for round in range(rounds):
        with harness.running(
            [
                sys.executable,
                "-c",
                "import sys, pyusdt; print('up', flush=True); sys.stdin.readline()\n" + fires,
            ],
            stdin=subprocess.PIPE,
        ) as target:
            assert target.stdout.readline() == "up\n"
            if round % 2:
                target.send_signal(signal.SIGSTOP)
            with harness.running(
                [
                    harness.PYDTRACE,
                    "-q",
                    "-n",
                    'BEGIN { printf("begun\\n"); }',
                    "-n",
                    PRINT,
                    "-p",
                    str(target.pid),
                ]
            ) as tracer:
                assert tracer.stdout.readline() == "begun\n"
                time.sleep(0.1)
                target.send_signal(signal.SIGCONT)
                target.stdin.write("go\n")
                target.stdin.flush()
                for _ in range(4):
                    time.sleep(chance.random() * 0.1)
                    target.send_signal(signal.SIGSTOP)
                    time.sleep(chance.random() * 0.3)
                    target.send_signal(signal.SIGCONT)
                got = harness.finish(tracer, 60)
        seen = [int(line.split()[1]) for line in got.stdout.split("\n") if line]
        assert (got.status, got.stderr, seen) == (0, "", list(range(600))), got


# A wall clock that is set: CLOCK_REALTIME alone, and of the tracer alone, since the machine's is everybody's.
STEPS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    static long calls;
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int r = real(clock, now);
    if (clock == CLOCK_REALTIME) now->tv_sec += ++calls / 20 % 2 ? -7200 : 7200;
    return r;
}
"""


@rounds(1, 60)
def test_a_wall_clock_that_steps(world, tmp_path, rounds):
    """Hours back and forth while it is traced: walltimestamp follows, and no event is lost or out of order."""
    (tmp_path / "steps.c").write_text(STEPS)
    subprocess.run(
        ["gcc", "-shared", "-fPIC", tmp_path / "steps.c", "-o", tmp_path / "steps.so", "-ldl"],
        check=True,
    )
    fires = "import sys, pyusdt, time; sys.stdin.readline()\nfor i in range(500): pyusdt.p(i); time.sleep(0.001)\n"
    script = 'BEGIN { printf("begun\\n"); } pyusdt$target:::user_trace-i4s4 { printf("%d %d %d\\n", arg2, timestamp, walltimestamp); }'
    for _ in range(rounds):
        with harness.running([sys.executable, "-c", fires], stdin=subprocess.PIPE) as target:
            harness.wait_until(lambda: any(world.iterdir()))
            with harness.running(
                [harness.PYDTRACE, "-qn", script, "-p", str(target.pid)],
                env={**os.environ, "LD_PRELOAD": str(tmp_path / "steps.so")},
            ) as tracer:
                assert tracer.stdout.readline() == "begun\n"
                time.sleep(0.2)  # the probes are switched on right after BEGIN
                target.stdin.write("go\n")
                target.stdin.flush()
                got = harness.finish(tracer, 60)
        rows = [tuple(map(int, line.split())) for line in got.stdout.split("\n") if line]
        assert (got.status, got.stderr, [i for i, _, _ in rows]) == (0, "", list(range(500))), got
        assert [when for _, when, _ in rows] == sorted(when for _, when, _ in rows)
        offsets = {round((wall - when) / 3.6e12) for _, when, wall in rows}
        assert max(offsets) - min(offsets) == 4, offsets  # hours: both were seen


# Becomes its file's owner wholly, as su and sudo do for another, and runs what it is given.
SET_UID = """
#include <sys/types.h>
#include <unistd.h>
#include <stdlib.h>
#include <sys/wait.h>
int main(int argc, char **argv) {
    (void)argc;
    if (fork() == 0) {
        if (setreuid(geteuid(), geteuid()) != 0) return 1;
        execv(argv[1], argv + 1);
        return 1;
    }
    wait(NULL);
    return 0;
}
"""


@rounds(1, 40)
def test_a_set_uid_program_in_between(root, pydtrace, tmp_path, rounds):
    """Root's program starts one with nobody's bit, which starts Python: both users' events are root's to see."""
    python = "/usr/bin/python3"  # that nobody may run, with a module that he may read
    folder = Path(tempfile.mkdtemp(prefix="pyusdt-set-uid-"))
    try:
        if os.statvfs(folder).f_flag & os.ST_NOSUID or not os.path.exists(python):
            pytest.skip(
                "host: no set-uid programs in the temporary directory, or no /usr/bin/python3"
            )
        folder.chmod(0o755)
        (folder / "become.c").write_text(SET_UID)
        subprocess.run(["gcc", folder / "become.c", "-o", folder / "become"], check=True)
        os.chown(folder / "become", 65534, 65534)
        (folder / "become").chmod(0o4755)
        mine = os.getpid()  # root sees other processes, too
        tag = sys.implementation.cache_tag.removeprefix("cpython-")
        if (
            subprocess.run(
                [python, "-c", "import sys; print(sys.implementation.cache_tag)"],
                capture_output=True,
                text=True,
                check=False,
            ).stdout.strip()
            != f"cpython-{tag}"
        ):
            pytest.skip("host: another CPython in /usr/bin than the tests'")
        for package in ("pyusdt", "pydtrace"):
            shutil.copytree(
                os.path.join(harness.ROOT, "src", package),
                folder / package,
                ignore=shutil.ignore_patterns("__pycache__"),
            )
        fires = f"import sys; sys.path.insert(0, '{folder}'); import pyusdt, time; time.sleep(0.5); [pyusdt.p(i, {mine}) for i in range(50)]"  # a user's first process is noticed within 0.1 s
        (folder / "fires.py").write_text(fires)
        command = program(
            tmp_path,
            f"""
            import subprocess, pyusdt
            pyusdt.p(0, {mine})
            subprocess.run(["{folder}/become", "{python}", "{folder}/fires.py"], check=True)
            pyusdt.p(1, {mine})
        """,
        )
        environment = {name: value for name, value in os.environ.items() if name != "PYUSDT_RUNDIR"}
        script = f'pyusdt*:::user_trace-i4s4 /arg3 == {mine}/ {{ @[uid] = count(); }} END {{ printa("%d %@d\\n", @); }}'
        for _ in range(rounds):
            got = pydtrace("-qx", "engine=embedded", "-n", script, "-c", command, env=environment)
            assert got.status == 0 and got.stdout.split("\n")[:2] == ["0 2", "65534 50"], got
    finally:
        shutil.rmtree(folder)
