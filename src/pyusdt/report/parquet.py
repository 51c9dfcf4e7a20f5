"""pydtrace --parquet FILE: records and aggregations as Parquet files.  docs/guide/json.md tells the columns.

In: what a sink is given (tracing/sink.py), and a path.  Out: FILE with the records, FILE's name with .aggregations with the rest.
Always: at most one batch of records is held in memory; the files are whole when tracing ends, however it ends.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from ..data import values
from ..data.floats import of_json
from ..data.records import Decoder, record_layout
from ..engine import EngineError
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
                 ("real", "float64"), ("low", "int64"), ("high", "int64"), ("count", "int64"))


class Parquet(OutputSink):
    """Texts of printa() go to the output as ever."""

    def __init__(self, output: Output, notify: Notify, path: str) -> None:
        super().__init__(output, notify)
        self._path = path
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
        self._writer = pyarrow.parquet.ParquetWriter(self._path, self._schema)

    def records(self, buffer: bytes) -> None:
        self._rows += self._decoder.decode(buffer)
        if len(self._rows) >= _BATCH:
            self._flush()

    def close(self) -> None:
        if self._writer:
            with self._writer:
                self._flush()

    def _flush(self) -> None:
        rows, self._rows = self._rows, []
        if not rows:
            return
        found: list[list[Any]] = [[rec.time for rec in rows], [rec.cpu for rec in rows], [rec.pid for rec in rows],
                                  [rec.tid for rec in rows]]
        found += [[rec.probe[i] for rec in rows] for i in range(4)]
        for name, type in self._columns.items():
            found.append([self._cell(rec, name, type) for rec in rows])
        arrays = [self._arrow.array(column, field.type) for column, field in zip(found, self._schema)]
        self._writer.write_table(self._arrow.Table.from_arrays(arrays, schema=self._schema))

    @staticmethod
    def _cell(rec: Record, name: str, type: str) -> Any:
        if name not in rec.names:
            return None
        value = rec[name]
        if type != "string" or value is None:
            return value
        return _text(value)

    def snapshot(self, aggregates: Aggregates) -> None:
        rows = [row for definition in aggregates.program.aggregations for row in self._aggregation_rows(definition, aggregates)]
        table = self._arrow.Table.from_pylist(rows, schema=_schema(self._arrow, _AGGREGATIONS))
        base, ending = os.path.splitext(self._path)
        self._arrow.parquet.write_table(table, f"{base}.aggregations{ending}")

    @staticmethod
    def _aggregation_rows(definition: AggDef, aggregates: Aggregates) -> Iterator[dict[str, Any]]:
        for key, value in aggregates.snapshot(definition).items():
            row = {"aggregation": definition.name, "function": value.function, "keys": list(map(_text, key)),
                   "n": value.words[0]}
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
    """A value in a column of text, which is UTF-8: stacks, and what print() shows, as JSON."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    text = json.dumps(of_json(value), ensure_ascii=False, default=plain) if isinstance(value, (dict, list, tuple)) else str(value)
    return text.encode("utf-8", "replace").decode()


def columns(program: Program) -> dict[str, str]:
    """{name: arrow's type} of the values of all clauses; a name with integers and strings is text."""
    found: dict[str, str] = {}
    for clause in program.clauses:
        for name, code in record_layout(clause):
            type = "string" if code.endswith("s") else "float64" if code in "fd" else "uint64" if code.isupper() else "int64"
            found[name] = type if found.get(name, type) == type else "string"
    return {name: type for name, type in found.items() if name not in dict(_FIXED)}
