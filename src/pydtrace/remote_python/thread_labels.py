"""Labels of the threads of another process: the asyncio task that runs, and the tag
(pyusdt.put_tag) of the context.

- A value that differs before and after the stack was read is UNKNOWN, and so are invalid data.
- At most _NODES nodes of a context are read.
"""

from __future__ import annotations

import re
import struct
import time

from .asyncio_tasks import AsyncioTasks, none_on_error
from .remote_modules import RemoteModules
from .remote_objects import RemoteObjects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .code_objects import CodeObjects
    from .python_threads import RawThread
    from .remote_python import RemotePython

UNKNOWN = "?"
_NODES = 256
_AGAIN = 0.1  # seconds, where a context is not there yet
_THREAD = 512  # bytes of a thread's state in which its context is
_DEFAULT = re.compile(r"Task-\d+")


class ThreadLabels:
    """tasks, tags: which labels are read."""

    def __init__(self, python: RemotePython, codes: CodeObjects, tasks: bool, tags: bool) -> None:
        self._readers: list[_TaskLabel | _TagLabel] = []
        if tasks:
            self._readers.append(_TaskLabel(python, codes))
        if tags:
            self._readers.append(_TagLabel(python, codes))
        self._threads: dict[int, int] = {}  # of the last sample: {thread: interpreter}
        self._before: dict[int, list[int | None]] = {}

    def read_before(self) -> None:
        """A stack is about to be read."""
        self._before = {
            thread: self._read_values(thread, interpreter)
            for thread, interpreter in self._threads.items()
        }
        self._threads = {}

    def read_labels(self, raw: RawThread) -> list[tuple[str, str]]:
        """(name, value) of each label; "": there is none."""
        self._threads[raw.thread] = raw.interpreter
        now = self._read_values(raw.thread, raw.interpreter)
        before = self._before.get(raw.thread, now)
        return [
            (reader.name, reader.format_value(raw, *each))
            for reader, each in zip(self._readers, zip(before, now, strict=True), strict=True)
        ]

    def _read_values(self, thread: int, interpreter: int) -> list[int | None]:
        return [none_on_error(reader.read_value, thread, interpreter) for reader in self._readers]


class _TaskLabel:
    """Tasks of asyncio."""

    name = "task"

    def __init__(self, python: RemotePython, codes: CodeObjects) -> None:
        self._tasks, self._codes = AsyncioTasks(python, codes), codes

    def read_value(self, thread: int, interpreter: int) -> int:
        """The task that runs in a thread, or 0."""
        return self._tasks.find_running(thread, interpreter)

    def format_value(self, raw: RawThread, before: int | None, now: int | None) -> str:
        if not now and not before:
            return ""
        codes = {code & ~1 for code, _ in struct.iter_unpack("=QQ", raw.stack)}
        if before != now or none_on_error(self._tasks.read_code, now) not in codes:
            return UNKNOWN
        return none_on_error(self._find_task_name, now) or UNKNOWN

    def _find_task_name(self, task: int) -> str:
        """Its name; the function of its coroutine if it has only a default name."""
        name = self._tasks.read_name(task)
        code = self._tasks.read_code(task) if _DEFAULT.fullmatch(name) else None
        return self._codes.read_frame(code, 0).name if code is not None else name


class _TagLabel:
    name = "tag"

    def __init__(self, python: RemotePython, codes: CodeObjects) -> None:
        self._python, self._codes, self._objects = python, codes, RemoteObjects(python, codes)
        self._head = python.layout["object_type"] + 8  # bytes that every object begins with
        self._modules, self._context, self._next = RemoteModules(python, codes), 0, 0.0

    def read_value(self, thread: int, interpreter: int) -> int:
        """The object that a thread's context has for the variable, or 0."""
        variable = self._modules.find_member(interpreter, "pyusdt._core", "tag_variable")
        at = self._context = self._context or (self._search_context(thread) if variable else 0)
        context = self._python.read_word(thread + at) if variable and at else 0
        if not variable or not context or not self._is_context(context):
            return 0
        return self._find_value(
            self._python.read_word(self._python.read_word(context + self._head + 8) + self._head),
            variable,
        )

    def format_value(self, _: RawThread, before: int | None, now: int | None) -> str:
        if before != now or now is None:
            return UNKNOWN
        return "" if not now else none_on_error(self._read_tag, now) or UNKNOWN

    def _read_tag(self, address: int) -> str:
        return self._codes.read_bytes(address).decode("utf-8", "replace")[:1000]

    def _search_context(self, thread: int) -> int:
        """What a search finds, or 0: it costs, and may find nothing for long."""
        now = time.monotonic()
        if now < self._next:
            return 0
        self._next = now + _AGAIN
        return none_on_error(self._find_context, thread) or 0

    def _find_context(self, thread: int) -> int:
        """The offset of a thread's context, which no version publishes."""
        words = struct.unpack(f"={_THREAD // 8}Q", self._python.memory.read(thread, _THREAD))
        return next(
            (
                8 * at
                for at, word in enumerate(words)
                if word % 8 == 0 and word >> 12 and self._is_context(word)
            ),
            0,
        )

    def _is_context(self, address: int) -> bool:
        return (none_on_error(self._objects.read_type_name, address) or "").endswith("Context")

    def _find_value(self, root: int, variable: int) -> int:
        """What the variable has in a context's tree (Python/hamt.c); 0: nothing, or None."""
        left, nodes = _NODES, [root]
        while nodes and left:
            left -= 1
            for key, value in self._read_pairs(nodes.pop()):
                if key == variable:
                    return value if self._objects.read_type_name(value) == "bytes" else 0
                if not key and value:
                    nodes.append(value)
        return 0

    def _read_pairs(self, node: int) -> list[tuple[int, int]]:
        """[(key, value)] of a node; (0, node) for those below."""
        kind, memory = self._objects.read_type_name(node), self._python.memory
        if kind == "hamt_array_node":
            return [
                (0, each)
                for each in struct.unpack("=32Q", memory.read(node + self._head, 256))
                if each
            ]
        if kind not in ("hamt_bitmap_node", "hamt_collision_node"):
            return []
        size = min(self._python.read_word(node + self._head), 64) & ~1
        return list(struct.iter_unpack("=QQ", memory.read(node + self._head + 16, 8 * size)))
