"""The queue between a tracing and the API's user, and the thread that drives the tracing.

- Only this thread uses the engine, from its creation to its end, so that no signal interrupts
  that.
- At most `limit` records wait, and those of one poll more. While the queue is full the engine is
  not polled; its rings fill and count what they drop.
- When `over` is true, end() has run and the engine is closed, whatever happened.
- When the interpreter ends, all tracings end before its threads are stopped.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from pydtrace.driver.sink import Sink
from pydtrace.unpatched_threads import (
    Empty,
    SimpleQueue,
    get_item,
    is_patched,
    sleep_really,
    start_thread,
    thread_id,
)
from pyusdt._core import forget_ended

from .interruptible_wait import MAX_WAIT, Wakeup

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydtrace.driver.aggregation_state import AggregationState
    from pydtrace.driver.driver import Driver
    from pydtrace.driver.sink import TraceInfo
    from pydtrace.program.program import AggDef
    from pydtrace.results.aggregations import Aggregation
    from pydtrace.results.records import Record

_MAX_PRINTED = 1000  # of printa() that are kept
_POLL_TIMEOUT = 0.02  # s: so long a snapshot may have to wait
_ROOM_INTERVAL = 0.002  # s: how often a full queue is looked at
_EXIT_TIMEOUT = 30.0  # s that the interpreter's end waits for all tracings


class RecordQueue(Sink):
    """limit: of records that wait; note: called with each notice of trouble, in the driving thread; on_record: likewise with each
    record, which does not wait then.

    over: nothing more comes; error: what ended the tracing early; printed: the last texts of printa(); final: {index of a
    map: what the aggregation held at the end}; listener: called when something has come, in the driving thread.
    """

    def __init__(
        self,
        limit: int,
        report_error: Callable[[str], None],
        on_record: Callable[[Record], object] | None = None,
    ) -> None:
        self._limit, self._report_error, self._on_record = limit, report_error, on_record
        self.waiting: deque[Record] = (
            deque()
        )  # its readers take from it; no lock, which an exception of a signal's handler could leave taken
        self.printed: deque[str] = deque(maxlen=_MAX_PRINTED)
        self.final: dict[int, list[tuple[bytes, bytes]]] = {}
        self._readable, self._ended = Wakeup(), Wakeup()
        self.over = False
        self.error: BaseException | None = None
        self.listener: Callable[[], None] | None = None

    # --- the sink ---------------------------------------------------------------------------------

    def begin(self, info: TraceInfo) -> None:
        self._decoder = info.make_decoder(self.fault)

    def records(self, buffer: bytes) -> None:
        if batch := self._decoder.decode(buffer):
            if self._on_record is None:
                self.waiting.extend(batch)
                self.wake_reader()
            else:
                for record in batch:
                    self._on_record(record)

    def text(self, text: bytes) -> None:
        self.printed.append(text.decode("utf-8", "surrogateescape"))

    def notice(self, text: str, error: bool = True) -> None:
        if error:
            self._report_error(text)

    def drop(self, kind: str, count: int, line: str) -> None:
        """Who wants to know looks at the counters."""

    def snapshot(self, aggregates: AggregationState) -> None:
        self.final = {
            each.map: aggregates.read_entries(each) for each in aggregates.program.aggregations
        }

    def wake_reader(self) -> None:
        self._readable.set()
        if self.listener:
            self.listener()

    # --- for the thread ---------------------------------------------------------------------------

    def finish(self, error: BaseException | None) -> None:
        """Nothing more comes; error: why not, where tracing broke off."""
        self.error = error
        self.over = True
        self._ended.set()
        self.wake_reader()

    def wait_for_room(self, seconds: float) -> bool:
        """Whether more records can come; waits a moment for room."""
        if len(self.waiting) >= self._limit:
            sleep_really(seconds)
        return len(self.waiting) < self._limit

    # --- for the reader ---------------------------------------------------------------------------

    def wait_for_records(self, timeout: float | None = None) -> bool:
        """Wait until there are records; False: tracing is over and all were taken, or `timeout` seconds have passed.  Raises what ended the
        tracing."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            over = self.over  # before the look: what came before it is seen
            if self.waiting:
                self._readable.set()  # for the next of several readers
                return True
            if over:
                self._readable.set()
                if self.error:
                    raise self.error
                return False
            left = MAX_WAIT if deadline is None else deadline - time.monotonic()
            if left <= 0:
                return False
            self._readable.wait(min(left, MAX_WAIT))

    def take_records(self) -> list[Record]:
        """Those that are there now.  Raises what ended the tracing, where there are none."""
        found = []
        try:
            while True:
                found.append(self.waiting.popleft())
        except IndexError:
            if self.error and self.over and not found:
                raise self.error from None
            return found

    def wait_until_over(self, timeout: float | None) -> bool:
        """Whether it is over, at the latest after so many seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self.over:
            left = MAX_WAIT if deadline is None else deadline - time.monotonic()
            if left <= 0:
                return False
            self._ended.wait(min(left, MAX_WAIT))
        self._ended.set()
        return True


_running: set[DriverThread] = set()  # of this process, and of that which it was forked from


class DriverThread(threading.Thread):
    """The thread.  open_driver: makes a driver and gives it (with its command, if it has one); open_with: opens it; then it begins, with
    the queue as its sink.  stopping: True ends the tracing, and whatever of it has begun.

    driver: from its making on; begun: it runs, or has run; closed: everything is undone.
    """

    driver: Driver

    def __init__(
        self,
        make: Callable[[], Driver],
        open_driver: Callable[[Driver], None],
        records: RecordQueue,
    ) -> None:
        super().__init__(name="pyusdt-trace", daemon=True)
        self._make: Callable[[], Driver] | None = make
        self._open: Callable[[Driver], None] | None = (
            open_driver  # they know the Tracing, which has to be free to go
        )
        self.queue = records
        self.owner = os.getpid()
        self.stopping = self.begun = self.closed = False
        self._changed = Wakeup()  # begun or closed
        self._opening = False
        self._thread_number = 0  # a thread's number in the system
        self._requests: SimpleQueue[tuple[Callable[[], Any], SimpleQueue[Any]]] = SimpleQueue()
        self._last_drops: dict[str, int] = {}

    # --- the thread -------------------------------------------------------------------------------

    def _start_thread(self) -> None:
        """In a thread of its own, since start() waits for the new thread with a Condition (interruptible_wait.py)."""
        try:
            if is_patched():
                self.run()  # Thread.start() would make a greenlet of it
            else:
                self.start()
        except RuntimeError as error:  # no more threads
            self.queue.finish(error)
            self._mark_closed()

    def run(self) -> None:
        self._thread_number = thread_id()
        self._opening = True  # who sees that it is not may go, after `stopping` was set
        _running.add(self)
        error = None
        try:
            if not self.stopping:
                self._run_driver()
        except BaseException as raised:  # noqa: BLE001  (it is raised where the records are taken, or the block is entered)
            error = raised
        if self.begun:
            error = self._finish_driver(error)
        self.queue.finish(error)
        self._answer_requests()
        try:
            if hasattr(self, "driver"):
                self._end_command()
        finally:
            self._mark_closed()

    def _run_driver(self) -> None:
        assert self._make and self._open
        self.driver = driver = self._make()
        self._open(driver)
        self._make = self._open = None
        if self.stopping:
            return
        driver.begin(self.queue)
        self.begun = True
        self._changed.set()
        driver.run(_POLL_TIMEOUT, self._serve_requests)
        self._last_drops = driver.drops()

    def _finish_driver(self, error: BaseException | None) -> BaseException | None:
        try:
            self.driver.finish()
        except BaseException as raised:  # noqa: BLE001
            return error or raised
        return error

    def _end_command(self) -> None:
        """It runs as long as the block does, also after exit()."""
        command = self.driver.targets.command
        while self.begun and command and not (self.stopping or command.poll()):
            sleep_really(_POLL_TIMEOUT)
        self.driver.close()
        forget_ended()

    def _mark_closed(self) -> None:
        self._make = self._open = None
        _running.discard(self)
        self.closed = True
        self._changed.set()

    def _serve_requests(self) -> None:
        """Answer who asks, for as long as the queue is full."""
        self._answer_requests()
        while not (
            self._is_stopping() or self.queue.wait_for_room(_ROOM_INTERVAL) or self.driver.is_over
        ):
            self._answer_requests()

    def _is_stopping(self) -> bool:
        if self.stopping:
            self.driver.stopping = True
        return self.stopping

    def _answer_requests(self) -> None:
        while True:
            try:
                function, answer = self._requests.get_nowait()
            except Empty:
                return
            try:
                answer.put(None if self.queue.over else function())
            except Exception:  # noqa: BLE001
                answer.put(None)  # the engine failed: run() gets the error by its next poll

    # --- for others -------------------------------------------------------------------------------

    def open_and_begin(self) -> None:
        """Open and begin, in the thread; returns when that is done.  Raises what it raises."""
        if sys.is_finalizing():
            self.closed = True
            raise RuntimeError("the interpreter ends: no tracing can begin")
        try:
            start_thread(self._start_thread)
        except RuntimeError:
            self.closed = True
            raise
        while not (self.begun or self.closed):
            self._changed.wait()
        if not self.begun and self.queue.error:
            raise self.queue.error

    def stop(self, seconds: float | None = None) -> None:
        """Probes off, END, everything read, the command ended; returns when that is done, or after so many seconds."""
        self.stopping = True
        deadline = None if seconds is None else time.monotonic() + seconds
        while self.is_running() and (deadline is None or time.monotonic() < deadline):
            self._changed.wait(MAX_WAIT if seconds is None else min(seconds, MAX_WAIT))
        if self.closed:
            self._changed.set()
            if (
                self.ident is not None
                and self.is_mine()
                and not sys.is_finalizing()
                and self is not threading.current_thread()
            ):
                self.join(1)

    def is_mine(self) -> bool:
        """It is of this process, and not of the one that it was forked from."""
        return self.owner == os.getpid()

    def is_running(self) -> bool:
        """Something of it is on, or may be, and there is a thread that sees to its end."""
        return (
            not self.closed
            and self.is_mine()
            and not sys.is_finalizing()
            and (self._opening or not self.stopping)
        )

    def read_aggregation(self, definition: AggDef) -> Aggregation:
        """What an aggregation holds now, or held at the end."""
        found: Aggregation | None = self.call_in_thread(
            lambda: self.driver.actions.aggregates.take_snapshot(definition)
        )
        return self.final_aggregation(definition) if found is None else found

    @property
    def has_completed(self) -> bool:
        """Tracing is over, and nothing broke it off: final_aggregation() has it all."""
        return self.queue.over and self.queue.error is None

    def final_aggregation(self, definition: AggDef) -> Aggregation:
        """What an aggregation held at the end."""
        return self.driver.actions.aggregates.make_aggregation(
            definition, self.queue.final.get(definition.map, [])
        )

    def count_drops(self) -> dict[str, int]:
        found = self.call_in_thread(self.driver.drops)
        return dict(self._last_drops) if found is None else found

    def call_in_thread(self, function: Callable[[], Any]) -> Any:
        """What a function of the engine gives in the thread; None after the end."""
        if self.queue.over:
            return None
        if self._thread_number == thread_id():  # on_record asks
            return function()
        answer: SimpleQueue[Any] = SimpleQueue()
        self._requests.put((function, answer))
        while True:
            try:
                return get_item(answer, MAX_WAIT)
            except Empty:
                if self.queue.over:  # it ended between our look and our request
                    self._answer_requests()
                elif sys.is_finalizing():
                    return None


@atexit.register
def _stop_all() -> None:
    """Later the interpreter stops all threads, wherever they are: who then waits for one waits for ever."""
    pumps = [pump for pump in _running if pump.is_mine()]
    for pump in pumps:
        pump.stopping = True
    deadline = time.monotonic() + _EXIT_TIMEOUT
    for pump in pumps:
        pump.stop(max(0.0, deadline - time.monotonic()))
