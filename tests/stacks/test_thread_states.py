"""The states of threads by files that stay open, and reads of many parts of a process's memory."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time

import pytest

from pydtrace import _tracer
from pydtrace.process import proc_threads

WAITS = """
import threading
threads = [threading.Thread(target=threading.Event().wait, daemon=True) for _ in range(20)]
for each in threads:
    each.start()
print("ready", flush=True)
input()
"""


def count_files() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.fixture
def waiting():
    with subprocess.Popen(
        [sys.executable, "-c", WAITS], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline()
        yield process
        process.kill()


def wait_until(condition) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.parametrize("limit", [0, 5, 128])
def test_letters_are_those_of_proc(waiting, limit):
    before = count_files()
    states = _tracer.ThreadStates(waiting.pid, limit)
    tids = proc_threads.list_thread_ids(waiting.pid)
    assert len(tids) == 21
    wait_until(lambda: all(proc_threads.read_state_letter(waiting.pid, tid) == "S" for tid in tids))
    assert states.read(tids) == b"S" * 21
    assert count_files() - before == min(limit, 21)
    for order in (tids[::-1], tids[3:] + tids[:3], [*tids, *tids]):
        assert states.read(order) == b"S" * len(order)
    assert states.read([tids[0], 1 << 22, tids[1]]) == b"S\0S"
    assert count_files() - before == min(limit, 2)
    del states
    assert count_files() == before


def test_a_thread_that_ended_is_not_there():
    go = threading.Event()
    thread = threading.Thread(target=go.wait)
    thread.start()
    states = _tracer.ThreadStates(os.getpid(), 8)
    tids = [thread.native_id, threading.get_native_id()]
    assert states.read(tids)[0] and states.read(tids)[1:] == b"R"
    go.set()
    thread.join()
    wait_until(lambda: states.read(tids) == b"\0R")


def test_a_process_that_ended(waiting):
    states = _tracer.ThreadStates(waiting.pid, 8)
    assert states.read([waiting.pid]) in (b"S", b"R")
    waiting.kill()
    waiting.wait()
    assert states.read([waiting.pid]) == b"\0"


def test_each_part_is_read_by_itself():
    """Parts that are not there, between others, first, last, and more than one system call takes."""
    text = ctypes.create_string_buffer(b"0123456789")
    memory = _tracer.Memory(os.getpid())
    here = ctypes.addressof(text)
    assert memory.read_each([], 4) == []
    assert memory.read_each([0, here, 8, 1 << 63, here + 4, 16], 4) == [
        None,
        b"0123",
        None,
        None,
        b"4567",
        None,
    ]
    assert memory.read_each([here + 1] * 3000, 2) == [b"12"] * 3000
