"""Aggregations as the API shows them: snapshots, mappings from key tuples to values.

- A snapshot does not change; merging two gives a third.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydtrace.aggregation.buckets import MergeError
from pydtrace.program import d_types as t
from pydtrace.program.fields import key_maker, struct_code
from pydtrace.symbols.name_interning import Names

from . import aggregation_values

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pydtrace.program.program import AggDef

    from .notebook_svg import Picture

Key = tuple[Any, ...]


class Aggregation(Mapping[Key, Any]):
    """A snapshot of an aggregation: a mapping from keys to values, `agg["GET", 200]` or `agg["GET"]`.

    - name: the name without @; function: "count", "quantize" …; params: the function's constants.
    - The values are Number, FloatNumber, Histogram or Percentiles.
    """

    __slots__ = ("_definition", "_strsize", "_values")

    def __init__(
        self, definition: AggDef, data: dict[Key, aggregation_values.Value], strsize: int = 256
    ) -> None:
        self._definition, self._values, self._strsize = definition, data, strsize

    @classmethod
    def from_items(
        cls, definition: AggDef, items: Iterable[tuple[bytes, bytes]], strsize: int, symbols: Any
    ) -> Aggregation:
        """From an engine's map; a key that nothing was added to since clear() is there, with 0.  symbols: symbols.Symbols;
        different addresses may have the same name, those of two processes, say."""
        unpack_key = make_key_reader(definition.keys, symbols)
        found: dict[Key, aggregation_values.Value] = {}
        for packed, words in items:
            key, value = unpack_key(packed), aggregation_values.unpack_value(definition, words)
            found[key] = found[key].merge(value) if key in found else value  # type: ignore[arg-type]
        return cls(definition, found, strsize)

    def __reduce__(self) -> tuple[Any, ...]:
        definition = self._definition
        keys = [(data.type, data.offset, data.size) for data in definition.keys]
        return _restore_pickled, (
            definition.name,
            definition.row,
            definition.params,
            keys,
            self._values,
            self._strsize,
        )

    @property
    def name(self) -> str:
        return "" if self._definition.name == "_" else self._definition.name  # D's name for @

    @property
    def row(self) -> Any:
        """All that there is to say about the function: a class of dlang/builtins/aggregation_base.py."""
        return self._definition.row

    @property
    def function(self) -> str:
        return self.row.function_name  # type: ignore[no-any-return]

    @property
    def params(self) -> tuple[int, ...]:
        return tuple(self._definition.params or ())

    @property
    def value(self) -> Any:
        """The value of an aggregation without keys; None if no event has come. Raises TypeError if the aggregation has keys."""
        if self._definition.keys:
            raise TypeError(f"@{self.name} has keys")
        return self._values.get(())

    def __getitem__(self, key: Any) -> Any:
        """A Number, FloatNumber, Histogram or Percentiles, by the script's function."""
        return self._values[key if isinstance(key, tuple) else (key,)]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<@{self.name} = {self.function}: {len(self)} keys>"

    def merge(self, other: Aggregation) -> Aggregation:
        """Return the aggregation that one session would have if it had seen the events of both.

        Raises ValueError (MergeError) if the functions or their parameters differ.
        """
        if (self.function, self.params) != (other.function, other.params):
            raise MergeError(
                f"@{self.name} is {self.function}{self.params}, "
                f"@{other.name} {other.function}{other.params}"
            )
        merged = dict(self._values)
        for key, value in other.items():
            merged[key] = merged[key].merge(value) if key in merged else value
        return Aggregation(self._definition, merged, self._strsize)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, for example for JSON."""
        rows = [
            {"keys": [_plain_key_part(part) for part in key], **value.to_dict()}
            for key, value in self.items()
        ]
        return {
            "aggregation": self._definition.name,
            "function": self.function,
            "params": list(self.params),
            "rows": rows,
        }

    @property
    def key_types(self) -> list[Any]:
        """types.Type of each key."""
        return [data.type for data in self._definition.keys]

    def to_arrow(self, names: Sequence[str] = (), unit: str | None = None) -> Any:
        """Return a pyarrow.Table with a row for each key, or for each bucket of a distribution. Needs pyarrow.

        names: the names of the keys, by default key1, key2 …; unit: the unit of the values, for example "ns", kept in the columns'
        metadata. Percentiles have a column each.
        """
        from .arrow_tables import make_aggregation_table

        return make_aggregation_table(self, names, unit)

    def to_pandas(self, names: Sequence[str] = (), unit: str | None = None) -> Any:
        """Return the table of to_arrow() as a pandas.DataFrame. `attrs["units"]` has the columns' units."""
        from .arrow_tables import to_pandas

        return to_pandas(self.to_arrow(names, unit))

    def to_polars(self, names: Sequence[str] = (), unit: str | None = None) -> Any:
        """Return the table of to_arrow() as a polars.DataFrame."""
        from .arrow_tables import to_polars

        return to_polars(self.to_arrow(names, unit))

    def plot(self, keys: int = 20) -> Picture:
        """Return a picture for a notebook: bars of the greatest values, or a histogram for each key.

        `.save(path)` of it writes an SVG file.
        """
        from .notebook_svg import draw_aggregation

        return draw_aggregation(self, keys)

    def text(self) -> str:
        """Return the table that dtrace prints."""
        from pydtrace.dtrace_text.address_text import InternedAddresses
        from pydtrace.dtrace_text.aggregation_text import render_aggregations

        definition, names = self._definition, Names()
        items = [
            (pack_key(definition.keys, key, names), aggregation_values.pack_value(value))
            for key, value in self._values.items()
        ]
        text = render_aggregations(
            [(definition, items)], self._strsize, symbols=InternedAddresses(names.name)
        )
        return text.decode("utf-8", "surrogateescape")

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        from html import escape

        rows = []
        for key, value in self.items():
            shown = (
                value._repr_html_()
                if isinstance(value, aggregation_values.Histogram)
                else str(value)
            )
            rows.append(
                "<tr>"
                + "".join(f"<td>{escape(str(part))}</td>" for part in key)
                + f"<td>{shown}</td></tr>"
            )
        return f"<table><caption>@{self.name} = {self.function}</caption>{''.join(rows)}</table>"


def _restore_pickled(
    name: str,
    row: Any,
    params: Any,
    keys: Any,
    data: dict[Key, aggregation_values.Value],
    strsize: int,
) -> Aggregation:
    """What was pickled.  No program has its definition."""
    from pydtrace.program.program import AggDef, Data

    definition = AggDef(name, 1, row, params, [Data(*key) for key in keys], 0)
    return Aggregation(definition, data, strsize)


def _plain_key_part(value: Any) -> Any:
    return (
        value.decode("latin-1")
        if isinstance(value, bytes)
        else list(value)
        if isinstance(value, tuple)
        else value
    )


def make_key_reader(fields: Any, symbols: Any) -> Any:
    """A function from a key's bytes to its tuple."""
    parts = [
        (data.offset, struct.Struct("=" + struct_code(data)), key_maker(data.type, symbols))
        for data in fields
    ]

    def read(key: bytes) -> Key:
        found = [(layout.unpack_from(key, offset)[0], make) for offset, layout, make in parts]
        return tuple([part if make is None else make(part) for part, make in found])

    return read


def pack_key(fields: Any, key: Key, names: Names) -> bytes:
    """A key's bytes, as an engine lays them out."""
    size = max((data.offset + data.size for data in fields), default=0)
    packed = bytearray(-(-size // 8) * 8)
    for data, part in zip(fields, key):
        if isinstance(part, float):
            raw = struct.pack("=" + struct_code(data), part)
        elif isinstance(part, int):
            raw = (part % (1 << 8 * data.size)).to_bytes(data.size, _BYTE_ORDER)
        elif isinstance(data.type, (t.Stack, t.Symbol)):
            raw = names.storage(data.type, data.size, (part,) if isinstance(part, str) else part)
        else:
            raw = part if isinstance(part, bytes) else part.encode("utf-8", "surrogateescape")
        packed[data.offset : data.offset + min(len(raw), data.size)] = raw[: data.size]
    return bytes(packed)


_BYTE_ORDER: Any = "little" if struct.pack("=H", 1) == b"\1\0" else "big"
