"""Records and aggregations as Arrow tables, with names, types and units, for pandas and polars.

- Integers stay integers, also where some are missing.
- What no column can hold (stacks, the values of print(), bytes that are no UTF-8) is JSON.
"""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any

from pydtrace.program.float_values import replace_nonfinite

from . import aggregation_values
from .records import record_layout

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pydtrace.program.program import Program

    from .aggregations import Aggregation
    from .records import Record

FIXED_COLUMNS = (("time", "uint64"), ("cpu", "uint32"), ("pid", "uint32"), ("tid", "uint32"), ("provider", "string"),
         ("module", "string"), ("function", "string"), ("name", "string"))  # fmt: skip
_UNITS = {"time": "ns"}


class MissingPackage(ImportError):
    """A package that makes the table is not installed; the message says which, and how to get it."""


def import_pyarrow(extra: str = "notebook") -> Any:
    try:
        import pyarrow
    except ImportError:
        raise MissingPackage(f"a table needs pyarrow: pip install 'pydtrace[{extra}]'") from None
    return pyarrow


def make_schema(
    pyarrow: Any, columns: Iterable[tuple[str, str]], units: dict[str, str] | None = None
) -> Any:
    """columns: (name, type); units: {name: unit}, which a column's metadata say.

    Of integers that may be missing pandas makes floats, and so other integers, unless the table says which type of its own is
    meant: Int64 and its like.  It says so as pandas itself would (https://pandas.pydata.org/docs/development/developer.html).
    """
    columns, units = list(columns), units or _UNITS
    fields = [
        pyarrow.field(
            name,
            pyarrow.list_(pyarrow.string()) if type == "list" else getattr(pyarrow, type)(),
            metadata={"unit": units[name]} if name in units else None,
        )
        for name, type in columns
    ]
    meant = [
        {
            "name": name,
            "field_name": name,
            "pandas_type": type,
            "numpy_type": type.replace("i", "I").replace("uI", "UI"),
            "metadata": None,
        }
        for name, type in columns
        if "int" in type
    ]
    pandas = {
        "index_columns": [],
        "column_indexes": [],
        "columns": meant,
        "creator": {"library": "pyusdt"},
    }
    return pyarrow.schema(fields, metadata={"pandas": json.dumps(pandas)})


def json_default(value: object) -> dict[str, str]:
    """Bytes that are not UTF-8, for json."""
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    raise TypeError(f"{type(value).__name__} has no JSON")


def to_text(value: Any) -> str:
    """A value in a column of text, which is UTF-8: stacks, what print() shows, and bytes that are no UTF-8, as JSON."""
    is_data = isinstance(value, (bytes, dict, list, tuple))
    shown = (
        json.dumps(replace_nonfinite(value), ensure_ascii=False, default=json_default)
        if is_data
        else str(value)
    )
    return shown.encode("utf-8", "backslashreplace").decode()


# --- records ------------------------------------------------------------------------------------


@functools.lru_cache
def column_labels(names: tuple[str, ...]) -> tuple[str, ...]:
    """The columns of values with these names: a name that another value of the record or a fixed column has gets a number."""
    found: list[str] = []
    for name in names:
        label, number = name, 1
        while label in found or label in dict(FIXED_COLUMNS) or (number > 1 and label in names):
            number += 1
            label = f"{name}_{number}"
        found.append(label)
    return tuple(found)


def value_columns(program: Program) -> dict[str, str]:
    """{name: arrow's type} of the values of all clauses; a name with integers and strings is text."""
    found: dict[str, str] = {}
    for clause in program.clauses:
        layout = record_layout(clause)
        for name, (_, code) in zip(column_labels(tuple(name for name, _ in layout)), layout):
            type = (
                "string"
                if code.endswith("s")
                else "float64"
                if code in "fd"
                else "uint64"
                if code.isupper()
                else "int64"
            )
            found[name] = type if found.get(name, type) == type else "string"
    return found


def make_record_table(
    pyarrow: Any, named: dict[str, str], meant: Any, rows: Sequence[Record]
) -> Any:
    """named: value_columns(); meant: the schema of the fixed ones and of these."""
    found: list[list[Any]] = [
        [rec.time for rec in rows],
        [rec.cpu for rec in rows],
        [rec.pid for rec in rows],
        [rec.tid for rec in rows],
    ]
    found += [[rec.probe[i] for rec in rows] for i in range(4)]
    cells = [dict(zip(column_labels(rec.names), rec.values)) for rec in rows]
    for name, type in named.items():
        column = [each.get(name) for each in cells]
        found.append(
            [None if cell is None else to_text(cell) for cell in column]
            if type == "string"
            else column
        )
    arrays = [pyarrow.array(column, field.type) for column, field in zip(found, meant)]
    return pyarrow.Table.from_arrays(arrays, schema=meant)


def make_records_table(program: Program, rows: Sequence[Record]) -> Any:
    pyarrow, named = import_pyarrow(), value_columns(program)
    return make_record_table(
        pyarrow, named, make_schema(pyarrow, [*FIXED_COLUMNS, *named.items()]), rows
    )


# --- aggregations -------------------------------------------------------------------------------


def make_aggregation_table(
    found: Aggregation, names: Sequence[str] = (), unit: str | None = None
) -> Any:
    """A row for each key, of a distribution for each of its buckets; of percentiles() a column for each.  names: of the keys, else
    key1, key2 …; unit: of the values, said in the columns' metadata."""
    pyarrow = import_pyarrow()
    count = len(found.key_types)
    keys = list(names) or [f"key{i}" for i in range(1, count + 1)]
    if len(keys) != count:
        raise ValueError(f"@{found.name} has {count} keys, and {len(keys)} names were given")
    kinds = [(name, _arrow_type(type)) for name, type in zip(keys, found.key_types)]
    shown = _value_columns(found)
    meant = make_schema(
        pyarrow,
        [*kinds, ("n", "int64"), *shown],
        {name: unit for name, _ in shown if unit and name != "count"},
    )
    rows = [
        {**dict(zip(keys, _key_cells(key, kinds))), "n": value.words[0], **cells}
        for key, value in found.items()
        for cells in _value_cells(value)
    ]
    return pyarrow.Table.from_pylist(rows, schema=meant)


def _arrow_type(type: Any) -> str:
    return ("int64" if type.signed else "uint64") if type.is_integer else "string"


def _key_cells(key: tuple[Any, ...], kinds: list[tuple[str, str]]) -> list[Any]:
    return [to_text(part) if kind == "string" else part for part, (_, kind) in zip(key, kinds)]


def _value_columns(found: Aggregation) -> list[tuple[str, str]]:
    row = found.row
    if row.is_extension:
        return [(name, "int64") for name, _ in row.shown_percentiles]
    if row.is_distribution:
        return [("low", "int64"), ("high", "int64"), ("count", "int64")]
    return [("value", "float64" if row.is_float else "int64")]


def _value_cells(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, aggregation_values.Percentiles):
        yield dict(value.percentiles())
    elif isinstance(value, aggregation_values.Histogram):
        for low, high, count in value.buckets:
            yield {"low": low, "high": high, "count": count}
    else:
        yield {"value": float(value) if isinstance(value, float) else int(value)}


# --- what others make of them -------------------------------------------------------------------


def to_pandas(table: Any) -> Any:
    try:
        import pandas  # noqa: F401
    except ImportError:
        raise MissingPackage("to_pandas() needs pandas: pip install pandas") from None
    found = table.to_pandas()
    found.attrs["units"] = {
        field.name: field.metadata[b"unit"].decode() for field in table.schema if field.metadata
    }
    return found


def to_polars(table: Any) -> Any:
    try:
        import polars
    except ImportError:
        raise MissingPackage("to_polars() needs polars: pip install polars") from None
    return polars.from_arrow(table)
