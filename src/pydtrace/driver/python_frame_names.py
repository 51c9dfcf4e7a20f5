"""The interpreters whose stacks programs in the kernel walk: where they are, and the names of their
functions.

- A thread reads the processes, so that one that makes its reader wait stops no tracing; it is
  reported and not read again.
- Names are read when a stack is first seen, and again while it is seen, so that a function in the
  place of another is noticed.
"""

from __future__ import annotations

import time

from pydtrace.profile.frame_key import FrameKey, pseudo_frame
from pydtrace.remote_python.code_objects import CodeObjects
from pydtrace.remote_python.remote_python import (
    ProcessNotFound,
    PythonNotFound,
    RemotePython,
    StackReadError,
)
from pydtrace.untrusted.io_worker import JOB_TIMEOUT, IoWorker, QuotaWorker
from pydtrace.unwind import python_frame_words

from .unwind_table_loader import UnwindTableLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

UNKNOWN = "?"
_MAX_NAMES = 1 << 18  # texts
_FIRST_DELAY, _MAX_DELAY = 0.01, 5.0  # seconds until a process that is no Python is looked at again
_MAX_PROCESSES = 256  # that are held, a descriptor each
_IDLE_TIMEOUT = 10.0  # seconds that all that is open may take together: who makes one look slow can do so with each
_MAX_ALTERNATIVES = 3  # functions that are named for one address


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

    def name_frames(self, words: Iterable[int]) -> dict[int, str]:
        self._codes.expire_frames()
        found = {}
        for word in words:
            if python_frame_words.reason(word) is None:
                frame = self._codes.read_frame(*python_frame_words.place(word, self.python.layout))
                if frame.name != UNKNOWN:
                    found[word] = FrameKey((frame.name, frame.file, frame.line)).text
        return found if self.python.memory.is_same_process() else {}


class PythonFrameNames(QuotaWorker):
    """by_id: threads are known by pthread_self() (walked.pack); natives: who knows the machine code.  Of the engine: store_value() takes the
    map's values, read_messages() passes on what the programs have said."""

    QUOTA_MESSAGE = "the memory of too many processes cannot be read in time: frames of the others have no names"
    store_value: Callable[[int, bytes], None]
    read_messages: Callable[[], None]

    def __init__(self, by_id: bool) -> None:
        super().__init__()
        self._by_id = by_id
        self._processes: dict[int, _Process] = {}
        self._names: dict[tuple[int, int], str] = {}
        self._delays: dict[tuple[int, int], float] = {}
        self._gave_up = False  # what is open is waited for no more
        self.natives = UnwindTableLoader()

    # --- from the engine --------------------------------------------------------------------------

    def identify_process(self, pid: int, stamp: int) -> None:
        """Find out what the process is, and answer."""
        self._submit_job(pid, self._read_process, stamp)

    def name_stack(self, pid: int, words: tuple[int, ...]) -> None:
        """A stack of a process, which may end soon."""
        self._submit_job(pid, self._name_stack, words)

    def name_frame(self, pid: int, word: int) -> str | None:
        """The text of a frame; None: it is an address."""
        if not python_frame_words.is_frame(word):
            return None
        if why := python_frame_words.reason(word):
            return pseudo_frame(why).text
        found = self._names.get((pid, word))
        if found is None:
            self.read_messages()
            self.wait_until_idle()
            found = self._names.get((pid, word), UNKNOWN)
        return found

    def wait_until_idle(self) -> None:
        """Wait until what was said is done, or it takes too long."""
        until = time.monotonic() + _IDLE_TIMEOUT
        while (reader := self._worker) and reader.open and not self._gave_up:
            if reader.is_hung:
                self._abandon_worker(reader)
                until += JOB_TIMEOUT  # which a user can not take from others more often than he may have threads that hang
            time.sleep(0.001)
            if time.monotonic() > until:
                self._gave_up = True
                self._add_message(
                    "names of functions are read more slowly than stacks come: frames without a name are shown as ?"
                )

    def close(self) -> None:
        """What was named stays so; nothing is answered any more."""
        self.store_value, self.read_messages = (lambda pid, value: None), (lambda: None)
        self.natives.close()
        super().close()

    # --- the thread -------------------------------------------------------------------------------

    def _handle_hang(self, reader: IoWorker) -> None:
        """Alone with the process that keeps it waiting."""
        self._slow_processes.add(reader.pid)
        self._add_message(
            f"process {reader.pid}: its memory cannot be read in time: its frames have no names"
        )
        self._worker = None

    def _do_work(self, pid: int, work: Callable[..., None], *arguments: Any) -> None:
        try:
            work(pid, *arguments)
        except StackReadError:
            self._processes.pop(pid, None)
        except OSError:
            pass  # the map is gone, with the engine

    def _read_process(self, pid: int, stamp: int) -> None:
        try:
            python = self._open_process(pid).python
            value = python_frame_words.pack(python.layout, python.runtime, stamp, self._by_id)
        except (StackReadError, python_frame_words.Misfit) as error:
            if not isinstance(error, (PythonNotFound, ProcessNotFound)) and _has_memory(pid):
                self._add_message(
                    f"jstack(): {error or f'process {pid}: the memory of its Python holds impossible values'}"
                )
            value = python_frame_words.no_python(
                stamp, time.monotonic_ns() + int(1e9 * self._next_delay(pid, stamp))
            )
        self.store_value(pid, value)

    def _open_process(self, pid: int) -> _Process:
        if len(self._processes) >= _MAX_PROCESSES:
            self._processes.clear()  # those that live are looked at again
        self._processes[pid] = _Process(pid)
        return self._processes[pid]

    def _next_delay(self, pid: int, stamp: int) -> float:
        """It may become one."""
        before = self._delays.get((pid, stamp), _FIRST_DELAY / 2)
        if len(self._delays) > _MAX_NAMES:
            self._delays.clear()
        self._delays[pid, stamp] = min(2 * before, _MAX_DELAY)
        return self._delays[pid, stamp]

    def _name_stack(self, pid: int, words: tuple[int, ...]) -> None:
        process = self._processes.get(pid) or self._open_process(pid)
        for word, text in process.name_frames(words).items():
            self._remember_name((pid, word), text)
        if any(
            python_frame_words.reason(word) == python_frame_words.REASONS[python_frame_words.LOST]
            for word in words
        ):
            self._check_program(pid, process)

    def _check_program(self, pid: int, process: _Process) -> None:
        """It may have become another program since."""
        found = _Process(pid)
        if found.python.runtime != process.python.runtime:
            self._read_process(pid, 0)

    def _remember_name(self, key: tuple[int, int], text: str) -> None:
        known = self._names.get(key)
        if known is None and len(self._names) < _MAX_NAMES:
            self._names[key] = text
        elif (
            known is not None
            and text not in known.split(" or ")
            and known.count(" or ") < _MAX_ALTERNATIVES
        ):
            self._names[key] = f"{text} or {known}"
