"""pyusdt dump: what it prints, of whom, and what it says where it can not."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from pydtrace.cli.commands import dump
from pydtrace.process import proc_threads
from pydtrace.process.proc_threads import KernelThread
from pydtrace.remote_python import python_threads
from pydtrace.remote_python.asyncio_tasks import AsyncTask
from pydtrace.remote_python.code_objects import Frame
from pydtrace.remote_python.deadlocks import find_cycles
from pydtrace.remote_python.line_table import find_line
from pydtrace.remote_python.remote_python import RemotePython, StackReadError
from tests.support import stacks_harness as harness

STATES = os.path.join(harness.STACKS, "programs", "states.py")


def dumped(*arguments: object, **options) -> dict:
    run = harness.pyusdt("dump", "--json", *arguments, **options)
    assert (run.returncode, run.stderr) == (0, ""), run
    return json.loads(run.stdout)


def by_function(found: dict) -> dict[str, dict]:
    """{function: thread} of the functions of this program, which has each once."""
    return {
        frame["function"]: thread
        for thread in found["threads"]
        for frame in thread["frames"]
        if frame["file"] == STATES
    }


def settled(pid: int) -> dict[str, dict]:
    """Once every thread is where it stays: whoever has just begun is on its way."""
    found = {}

    def is_there() -> bool:
        found.update(by_function(dumped(pid)))
        return {"spins", "holds", "selects", "waits"} <= found.keys() and found["waits"][
            "call"
        ] is not None

    for _ in range(100):
        if is_there():
            return found
    raise AssertionError(found)


@pytest.mark.parametrize("python", harness.INTERPRETERS, ids=harness.name_of)
def test_states(python):
    with harness.running(python, "states.py") as subject:
        found = settled(subject.pid)
    assert found["selects"] is found["holds"] or found["selects"]["tid"] == found["holds"]["tid"]
    assert found["spins"]["state"] == "running" and found["spins"]["call"] is None
    assert found["selects"]["call"] in ("select", "pselect6") and found["waits"]["call"] == "futex"
    assert not any(found[name]["gil"] for name in ("selects", "waits", "<module>"))
    assert found["<module>"]["tid"] == subject.pid
    has_lock = not harness.name_of(python).endswith("t")
    assert found["spins"]["gil"] == has_lock


def test_text():
    with harness.running(sys.executable, "states.py") as subject:
        settled(subject.pid)
        run = harness.pyusdt("dump", subject.pid)
    assert run.returncode == 0
    version = f"3.{sys.version_info[1]}"
    assert run.stdout.startswith(
        f"Process {subject.pid}: CPython {version}, 4 threads\n\nThread {subject.pid} (MainThread): waits in read\n"
    )
    assert re.search(
        rf"^Thread \d+ \(Thread-1.*\): running, holds the GIL\n    spins \({re.escape(STATES)}:\d+\)$",
        run.stdout,
        re.MULTILINE,
    )


def test_processes_and_their_descendants():
    """Each once, with children that are no Pythons left out, but named ones refused."""
    with harness.running(sys.executable, "tree.py") as subject:
        other, middle, leaf = map(int, subject.said.split())
        tree = [
            json.loads(line)
            for line in harness.pyusdt(
                "dump", "--json", "--subprocesses", subject.pid
            ).stdout.splitlines()
        ]
        native = harness.pyusdt("dump", "--native", "--subprocesses", subject.pid)
        named = harness.pyusdt("dump", leaf, other, middle, leaf)
    assert [each["pid"] for each in tree] == [subject.pid, middle, leaf]
    assert all(
        any(frame["function"] == "job" for frame in each["threads"][0]["frames"])
        for each in tree[1:]
    )
    assert re.findall(r"^Process (\d+)", native.stdout, re.MULTILINE) == [
        str(each) for each in (subject.pid, other, middle, leaf)
    ]
    assert (
        re.findall(r"^Process (\d+)", named.stdout, re.MULTILINE) == [str(leaf), str(middle)]
        and f"\n\nProcess {middle}" in named.stdout
    )
    assert (
        named.returncode == 1
        and f"process {other} (cat) is not a CPython process" in named.stderr
        and named.stderr.count("\n") == 1
    )


def test_process_that_nobody_has_waited_for():
    """It was called no CPython."""
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        for command in ("dump", "profile"):
            run = harness.pyusdt(command, ended.pid)
            assert (run.returncode, run.stderr) == (
                1,
                f"pyusdt: process {ended.pid} has ended; its parent has not waited for it yet\n",
            )


@pytest.mark.parametrize("python", harness.INTERPRETERS, ids=harness.name_of)
def test_names_of_threads(python):
    """Those of threading, of threads of any class; of a thread that threading does not know the kernel's."""
    with harness.running(python, "named_threads.py") as subject:
        found = dumped(subject.pid)
        profiled = harness.pyusdt(
            "profile", "--wall", "--threads", "--folded", "-d", "0.2", subject.pid
        )
    names = [thread["name"] for thread in found["threads"]]
    comm = names.pop()
    assert names == [
        "MainThread",
        "indexer",
        "größer ✓",
        "renamed while it runs",
        "own dict",
        "many",
        "deleted",
    ]
    assert comm.startswith("python") and found["threads"][-1]["frames"][-1]["function"] == "waits"
    assert profiled.returncode == 0, profiled
    tids = {thread["name"]: thread["tid"] for thread in found["threads"]}
    assert {line.partition(";")[0] for line in profiled.stdout.splitlines()} == {
        f"{name} {tid}" for name, tid in tids.items()
    }


def test_frames_are_cut():
    with harness.running(sys.executable, "states.py") as subject:
        found = dumped(subject.pid, "--frames", 1)
        assert all(len(thread["frames"]) == 1 for thread in found["threads"])
        assert (
            "    (there are more frames outside of these)\n"
            in harness.pyusdt("dump", subject.pid, "--frames", 1).stdout
        )


@pytest.mark.parametrize("python", harness.INTERPRETERS, ids=harness.name_of)
def test_ten_thousand_frames(python):
    program = "import sys\nsys.setrecursionlimit(20000)\ndef f(n):\n    if n: return f(n - 1)\n    print('ready'); input()\nf(10000)"
    with harness.started([python, "-u", "-c", program]) as subject:
        found = dumped(subject.pid, "--frames", 16384)
    [thread] = found["threads"]
    assert thread["marks"] == [] and [frame["function"] for frame in thread["frames"]] == [
        "f"
    ] * 10001 + ["<module>"]


def test_what_moves_is_stopped():
    """Of a program that does nothing but call small functions each stack is whole; and it goes on."""
    with harness.running(sys.executable, "fast_calls.py") as subject:
        for _ in range(20):
            [thread] = dumped(subject.pid)["threads"]
            assert thread["marks"] == [] and thread["frames"][-1]["function"] == "<module>", thread
        with open(f"/proc/{subject.pid}/status") as status:
            assert "TracerPid:\t0\n" in status.read()
        python = RemotePython(subject.pid)
        walker = python.make_walker(1000, 1)
        for _ in range(20):
            moving = python_threads.read_raw_threads(walker, subject.pid)
            while moving[0].is_consistent:
                moving = python_threads.read_raw_threads(walker, subject.pid)
            assert python_threads.reread_moving(python, walker, moving)[0].is_consistent


# ---- asyncio ----

TASKS = os.path.join(harness.STACKS, "programs", "tasks.py")


def line_of_text(text: str) -> int:
    """Where the program of the tasks has this line."""
    with open(TASKS) as file:
        return 1 + [line.strip() for line in file].index(text)


@pytest.mark.parametrize("python", harness.INTERPRETERS, ids=harness.name_of)
def test_tasks(python):
    """Chains of awaits: through coroutines, __await__, an asynchronous generator; what stands at their ends."""
    with harness.running(python, "tasks.py") as subject:
        for _ in range(100):
            found = {task["name"]: task for task in dumped(subject.pid)["tasks"]}
            if found["Task-1"]["awaits"]:  # on its way there when it says that it is ready
                break
    innermost = line_of_text("await asyncio.get_running_loop().create_future()")
    first = [
        (frame["function"].rpartition(".")[2], frame["line"]) for frame in found["first"]["frames"]
    ]
    assert first == [
        ("innermost", innermost),
        ("through", line_of_text("await innermost()")),
        ("__await__", line_of_text("return (yield from self.through().__await__())")),
        ("middle", line_of_text("await Own()")),
        ("outer", line_of_text("await middle()")),
    ]
    assert [frame["function"] for frame in found["second"]["frames"]] == [
        "innermost",
        "numbers",
        "iterates",
    ]
    assert {name: task["awaits"].rpartition(".")[2] for name, task in found.items()} == {
        "Task-1": "Future",
        "first": "Future",
        "second": "Future",
        "third é": "_GatheringFuture",
    }


# ---- locks ----


@pytest.mark.parametrize("kind", ["Lock", "RLock"])
@pytest.mark.parametrize("python", harness.INTERPRETERS, ids=harness.name_of)
def test_a_dead_lock(python, kind):
    """Of two threads; a third waits for one of them; nobody is told to hold what it has given back."""
    with harness.running(python, "dead_lock.py", kind) as subject:
        until = time.monotonic() + 30
        while not (found := dumped(subject.pid))["dead_locks"] or not all(
            each["call"] for each in found["threads"]
        ):
            assert time.monotonic() < until, found
        said = harness.pyusdt("dump", subject.pid).stdout
    threads = {
        frame["function"]: thread for thread in found["threads"] for frame in thread["frames"]
    }
    first, second, third = (threads[name]["tid"] for name in ("first", "second", "third"))
    assert {thread["tid"]: thread["waits_for"] for thread in found["threads"]} == {
        subject.pid: None,
        first: second,
        second: first,
        third: first,
    }
    assert [set(each) for each in found["dead_locks"]] == [{first, second}]
    assert re.search(
        r"^Dead lock: thread (\d+) waits for thread (\d+), which waits for thread \1$",
        said,
        re.MULTILINE,
    )
    assert re.search(
        rf"^Thread {third} \(.*\): waits for a lock that thread {first} holds$", said, re.MULTILINE
    )


def test_circles():
    assert find_cycles({1: 2, 2: 3, 3: 2, 4: 5, 6: 6}) == [[2, 3], [6]]
    assert dump.format_cycle([2, 3]) == "thread 2 waits for thread 3, which waits for thread 2"
    assert dump.format_cycle([6]) == "thread 6 waits for itself"


def test_a_program_without_asyncio_has_no_tasks():
    with harness.running(sys.executable, "waits.py") as subject:
        assert dumped(subject.pid)["tasks"] == []


# ---- whose ----


def test_in_a_container():
    """Its ids are those of its own namespace, ours those of the host."""
    if os.geteuid() != 0:
        pytest.skip("host: not root")
    inside = [
        "unshare",
        "--pid",
        "--fork",
        "--mount-proc",
        "--kill-child",
        sys.executable,
        "-u",
        STATES,
    ]
    with harness.started(inside) as subject:
        with open(f"/proc/{subject.pid}/task/{subject.pid}/children") as file:
            pid = int(file.read())
        found = settled(pid)
        assert found["<module>"]["tid"] == pid and found["spins"]["state"] == "running"


def as_nobody(pid: int) -> str:
    """What reading the memory of a process gives a user without rights: the message, or the functions of its first thread."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # pyusdt is loaded: this checkout may be closed to him
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        try:
            said = dump.read_process(pid, 10)[1][0].frames[0].name
        except StackReadError as error:
            said = str(error)
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        said = file.read()
    os.waitpid(child, 0)
    return said


def test_of_an_unprivileged_user():
    """His own are read, root's are not."""
    if os.geteuid() != 0:
        pytest.skip("host: not root")
    with harness.running(sys.executable, "waits.py") as subject:
        assert as_nobody(subject.pid) == (
            f"process {subject.pid} belongs to another user (uid 0): run pyusdt as that user, or as root"
        )
    program = "print('ready'); input()"
    with harness.started(
        ["/usr/bin/python3", "-u", "-c", program], user=65534, group=65534, extra_groups=[]
    ) as subject:
        assert as_nobody(subject.pid) == "<module>"


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["999999999"], 1, "pyusdt: no process 999999999\n"),
        (["0"], 2, "expected a process id, got '0'"),
        (["99999999999"], 2, "expected a process id"),
        (["python"], 2, "expected a process id, got 'python'; called python: "),
        (["1", "--frames", "0"], 2, "a number from 1 to 16384 is wanted"),
        ([], 2, "the following arguments are required: PID"),
        (["--native", "--no-stop", "1"], 2, "not allowed with argument"),
    ],
)
def test_bad_input(arguments, status, said):
    run = harness.pyusdt("dump", *arguments)
    assert (run.returncode, run.stdout) == (status, "") and said in run.stderr


def test_what_is_no_python():
    with harness.started(["sh", "-c", "echo ready; read line"]) as subject:
        run = harness.pyusdt("dump", subject.pid)
    assert run.returncode == 1 and run.stderr == (
        f"pyusdt: process {subject.pid} (sh) is not a CPython process: neither its program nor a libpython in it has the symbol "
        "_PyRuntime or the section .PyRuntime; --native shows the threads of any process, and erltrace:dump() in an Erlang node its processes\n"
    )


# ---- text of made-up threads ----


class Made:
    def __init__(self, frames=(), task=None, gil=False, marks=()):
        self.frames, self.kernel_thread, self.has_gil, self.marks = (
            list(frames),
            task,
            gil,
            list(marks),
        )
        self.native_remark, self.name = None, task.name if task else None


def test_words_of_tasks():
    frame = Frame("f", "/f.py", 3)
    assert (
        dump.format_task(AsyncTask("a\x1b", [frame], "x\n"))
        == "Task a\\x1b: awaits x\\n\n    f (/f.py:3)\n"
    )
    assert (
        dump.format_task(AsyncTask("a", [frame], None))
        == "Task a: runs, or is about to\n    f (/f.py:3)\n"
    )


def test_a_blocked_loop():
    """What a thread waits for in a task is told, but not the GIL; each task once."""
    frame, other = Frame("pay", "/f.py", 3), Frame("tick", "/f.py", 9)
    paying, again, ticking = (
        AsyncTask("pay", [frame], None),
        AsyncTask("again", [frame], None),
        AsyncTask("tick", [other], "Future"),
    )

    def told(call, letter="S", waiting=None, frames=(frame,)):
        threads = [Made(frames, KernelThread(tid, tid, "a", letter, call)) for tid in (7, 8)]
        process = dump.Process(1, 13, waiting or {})
        return [
            (thread.kernel_thread.tid, task.name)
            for thread, task in dump.find_blocked_loops(process, threads, [ticking, paying, again])
        ]

    assert told("recvfrom") == [(7, "pay"), (8, "again")]
    assert (
        told("futex")
        == told("recvfrom", "R")
        == told(None)
        == told("epoll_wait", frames=[other])
        == []
    )
    assert told("futex", waiting={7: 9}) == [(7, "pay")]
    assert told("recvfrom", "T") == []
    said = dump.format_process(
        dump.Process(1, 13, {}), [Made([frame], KernelThread(7, 7, "a", "S", "read"))], [paying]
    )
    assert (
        "\nBlocked loop: task pay waits in read, so no other task of thread 7 has its turn\n"
        in said
    )


def test_what_was_stopped_does_not_wait():
    """By Ctrl-Z, kill -STOP, a debugger, docker pause: it was said to wait in the system call that it happened to be in."""
    with harness.running(sys.executable, "states.py") as subject:
        settled(subject.pid)
        os.kill(subject.pid, signal.SIGSTOP)
        while proc_threads.read_state_letter(subject.pid, subject.pid) != "T":
            pass
        run = harness.pyusdt("dump", subject.pid)
        threads = dumped(subject.pid)["threads"]
    assert (
        f"\nStopped by a signal: kill -CONT {subject.pid} lets it go on\n\nThread {subject.pid} (MainThread): stopped, in read\n"
        in run.stdout
    )
    assert "waits in" not in run.stdout and {thread["state"] for thread in threads} == {"stopped"}


def test_words_of_what_is_halted():
    def said(*tasks):
        return dump.format_process(dump.Process(1, 13, {}), [Made(task=task) for task in tasks], [])

    for letter, where in (("D", "__refrigerator"), ("S", "do_freezer_trap"), ("S", "get_signal")):
        frozen = KernelThread(7, 7, "a", letter, "futex", where)
        assert (
            "\nFrozen with its cgroup (/proc/1/cgroup), as docker pause and systemctl freeze do\n\nThread 7 (a): frozen, in futex\n"
            in said(frozen)
        )
        assert "\nFrozen with" in said(
            frozen, KernelThread(8, 8, "b", "D", "clock_nanosleep", "hrtimer_nanosleep")
        )
    debugged = KernelThread(7, 7, "a", "t", "futex")
    assert (
        "\nStopped by a debugger: TracerPid in /proc/1/status says which process that is\n\nThread 7 (a): stopped by a debugger, in futex\n"
        in said(debugged)
    )
    assert "\nThread 7 (a): stopped by a debugger, in futex\n" in said(
        debugged, KernelThread(8, 8, "b", "S", "read", "pipe_read")
    )
    assert (
        "TracerPid" not in said(debugged, KernelThread(8, 8, "b", "S", "read", "pipe_read"))
        and "lets it go on" not in said()
    )


def test_words():
    task = KernelThread(7, 7, "worker\x1b[2J", "S", "futex")
    frame = Frame("f\n", "/tmp/\x1b.py", None)
    assert dump.format_thread(Made([frame], task, marks=["torn"]), {}) == (
        "Thread 7 (worker\\x1b[2J): waits in futex\n    (the stack moved too fast: the innermost functions are left out)\n"
        "    f\\n (/tmp/\\x1b.py)\n"
    )
    assert (
        dump.format_thread(Made(gil=True), {})
        == "Thread ?: state unknown, holds the GIL\n    (no Python function)\n"
    )
    assert (
        dump.format_thread(Made(task=KernelThread(7, 7, "a", "D", None)), {})
        == "Thread 7 (a): in the kernel\n    (no Python function)\n"
    )


@pytest.mark.parametrize("minor", [9, 10, 11, 13])
def test_tables_of_lines_that_make_no_sense(minor):
    for table in (b"", b"\x00", b"\xff" * 99, b"\x80" * 5, b"\x7f" * 64, bytes(range(256))):
        for offset in (-2, 0, 5, 1 << 40):
            assert isinstance(find_line(minor, table, 5, offset), int | None)
