"""Labels of the threads of another process: the asyncio task that runs, and the tag
(pyusdt.put_tag) of the context.

- A value that differs before and after the stack was read is UNKNOWN, and so are invalid data.
- At most _NODES nodes of a context are read.
"""

from __future__ import annotations

import re
import struct
import time

from .asyncio_tasks import Tasks, or_none
from .remote_modules import Modules
from .remote_objects import Objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .code_objects import Codes
    from .python_threads import Raw
    from .remote_python import Python

UNKNOWN = "?"
_NODES = 256
_AGAIN = 0.1  # seconds, where a context is not there yet
_THREAD = 512  # bytes of a thread's state in which its context is
_DEFAULT = re.compile(r"Task-\d+")


class Whose:
    """tasks, tags: what is wanted."""

    def __init__(self, python: Python, codes: Codes, tasks: bool, tags: bool) -> None:
        self._readers: list[_Running | _Tags] = []
        if tasks:
            self._readers.append(_Running(python, codes))
        if tags:
            self._readers.append(_Tags(python, codes))
        self._threads: dict[int, int] = {}  # those of the last look: {thread: interpreter}
        self._before: dict[int, list[int | None]] = {}

    def look(self) -> None:
        """A stack is about to be read."""
        self._before = {
            thread: self._seen(thread, interpreter) for thread, interpreter in self._threads.items()
        }
        self._threads = {}

    def names(self, raw: Raw) -> list[str]:
        """[text], of what is wanted."""
        self._threads[raw.thread] = raw.interpreter
        now = self._seen(raw.thread, raw.interpreter)
        before = self._before.get(raw.thread, now)
        return [
            reader.name(raw, *each)
            for reader, each in zip(self._readers, zip(before, now, strict=True), strict=True)
        ]

    def _seen(self, thread: int, interpreter: int) -> list[int | None]:
        return [or_none(reader.seen, thread, interpreter) for reader in self._readers]


class _Running:
    """Tasks of asyncio."""

    def __init__(self, python: Python, codes: Codes) -> None:
        self._tasks, self._codes = Tasks(python, codes), codes

    def seen(self, thread: int, interpreter: int) -> int:
        """The task that runs in a thread, or 0."""
        return self._tasks.running(thread, interpreter)

    def name(self, raw: Raw, before: int | None, now: int | None) -> str:
        if not now and not before:
            return "no task"
        codes = {code & ~1 for code, _ in struct.iter_unpack("=QQ", raw.stack)}
        if before != now or or_none(self._tasks.code, now) not in codes:
            return f"task {UNKNOWN}"
        return "task " + (or_none(self._named, now) or UNKNOWN)

    def _named(self, task: int) -> str:
        """What it was called; its coroutine's function where nobody gave it a name."""
        name = self._tasks.name(task)
        code = self._tasks.code(task) if _DEFAULT.fullmatch(name) else None
        return self._codes.frame(code, 0).name if code is not None else name


class _Tags:
    def __init__(self, python: Python, codes: Codes) -> None:
        self._python, self._codes, self._objects = python, codes, Objects(python, codes)
        self._head = python.layout["object_type"] + 8  # bytes that every object begins with
        self._modules, self._context, self._next = Modules(python, codes), 0, 0.0

    def seen(self, thread: int, interpreter: int) -> int:
        """The object that a thread's context has for the variable, or 0."""
        variable = self._modules.member(interpreter, "pyusdt._core", "tag_variable")
        at = self._context = self._context or (self._now_and_then(thread) if variable else 0)
        context = self._python.word(thread + at) if variable and at else 0
        if not variable or not context or not self._is_context(context):
            return 0
        return self._value(
            self._python.word(self._python.word(context + self._head + 8) + self._head), variable
        )

    def name(self, _: Raw, before: int | None, now: int | None) -> str:
        if before != now or now is None:
            return f"tag {UNKNOWN}"
        return "no tag" if not now else "tag " + (or_none(self._text, now) or UNKNOWN)

    def _text(self, address: int) -> str:
        return self._codes.bytes(address).decode("utf-8", "replace")[:1000]

    def _now_and_then(self, thread: int) -> int:
        """What a search finds, or 0: it costs, and may find nothing for long."""
        now = time.monotonic()
        if now < self._next:
            return 0
        self._next = now + _AGAIN
        return or_none(self._find_context, thread) or 0

    def _find_context(self, thread: int) -> int:
        """Where a thread has its context: no version tells it."""
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
        return (or_none(self._objects.type_name, address) or "").endswith("Context")

    def _value(self, root: int, variable: int) -> int:
        """What the variable has in a context's tree (Python/hamt.c); 0: nothing, or None."""
        left, nodes = _NODES, [root]
        while nodes and left:
            left -= 1
            for key, value in self._pairs(nodes.pop()):
                if key == variable:
                    return value if self._objects.type_name(value) == "bytes" else 0
                if not key and value:
                    nodes.append(value)
        return 0

    def _pairs(self, node: int) -> list[tuple[int, int]]:
        """[(key, value)] of a node; (0, node) for those below."""
        kind, memory = self._objects.type_name(node), self._python.memory
        if kind == "hamt_array_node":
            return [
                (0, each)
                for each in struct.unpack("=32Q", memory.read(node + self._head, 256))
                if each
            ]
        if kind not in ("hamt_bitmap_node", "hamt_collision_node"):
            return []
        size = min(self._python.word(node + self._head), 64) & ~1
        return list(struct.iter_unpack("=QQ", memory.read(node + self._head + 16, 8 * size)))
