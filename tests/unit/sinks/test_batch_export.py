"""The thread that exports: batches, the end, an exporter that raises, one that hangs."""

import threading

import pytest

from pydtrace.sinks.otel import batch_export
from pydtrace.sinks.otel.batch_export import BatchExportThread

pytestmark = pytest.mark.own_processes


class Numbers(BatchExportThread):
    """Exports what was put, two numbers at a time."""

    def __init__(self, exporter):
        super().__init__("test", exporter, None)
        self.waiting, self.answers = [], []

    def put(self, *numbers):
        with self.condition:
            self.waiting += numbers
            self.condition.notify()

    def has_batch(self):
        return len(self.waiting) >= 2

    def take_batch(self):
        batch, self.waiting = self.waiting[:2], self.waiting[2:]
        return batch or None

    def export_batch(self, batch):
        self.answers.append(self.call_exporter(batch))


class Exporter:
    def __init__(self, export):
        self.export = export


def test_the_end_exports_the_rest():
    taken = []
    thread = Numbers(Exporter(lambda batch: taken.append(batch) or len(batch)))
    thread.start()
    thread.put(1, 2, 3, 4, 5)
    assert thread.close()
    assert (taken, thread.answers) == ([[1, 2], [3, 4], [5]], [2, 2, 1])


def test_an_exporter_that_raises_has_answered_none():
    def fail(batch):
        raise ValueError("no answer")

    thread = Numbers(Exporter(fail))
    thread.start()
    thread.put(1)
    assert thread.close() and thread.answers == [None]
    assert thread.log.last == "ValueError: no answer"


def test_an_exporter_that_hangs_does_not_keep_the_end(monkeypatch):
    monkeypatch.setattr(batch_export, "CLOSE_TIMEOUT", 0.05)
    released = threading.Event()
    thread = Numbers(Exporter(lambda batch: released.wait(60)))
    thread.start()
    thread.put(1, 2)
    assert not thread.close()
    released.set()


def test_one_that_never_began_ends():
    assert Numbers(Exporter(list)).close()
