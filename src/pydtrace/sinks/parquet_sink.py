"""pydtrace --parquet FILE: records and aggregations as Parquet files (docs/reference/json.md has the
columns).

FILE has the records, the file with .aggregations in its name the rest.

- At most one batch of records is in memory.
- The files are complete however the tracing ends, and appear then (atomic_file.py).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from pydtrace.engine import EngineError
from pydtrace.results import aggregation_values, arrow_tables

from .atomic_file import AtomicFile
from .output_file import OutputSink

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydtrace.driver.aggregation_state import AggregationState
    from pydtrace.driver.sink import TraceInfo
    from pydtrace.program.program import AggDef
    from pydtrace.results.records import Record

    from .output_file import Notify, Output

_BATCH = 50_000  # records of a row group
_AGGREGATIONS = (
    ("aggregation", "string"),
    ("function", "string"),
    ("keys", "list"),
    ("n", "int64"),
    ("value", "int64"),
    ("real", "float64"),
    ("low", "int64"),
    ("high", "int64"),
    ("count", "int64"),
    ("percent", "float64"),
)


class ParquetSink(OutputSink):
    """Texts of printa() go to the output as ever."""

    def __init__(self, output: Output, notify: Notify, path: str) -> None:
        super().__init__(output, notify)
        self._file = AtomicFile(path)
        self._writer: Any = None
        self._rows: list[Record] = []

    def begin(self, info: TraceInfo) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise EngineError("--parquet needs pyarrow: pip install 'pydtrace[parquet]'") from None
        self._arrow = pyarrow
        self._decoder = info.make_decoder(self.fault)
        self._columns = arrow_tables.value_columns(info.program)
        self._schema = arrow_tables.make_schema(
            pyarrow, [*arrow_tables.FIXED_COLUMNS, *self._columns.items()]
        )
        self._writer = self._open_writer(self._file, self._schema)

    def _open_writer(self, file: AtomicFile, schema: Any) -> Any:
        with file.report_errors():
            make_writer: Any = self._arrow.parquet.ParquetWriter
            return make_writer(file.create_file(), schema)

    def records(self, buffer: bytes) -> None:
        self._rows += self._decoder.decode(buffer)
        if len(self._rows) >= _BATCH:
            self._flush_rows()

    def close(self) -> None:
        if self._writer:
            with self._file.report_errors(), self._writer:
                self._flush_rows()
            self._file.commit_file()

    def _flush_rows(self) -> None:
        rows, self._rows = self._rows, []
        if not rows:
            return
        with self._file.report_errors():
            self._writer.write_table(
                arrow_tables.make_record_table(self._arrow, self._columns, self._schema, rows)
            )

    def snapshot(self, aggregates: AggregationState) -> None:
        rows = [
            row
            for definition in aggregates.program.aggregations
            for row in self._aggregation_rows(definition, aggregates)
        ]
        schema = arrow_tables.make_schema(self._arrow, _AGGREGATIONS)
        base, ending = os.path.splitext(self._file.path)
        file = AtomicFile(f"{base}.aggregations{ending}")
        with (
            file.report_errors(),
            self._open_writer(file, schema) as writer,
        ):  # arrow's own write_table() removes what it could not write to
            writer.write_table(self._arrow.Table.from_pylist(rows, schema=schema))
        file.commit_file()

    @staticmethod
    def _aggregation_rows(
        definition: AggDef, aggregates: AggregationState
    ) -> Iterator[dict[str, Any]]:
        for key, value in aggregates.take_snapshot(definition).items():
            row = {
                "aggregation": definition.name,
                "function": value.function,
                "keys": list(map(arrow_tables.to_text, key)),
                "n": value.words[0],
            }
            if isinstance(value, aggregation_values.Percentiles):
                for _, percent in value.row.shown_percentiles:
                    yield {**row, "percent": percent, "value": value.percentile(percent)}
            if isinstance(value, aggregation_values.Histogram):
                for low, high, count in value.buckets:
                    yield {**row, "low": low, "high": high, "count": count}
            else:
                yield (
                    {**row, "real": float(value)}
                    if isinstance(value, float)
                    else {**row, "value": int(value)}
                )
