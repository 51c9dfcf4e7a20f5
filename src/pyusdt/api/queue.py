"""What stands between a tracing and the API's user: the queue that is its sink, and the thread that drives it.

In: a driver that has begun.  Out: batches of decoded records, snapshots of maps and counters.
Always: after start() nobody but the thread touches the engine; at most `limit` records wait (and one poll's more);
while the queue is full the engine is not polled, so that its rings fill and count what they drop; end() has run and
the engine is closed when `over` is set, whatever happened.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from ..data.records import Decoder
from ..tracing.sink import Sink

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..data.program import AggDef
    from ..data.records import Record
    from ..data.snapshot import Aggregation
    from ..tracing.aggregates import Aggregates
    from ..tracing.driver import Driver
    from ..tracing.sink import Info

_TEXTS = 1000  # of printa() that are kept
_LOOK = 0.5  # seconds that a reader waits at a time: Python sees a Ctrl-C of just before the wait only after it
_POLL = 0.02  # s: so long a snapshot may have to wait


class Queue(Sink):
    """limit: of records that wait; note: called with each notice of trouble, in the driving thread.

    over: nothing more comes; error: what ended the tracing early; printed: the last texts of printa(); final: {index of a
    map: what the aggregation held at the end}; listener: called when there is news.
    """

    def __init__(self, limit: int, note: Callable[[str], None]) -> None:
        self._limit, self._note = limit, note
        self._condition = threading.Condition()
        self._batches: deque[list[Record]] = deque()
        self._waiting = 0  # records in _batches
        self.printed: deque[str] = deque(maxlen=_TEXTS)
        self.final: dict[int, list[tuple[bytes, bytes]]] = {}
        self.over = threading.Event()
        self.error: BaseException | None = None
        self.listener: Callable[[], None] | None = None

    # --- the sink ---------------------------------------------------------------------------------

    def begin(self, info: Info) -> None:
        self._decoder = Decoder(info.program, info.probe, info.teller(self.fault).tell, info.actions.act, info.actions.symbols)

    def records(self, buffer: bytes) -> None:
        if batch := self._decoder.decode(buffer):
            with self._condition:
                self._batches.append(batch)
                self._waiting += len(batch)
                self._condition.notify_all()
            self.tell()

    def text(self, text: bytes) -> None:
        self.printed.append(text.decode("utf-8", "surrogateescape"))

    def notice(self, text: str, error: bool = True) -> None:
        if error:
            self._note(text)

    def drop(self, kind: str, count: int, line: str) -> None:
        """Who wants to know looks at the counters."""

    def snapshot(self, aggregates: Aggregates) -> None:
        self.final = {each.map: aggregates.entries(each) for each in aggregates.program.aggregations}

    def tell(self) -> None:
        if self.listener:
            self.listener()

    # --- for the thread ---------------------------------------------------------------------------

    def finish(self, error: BaseException | None) -> None:
        """Nothing more comes; error: why not, where tracing broke off."""
        self.error = error
        with self._condition:
            self.over.set()
            self._condition.notify_all()

    def has_room(self, seconds: float, unless: Callable[[], bool]) -> bool:
        """Whether more records can come; waits a moment for room, unless that has become pointless."""
        with self._condition:
            return self._condition.wait_for(lambda: self._waiting < self._limit or unless(), seconds)

    # --- for the reader ---------------------------------------------------------------------------

    @property
    def waiting(self) -> int:
        """How many records wait."""
        return self._waiting

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


class Pump(threading.Thread):
    """The thread.  driver: has begun, with the queue as its sink."""

    def __init__(self, driver: Driver, records: Queue) -> None:
        super().__init__(name="pyusdt-trace", daemon=True)
        self.driver, self.queue = driver, records
        self._requests: queue.SimpleQueue[tuple[Callable[[], Any], list[Any], threading.Event]] = queue.SimpleQueue()
        self._last_drops: dict[str, int] = {}

    # --- the thread -------------------------------------------------------------------------------

    def run(self) -> None:
        error: BaseException | None = None
        try:
            self.driver.run(_POLL, self._between)
            self._last_drops = self.driver.drops()
        except BaseException as raised:  # noqa: BLE001  (it is raised where the records are taken)
            error = raised
        try:
            self.driver.finish()
        except BaseException as raised:  # noqa: BLE001
            error = error or raised
        self.queue.finish(error)
        self._answer()
        self.queue.tell()

    def _between(self) -> None:
        """Answer who asks, for as long as the queue is full."""
        self._answer()
        while not (self.queue.has_room(_POLL, self._is_stopping) or self.driver.over):
            self._answer()

    def _is_stopping(self) -> bool:
        return self.driver.stopping

    def _answer(self) -> None:
        while True:
            try:
                function, answer, done = self._requests.get_nowait()
            except queue.Empty:
                return
            try:
                answer.append(None if self.queue.over.is_set() else function())
            except Exception:  # noqa: BLE001
                answer.append(None)  # the engine failed: run() is told by its next poll
            done.set()

    # --- for others -------------------------------------------------------------------------------

    def stop(self) -> None:
        """Probes off, END, everything read; returns when that is done."""
        self.driver.stopping = True
        self.join()

    def aggregation(self, definition: AggDef) -> Aggregation:
        """What an aggregation holds now, or held at the end."""
        found: Aggregation | None = self.ask(lambda: self.driver.actions.aggregates.snapshot(definition))
        return self.at_the_end(definition) if found is None else found

    @property
    def ended(self) -> bool:
        """Tracing is over, and nothing broke it off: at_the_end() has it all."""
        return self.queue.over.is_set() and self.queue.error is None

    def at_the_end(self, definition: AggDef) -> Aggregation:
        """What an aggregation held at the end."""
        return self.driver.actions.aggregates.of_entries(definition, self.queue.final.get(definition.map, []))

    def drops(self) -> dict[str, int]:
        found = self.ask(self.driver.drops)
        return dict(self._last_drops) if found is None else found

    def ask(self, function: Callable[[], Any]) -> Any:
        """What a function of the engine gives in the thread; None after the end."""
        over = self.queue.over
        if over.is_set():
            return None
        answer: list[Any] = []
        done = threading.Event()
        self._requests.put((function, answer, done))
        while not done.wait(1):
            if over.is_set():  # it ended between our look and our request
                self._answer()
        return answer[0]
