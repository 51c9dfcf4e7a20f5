"""pydtrace --json: what is traced, as one JSON object a line.  docs/guide/json.md is the schema.

In: what a sink is given (driver/sink.py).  Out: lines of JSON, each written whole.  Always: what dtrace's text would show is
there: records, texts of printa(), losses, run-time errors, the aggregations at the end; messages go to the standard error as
well.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydtrace.program.float_values import replace_nonfinite
from pydtrace.results import aggregation_values
from pydtrace.results.arrow_tables import json_default

from .output_file import OutputSink

if TYPE_CHECKING:
    from pydtrace.driver.aggregation_state import Aggregates
    from pydtrace.driver.sink import Info
    from pydtrace.results.records import Record

SCHEMA = 1


class Json(OutputSink):
    """The sink."""

    def begin(self, info: Info) -> None:
        self._decoder = info.decoder(self.fault)
        self._say(type="begin", schema=SCHEMA, engine=info.engine, reason=info.reason)

    def _say(self, **what: Any) -> None:
        self.output.write(
            json.dumps(
                what, ensure_ascii=False, default=json_default, separators=(",", ":")
            ).encode("utf-8", "replace")
            + b"\n"
        )

    def records(self, buffer: bytes) -> None:
        self._decoder.decode(buffer, self)

    def append(self, record: Record) -> None:
        """One of the decoder's records."""
        found = record.to_dict()
        found["values"] = replace_nonfinite(found["values"])
        self._say(type="record", **found)

    def text(self, text: bytes) -> None:
        self._say(type="text", text=text.decode("utf-8", "replace"))

    def fault(self, text: str, count: int = 0) -> None:
        super().fault(text)
        self._say(type="error", message=text, **({"count": count} if count else {}))

    def drop(self, kind: str, count: int, line: str) -> None:
        self._say(type="drop", kind=kind, count=count)
        super().drop(kind, count, line)

    def snapshot(self, aggregates: Aggregates) -> None:
        for definition in aggregates.unprinted():
            for key, value in aggregates.snapshot(definition).items():
                self._say(type="aggregation", name=definition.name, keys=list(key), **shown(value))

    def end(self, status: int) -> None:
        self._say(type="end", status=status)


def shown(value: aggregation_values.Value) -> dict[str, Any]:
    """A value's members in its object."""
    members = {"function": value.function, "n": value.words[0]}
    if isinstance(value, aggregation_values.Histogram):
        told = (
            {"percentiles": value.percentiles()}
            if isinstance(value, aggregation_values.Percentiles)
            else {}
        )
        return {
            **members,
            "params": list(value.params),
            **told,
            "buckets": [list(bucket) for bucket in value.buckets],
        }
    return {
        **members,
        "value": replace_nonfinite(value) if isinstance(value, float) else int(value),
    }
