"""The sampled blocks of another process's heap, read from outside (src/pyusdt/_core_c/heap_table.h).

- The process is untrusted: sizes and numbers have bounds, and every address may be anything.
- The table changes while it is read: a block counts if two reads have it alike.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from .code_objects import CodeObjects
from .remote_modules import RemoteModules
from .remote_python import StackReadError, make_read_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .code_objects import Frame
    from .remote_python import RemotePython

_MAGIC, _VERSION = 0x7061656864737970, 1
_HEAD = struct.Struct("=QIIQQQQQQIIIIII")
_SAMPLE = struct.Struct("=QQQQIHH")
_SAMPLES, _FRAMES, _WORDS = 1 << 16, 128, 1 << 20  # at most
_FAR = 1 << 24  # bytes of the whole table


class NoHeap(StackReadError):
    """There is no such table, or it is none of this pyusdt's."""


class HeapBlock(NamedTuple):
    """weight: the bytes that it stands for; born: ns of the monotonic clock; stack: a number for read_stack()."""

    address: int
    size: int
    weight: int
    born: int
    stack: int
    serial: int


class HeapSnapshot(NamedTuple):
    """blocks: those that live; began: ns; allocated: bytes since then, estimated; no_room: samples that were not kept."""

    blocks: list[HeapBlock]
    is_on: bool
    mean: int
    began: int
    allocated: int
    no_room: int
    other_threads: int
    is_displaced: bool


class HeapTable:
    """Of a process that samples its heap.  Raises StackReadError."""

    def __init__(self, python: RemotePython) -> None:
        self._python, self._codes = python, CodeObjects(python)
        self._stacks: dict[int, tuple[list[Frame], bool]] = {}
        try:
            main = python.read_word(python.runtime + python.layout["runtime_main"])
            modules = RemoteModules(python, self._codes)
            state = modules.find_member(main, "pyusdt._core", "heap_state")
            [self._address] = struct.unpack("=Q", self._codes.read_bytes(state or 0))
        except (OSError, LookupError, ValueError, struct.error):
            raise NoHeap(f"process {python.pid} has no table of its heap") from None

    def read(self) -> HeapSnapshot:
        """The blocks that live now.  Raises StackReadError."""
        try:
            return self._read()
        except OSError as error:
            raise make_read_error(self._python.pid, error) from None

    def _read(self) -> HeapSnapshot:
        (
            magic,
            version,
            is_on,
            mean,
            began,
            _,
            allocated,
            no_room,
            other_threads,
            is_displaced,
            used,
            _,
            _,
            self._samples_at,
            self._words_at,
        ) = _HEAD.unpack(self._python.memory.read(self._address, _HEAD.size))
        if (
            (magic, version) != (_MAGIC, _VERSION)
            or used > _SAMPLES
            or max(self._samples_at, self._words_at) > _FAR
        ):
            raise NoHeap(f"process {self._python.pid}: its table of the heap is of another pyusdt")
        first, second = (
            self._python.memory.read(self._address + self._samples_at, used * _SAMPLE.size)
            for _ in range(2)
        )
        blocks = [
            HeapBlock(each[0], each[1], each[2], each[3], each[4], each[6])
            for each, again in zip(
                _SAMPLE.iter_unpack(first), _SAMPLE.iter_unpack(second), strict=True
            )
            if each == again and each[0]
        ]
        return HeapSnapshot(
            blocks, bool(is_on), mean, began, allocated, no_room, other_threads, bool(is_displaced)
        )

    def read_stack(self, number: int) -> tuple[list[Frame], bool]:
        """(the frames of an allocation, the innermost first; whether there are more).  Raises StackReadError."""
        if number not in self._stacks:
            try:
                self._stacks[number] = self._read_stack(number)
            except OSError as error:
                raise make_read_error(self._python.pid, error) from None
        return self._stacks[number]

    def _read_stack(self, number: int) -> tuple[list[Frame], bool]:
        if not 0 < number < _WORDS - 2:
            return [], False
        at = self._address + self._words_at + 8 * number
        _, count = struct.unpack("=QQ", self._python.memory.read(at, 16))
        n = min(count & 0xFFFFFFFF, _FRAMES)
        words = self._python.memory.read(at + 16, 16 * n)
        frames = [self._codes.read_frame(*each) for each in struct.iter_unpack("=QQ", words)]
        return frames, bool(count >> 32)
