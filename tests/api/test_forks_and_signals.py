"""The consumer API beside threads, forks and signals: nothing hangs, and probes go off."""

import asyncio
import os
import select
import signal
import subprocess
import sys
import threading

import pytest

import pyusdt

SCRIPT = "pyusdt*:::user_trace-i4s4 { trace(arg2); }"


def traced(script=SCRIPT, **more):
    return pyusdt.trace(script, pid=os.getpid(), **more)


def test_several_threads_trace_at_the_same_time():
    """Each with a session of its own, all of this process."""
    found, barrier = {}, threading.Barrier(4)

    def run(number):
        with traced() as t:
            barrier.wait(20)
            for i in range(50):
                pyusdt.p(1000 * number + i)
            barrier.wait(20)
        found[number] = [rec[0] for rec in t]

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    everything = sorted(1000 * number + i for number in range(4) for i in range(50))
    assert [sorted(values) for values in found.values()] == [everything] * 4


def test_one_tracing_is_read_by_several_threads():
    with traced() as t:
        seen, lock = [], threading.Lock()

        def read():
            for rec in t:
                with lock:
                    seen.append(rec[0])

        threads = [threading.Thread(target=read) for _ in range(3)]
        for thread in threads:
            thread.start()
        for i in range(2000):
            pyusdt.p(i)
    for thread in threads:
        thread.join(60)
    assert sorted(seen) == list(range(2000))


def in_child(function):
    """What the function gives in a forked child; fails where that takes 60 s."""
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.write(writer, repr(function()).encode())
        except BaseException as error:  # noqa: BLE001  (the parent fails with it)
            os.write(writer, repr(error).encode())
        os._exit(0)
    os.close(writer)
    try:
        ready, _, _ = select.select([reader], [], [], 60)
        if not ready:
            os.kill(pid, signal.SIGKILL)
        return os.read(reader, 10_000).decode()
    finally:
        os.close(reader)
        os.waitpid(pid, 0)


def test_a_forked_child_traces_itself():
    def child():
        with traced(engine="embedded") as t:
            pyusdt.p(3)
        return [rec[0] for rec in t]

    with traced() as t:
        pyusdt.p(1)
        assert in_child(child) == "[3]"
        pyusdt.p(2)
    assert [rec[0] for rec in t] == [1, 3, 2]


def test_a_forked_child_leaves_the_tracing_alone():
    with traced() as t:

        def child():
            t.__exit__(None, None, None)
            try:
                return t.drops
            except RuntimeError as error:
                return str(error)

        pyusdt.p(1)
        assert f"belongs to process {os.getpid()}" in in_child(child)
        pyusdt.p(2)
    assert [rec[0] for rec in t] == [1, 2]


def test_an_application_of_asyncio_traces_itself():
    """Its own events come through rings that its own loop empties: one that can not keep up loses, and does not wait."""

    async def main():
        async with pyusdt.atrace(SCRIPT, pid=os.getpid(), buffer=100, bufsize="64k") as t:
            for i in range(100_000):  # the loop does not run meanwhile
                pyusdt.p(i)
            seen = [rec[0] for rec in t.available()]
            pyusdt.p(-1)
        seen += [rec[0] async for rec in t]
        return seen, t.drops["principal"]

    with pytest.warns(pyusdt.TraceWarning, match="lost"):
        seen, lost = asyncio.run(asyncio.wait_for(main(), 60))
    assert len(seen) + lost == 100_001
    assert lost > 0


LOOP = """import os, pyusdt, sys
with pyusdt.trace("pyusdt*:::user_trace-i4s4 { trace(arg2); } END { @ends = count(); }", pid=os.getpid()) as t:
    pyusdt.p(1)
    try:
        for rec in t:
            print("waits", flush=True)
    finally:
        print("leaves", flush=True)
"""


def test_control_c_ends_the_loop():
    child = subprocess.Popen(
        [sys.executable, "-c", LOOP], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout.readline() == "waits\n"
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
    finally:
        child.kill()
        child.wait()
    assert out == "leaves\n"
    assert err.rstrip().endswith("KeyboardInterrupt")
    assert child.returncode == -signal.SIGINT
