"""loguru: log:::record, by the handlers that write a record.

In: loguru._handler, when it has been imported.  Out: log:::record, once for each record that at least one handler is given.
"""

from __future__ import annotations

import threading
from typing import Any

from .core import harmless, wrap_method
from .probes import probes
from .wrap_calls import before

(_record,) = probes("log")
_last = (
    threading.local()
)  # .time: of the record that this thread fired last; all handlers of a record see the same object


@harmless
def _note(_handler: Any, record: Any, *_more: Any) -> None:
    if _record and getattr(_last, "time", None) is not record["time"]:
        _last.time = record["time"]
        _record(record["level"].no, record["name"] or "", record["message"])


def see_records(handlers: Any) -> None:
    wrap_method(handlers.Handler, "emit", before(_note))
