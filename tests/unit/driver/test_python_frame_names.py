"""Names of the frames of stacks that programs in the kernel have walked: who reads them is not held up for ever."""

import threading
import time

import pytest

from pydtrace.driver import python_frame_names
from pydtrace.untrusted import io_worker
from pydtrace.unwind import python_frame_words

WORD = python_frame_words.MARK | 7 << python_frame_words.CODE_SHIFT


class _Slow:
    """A process of which each look takes a while."""

    gate = threading.Event()

    def __init__(self, pid):
        self.pid = pid

    def name_frames(self, words):
        self.gate.wait(60)
        return {word: f"f{self.pid}" for word in words}


@pytest.fixture
def named(monkeypatch):
    monkeypatch.setattr(python_frame_names, "_Process", _Slow)
    _Slow.gate.clear()
    made = python_frame_names.PythonFrameNames(by_id=True)
    made.read_messages = lambda: None
    yield made
    _Slow.gate.set()
    made.close()


def test_names_are_waited_for(named):
    named.name_stack(1, (WORD,))
    threading.Timer(0.1, _Slow.gate.set).start()
    assert named.name_frame(1, WORD) == "f1" and named.messages == []


def test_one_look_that_never_ends(named, monkeypatch):
    monkeypatch.setattr(io_worker, "JOB_TIMEOUT", 0.1)
    named.name_stack(1, (WORD,))
    assert named.name_frame(1, WORD) == python_frame_names.UNKNOWN
    named.name_stack(2, (WORD,))
    assert named.messages == [
        "process 1: its memory cannot be read in time: its frames have no names"
    ]


def test_what_stands_behind_a_look_that_never_ends(named, monkeypatch):
    """Names of others' functions, which were asked for while it hung."""
    monkeypatch.setattr(io_worker, "JOB_TIMEOUT", 0.1)
    monkeypatch.setattr(
        _Slow,
        "name_frames",
        lambda self, words: (
            self.pid < 4 and self.gate.wait(60),
            dict.fromkeys(words, f"f{self.pid}"),
        )[1],
    )
    for pid in range(1, 6):
        named.name_stack(pid, (WORD,))
    assert [named.name_frame(pid, WORD) for pid in (5, 4, 1)] == [
        "f5",
        "f4",
        python_frame_names.UNKNOWN,
    ]
    assert len(named.messages) == 3


def test_many_looks_that_are_slow(named, monkeypatch):
    """Each ends in time, but there is no end to them; whoever asks waits once."""
    monkeypatch.setattr(python_frame_names, "_IDLE_TIMEOUT", 0.2)
    for pid in range(100):
        named.name_stack(pid, (WORD,))
    began = time.monotonic()
    assert {named.name_frame(pid, WORD) for pid in range(100)} == {python_frame_names.UNKNOWN}
    assert time.monotonic() - began < 15, "100 times 0.2 s are 20"
    assert len(named.messages) == 1 and "shown as ?" in named.messages[0]
    _Slow.gate.set()
    end = time.monotonic() + 60
    while named.name_frame(99, WORD) != "f99":
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_function_that_took_another_s_place_is_told(named, monkeypatch):
    """Which of them a stack was of can not be told any more; what was read once stays."""
    texts = iter(["first (a.py:1)", "second (b.py:2)", "first (a.py:1)"])
    monkeypatch.setattr(_Slow, "name_frames", lambda self, words: dict.fromkeys(words, next(texts)))
    for _ in range(3):
        named.name_stack(1, (WORD,))
    named.wait_until_idle()
    assert named.name_frame(1, WORD) == "second (b.py:2) or first (a.py:1)"


def test_processes_are_not_held_without_end(named):
    _Slow.gate.set()
    for pid in range(600):
        named.name_stack(pid, (WORD,))
    named.wait_until_idle()
    assert named.name_frame(599, WORD) == "f599" and named.name_frame(0, WORD) == "f0"
    assert len(named._processes) <= 256
