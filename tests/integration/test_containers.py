"""Root's tracer finds processes in containers beside those of the host, counts them exactly, and tells them by the host's pids.

The host is one of the test's own: a pid and mount namespace in which nothing else runs; a container is another one within.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from tests.support import harness

pytestmark = [
    pytest.mark.xdist_group("users"),
    pytest.mark.skipif(
        os.geteuid() != 0 or harness.tools("unshare", "nsenter", "setpriv") is not None,
        reason="needs root, unshare, nsenter and setpriv: namespaces",
    ),
]
PYUSDT = os.path.join(os.path.dirname(sys.executable), "pyusdt")
COUNT = 'BEGIN { printf("begun\\n"); } pyusdt*:::user_trace-i4s4 { @[pid, arg2] = count(); } END { printa("%d %d %@d\\n", @); }'
PROGRAM = """
import os, sys, pyusdt
pyusdt.p(0)
print(os.getpid(), flush=True)
for line in sys.stdin:
    print(sum(map(pyusdt.p, [int(line)] * 100)), flush=True)
"""
WEB = """
import os, pyusdt
def application(environ, start_response):
    pyusdt.p(7)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [str(os.getpid()).encode()]
"""
SHM = "mount -t tmpfs tmpfs /dev/shm && chmod 1777 /dev/shm && "
KINDS = {"mounts": ["unshare", "-m"], "pids": ["unshare", "-mpf", "--mount-proc", "--kill-child"]}


class Host:
    def __init__(self):
        self.started = []
        self.environment = {
            name: value for name, value in os.environ.items() if name != "PYUSDT_RUNDIR"
        }
        self.holder = self.popen([*KINDS["pids"], "sh", "-c", f"{SHM} echo made && exec sleep 600"])
        assert self.holder.stdout.readline() == "made\n"

    def popen(self, command, **more):
        process = subprocess.Popen(
            [str(word) for word in command],
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **{"env": self.environment, **more},
        )
        self.started.append(process)
        return process

    def start(self, *command, **more):
        pids = f"--pid=/proc/{self.holder.pid}/ns/pid_for_children"
        return self.popen(["nsenter", "-t", self.holder.pid, "-m", pids, *command], **more)

    def process(self, kind=None, setup="", **environment):
        """(process, its pid on this host): kind: of a container."""
        container = [*KINDS[kind], "sh", "-c", f'{SHM}{setup} exec "$@"', "-"] if kind else []
        mark = f"host-{os.getpid()}-{self.holder.pid}-{len(self.started)}"
        process = self.start(
            *container, sys.executable, "-c", PROGRAM, mark, env={**self.environment, **environment}
        )
        line = process.stdout.readline()
        assert line.strip().isdigit(), process.communicate()
        return process, self.pid_of(mark, int(line))

    def pid_of(self, mark, inner):
        """As it is on this host: the second of its numbers, of which the test sees the first."""
        for status in Path("/proc").glob("[0-9]*/status"):
            try:
                words = re.search(r"NSpid:\t(.*)", status.read_text(errors="replace"))[1].split()
                command = (status.parent / "cmdline").read_bytes().split(b"\0")
            except (OSError, TypeError):
                continue
            if (
                len(words) > 1
                and int(words[-1]) == inner
                and command[-2:] == [mark.encode(), b""]
                and b"-c" in command[:2]
            ):
                return int(words[1])
        raise AssertionError(f"no process {mark}, {inner}")

    def trace(self, *arguments, script=COUNT):
        process = self.start(
            harness.PYDTRACE, "-q", "-x", "engine=embedded", *arguments, "-n", script
        )
        line = process.stdout.readline()
        assert line == "begun\n" or process.stdout.readline() == "begun\n", process.communicate()
        return process

    def end(self):
        for process in self.started:  # the first is what all the others are in
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                stream.close()


@pytest.fixture
def host():
    made = Host()
    yield made
    made.end()


def fire(process, mark=7):
    """How many of a hundred firings found the probe on."""
    process.stdin.write(f"{mark}\n")
    process.stdin.flush()
    return int(process.stdout.readline())


def ended(tracer, mark=7):
    """{pid: count} of what was fired with this mark, and what was said."""
    # its parent in the other pid namespace, nsenter, does not hand signals on
    subprocess.run(["pkill", "-INT", "-P", str(tracer.pid)], check=True)
    out, err = tracer.communicate(timeout=30)
    rows = [
        tuple(map(int, line.split()))
        for line in out.splitlines()
        if re.fullmatch(r"\d+ \d+ \d+", line)
    ]
    return {pid: count for pid, marked, count in rows if marked == mark}, err


def test_containers_beside_processes_of_the_host(host):
    processes = [host.process(kind) for kind in (None, "mounts", "pids", "pids")]
    tracer = host.trace()
    for process, _ in processes:
        harness.wait_until(lambda process=process: fire(process, 1) == 100)
    assert [fire(process) for process, _ in processes] == [100] * 4
    counts, err = ended(tracer)
    assert counts == {pid: 100 for _, pid in processes} and len(counts) == 4, err
    assert "drop" not in err and "not traced" not in err, err


@pytest.mark.parametrize("kind", KINDS)
def test_a_container_that_starts_later(host, kind):
    first, pid = host.process()
    tracer = host.trace("-Z")
    later, other = host.process(kind)
    harness.wait_until(lambda: fire(later, 1) == 100)
    second, third = host.process(kind)
    harness.wait_until(lambda: fire(second, 1) == 100)
    assert [fire(each) for each in (first, later, second)] == [100] * 3
    counts, err = ended(tracer)
    assert counts == {pid: 100, other: 100, third: 100}, err


def test_what_can_not_be_entered_is_told(host):
    """Its run directory is where nobody looks for it."""
    first, pid = host.process()
    setup = "mount -t tmpfs tmpfs /mnt && mkdir -m 0700 /mnt/run && "
    hidden, other = host.process("mounts", setup, PYUSDT_RUNDIR="/mnt/run")
    tracer = host.trace()
    harness.wait_until(lambda: fire(first, 1) == 100)
    assert fire(first) == 100
    fire(hidden)  # another worker's tracer may have its probes on
    counts, err = ended(tracer)
    assert counts == {pid: 100} and f"process {other} of uid 0 cannot be traced" in err, err


def test_strangers_are_told_of_once_and_only_where_they_are_meant(host):
    """They could write on root's terminal otherwise."""
    first, pid = host.process()
    setup = "mount -t tmpfs tmpfs /mnt && mkdir -m 0700 /mnt/run && "
    hidden = [host.process("mounts", setup, PYUSDT_RUNDIR="/mnt/run") for _ in range(5)]
    tracer = host.trace()
    harness.wait_until(lambda: fire(first, 1) == 100)
    _, err = ended(tracer)
    assert (
        len(re.findall(r"process \d+ of uid 0 cannot be traced", err)) == 3
        and "dtrace: the same for 2 more: " in err
    ), (err, hidden)
    for arguments, script in (
        (("-p", pid), COUNT.replace("pyusdt*", "pyusdt$target")),
        ((), 'BEGIN { printf("begun\\n"); } tick-1s { exit(0); }'),
    ):
        _, err = ended(host.trace(*arguments, script=script))
        assert "cannot be traced" not in err and "the same for" not in err, err


@pytest.mark.parametrize(
    "setup", ["", "umount /dev/shm;"]
)  # in a run directory of its own, and in the host's
def test_one_that_is_named(host, setup):
    """$target is its pid on the host, where it was named, though it is another one where it runs."""
    process, pid = host.process("pids", setup)
    other, _ = host.process("pids")
    tracer = host.trace("-p", pid, script=COUNT.replace("pyusdt*", "pyusdt$target"))
    assert fire(process) == 100
    fire(other)
    counts, err = ended(tracer)
    assert counts == {pid: 100}, err


def test_they_are_listed(host):
    """A provider's name has the pid that the host knows: there are several that are 1."""
    pids = {host.process(kind)[1] for kind in (None, "mounts", "pids", "pids")}
    out, err = host.start(PYUSDT, "list").communicate(timeout=60)
    found = set(map(int, re.findall(r"^pyusdt(\d+) ", out, re.MULTILINE)))  # who lists, too
    assert found >= pids and 1 not in found, (out, err)


def test_top_shows_who_traces_them(host):
    processes = [host.process(kind) for kind in (None, "mounts", "pids")]
    tracer = host.trace()
    for process, _ in processes:
        harness.wait_until(lambda process=process: fire(process, 1) == 100)
    rows = {}

    def are_traced_by_one():
        """As the table says; while another worker's tracer has these probes on, too, a line of text is in it."""
        out = host.start(PYUSDT, "top", "--once", "-i", "0.1").communicate(timeout=60)[0]
        lines = [re.split(r" {2,}", line.strip()) for line in out.splitlines()]
        rows.clear()
        rows.update(
            (int(line[0]), dict(zip(lines[0], line))) for line in lines[1:] if line[0].isdigit()
        )
        tracers = {rows[pid]["TRACED BY"] for _, pid in processes}
        return len(rows) == len(lines) - 1 and len(tracers) == 1 and min(tracers).isdigit()

    harness.wait_until(are_traced_by_one, 60)
    assert [rows[pid]["LOST"] for _, pid in processes] == ["0"] * len(processes), rows
    ended(tracer)


def test_a_file_that_a_container_left(host):
    """Its pid is of a namespace that is no more, and somebody else's here: he is not named for it."""
    process, pid = host.process("pids", "umount /dev/shm;")
    host.process()
    assert "in another pid namespace" not in host.start(PYUSDT, "list").communicate(timeout=60)[0]
    host.start("kill", "-KILL", pid).communicate(timeout=60)  # the first of its namespace, 1
    process.wait()
    out, err = host.start(PYUSDT, "list").communicate(timeout=60)
    assert re.search(r"^pyusdt1 +python\S* \(in another pid namespace\)  ", out, re.MULTILINE), (
        out,
        err,
    )


def test_a_container_that_ends_is_let_go(host):
    """What is open in it would keep its file systems in memory."""
    first, _ = host.process()
    process, _ = host.process("pids")
    tracer = host.trace()
    (inner,) = Path(f"/proc/{tracer.pid}/task/{tracer.pid}/children").read_text().split()

    def directories():
        found = 0
        for each in Path(f"/proc/{inner}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                found += os.readlink(each).endswith("/pyusdt-0")
        return found

    harness.wait_until(lambda: fire(first, 1) == 100 and fire(process, 1) == 100)
    both = directories()
    assert both >= 2
    process.communicate("")
    harness.wait_until(lambda: directories() == both - 1)
    ended(tracer)


def test_gunicorn_in_a_container(host, tmp_path):
    """Every request of two workers, in a container with its own pids, beside a process of the host."""
    (tmp_path / "web.py").write_text(WEB)
    first, pid = host.process()
    gunicorn = os.path.join(os.path.dirname(sys.executable), "gunicorn")
    server = host.start(
        *KINDS["pids"],
        "sh",
        "-c",
        f'{SHM} exec "$@"',
        "-",
        gunicorn,
        "-w",
        "2",
        "-b",
        "127.0.0.1:0",
        "--chdir",
        tmp_path,
        "web:application",
    )
    port = None
    while port is None:
        line = server.stderr.readline()
        assert line, server.communicate()
        port = re.search(r"Listening at: http://127.0.0.1:(\d+)", line)

    def ask():
        with urllib.request.urlopen(f"http://127.0.0.1:{port[1]}/", timeout=30) as got:
            return int(got.read())

    workers = set()
    while len(workers) < 2:  # both have published themselves
        workers.add(ask())
    tracer = host.trace()
    time.sleep(1)  # five looks
    before = 300
    asked = [ask() for _ in range(before)]
    assert fire(first) == 100
    counts, err = ended(tracer)
    assert counts.pop(pid) == 100
    assert sorted(counts.values()) == sorted(asked.count(worker) for worker in set(asked)), err
    assert sum(counts.values()) == 300 and not set(counts) & set(asked), err
