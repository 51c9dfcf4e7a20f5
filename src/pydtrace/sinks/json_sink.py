"""pydtrace --json: what is traced as lines of JSON, each written whole (docs/reference/json.md has the
schema).

- What dtrace's text would show is there: records, texts of printa(), losses, run-time errors, the
  aggregations at the end. Messages go to the standard error as well.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydtrace.program.float_values import replace_nonfinite
from pydtrace.results import aggregation_values
from pydtrace.results.arrow_tables import json_default

from .output_file import OutputSink

if TYPE_CHECKING:
    from pydtrace.driver.aggregation_state import AggregationState
    from pydtrace.driver.sink import TraceInfo
    from pydtrace.results.records import Record

SCHEMA = 1


class JsonSink(OutputSink):
    """The sink."""

    def begin(self, info: TraceInfo) -> None:
        self._decoder = info.make_decoder(self.fault)
        self._write_line(type="begin", schema=SCHEMA, engine=info.engine, reason=info.reason)

    def _write_line(self, **members: Any) -> None:
        self.output.write(
            json.dumps(
                members, ensure_ascii=False, default=json_default, separators=(",", ":")
            ).encode("utf-8", "replace")
            + b"\n"
        )

    def records(self, buffer: bytes) -> None:
        self._decoder.decode(buffer, self)

    def append(self, record: Record) -> None:
        """One of the decoder's records."""
        found = record.to_dict()
        found["values"] = replace_nonfinite(found["values"])
        self._write_line(type="record", **found)

    def text(self, text: bytes) -> None:
        self._write_line(type="text", text=text.decode("utf-8", "replace"))

    def fault(self, text: str, count: int = 0) -> None:
        super().fault(text)
        self._write_line(type="error", message=text, **({"count": count} if count else {}))

    def drop(self, kind: str, count: int, line: str) -> None:
        self._write_line(type="drop", kind=kind, count=count)
        super().drop(kind, count, line)

    def snapshot(self, aggregates: AggregationState) -> None:
        for definition in aggregates.unprinted_definitions():
            for key, value in aggregates.take_snapshot(definition).items():
                self._write_line(
                    type="aggregation",
                    name=definition.name,
                    keys=list(key),
                    **make_value_members(value),
                )

    def end(self, status: int) -> None:
        self._write_line(type="end", status=status)


def make_value_members(value: aggregation_values.Value) -> dict[str, Any]:
    """A value's members in its object."""
    members = {"function": value.function, "n": value.words[0]}
    if isinstance(value, aggregation_values.Histogram):
        details = (
            {"percentiles": value.percentiles()}
            if isinstance(value, aggregation_values.Percentiles)
            else {}
        )
        return {
            **members,
            "params": list(value.params),
            **details,
            "buckets": [list(bucket) for bucket in value.buckets],
        }
    return {
        **members,
        "value": replace_nonfinite(value) if isinstance(value, float) else int(value),
    }
