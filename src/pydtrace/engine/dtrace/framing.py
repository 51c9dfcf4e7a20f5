"""Reads what the rewritten script prints: frames in, records and aggregations of the program out.

script_rewriter.py defines the frames. Text between frames, and a damaged frame, are kept as text.
"""

from __future__ import annotations

import re
import struct
import sys

from pydtrace.aggregation.int64 import wrap_int64
from pydtrace.results import aggregation_values
from pydtrace.results.aggregations import pack_key
from pydtrace.symbols.name_interning import Names

from .display_values import encode_value, parse_dump, parse_stack, strip_strings
from .output_items import Distribution, Total
from .output_parser import Parser
from .script_rewriter import has_table, is_printable, key_order, needs_pause

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from pydtrace.program.program import AggDef, Data, Program

    from .output_items import Bucket

    Key = bytes | int | str | tuple[str, ...]

_FRAME_LIMIT = 1 << 24  # bytes of one frame
_ESCAPE = re.compile(rb"\\([0-3][0-7][0-7]|.)", re.DOTALL)
_LETTERS = {
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
    b"v": b"\v",
    b"0": b"",
}
_ENDING = re.compile(rb"[\x00-\x06\\]")
_HEADER = struct.Struct("=IIIIQII")
_INTEGER = re.compile(rb"-?\d{1,20}\Z")


def _parse_integer(text: bytes) -> int:
    """An integer as %d and %u print it."""
    if not _INTEGER.match(text):
        raise ValueError(text[:30])
    return int(text)


def _parse_index(text: bytes, rows: Sequence[Any]) -> int:
    """The index of one of these rows: none from behind."""
    index = _parse_integer(text)
    if not 0 <= index < len(rows):
        raise IndexError(index)
    return index


def unescape(text: bytes) -> bytes:
    """What %S printed.  It shows the NUL that ends a string as \\0."""
    if b"\\" not in text:
        return text
    return _ESCAPE.sub(
        lambda m: bytes([int(m[1], 8)]) if len(m[1]) == 3 else _LETTERS.get(m[1], m[1]), text
    )


class FrameReader:
    """mark: as rewrite() got it; shown: the Names that dtrace gave to addresses; names: {probe id: (provider, module, function,
    name)}; items: by aggregation {key: value}; begun, ended, exiting: whether BEGIN ran, END ran, a clause called exit();
    target: the pid of the command that dtrace started, or 0; text: what was no frame, since the last look; damaged: how many
    frames of no snapshot were not understood; paused: the last record has to be seen before feed() goes on."""

    def __init__(self, program: Program, mark: str = "") -> None:
        self._program = program
        self._mark = b"\x02" + mark.encode() if mark else b""
        self._open_mark = b""  # what stands behind a mark, as long as the other has not come
        self.display_names = Names()
        self._pausing = {clause.index for clause in program.clauses if needs_pause(clause)}
        self._rest = b""
        self.target, self.paused, self.damaged = 0, False, 0
        self.names: dict[int, tuple[str, ...]] = {}
        self.text = b""
        self.items: list[dict[bytes, bytes]] = [{} for _ in program.aggregations]
        self._fresh: list[dict[bytes, bytes]] = [
            {} for _ in program.aggregations
        ]  # what the snapshot that is being said has so far
        self._snapshot: int | None = None  # the aggregation whose snapshot that is
        self._torn: set[int] = set()  # aggregations of which the last snapshot was not understood
        self._strings: list[list[list[bytes]]] = [
            [] for _ in program.aggregations
        ]  # the strings of the rows of a table that is still to come
        self.begun = self.ended = self.exiting = False

    def feed(self, data: bytes) -> bytes:
        """Records, as bytes, up to one that has to be seen by itself."""
        self.paused = False
        rest = self._rest + (self._escape_marked(self._open_mark + data) if self._mark else data)
        out, at = [], 0
        while (start := rest.find(b"\x01", at)) >= 0:
            self.text += rest[at:start]
            end = rest.find(b"\x04", start)
            if end < 0:
                at = start
                break
            at = end + 1
            frame = rest[start + 1 : end]
            try:
                record = self._read_frame(frame)
            except (ValueError, LookupError, struct.error):
                self.text += rest[start:at]
                if self._snapshot is None:
                    self.damaged += 1
                else:
                    self._torn.add(self._snapshot)
                continue
            if record:
                out.append(record)
                if self._pausing and _HEADER.unpack_from(record)[1] in self._pausing:
                    self.paused = True
                    break
        else:
            self.text, at = self.text + rest[at:], len(rest)
        self._rest = rest[at:]
        if len(self._open_mark) > _FRAME_LIMIT:
            self.text, self._open_mark = self.text + self._open_mark, b""
        if len(self._rest) > _FRAME_LIMIT and not self.paused:
            self.text, self._rest = self.text + self._rest, b""
        return b"".join(out)

    def _escape_marked(self, data: bytes) -> bytes:
        """What stands between marks so that it can not end a frame, and without them; what has no second mark yet waits, and
        so does what may be the first bytes of a mark."""
        parts = data.split(self._mark)
        if len(parts) % 2 == 0:
            self._open_mark = self._mark + parts.pop()
        else:
            begun = next(
                n for n in range(len(self._mark) - 1, -1, -1) if parts[-1].endswith(self._mark[:n])
            )
            self._open_mark = self._mark[:begun]
            parts[-1] = parts[-1][: len(parts[-1]) - begun]
        parts[1::2] = [_ENDING.sub(lambda m: b"\\%03o" % m[0][0], part) for part in parts[1::2]]
        return b"".join(parts)

    def _read_frame(self, frame: bytes) -> bytes:
        kind, body = frame[:1], frame[1:]
        if kind == b"R":
            return self._read_record(body.split(b"\x03"))
        if kind == b"A":
            self._read_row(body)
        elif kind == b"K":
            index, *strings = body.split(b"\x03")
            self._strings[self._current_snapshot(index, True)].append(list(map(unescape, strings)))
        elif kind == b"P":
            self._read_table(body)
        elif kind == b"S":
            self._begin_snapshot(_parse_index(body, self.items))
        elif kind == b"T":
            self._end_snapshot(_parse_index(body, self.items))
        elif kind == b"B":
            self.begun, self.target = True, _parse_index(body or b"0", range(1 << 31))
        elif kind == b"E":
            self.ended = True
        elif kind == b"H":
            pass
        else:
            raise ValueError(kind)
        return b""

    def _read_record(self, fields: list[bytes]) -> bytes:
        index, ident, cpu, time, pid, tid = map(_parse_integer, fields[:6])
        if len(fields) < 10:
            raise ValueError("a probe of no name")
        clause = self._program.clauses[_parse_index(fields[0], self._program.clauses)]
        record = bytearray(clause.record_size)
        _HEADER.pack_into(record, 0, clause.record_size, index, ident, cpu, time, pid, tid)
        exiting = self.exiting
        for field in fields[10:]:
            number, *said = field.split(b"\x05")
            action = clause.actions[_parse_index(number, clause.actions)]
            if len(said) != (
                len(action.data)
                if action.row.dtrace_value_count is None
                else action.row.dtrace_value_count
            ):
                raise ValueError(f"{len(said)} values")
            exiting = exiting or action.row.ends_tracing
            for data, value in zip(action.data, said):
                self._put_value(record, data, value)
            for data in action.data[
                len(said) :
            ]:  # how many bytes it was to show is how many there are
                self._put_value(
                    record, data, b"%d" % len(parse_dump(unescape(said[0]), action.data[0].size))
                )
        if ident not in self.names:
            self.names[ident] = tuple(
                unescape(name).decode("utf-8", "replace") for name in fields[6:10]
            )
        self.exiting = exiting
        return bytes(record)

    def _put_value(self, record: bytearray, data: Data, said: bytes) -> None:
        """Write one value where the program's records have it."""
        if data.type.is_string:
            raw = unescape(said)[: data.size - 1]
        elif is_printable(data.type):
            raw = (_parse_integer(said) % 2 ** (8 * data.size)).to_bytes(data.size, sys.byteorder)
        else:
            raw = encode_value(data.type, data.size, unescape(said), self.display_names)
        record[data.offset : data.offset + len(raw)] = raw

    def _begin_snapshot(self, index: int) -> None:
        """A snapshot.  One whose end did not come is none; a table is understood when it has come."""
        if self._snapshot is not None:
            self._torn.add(self._snapshot)
        self._fresh[index], self._strings[index], self._snapshot = {}, [], index
        if has_table(self._program.aggregations[index]):
            self._torn.add(index)
        else:
            self._torn.discard(index)

    def _end_snapshot(self, index: int) -> None:
        if index != self._snapshot:
            self._torn.add(index)
        if index not in self._torn:
            self.items[index] = self._fresh[index]
        self._fresh[index], self._strings[index], self._snapshot = {}, [], None

    def _current_snapshot(self, text: bytes, as_table: bool) -> int:
        """The index of the aggregation whose snapshot is being said; as_table: which of the two forms that has."""
        index = _parse_index(text, self.items)
        if index != self._snapshot or as_table != has_table(self._program.aggregations[index]):
            raise ValueError(f"not a snapshot of {index}")
        return index

    def _read_row(self, body: bytes) -> None:
        head, _, shown = body.partition(b"\x06")
        number, *keys = head.split(b"\x03")
        index = self._current_snapshot(number, False)
        definition = self._program.aggregations[index]
        self._add_item(
            index,
            [self._read_key(data, part) for part, data in zip(keys, definition.keys, strict=True)],
            _value_words(definition, shown),
        )

    def _read_key(self, data: Data, said: bytes) -> Key:
        if data.type.is_string:
            return unescape(said)
        return parse_stack(unescape(said)) if data.type.is_record else _parse_integer(said)

    def stale_names(self) -> list[str]:
        """The names of aggregations whose items are those of an earlier moment, as their last snapshot was not understood."""
        return [self._program.aggregations[index].name for index in sorted(self._torn)]

    def _read_table(self, body: bytes) -> None:
        """All rows of an aggregation.  Where their strings were said before something came to the aggregation, they do not fit:
        there will be a later snapshot."""
        head, _, text = body.partition(b"\x03")
        index = self._current_snapshot(head, True)
        definition, strings = self._program.aggregations[index], self._strings[index]
        is_histogram = definition.row.is_distribution
        text = unescape(text)
        if any(data.type.is_string for data in definition.keys):
            text = strip_strings(text, strings, b"\n\n" if is_histogram else b"\n")
        order = key_order(definition)
        parser = Parser()
        items = parser.feed(text) + parser.close()
        rows: Sequence[Distribution | Total] = (
            [item for item in items if isinstance(item, Distribution)]
            if is_histogram
            else [item for item in items if isinstance(item, Total)]
        )
        for i, row in enumerate(rows):
            said = [*(strings[i] if strings else ()), *row.keys]
            if len(said) != len(order):
                raise ValueError(f"{len(said)} keys")
            by_place = dict(zip(order, said))
            key = [
                _check_cell(data.type, by_place[place])
                for place, data in enumerate(definition.keys)
            ]
            self._add_item(
                index,
                key,
                _bucket_counts(definition, row.buckets)
                if isinstance(row, Distribution)
                else _value_words(definition, row.value),
            )
        self._torn.discard(index)

    def _add_item(self, index: int, key: Sequence[Key], words: Sequence[int]) -> None:
        keys = self._program.aggregations[index].keys
        if len(key) != len(keys):
            raise ValueError(f"{len(key)} keys")
        self._fresh[index][pack_key(keys, tuple(key), self.display_names)] = struct.pack(
            f"={len(words)}q", *words
        )


def _check_cell(type: Any, part: Key) -> Key:
    """A key of a table: bytes of a string, int, the name of an address as str.  Raises ValueError for another's, a stack."""
    if part.__class__ is not (bytes if type.is_string else int if type.is_integer else str):
        raise ValueError(f"{part!r} is no {type.name}")
    return part


def _value_words(definition: AggDef, shown: bytes | int) -> Sequence[int]:
    """What a map would hold of a value that dtrace printed."""
    if isinstance(shown, bytes) and definition.row.is_distribution:
        parser = Parser()
        tables = [
            item
            for item in parser.feed(shown + b"\n") + parser.close()
            if isinstance(item, Distribution)
        ]
        return _bucket_counts(definition, [bucket for table in tables for bucket in table.buckets])
    value = _parse_integer(shown) if isinstance(shown, bytes) else shown
    if wrap_int64(value) != value:
        raise ValueError(f"{value} is no value")
    words: Sequence[int] = definition.row.words_from_dtrace(value)
    return words


def _bucket_counts(definition: AggDef, buckets: Iterable[Bucket]) -> list[int]:
    """What a map would hold of a histogram; buckets: [(label, count)]."""
    bounds = aggregation_values.bucket_bounds(definition.row, tuple(definition.params or ()))
    place = {label: i for i, label in enumerate(definition.row.dtrace_labels(bounds))}
    below = bounds[0][1]
    if bounds[-1][1] is None and below is not None:
        place[">=", bounds[-1][0]] = len(bounds) - 1
        place["<", below + 1] = place["<=", below] = 0
    counts = [0] * len(bounds)
    for label, count in buckets:
        counts[place[label]] += count
    return [sum(counts), *counts]
