"""structlog: log:::record, after the processors have let an event through.

The message is the event, the logger the bound value "logger".

- Nothing fires for a logger of the standard library, whose records the part logging sees.
"""

from __future__ import annotations

import logging
from typing import Any

from .core import suppress_errors, wrap_method
from .probes import provider_probes
from .wrap_calls import wrap_call

(_record,) = provider_probes("log")
_LEVELS = {
    "critical": 50,
    "fatal": 50,
    "exception": 40,
    "error": 40,
    "err": 40,
    "warn": 30,
    "warning": 30,
    "info": 20,
    "msg": 20,
    "debug": 10,
}


class _Event:
    """One event that is traced, until its processors are done."""

    __slots__ = ("event", "level", "logger")

    def __init__(self, bound: Any, method: str, event: Any, values: Any) -> None:
        self.level = _LEVELS.get(method, 0)
        self.event = event if isinstance(event, str) else ""
        logger = values.get("logger", bound._context.get("logger"))
        self.logger = logger if isinstance(logger, str) else ""

    @suppress_errors
    def done(self, _result: Any, error: BaseException | None = None) -> None:
        if error is None:  # DropEvent: a processor has dropped it
            _record(self.level, self.logger, self.event)


@suppress_errors
def _begin_event(bound: Any, method: str, event: Any, values: Any) -> _Event | None:
    return (
        _Event(bound, method, event, values)
        if _record and not isinstance(bound._logger, logging.Logger)
        else None
    )


def install_records(base: Any) -> None:
    wrap_method(base.BoundLoggerBase, "_process_event", wrap_call(_begin_event))
