"""The hooks of the allocators: they leave them as they were, beside other tools, forks, threads and the collector.

Input: scripts that run in a process of their own.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

BEGIN = """
import ctypes, gc, os, threading, time, tracemalloc
from pyusdt import _core

class Allocator(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("ctx", "malloc", "calloc", "realloc", "free")]

def allocators():
    found = []
    for domain in range(3):
        one = Allocator()
        ctypes.pythonapi.PyMem_GetAllocator(domain, ctypes.byref(one))
        found.append(tuple(getattr(one, name) for name, _ in one._fields_))
    return found

def table():
    from pydtrace.remote_python.heap_table import HeapTable
    from pydtrace.remote_python.remote_python import RemotePython
    return HeapTable(RemotePython(os.getpid()))

def live(name):
    there = table()
    return sum(each.weight for each in there.read().blocks
               if any(frame.name == name for frame in there.read_stack(each.stack)[0]))

def keep(n=3000):
    return [bytes(1000) for _ in range(n)]
"""


def run(script: str, *options: str) -> None:
    subprocess.run([sys.executable, *options, "-c", BEGIN + script], check=True, timeout=120)


def test_the_allocators_are_as_before():
    run("""
before = allocators()
_core.heap_start(None, 10_000, 60.0)
now = allocators()
assert now[0] == before[0] and now[1] != before[1] and now[2] != before[2]  # RAW is not touched
_core.heap_stop(None)
assert allocators() == before
_core.heap_stop(None)
assert allocators() == before
""")


def test_what_lives_and_what_was_freed():
    run("""
early = keep()
_core.heap_start(None, 10_000, 60.0)
del early  # not sampled: passes through
kept = keep()
assert abs(live("keep") - 3_000_000) < 1_200_000, live("keep")
for _ in range(20):
    keep()
assert abs(live("keep") - 3_000_000) < 1_200_000, live("keep")
del kept
assert live("keep") < 300_000, live("keep")
grows = bytearray()
for _ in range(3000):
    grows += bytes(1000)  # by realloc
assert len([each for each in table().read().blocks if each.size > 2_500_000]) <= 1
_core.heap_stop(None)
""")


def test_it_ends_by_itself():
    run("""
before = allocators()
_core.heap_start(None, 1000, 0.3)
time.sleep(0.4)
kept = keep()
assert allocators() == before
try:
    _core.heap_keep(None, 1.0)
except RuntimeError as error:
    assert "not sampled any more" in str(error)
else:
    raise SystemExit("kept")
_core.heap_start(None, 10_000, 60.0)
kept = keep()
assert live("keep") > 1_000_000
""")


@pytest.mark.parametrize("first", [True, False])
def test_beside_tracemalloc(first):
    run(f"""
if {first}:
    tracemalloc.start()
before = allocators()
_core.heap_start(None, 10_000, 60.0)
if not {first}:
    tracemalloc.start()
kept = keep()
assert live("keep") > 1_000_000
assert tracemalloc.get_traced_memory()[0] > 3_000_000
_core.heap_keep(None, 60.0)
assert not table().read().is_displaced
tracemalloc.stop()
_core.heap_keep(None, 60.0)
assert table().read().is_displaced is {first}  # it has put back what was there before it, without these hooks
_core.heap_stop(None)
for _ in range(3):
    _core.heap_start(None, 10_000, 60.0)
    kept = keep()
    assert live("keep") > 1_000_000
    _core.heap_stop(None)
    kept = keep()
""")


def test_with_the_debug_allocator():
    run(
        """
_core.heap_start(None, 1000, 60.0)
kept = keep()
assert live("keep") > 1_000_000
_core.heap_stop(None)
""",
        "-X",
        "dev",
    )


def test_forks_threads_and_the_collector():
    run("""
gc.set_threshold(1)
_core.heap_start(None, 500, 60.0)

class Node:
    def __init__(self):
        self.me, self.block = self, bytes(700)
    def __del__(self):
        [Node for _ in range(3)]

def work():
    for _ in range(300):
        Node()
        {n: str(n) for n in range(50)}

threads = [threading.Thread(target=work) for _ in range(8)]
for each in threads:
    each.start()
for _ in range(10):
    if pid := os.fork():
        assert os.waitpid(pid, 0)[1] == 0
    else:
        work()
        _core.heap_stop(None)
        work()
        os._exit(0)
for each in threads:
    each.join()
gc.collect()
assert live("work") < 200_000, live("work")
_core.heap_stop(None)
work()
""")


def test_new_code_all_the_time_stays_bounded():
    run("""
_core.heap_start(None, 64, 60.0)
kept = []
for n in range(40_000):
    names = {"kept": kept}
    exec(compile(f"def made_{n}(): kept.append(bytes(300))\\nmade_{n}()", f"<{n}>", "exec"), names)
    kept[:-100] = []
snapshot = table().read()
assert snapshot.is_on
many = [bytes(100) for _ in range(200_000)]
snapshot = table().read()
assert snapshot.no_room > 1000 and len(snapshot.blocks) <= 65_535
_core.heap_stop(None)
""")


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("heap_start(None, 1, 1.0)", "ValueError"),
        ("heap_start(None, 1 << 50, 1.0)", "ValueError"),
        ("heap_start(None, 1000, 0.0)", "ValueError"),
        ("heap_start(None, 1000, float('nan'))", "ValueError"),
        ("heap_start(None)", "TypeError"),
        ("heap_keep(None, 1.0)", "RuntimeError"),
    ],
)
def test_misuse(call, error):
    run(f"""
before = allocators()
try:
    _core.{call}
except {error}:
    assert allocators() == before
else:
    raise SystemExit("no {error}")
""")


def test_two_at_once():
    run("""
_core.heap_start(None, 1000, 60.0)
try:
    _core.heap_start(None, 1000, 60.0)
except RuntimeError as error:
    assert "another pyusdt" in str(error)
else:
    raise SystemExit("no error")
""")
