"""The thread that gives batches to an exporter of OpenTelemetry's SDK.

- The tracing thread never waits for it.
- An exception of the exporter is a failed export; its reason is the newest line of the exporter's
  log.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .otlp_exporters import PartialSuccess

CLOSE_TIMEOUT = 5.0  # s that the end waits for the last batch


class BatchExportThread:
    """A subclass keeps what is to be exported and says what to do with a batch.

    `condition` guards what a subclass keeps. refused: what the receiver refused of requests that it
    accepted; log: what the exporter says.
    """

    interval: float | None = None  # s after which a batch is taken that is not full; None: never

    def __init__(self, name: str, exporter: Any, refused: PartialSuccess) -> None:
        self.exporter, self.refused = exporter, refused
        self.condition = threading.Condition()
        self.log = ExporterLog()
        self._is_closing = False
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> bool:
        """Export the rest. False: that was not possible in time."""
        with self.condition:
            self._is_closing = True
            self.condition.notify()
        if self._thread.is_alive():
            self._thread.join(CLOSE_TIMEOUT)
        return not self._thread.is_alive()

    def has_batch(self) -> bool:
        """Whether there is enough for a request; called with `condition` held."""
        raise NotImplementedError

    def take_batch(self) -> Any:
        """What the next request holds, or None; called with `condition` held."""
        raise NotImplementedError

    def export_batch(self, batch: Any) -> None:
        """Export it with call_exporter(), and count what was not accepted."""
        raise NotImplementedError

    def call_exporter(self, *arguments: Any, **named: Any) -> Any:
        """The exporter's answer; None, with the reason in log.last, where it raises."""
        try:
            return self.exporter.export(*arguments, **named)
        except Exception as error:  # noqa: BLE001 (mistakes of the exporter, a body that is no answer)
            self.log.last = f"{type(error).__name__}: {error}"
            return None

    def _work(self) -> None:
        while True:
            with self.condition:
                self.condition.wait_for(
                    lambda: self._is_closing or self.has_batch(), timeout=self.interval
                )
                batch = self.take_batch()
                if batch is None and self._is_closing:
                    return
            if batch is not None:
                self.export_batch(batch)


class ExporterLog(logging.Handler):
    """What the exporters log, in the place of the standard error. last: the newest line."""

    def __init__(self) -> None:
        super().__init__()
        self.last = ""
        logger = logging.getLogger("opentelemetry")
        logger.addHandler(self)
        logger.propagate = False

    def emit(self, record: logging.LogRecord) -> None:
        self.last = record.getMessage().split("\n", 1)[0][:500]
