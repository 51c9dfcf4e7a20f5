# mypy: ignore-errors
"""The interpreters whose stacks programs in the kernel walk: where they are, and what their functions are called.

In: process ids, words of frames (unwind/python_frame_words.py).  Out: what the programs' map says of a process, texts of frames.
Always: processes are read by a thread of its own, so that one that makes its reader wait stops no tracing: it is left alone then, and
said; names are read when a stack is first seen, and again while it is seen, so that a function in whose place another one came is told.
"""

from __future__ import annotations

import time

from pydtrace.profile.stack_profile import Place, marked
from pydtrace.remote_python.code_objects import CodeObjects
from pydtrace.remote_python.remote_python import (
    ProcessNotFound,
    PythonNotFound,
    RemotePython,
    StackReadError,
)
from pydtrace.untrusted.io_worker import PATIENCE, Looks, Reader
from pydtrace.unwind import python_frame_words

from .unwind_table_loader import Natives

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

UNKNOWN = "?"
_KEPT = 1 << 18  # texts
_FIRST, _LONGEST = 0.01, 5.0  # seconds until a process that is no Python is looked at again
_PROCESSES = 256  # that are held, a descriptor each
_SETTLES = 10.0  # seconds that all that is open may take together: who makes one look slow can do so with each
_ALIKE = 3  # functions that are told of one address


def _has_memory(pid: int) -> bool:
    """Whether a process runs: one that is ending gives its memory back before it is a zombie."""
    try:
        with open(f"/proc/{pid}/maps", "rb") as file:
            return bool(file.read(1))
    except OSError:
        return False


class _Process:
    def __init__(self, pid: int) -> None:
        self.python = RemotePython(pid, must_run=False)
        self.python.make_walker(1, 1)  # raises where its offsets can not be
        self._codes = CodeObjects(self.python)

    def texts(self, words: Iterable[int]) -> dict[int, str]:
        self._codes.expire_frames()
        found = {}
        for word in words:
            if python_frame_words.reason(word) is None:
                frame = self._codes.read_frame(*python_frame_words.place(word, self.python.layout))
                if frame.name != UNKNOWN:
                    found[word] = Place((frame.name, frame.file, frame.line)).text
        return found if self.python.memory.is_same_process() else {}


class Interpreters(Looks):
    """by_id: threads are known by pthread_self() (walked.pack); natives: who knows the machine code.  Of the engine: answer() takes the
    map's values, hear() passes on what the programs have said."""

    LEFT_OUT = "the memory of too many processes can not be read in time: frames of the others have no names"
    answer: Callable[[int, bytes], None]
    hear: Callable[[], None]

    def __init__(self, by_id: bool) -> None:
        super().__init__()
        self._by_id = by_id
        self._processes: dict[int, _Process] = {}
        self._names: dict[tuple[int, int], str] = {}
        self._delays: dict[tuple[int, int], float] = {}
        self._late = False  # what is open is waited for no more
        self.natives = Natives()

    # --- from the engine --------------------------------------------------------------------------

    def ask(self, pid: int, stamp: int) -> None:
        """Find out what the process is, and answer."""
        self._put(pid, self._look, stamp)

    def see(self, pid: int, words: tuple[int, ...]) -> None:
        """A stack of a process, which may end soon."""
        self._put(pid, self._name, words)

    def name(self, pid: int, word: int) -> str | None:
        """The text of a frame; None: it is an address."""
        if not python_frame_words.is_frame(word):
            return None
        if why := python_frame_words.reason(word):
            return marked(why).text
        found = self._names.get((pid, word))
        if found is None:
            self.hear()
            self.settle()
            found = self._names.get((pid, word), UNKNOWN)
        return found

    def settle(self) -> None:
        """Wait until what was said is done, or it takes too long."""
        until = time.monotonic() + _SETTLES
        while (reader := self._reader) and reader.open and not self._late:
            if reader.hangs:
                self._abandon(reader)
                until += PATIENCE  # which a user can not take from others more often than he may have threads that hang
            time.sleep(0.001)
            if time.monotonic() > until:
                self._late = True
                self._tell(
                    "names of functions are read more slowly than stacks come: frames without a name are shown as ?"
                )

    def close(self) -> None:
        """What was named stays so; nothing is answered any more."""
        self.answer, self.hear = (lambda pid, value: None), (lambda: None)
        self.natives.close()
        super().close()

    # --- the thread -------------------------------------------------------------------------------

    def _leave(self, reader: Reader) -> None:
        """Alone with the process that keeps it waiting."""
        self._hostile.add(reader.pid)
        self._tell(
            f"process {reader.pid}: its memory can not be read in time: its frames have no names"
        )
        self._reader = None

    def _work(self, pid: int, work: Callable[..., None], *arguments: Any) -> None:
        try:
            work(pid, *arguments)
        except StackReadError:
            self._processes.pop(pid, None)
        except OSError:
            pass  # the map is gone, with the engine

    def _look(self, pid: int, stamp: int) -> None:
        try:
            python = self._hold(pid).python
            value = python_frame_words.pack(python.layout, python.runtime, stamp, self._by_id)
        except (StackReadError, python_frame_words.Misfit) as error:
            if not isinstance(error, (PythonNotFound, ProcessNotFound)) and _has_memory(pid):
                self._tell(
                    f"jstack(): {error or f'process {pid}: its Python tells what can not be'}"
                )
            value = python_frame_words.no_python(
                stamp, time.monotonic_ns() + int(1e9 * self._delay(pid, stamp))
            )
        self.answer(pid, value)

    def _hold(self, pid: int) -> _Process:
        if len(self._processes) >= _PROCESSES:
            self._processes.clear()  # those that live are looked at again
        self._processes[pid] = _Process(pid)
        return self._processes[pid]

    def _delay(self, pid: int, stamp: int) -> float:
        """It may become one."""
        before = self._delays.get((pid, stamp), _FIRST / 2)
        if len(self._delays) > _KEPT:
            self._delays.clear()
        self._delays[pid, stamp] = min(2 * before, _LONGEST)
        return self._delays[pid, stamp]

    def _name(self, pid: int, words: tuple[int, ...]) -> None:
        process = self._processes.get(pid) or self._hold(pid)
        for word, text in process.texts(words).items():
            self._keep((pid, word), text)
        if any(
            python_frame_words.reason(word) == python_frame_words.REASONS[python_frame_words.LOST]
            for word in words
        ):
            self._look_again(pid, process)

    def _look_again(self, pid: int, process: _Process) -> None:
        """It may have become another program since."""
        found = _Process(pid)
        if found.python.runtime != process.python.runtime:
            self._look(pid, 0)

    def _keep(self, key: tuple[int, int], text: str) -> None:
        known = self._names.get(key)
        if known is None and len(self._names) < _KEPT:
            self._names[key] = text
        elif known is not None and text not in known.split(" or ") and known.count(" or ") < _ALIKE:
            self._names[key] = f"{text} or {known}"
