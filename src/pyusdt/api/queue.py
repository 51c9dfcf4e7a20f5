"""The thread between an engine and the API's user.

In: an engine that has begun.  Out: batches of decoded records, snapshots of maps and counters.
Always: after start() nobody but this thread touches the engine; at most `limit` records wait (and one poll's more);
while the queue is full the engine is not polled, so that its rings fill and count what they drop; end() has run and
the engine is closed when `over` is set, whatever happened.
"""

from __future__ import annotations

import errno
import queue
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from .._tracer import Formatter
from ..data.records import Decoder
from ..data.snapshot import Aggregation
from ..tracing.actions import Actions
from ..tracing.speculations import DEFAULT_SIZE, Held

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..data.program import AggDef
    from ..data.records import Record

_TEXTS = 1000  # of printa() that are kept
_LOOK = 0.5  # seconds that a reader waits at a time: Python sees a Ctrl-C of just before the wait only after it
_POLL = 0.02  # s: so long a snapshot may have to wait


class Pump(threading.Thread):
    """error: what ended the tracing early; over: tracing has ended; status: exit()'s, or None; printed: the last texts
    of printa(); listener: called when there is news."""

    def __init__(self, program: Any, engine: Any, options: Any, limit: int, note: Callable[[str], None]) -> None:
        super().__init__(name="pyusdt-trace", daemon=True)
        self._program, self._engine, self._limit = program, engine, limit
        self.printed: deque[str] = deque(maxlen=_TEXTS)
        self._actions = Actions(program, engine, self, lambda text, error=True: note(text), options, Formatter.another,
                                lambda name: None)
        self._decoder = Decoder(program, engine.probe, note, self._act, self._actions.symbols)
        self._note = note
        self._held = Held(options.get("specsize", DEFAULT_SIZE)) if program.speculates else None
        self.status: int | None = None
        self._condition = threading.Condition()
        self._batches: deque[list[Record]] = deque()
        self._waiting = 0  # records in _batches
        self._stopping = threading.Event()
        self._requests: queue.SimpleQueue[tuple[Callable[[], Any], list[Any], threading.Event]] = queue.SimpleQueue()
        self._last_items: dict[int, list[tuple[bytes, bytes]]] = {}
        self._last_drops: dict[str, int] = {}
        self.over = threading.Event()
        self.error: BaseException | None = None
        self.listener: Callable[[], None] | None = None

    # --- the thread -------------------------------------------------------------------------------

    def run(self) -> None:
        try:
            self._trace()
        except BaseException as error:  # noqa: BLE001  (it is raised where the records are taken)
            self.error = error
        finally:
            try:
                self._engine.close()
            except BaseException as error:  # noqa: BLE001
                self.error = self.error or error
            with self._condition:
                self.over.set()
                self._condition.notify_all()
            self._answer()
            self._tell()

    def _trace(self) -> None:
        engine = self._engine
        while not (self._stopping.is_set() or engine.exiting or engine.finished):
            self._answer()
            if self._full():
                continue
            self._put(engine.poll(_POLL))
            self._warn()
        self._put(engine.end())
        while records := engine.more():
            self._put(records)
        self._warn()
        self._last_items = {d.map: self._actions.aggregates.entries(d) for d in self._program.aggregations}
        self._last_drops = self._count_drops()

    def _warn(self) -> None:
        for text in self._engine.warnings():
            self._note(text)

    def _act(self, action: Any, record: bytes) -> None:
        """An action that is not data: as pydtrace does it."""
        self._actions.act(action, record)
        if action.row.kind == "exit":
            self.status = self._actions.status

    def write(self, text: bytes) -> None:
        """What printa() prints."""
        self.printed.append(text.decode("utf-8", "surrogateescape"))

    def reopen(self, path: bytes) -> None:
        raise OSError(errno.ENOTSUP, "the API has no output file")

    def _count_drops(self) -> dict[str, int]:
        drops = dict(self._engine.drops())
        if self._held:
            drops["speculative"] = drops.get("speculative", 0) + self._held.lost
        return drops

    def _full(self) -> bool:
        """Whether there is no room; waits a moment for some."""
        with self._condition:
            return self._waiting >= self._limit and not self._condition.wait_for(
                lambda: self._waiting < self._limit or self._stopping.is_set(), _POLL)

    def _put(self, records: bytes) -> None:
        if not records:
            return
        if self._held:
            records = self._held.sift(records)
        batch = self._decoder.decode(records)
        if batch:
            with self._condition:
                self._batches.append(batch)
                self._waiting += len(batch)
                self._condition.notify_all()
            self._tell()

    def _tell(self) -> None:
        if self.listener:
            self.listener()

    def _answer(self) -> None:
        while True:
            try:
                function, answer, done = self._requests.get_nowait()
            except queue.Empty:
                return
            try:
                answer.append(None if self.over.is_set() else function())
            except Exception:  # noqa: BLE001
                answer.append(None)  # the engine failed: run() is told by its next poll
            done.set()

    # --- for others -------------------------------------------------------------------------------

    def take(self, wait: bool = True) -> list[Record] | None:
        """The next batch; None when tracing is over and all were taken, and if not `wait` where none is there.
        Raises what ended the tracing."""
        with self._condition:
            while wait and not self._condition.wait_for(lambda: self._batches or self.over.is_set(), _LOOK):
                pass
            if self._batches:
                batch = self._batches.popleft()
                self._waiting -= len(batch)
                self._condition.notify_all()
                return batch
        if self.error and self.over.is_set():
            raise self.error
        return None

    def stop(self) -> None:
        """Probes off, END, everything read; returns when that is done."""
        self._stopping.set()
        self.join()

    def aggregation(self, definition: AggDef) -> Aggregation:
        """What an aggregation holds now, or held at the end."""
        found = self._ask(lambda: self._snapshot(definition, self._actions.aggregates.entries(definition)))
        return self._snapshot(definition, self._last_items.get(definition.map, [])) if found is None else found

    def _snapshot(self, definition: AggDef, items: list[tuple[bytes, bytes]]) -> Aggregation:
        return Aggregation.from_items(definition, items, self._program.strsize, self._actions.symbols)

    def drops(self) -> dict[str, int]:
        found = self._ask(self._count_drops)
        return dict(self._last_drops) if found is None else found

    def _ask(self, function: Callable[[], Any]) -> Any:
        """What a function of the engine gives in the thread; None after the end."""
        if self.over.is_set():
            return None
        answer: list[Any] = []
        done = threading.Event()
        self._requests.put((function, answer, done))
        while not done.wait(1):
            if self.over.is_set():  # it ended between our look and our request
                self._answer()
        return answer[0]
