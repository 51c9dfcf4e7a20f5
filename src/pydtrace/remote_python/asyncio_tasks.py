"""The asyncio tasks of another process, and what each awaits.

- The process runs meanwhile: a task that changes or ends is skipped, or its chain ends early.
- A chain has at most DEEPEST frames, and all together have at most _FRAMES.
"""

from __future__ import annotations

import itertools
import struct
import time
from contextlib import closing

from pydtrace.process import maps
from pydtrace.symbols import elf

from .code_objects import LocatedFrame
from .remote_modules import RemoteModules
from .remote_objects import RemoteObjects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, TypeVar

    from .code_objects import CodeObjects, Frame
    from .python_threads import ThreadStack
    from .remote_python import RemotePython

    T = TypeVar("T")

DEEPEST = 1000
_MOST = 10_000  # tasks of an interpreter
_FRAMES = 1 << 18  # of all tasks
_AGAIN = 1.0  # seconds until the next try, if a module lacks its words
_KEPT = 4096  # values of a thread
_LOOP_WORDS = 4  # of a thread's state in 3.13, among which the loop is
_BY_THREAD, _BY_LOOP = (
    ("_asyncio", "current_task"),
    ("asyncio.tasks", "_current_tasks"),
)  # present once asyncio is loaded
_RUNNING, _HOLDER = "__asyncio_running_event_loop__", "_RunningLoopHolder"
_OWN_LIST = 14  # from 3.14 on a thread has a list of its tasks, and _asyncio has its offset
_SECTION = ".AsyncioDebug"
_STATE_10 = 108  # f_state in a frame of 3.10
_STATE_BEFORE = 5  # bytes that gi_frame_state is before gi_iframe, from 3.11 on
_EXECUTING_15 = 4  # FRAME_EXECUTING, which is 0 in the versions before
_BY_FRAME = ("coroutine", "generator", "async_generator")
ERRORS = (
    OSError,
    LookupError,
    ValueError,
    struct.error,
    elf.BadFile,
)  # what reading a process that runs on raises
_THROUGH = (
    "coroutine_wrapper",
    "async_generator_asend",
    "async_generator_athrow",
    "_asyncio.FutureIter",
    "FutureIter",
)


def none_on_error(function: Callable[..., T], *arguments: Any) -> T | None:
    """What it gives, or None where it raises ERRORS."""
    try:
        return function(*arguments)
    except ERRORS:
        return None


class AsyncTask:
    """frames: innermost first; awaits: the name of the type of what the innermost awaits, or None while it runs;
    marks: what could not be read of it."""

    __slots__ = ("awaits", "frames", "marks", "name")

    def __init__(self, name: str, frames: list[Frame], awaits: str | None) -> None:
        self.name, self.frames, self.awaits = name, frames, awaits
        self.marks: list[str] = []


class AsyncioTasks:
    def __init__(self, python: RemotePython, codes: CodeObjects) -> None:
        self._python, self._codes, self._layout = python, codes, python.layout
        self._objects = RemoteObjects(python, codes)
        self._left = _FRAMES
        self._modules = RemoteModules(python, codes)
        self._loop_offset: int | None = None
        self._loop_word: int | None = None  # in 3.13; None: not known yet
        self._next = 0.0  # when the search for the offset may be tried again
        self._rows: dict[
            int, tuple[int, int, int, int]
        ] = {}  # {thread: where find_running() has found its task}
        self._keys: dict[
            int, int
        ] = {}  # {interpreter: the text under which a thread has its loop, up to 3.12}
        self.word = python.read_word

    def read_all(self, threads: Sequence[ThreadStack]) -> list[AsyncTask]:
        """[AsyncTask] of all interpreters; threads: [python_threads.ThreadStack]."""
        found = []
        for interpreter in dict.fromkeys(
            thread.interpreter for thread in threads if thread.interpreter
        ):
            try:
                addresses = self._find_tasks(
                    interpreter,
                    [each.address for each in threads if each.interpreter == interpreter],
                )
            except ERRORS:
                continue  # it has no asyncio, or is about to load it
            found += [task for task in map(self._read_task, addresses[:_MOST]) if task]
        return found

    def find_running(self, thread: int, interpreter: int) -> int:
        """The address of the task that runs in a thread, 0: none.  Raises ERRORS."""
        own_list = self._layout["minor"] >= _OWN_LIST
        if len(self._rows) >= _MOST or len(self._keys) >= _MOST:
            self._rows.clear()
            self._keys.clear()
        current = self._modules.find_member(interpreter, *(_BY_THREAD if own_list else _BY_LOOP))
        if not current:
            return 0
        if own_list:
            self._loop_offset = self._loop_offset or self._find_loop_offset()
            return self._read_thread_task(thread)
        if self._layout["thread_loop"]:
            return self._search_thread_words(thread, current)
        loop = self._find_loop(thread, interpreter)
        return self._find_loop_task(thread, current, loop) if loop else 0

    def _search_thread_words(self, thread: int, current: int) -> int:
        """In 3.13 the loop is the first word behind the public part of a thread's state, which grew
        by a word between 3.13.0 and 3.13.18. It is the word that is a key of the tasks that run."""
        at = thread + self._layout["thread_loop"]
        words = struct.unpack(f"={_LOOP_WORDS}Q", self._python.memory.read(at, 8 * _LOOP_WORDS))
        if self._loop_word is not None:
            loop = words[self._loop_word]
            return self._find_loop_task(thread, current, loop) if loop else 0
        for number, word in enumerate(words):
            if word and (task := self._find_loop_task(thread, current, word)):
                self._loop_word = number
                return task
        return 0

    def _find_loop_task(self, thread: int, current: int, loop: int) -> int:
        try:
            keys, row, task = self._objects.find_dict_entry(current, loop)
        except LookupError:
            return 0
        self._rows[thread] = current, keys, row, loop
        return task

    def find_loops(self, thread: int, interpreter: int) -> list[int]:
        """Addresses of what may be the event loop that runs in a thread, whether a task runs in it or not.  Raises ERRORS."""
        if self._layout["minor"] >= _OWN_LIST:
            self._loop_offset = self._loop_offset or self._find_loop_offset()
            return [self.word(thread + self._loop_offset)]
        if not self._layout["thread_loop"]:
            return [self._find_loop(thread, interpreter)]
        at = thread + self._layout["thread_loop"]
        return list(
            struct.unpack(f"={_LOOP_WORDS}Q", self._python.memory.read(at, 8 * _LOOP_WORDS))
        )

    def is_still_running(self, thread: int, interpreter: int, task: int) -> bool:
        """Whether find_running() would give the same again.  It reads little, and what was read in between belongs to this task."""
        if self._loop_offset:
            return self._read_thread_task(thread) == task
        if not task or thread not in self._rows:
            return self.find_running(thread, interpreter) == task
        current, keys, row, loop = self._rows[thread]
        found = struct.unpack("=QQ", self._python.memory.read(row, 16))
        return found == (loop, task) and self.word(current + self._layout["dict_keys"]) == keys

    def _read_thread_task(self, thread: int) -> int:
        assert self._loop_offset
        loop, task = struct.unpack("=QQ", self._python.memory.read(thread + self._loop_offset, 16))
        return task if loop else 0

    def _find_loop(self, thread: int, interpreter: int) -> int:
        """The loop that runs in a thread, as asyncio keeps it before 3.13; 0: none."""
        kept = self.word(thread + self._layout["thread_dict"])
        found = dict(self._objects.read_items(kept, _KEPT)) if kept else {}
        if interpreter not in self._keys:
            key = next((key for key in found if self._is_text(key, _RUNNING)), None)
            if key is None:
                return 0
            self._keys[interpreter] = key  # asyncio has no other
        loop = found.get(self._keys[interpreter], 0)
        if loop and self._objects.read_type_name(loop).endswith(_HOLDER):  # up to 3.12.0
            return self.word(loop + self._layout["object_type"] + 8)
        return loop

    def _is_text(self, address: int, text: str) -> bool:
        try:
            return self._codes.read_text(address) == text
        except ValueError:
            return False

    def _find_loop_offset(self) -> int:
        """Where a thread has its loop, and its task behind it, from 3.14 on."""
        if time.monotonic() < self._next:
            raise LookupError("not found a moment ago")
        self._next = time.monotonic() + _AGAIN
        loop, task = self._read_debug_offsets()[10:12]
        if task != loop + 8:
            raise LookupError("a thread of another shape")
        return loop

    def read_name(self, address: int) -> str:
        """Raises OSError, ValueError."""
        return self._read_task_name(self.word(address + self._layout["task_coro"] + 8))

    def read_code(self, address: int) -> int | None:
        """Of a task's coroutine, or None.  Raises OSError."""
        coro = self.word(address + self._layout["task_coro"])
        frame = self._frame_address(coro) if self._objects.read_type_name(coro) in _BY_FRAME else 0
        return self._read_position(frame)[0] if frame else None

    # --- finding ----------------------------------------------------------------------

    def _find_tasks(self, interpreter: int, threads: Iterable[int]) -> list[int]:
        if self._layout["minor"] >= _OWN_LIST:
            return self._walk_task_lists(interpreter, threads)
        modules = self.word(interpreter + self._layout["interp_modules"])
        module = self._objects.find_text_key(modules, "asyncio.tasks")
        name = "_scheduled_tasks" if self._layout["minor"] >= 12 else "_all_tasks"
        references = self._objects.read_set(
            self._objects.read_first_attribute(self._objects.find_module_member(module, name))
        )
        tasks = [self._read_task_ref(each) for each in references]
        return [each for each in tasks if each]

    def _read_task_ref(self, reference: int) -> int | None:
        """What a weak reference leads to, if it is a task of C."""
        try:
            task = self._objects.read_weakref(reference)
            return task if self._objects.read_type_name(task) == "_asyncio.Task" else None
        except OSError:
            return None

    def _walk_task_lists(self, interpreter: int, threads: Iterable[int]) -> list[int]:
        """The tasks in the lists of an interpreter and its threads, by the offsets in _asyncio."""
        offsets = self._read_debug_offsets()
        node, of_interpreter, of_thread = (offsets[i] for i in (6, 8, 12))
        heads = [interpreter + of_interpreter, *(thread + of_thread for thread in threads)]
        return [
            each - node
            for each in itertools.islice(
                itertools.chain.from_iterable(map(self._iter_nodes, heads)), _MOST
            )
        ]

    def _read_debug_offsets(self) -> list[int]:
        """The offsets in the module _asyncio: of a task (0 to 6), an interpreter (7, 8) and a thread."""
        offsets = [
            each % (1 << 20)
            for each in struct.unpack(
                "=13Q", self._python.memory.read(self._find_debug_section(), 104)
            )
        ]
        if offsets[1] != offsets[5] + 8:
            raise LookupError("a task of another shape")
        self._layout = {**self._layout, "task_coro": offsets[5]}
        return offsets

    def _iter_nodes(self, head: int) -> Iterator[int]:
        at = self.word(head)
        while at not in (head, 0):
            yield at
            at = self.word(at)

    def _find_debug_section(self) -> int:
        """Of the module's own file, or the interpreter's, where it is built in."""
        if not self._find_asyncio_file():
            self._python.read_maps()  # it may have been loaded since
        for each in self._find_asyncio_file() + self._python.find_candidates():
            found = maps.find_mapped_file(self._python.pid, each)
            if not found:
                continue
            with closing(elf.ElfFile(found[0], found[1].st_ino)) as file:
                if _SECTION in file.sections:
                    return file.sections[_SECTION][1] + elf.load_bias(file, each)
        raise LookupError("no _asyncio")

    def _find_asyncio_file(self) -> list[maps.Mapping]:
        return [each for each in self._python.maps if each.module_name.startswith("_asyncio.")][:1]

    # --- one task ---------------------------------------------------------------------

    def _read_task(self, address: int) -> AsyncTask | None:
        try:
            coro = self.word(address + self._layout["task_coro"])
            name = self._read_task_name(self.word(address + self._layout["task_coro"] + 8))
            frames, awaits = self._read_chain(coro)
        except (OSError, ValueError):
            return None
        return AsyncTask(name, frames[::-1], awaits) if frames else None

    def _read_task_name(self, address: int) -> str:
        """A text; from 3.13 on a number until the first read of the name."""
        if self._objects.read_type_name(address) != "int":
            return self._codes.read_text(address)
        digit = int.from_bytes(
            self._python.memory.read(address + self._layout["object_type"] + 16, 4), "little"
        )
        return f"Task-{digit}"

    def _read_chain(self, at: int) -> tuple[list[Frame], str | None]:
        """([Frame] from the task's own coroutine on, what the last awaits)."""
        frames: list[Frame] = []
        for _ in range(min(DEEPEST, self._left)):
            kind = self._objects.read_type_name(at)
            if kind in _BY_FRAME:
                frame = self._frame_address(at)
                if not frame:
                    return frames, None
                code, instr = self._read_position(frame)
                frames.append(LocatedFrame(self._codes.read_frame(code, instr), frame, instr))
                self._left -= 1
                at = 0 if self._is_executing(at, frame) else self._find_awaited(frame)
                if not at:
                    return frames, None
            elif kind in _THROUGH:
                at = self.word(at + self._layout["object_type"] + 8)
            else:
                return frames, kind
        return frames, None

    def _frame_address(self, generator: int) -> int:
        where = generator + self._layout["generator_frame"]
        return self.word(where) if self._layout["minor"] <= 10 else where

    def _read_position(self, frame: int) -> tuple[int, int]:
        code = self.word(frame + self._layout["frame_code"]) & ~(
            3 if self._layout["minor"] >= 14 else 0
        )
        if self._layout["minor"] >= 11:
            return code, self.word(frame + self._layout["frame_instr"])
        return code, self._objects.read_int(frame + self._layout["frame_instr"], 4) & (1 << 64) - 1

    def _is_executing(self, generator: int, frame: int) -> bool:
        minor = self._layout["minor"]
        if minor == 9:  # it has no values then
            return False
        state = (
            frame + _STATE_10
            if minor == 10
            else generator + self._layout["generator_frame"] - _STATE_BEFORE
        )
        return self._objects.read_int(state, 1) == (_EXECUTING_15 if minor >= 15 else 0)

    def _find_awaited(self, frame: int) -> int:
        """The value on top of a suspended frame's stack; 0: there is none."""
        layout, minor = self._layout, self._layout["minor"]
        top = frame + layout["frame_top"]
        if minor == 9 or minor >= 14:
            after = self.word(top)
        else:
            depth = self._objects.read_int(top, 4)
            values = (
                self.word(frame + layout["frame_values"])
                if minor == 10
                else frame + layout["frame_locals"]
            )
            after = values + 8 * depth if depth > 0 else 0
        back = 16 if minor >= 15 else 8  # from 3.15 on a virtual iterator has an index on top of it
        return self.word(after - back) & ~(3 if minor >= 14 else 0) if after else 0
