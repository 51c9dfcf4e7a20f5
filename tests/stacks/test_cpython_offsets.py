"""The table of CPython's offsets, against the headers of every CPython that is here."""

from __future__ import annotations

import errno
import os
import shutil
import struct
import subprocess

import pytest

from pydtrace import _tracer
from pydtrace.remote_python.remote_python import RemotePython
from tests.support import stacks_harness as harness
from tests.support.python_headers import AARCH64, compiled

SOURCE = os.path.join(harness.STACKS, "layout_main.c")
COOKIE = b"xdebugpy"


OF_TASK = """
import asyncio, ctypes, struct, sys
async def nothing(): pass
async def main():
    task = asyncio.get_running_loop().create_task(nothing())
    words = struct.unpack(f"{type(task).__basicsize__ // 8}Q", ctypes.string_at(id(task), type(task).__basicsize__))
    print(8 * words.index(id(task.get_coro())))
    await task
asyncio.run(main())
"""


def of_task(python: str) -> dict[str, int]:
    """What no header has: where the coroutine of a Task of asyncio is."""
    told = subprocess.run(
        [python, "-c", OF_TASK], capture_output=True, text=True, check=True
    ).stdout
    return {} if harness.minor_of(python) >= 14 else {"task_coro": int(told)}


@pytest.mark.parametrize("python", harness.INTERPRETERS, ids=harness.name_of)
def test_the_table_is_what_the_headers_say(python, tmp_path):
    """Of 3.13 and later, what the process tells."""
    wanted = compiled(python, tmp_path, SOURCE) | of_task(python)
    with harness.running(python, "waits.py") as subject:
        found = RemotePython(subject.pid).layout
    found = {name: offset for name, offset in found.items() if offset or name in wanted}
    if harness.minor_of(python) == 13:  # it moved in the course of 3.13: Tasks looks from there on
        assert found["thread_loop"] <= wanted.pop("thread_loop") < found.pop("thread_loop") + 32
    assert found == wanted


@pytest.mark.parametrize("python", harness.INTERPRETERS, ids=harness.name_of)
def test_the_table_is_that_of_aarch64(python, tmp_path):
    """Its C library has locks of another size."""
    compiler, emulator = AARCH64
    for tool in (compiler, emulator[0]):
        if not shutil.which(tool):
            pytest.skip(f"host: no {tool}")
    there = compiled(python, tmp_path, SOURCE, compiler, emulator)
    assert there == compiled(python, tmp_path, SOURCE)


def test_versions_that_are_not_known():
    for minor in (0, 8, 13, 16, 255):
        with pytest.raises(OSError) as error:
            _tracer.python_layout(minor)
        assert error.value.errno == errno.ENOENT


def told(version: int, **words: int) -> bytes:
    """What a process says that has this version and, by number, these words."""
    numbers = [0] * (_tracer.LAYOUT_SIZE // 8)
    numbers[1] = version
    for name, value in words.items():
        numbers[int(name[1:])] = value
    return COOKIE + struct.pack(f"={len(numbers) - 1}Q", *numbers[1:])


def test_what_is_told_is_not_believed():
    wrong = {
        errno.EINVAL: [bytes(_tracer.LAYOUT_SIZE), told(0x020700F0), told(0xFFFFFFFFFFFF0000)],
        errno.ENOENT: [told(0x030C00F0), told(0x031000F0), told(0x03FF00F0)],
        errno.ERANGE: [
            told(0x030D00F0, w9=1 << 16),
            told(0x030E00F0, w33=1 << 63),
            told(0x030D00F0, w15=8),
        ],
    }
    for number, texts in wrong.items():
        for text in texts:
            with pytest.raises(OSError) as error:
                _tracer.python_layout_from_words(text)
            assert error.value.errno == number
    assert _tracer.python_layout_from_words(told(0x030D00F0, w9=40))["interp_threads"] == 40
    with pytest.raises(ValueError):
        _tracer.python_layout_from_words(b"xdebugpy")


def test_offsets_that_no_walk_can_use():
    layout = _tracer.python_layout(12)
    with pytest.raises(ValueError):
        _tracer.Walker(_tracer.Memory(os.getpid()), {**layout, "frame_code": 4096}, 0, 10, 1)
    with pytest.raises(ValueError):
        _tracer.Walker(_tracer.Memory(os.getpid()), layout, 0, 1 << 20, 1)
