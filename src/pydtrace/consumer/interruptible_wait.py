"""Waiting that stays whole when a signal's handler raises.

threading.Condition and Event take their lock in Python: an exception between two steps of that leaves the lock taken for ever, and
with it the thread that wants it next.  Always: nothing here is held while anybody waits; a wake-up that an exception took away costs
the waiter, who looks again, the time that it had given.
"""

from __future__ import annotations

from pydtrace.unpatched_threads import Empty, SimpleQueue, get_item

MAX_WAIT = 0.5  # seconds that anybody waits at a time


class Wakeup:
    """Wakes one of those that wait, who looks whether what it waits for is there, and wakes the next where that is there for all."""

    def __init__(self) -> None:
        self._tokens: SimpleQueue[None] = SimpleQueue()

    def set(self) -> None:
        if self._tokens.empty():
            self._tokens.put(None)

    def wait(self, seconds: float = MAX_WAIT) -> None:
        try:
            get_item(self._tokens, seconds)
        except Empty:
            pass
