"""logging: log:::record, by the factory that makes each record that a logger's level lets through.

- No handler is added, since basicConfig() does nothing where there is one.
- A program that later sets a factory of its own, which does not call the one before, ends these
  events.
"""

from __future__ import annotations

from typing import Any

from .core import suppress_errors
from .probes import provider_probes

(_record,) = provider_probes("log")


@suppress_errors
def _fire_record(record: Any) -> None:
    _record(record.levelno, record.name, record.getMessage())


def install_records(logging: Any) -> None:
    make = logging.getLogRecordFactory()

    def make_record(*args: Any, **keywords: Any) -> Any:
        record = make(*args, **keywords)
        if _record:
            _fire_record(record)
        return record

    logging.setLogRecordFactory(make_record)
