"""The ring of pending calls of an interpreter whose memory lies: nothing is written but a slot, the ring and its flags.

Input: a process with a region of bytes that the test makes an interpreter of, for each shape of the ring: 3.10, 3.12, 3.13.
"""

from __future__ import annotations

import errno
import os
import random
import struct
import subprocess
import sys

import pytest

from pydtrace import _tracer

SIZE, RUNTIME, INTERPRETER, THREAD, LOCK, SLOT = 1 << 16, 0x1000, 0x4000, 0x9000, 0xA000, 0xB000
FUNCTION, MAIN_THREAD = 0x1234, 0x7F0000001000
TEXT = b"try:\n if __import__('x'):pass\nexcept:pass\n"
HOLDS = "import ctypes, sys; b = ctypes.create_string_buffer(1 << 16); print(ctypes.addressof(b), flush=True); sys.stdin.read()"
NEW_RING = {
    "thread_breaker": 24,
    "interp_breaker": 0,
    "interp_id": 7312,
    "interp_finalizing": 7360,
    "interp_threads": 7344,
    "interp_ring": 32,
    "ring_lock": 8,
    "ring_todo": 12,
    "ring_max": 16,
    "ring_calls": 24,
    "ring_entries": 300,
    "ring_entry": 24,
    "ring_first": 7224,
    "ring_last": 7228,
}


class Lying:
    """A process with an interpreter of bytes; poke() changes them."""

    def __init__(self, minor: int) -> None:
        self.layout = _tracer.python_layout(min(minor, 12)) | (NEW_RING if minor == 13 else {})
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.base = int(self.process.stdout.readline())
        self.memory = os.open(f"/proc/{self.process.pid}/mem", os.O_RDWR)
        self.tell_the_truth()

    def poke(self, at: int, value: int, size: int = 8) -> None:
        os.pwrite(self.memory, (value % (1 << 8 * size)).to_bytes(size, "little"), self.base + at)

    def tell_the_truth(self) -> None:
        os.pwrite(self.memory, bytes(SIZE), self.base)
        layout, base = self.layout, self.base
        self.poke(RUNTIME + layout["runtime_main"], base + INTERPRETER)
        self.poke(RUNTIME + layout["runtime_interpreters"], base + INTERPRETER)
        self.poke(RUNTIME + layout["runtime_main_thread"], MAIN_THREAD)
        self.poke(RUNTIME + layout["runtime_initialized"], 1, 4)
        self.poke(INTERPRETER + layout["interp_threads"], base + THREAD)
        self.poke(THREAD + layout["thread_interp"], base + INTERPRETER)
        self.poke(THREAD + layout["thread_id"], MAIN_THREAD)
        ring = INTERPRETER + layout["interp_ring"]
        if layout["ring_max"]:
            self.poke(ring + layout["ring_max"], 300, 4)
        else:
            self.poke(ring + layout["ring_lock"], base + LOCK)
            self.poke(LOCK, 1, 4)

    def fields(self) -> list[tuple[int, int]]:
        """(place, size) of all that decides where something is written."""
        layout, ring = self.layout, INTERPRETER + self.layout["interp_ring"]
        ints = [ring + layout[f"ring_{name}"] for name in ("todo", "first", "last")]
        ints += [ring + layout["ring_max"]] if layout["ring_max"] else [LOCK]
        ints += [RUNTIME + layout["runtime_initialized"], INTERPRETER + layout["interp_finalizing"]]
        if layout["interp_breaker"]:
            ints.append(INTERPRETER + layout["interp_breaker"])
        words = [RUNTIME + layout[f"runtime_{name}"] for name in ("main", "interpreters")]
        words += [RUNTIME + layout["runtime_main_thread"], RUNTIME + layout["runtime_finalizing"]]
        words += [INTERPRETER + layout[f"interp_{name}"] for name in ("next", "threads", "id")]
        words += [THREAD + layout[f"thread_{name}"] for name in ("next", "interp", "id")]
        words += [ring + layout["ring_lock"]]
        return [(at, 4) for at in ints] + [(at, 8) for at in words]

    def read(self) -> bytes:
        return os.pread(self.memory, SIZE, self.base)

    def make_entry(self) -> _tracer.RingEntry:
        return _tracer.RingEntry(
            _tracer.Memory(self.process.pid),
            self.layout,
            self.base + RUNTIME,
            FUNCTION,
            [self.base + SLOT],
        )

    def may_change(self) -> set[int]:
        layout, ring = self.layout, INTERPRETER + self.layout["interp_ring"]
        places = [(SLOT, _tracer.SLOT_SIZE)]
        places.append((ring + layout["ring_calls"], layout["ring_entries"] * layout["ring_entry"]))
        places += [(ring + layout[f"ring_{name}"], 4) for name in ("todo", "last")]
        if layout["thread_breaker"]:
            places.append((THREAD + layout["thread_breaker"], 8))
        else:
            places.append((INTERPRETER + layout["interp_breaker"], 4))
        return {at + i for at, size in places for i in range(size)}

    def end(self) -> None:
        os.close(self.memory)
        self.process.communicate()


@pytest.fixture(params=[10, 12, 13])
def lying(request):
    made = Lying(request.param)
    yield made
    made.end()


def put(lying: Lying) -> tuple[int, int, set[int]]:
    """(error, result, the places that have changed)"""
    before = lying.read()
    for _ in range(50):
        try:
            error, result, *_ = lying.make_entry().put(100, 0, TEXT)
        except OSError as failed:
            error, result = failed.errno, -1
        if error not in (errno.EAGAIN, errno.EINTR):
            break
    after = lying.read()
    return error, result, {i for i in range(SIZE) if before[i] != after[i]}


def test_the_truth(lying):
    error, result, changed = put(lying)
    assert (error, result) == (0, _tracer.RING_DONE)
    ring = INTERPRETER + lying.layout["interp_ring"]
    entry = struct.unpack_from("=2Q", lying.read(), ring + lying.layout["ring_calls"])
    assert entry == (FUNCTION, lying.base + SLOT)
    assert changed and changed <= lying.may_change()
    assert lying.make_entry().waits() is False  # it is another object's


def test_each_field_lies(lying):
    """Each result is a refusal, or an entry in the ring."""
    draw = random.Random(1)
    values = [-1, 1, 2, 3, 8, 1 << 31, 1 << 32, 1 << 63, 299, 300, 301, 32, 31, 30, 100]
    allowed = lying.may_change()
    results = set()
    for at, size in lying.fields():
        for value in [*values, lying.base + at, lying.base + SIZE - 4, draw.getrandbits(64)]:
            lying.tell_the_truth()
            lying.poke(at, value, size)
            error, result, changed = put(lying)
            assert changed <= allowed, (at, value, error, result, sorted(changed - allowed)[:8])
            assert bool(changed) <= (result == _tracer.RING_DONE), (at, value, result)
            results.add(result)
    assert {_tracer.RING_MISFIT, _tracer.RING_FINALIZING, _tracer.RING_DONE} <= results


def test_threads_in_a_circle(lying):
    lying.poke(THREAD + lying.layout["thread_next"], lying.base + THREAD)
    error, result, changed = put(lying)
    assert not changed and (error, result) in ((0, _tracer.RING_MISFIT), (errno.EINTR, -1))


def test_a_slot_that_is_not_empty(lying):
    lying.poke(SLOT + 700, 1, 1)
    assert put(lying) == (0, _tracer.RING_NO_SLOT, set())
