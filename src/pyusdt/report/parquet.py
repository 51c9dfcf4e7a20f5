"""pydtrace --parquet FILE: records and aggregations as Parquet files.  docs/guide/json.md tells the columns.

In: what a sink is given (tracing/sink.py), and a path.  Out: FILE with the records, FILE's name with .aggregations with the rest.
Always: at most one batch of records is held in memory; the files are whole when tracing ends, however it ends, and come to
their places then (aside.py).
"""

from __future__ import annotations

import functools
import json
import os
from typing import TYPE_CHECKING, Any

from ..data import values
from ..data.floats import of_json
from ..data.records import Decoder, record_layout
from ..engine import EngineError
from .aside import Aside
from .json import plain
from .output import OutputSink

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..data.program import AggDef, Program
    from ..data.records import Record
    from ..tracing.aggregates import Aggregates
    from ..tracing.sink import Info
    from .output import Notify, Output

_BATCH = 50_000  # records of a row group
_FIXED = (("time", "uint64"), ("cpu", "uint32"), ("pid", "uint32"), ("tid", "uint32"), ("provider", "string"),
          ("module", "string"), ("function", "string"), ("name", "string"))
_AGGREGATIONS = (("aggregation", "string"), ("function", "string"), ("keys", "list"), ("n", "int64"), ("value", "int64"),
                 ("real", "float64"), ("low", "int64"), ("high", "int64"), ("count", "int64"), ("percent", "float64"))


class Parquet(OutputSink):
    """Texts of printa() go to the output as ever."""

    def __init__(self, output: Output, notify: Notify, path: str) -> None:
        super().__init__(output, notify)
        self._file = Aside(path)
        self._writer: Any = None
        self._rows: list[Record] = []

    def begin(self, info: Info) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise EngineError("--parquet needs pyarrow: pip install pyusdt[parquet]") from None
        self._arrow = pyarrow
        self._decoder = Decoder(info.program, info.probe, info.teller(self.fault).tell, info.actions.act, info.actions.symbols)
        self._columns = columns(info.program)
        self._schema = _schema(pyarrow, [*_FIXED, *self._columns.items()])
        self._writer = self._open(self._file, self._schema)

    def _open(self, file: Aside, schema: Any) -> Any:
        with file.checked():
            return self._arrow.parquet.ParquetWriter(file.make(), schema)

    def records(self, buffer: bytes) -> None:
        self._rows += self._decoder.decode(buffer)
        if len(self._rows) >= _BATCH:
            self._flush()

    def close(self) -> None:
        if self._writer:
            with self._file.checked(), self._writer:
                self._flush()
            self._file.done()

    def _flush(self) -> None:
        rows, self._rows = self._rows, []
        if not rows:
            return
        found: list[list[Any]] = [[rec.time for rec in rows], [rec.cpu for rec in rows], [rec.pid for rec in rows],
                                  [rec.tid for rec in rows]]
        found += [[rec.probe[i] for rec in rows] for i in range(4)]
        named = [dict(zip(_labels(rec.names), rec.values)) for rec in rows]
        for name, type in self._columns.items():
            cells = [values.get(name) for values in named]
            found.append([None if cell is None else _text(cell) for cell in cells] if type == "string" else cells)
        arrays = [self._arrow.array(column, field.type) for column, field in zip(found, self._schema)]
        with self._file.checked():
            self._writer.write_table(self._arrow.Table.from_arrays(arrays, schema=self._schema))

    def snapshot(self, aggregates: Aggregates) -> None:
        rows = [row for definition in aggregates.program.aggregations for row in self._aggregation_rows(definition, aggregates)]
        schema = _schema(self._arrow, _AGGREGATIONS)
        base, ending = os.path.splitext(self._file.path)
        file = Aside(f"{base}.aggregations{ending}")
        with file.checked(), self._open(file, schema) as writer:  # arrow's own write_table() removes what it could not write to
            writer.write_table(self._arrow.Table.from_pylist(rows, schema=schema))
        file.done()

    @staticmethod
    def _aggregation_rows(definition: AggDef, aggregates: Aggregates) -> Iterator[dict[str, Any]]:
        for key, value in aggregates.snapshot(definition).items():
            row = {"aggregation": definition.name, "function": value.function, "keys": list(map(_text, key)),
                   "n": value.words[0]}
            if isinstance(value, values.Percentiles):
                for _, percent in value.row.percents:
                    yield {**row, "percent": percent, "value": value.percentile(percent)}
            if isinstance(value, values.Histogram):
                for low, high, count in value.buckets:
                    yield {**row, "low": low, "high": high, "count": count}
            else:
                yield {**row, "real": float(value)} if isinstance(value, float) else {**row, "value": int(value)}


def _schema(pyarrow: Any, columns: Iterable[tuple[str, str]]) -> Any:
    """A file's schema; columns: (name, type).

    Of integers that may be missing pandas makes floats, and so other integers, unless the file says which type of its own is
    meant: Int64 and its like.  It says so as pandas itself would (https://pandas.pydata.org/docs/development/developer.html).
    """
    fields = [(name, pyarrow.list_(pyarrow.string()) if type == "list" else getattr(pyarrow, type)()) for name, type in columns]
    meant = [{"name": name, "field_name": name, "pandas_type": type, "numpy_type": type.replace("i", "I").replace("uI", "UI"),
              "metadata": None} for name, type in columns if "int" in type]
    pandas = {"index_columns": [], "column_indexes": [], "columns": meant, "creator": {"library": "pyusdt"}}
    return pyarrow.schema(fields, metadata={"pandas": json.dumps(pandas)})


def _text(value: Any) -> str:
    """A value in a column of text, which is UTF-8: stacks, what print() shows, and bytes that are no UTF-8, as JSON."""
    is_data = isinstance(value, (bytes, dict, list, tuple))
    text = json.dumps(of_json(value), ensure_ascii=False, default=plain) if is_data else str(value)
    return text.encode("utf-8", "backslashreplace").decode()


@functools.lru_cache
def _labels(names: tuple[str, ...]) -> tuple[str, ...]:
    """The columns of values with these names: a name that another value of the record or a fixed column has gets a number."""
    found: list[str] = []
    for name in names:
        label, number = name, 1
        while label in found or label in dict(_FIXED) or (number > 1 and label in names):
            number += 1
            label = f"{name}_{number}"
        found.append(label)
    return tuple(found)


def columns(program: Program) -> dict[str, str]:
    """{name: arrow's type} of the values of all clauses; a name with integers and strings is text."""
    found: dict[str, str] = {}
    for clause in program.clauses:
        layout = record_layout(clause)
        for name, (_, code) in zip(_labels(tuple(name for name, _ in layout)), layout):
            type = "string" if code.endswith("s") else "float64" if code in "fd" else "uint64" if code.isupper() else "int64"
            found[name] = type if found.get(name, type) == type else "string"
    return found
