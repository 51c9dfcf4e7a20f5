"""The table of a heap in a process that lies: sizes have bounds, and nothing but StackReadError is raised."""

from __future__ import annotations

import random
import struct
from types import SimpleNamespace

import pytest

from pydtrace.remote_python import heap_table
from pydtrace.remote_python.heap_table import HeapTable, NoHeap

HEAD = (0x7061656864737970, 1, 1, 512, 5, 0, 9000, 3, 4, 1, 3, 0, 0, 200, 4000)
SAMPLE = struct.Struct("=QQQQIHH")


class Memory:
    """data: at address 0; reads: what was asked for."""

    def __init__(self, data: bytes) -> None:
        self.data, self.reads = data, []

    def read(self, address: int, size: int) -> bytes:
        self.reads.append(size)
        if address + size > len(self.data):
            raise OSError(14, "Bad address")
        return self.data[address : address + size]


def table(memory: Memory) -> HeapTable:
    made = object.__new__(HeapTable)
    made._python = SimpleNamespace(pid=1, memory=memory)
    made._codes = SimpleNamespace(read_frame=lambda code, instr: (code, instr))
    made._stacks, made._address = {}, 0
    return made


def image(head=HEAD, samples=(), words=()) -> bytes:
    data = bytearray(5000)
    struct.pack_into("=QIIQQQQQQIIIIII", data, 0, *head)
    for i, each in enumerate(samples):
        SAMPLE.pack_into(data, 200 + i * SAMPLE.size, *each)
    struct.pack_into(f"={len(words)}Q", data, 4000, *words)
    return bytes(data)


def test_a_table():
    words = (0, 77, 2 | 1 << 32, 10, 11, 20, 21)
    made = table(
        Memory(image(samples=[(0,) * 7, (0x1000, 10, 600, 7, 1, 0, 5), (0,) * 7], words=words))
    )
    snapshot = made.read()
    assert snapshot.blocks == [heap_table.HeapBlock(0x1000, 10, 600, 7, 1, 5)]
    assert snapshot[1:] == (True, 512, 5, 9000, 3, 4, True)
    assert made.read_stack(1) == ([(10, 11), (20, 21)], True)
    assert made.read_stack(0) == made.read_stack(1 << 31) == ([], False)


@pytest.mark.parametrize("at", [0, 1, 10, 13, 14])
def test_a_head_that_cannot_be(at):
    head = list(HEAD)
    head[at] = 0xFFFFFFFF
    with pytest.raises(NoHeap):
        table(Memory(image(head))).read()


def test_a_block_that_changes_is_left_out():
    class Changing(Memory):
        def read(self, address: int, size: int) -> bytes:
            data = bytearray(super().read(address, size))
            if address == 200:
                data[SAMPLE.size] = len(self.reads) % 256
            return bytes(data)

    sample = (0x1000, 10, 600, 7, 1, 0, 5)
    snapshot = table(Changing(image(samples=[(0,) * 7, sample, sample]))).read()
    assert len(snapshot.blocks) == 1


def test_random_words():
    rest = random.Random(5)
    for _ in range(300):
        words = [rest.getrandbits(64) for _ in range(100)]
        head = [
            *HEAD[:10],
            rest.randrange(1 << 17),
            0,
            0,
            rest.randrange(1 << 12),
            rest.randrange(1 << 13),
        ]
        memory = Memory(image(head, words=words))
        made = table(memory)
        try:
            made.read()
            for number in range(1, 90, 7):
                made.read_stack(number)
        except heap_table.StackReadError:
            pass
        assert max(memory.reads) <= 65_536 * SAMPLE.size
