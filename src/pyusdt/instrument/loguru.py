"""loguru: log:::record, once for each record that at least one handler is given, by the handlers
that write it.
"""

from __future__ import annotations

import threading
from typing import Any

from .core import suppress_errors, wrap_method
from .probes import provider_probes
from .wrap_calls import call_before

(_record,) = provider_probes("log")
_last = (
    threading.local()
)  # .time: of the record that this thread fired last; all handlers of a record see the same object


@suppress_errors
def _fire_record(_handler: Any, record: Any, *_more: Any) -> None:
    if _record and getattr(_last, "time", None) is not record["time"]:
        _last.time = record["time"]
        _record(record["level"].no, record["name"] or "", record["message"])


def install_records(handlers: Any) -> None:
    wrap_method(handlers.Handler, "emit", call_before(_fire_record))
