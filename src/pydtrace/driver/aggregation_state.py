"""The program's aggregations while tracing runs, and what clear(), trunc() and normalize() do to
them.

- What was never assigned prints nothing; what was cleared prints as empty.
- Keys that print alike are one, also those of several processes, before anything is sorted,
  truncated or normalized.
"""

from __future__ import annotations

from pydtrace.dtrace_text import aggregation_text
from pydtrace.program import d_types as t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from pydtrace.dtrace_text.aggpack_text import TableStyle
    from pydtrace.dtrace_text.aggregation_text import Joined
    from pydtrace.engine import Engine
    from pydtrace.program.program import AggDef, Program
    from pydtrace.results.aggregations import Aggregation

    Entries = list[tuple[bytes, bytes]]  # (key, value) as a map holds them


class AggregationState:
    """program: dlang.program.Program; engine: its Engine; options: {name: value}, read at each use; find_symbols:
    makes the AddressFormatter for the keys that are addresses, when it is first needed.

    departing: called with what clear() or trunc() is about to take away, None where nobody wants to know."""

    on_removal: Callable[[AggDef, Aggregation], None] | None = None

    def __init__(
        self,
        program: Program,
        engine: Engine,
        options: Mapping[str, Any],
        find_symbols: Callable[[], Any],
    ) -> None:
        self.program, self.engine, self.options = program, engine, options
        self._find_symbols = find_symbols
        self._grouped = {
            aggdef.ident: named
            for aggdef in program.aggregations
            if (
                named := [
                    data for data in aggdef.keys if isinstance(data.type, (t.Stack, t.Symbol))
                ]
            )
        }
        self._definitions = {aggdef.ident: aggdef for aggdef in program.aggregations}
        self._divisors: dict[tuple[int, bytes], int] = {}  # (ident, key) -> the divisor
        self._cleared: set[int] = (
            set()
        )  # idents of aggregations without keys that had a value before clear()
        self._printed: set[int] = set()  # idents

    def _symbols_for(self, aggdefs: Iterable[AggDef]) -> Any:
        """None where none of them has keys that are addresses."""
        return (
            self._find_symbols() if any(each.ident in self._grouped for each in aggdefs) else None
        )

    def find_definition(self, symbol: Any) -> AggDef:
        """The AggDef of a symbols.Aggregation."""
        return self._definitions[symbol.ident]

    def read_entries(self, aggdef: AggDef) -> Entries:
        """[(key, value)] as they are now."""
        found = self.engine.items(aggdef.map)
        if not found and aggdef.ident in self._cleared:
            found = [(b"", bytes(8 * aggdef.row.count_words(aggdef.params)))]
        if aggdef.ident not in self._grouped:
            return found
        self._find_symbols().forget_representatives()
        return self._merge_alike(aggdef, found)

    def read_cpu_parts(self, aggdef: AggDef) -> list[tuple[int, dict[bytes, bytes]]]:
        """[(CPU, {key: value})] as they are now, where -x aggpercpu asks for them, else []."""
        if not self.options.get("aggpercpu"):
            return []
        grouped = aggdef.ident in self._grouped
        return [
            (cpu, dict(self._merge_alike(aggdef, found) if grouped else found))
            for cpu, found in self.engine.parts(aggdef.map)
        ]

    def _merge_alike(self, aggdef: AggDef, entries: Entries) -> Entries:
        """The entries, those that print alike as one."""
        from pydtrace.results.aggregation_values import pack_value, unpack_value

        group = self._find_symbols().make_key_grouper(self._grouped[aggdef.ident])
        found: dict[bytes, Any] = {}
        for key, value in entries:
            key, made = group(key), unpack_value(aggdef, value)
            found[key] = found[key].merge(made) if key in found else made
        return [(key, pack_value(value)) for key, value in found.items()]

    def _remove_keys(self, aggdef: AggDef, keys: list[bytes]) -> None:
        """Take read_entries() out of the engine's map: all that are printed as one of these keys."""
        if aggdef.ident in self._grouped:
            group, gone = (
                self._find_symbols().make_key_grouper(self._grouped[aggdef.ident]),
                set(keys),
            )
            keys = [key for key, _ in self.engine.items(aggdef.map) if group(key) in gone]
        self.engine.remove(aggdef.map, keys)

    def find_divisor(self, aggdef: AggDef, key: bytes) -> int:
        return self._divisors.get((aggdef.ident, key), 1)

    def sort_order(self) -> aggregation_text.SortOrder:
        options = self.options
        return aggregation_text.SortOrder(
            bool(options.get("aggsortkey")),
            bool(options.get("aggsortrev")),
            options.get("aggsortkeypos", 0),
            options.get("aggsortpos", 0),
        )

    def table_style(self) -> TableStyle | None:
        """What the options say about tables; None where they say nothing."""
        if not any(self.options.get(name) for name in ("agghist", "aggpack", "aggzoom")):
            return None
        from pydtrace.dtrace_text.aggpack_text import TableStyle

        return TableStyle(self.options)

    def take_snapshot(self, aggdef: AggDef) -> Aggregation:
        """A snapshot.Aggregation of what one holds now."""
        return self.make_aggregation(aggdef, self.read_entries(aggdef))

    def make_aggregation(self, aggdef: AggDef, entries: Entries) -> Aggregation:
        """The same, of what it held before."""
        from pydtrace.results.aggregations import Aggregation

        symbols = self._symbols_for([aggdef])
        return Aggregation.from_items(aggdef, entries, self.program.strsize, symbols)

    # --- actions ---------------------------------------------------------------------
    def clear(self, aggdef: AggDef) -> None:
        """All values become zero; the keys stay."""
        if (self.on_removal or not aggdef.keys) and (entries := self.read_entries(aggdef)):
            self._report_removal(aggdef, entries)
            if not aggdef.keys:
                self._cleared.add(aggdef.ident)
        self.engine.clear(aggdef.map)

    def _report_removal(self, aggdef: AggDef, entries: Entries) -> None:
        if self.on_removal:
            self.on_removal(aggdef, self.make_aggregation(aggdef, entries))

    def trunc(self, aggdef: AggDef, count: int) -> None:
        """Keep the `count` greatest values, or the smallest where it is negative; all go where it is 0."""
        entries = self.read_entries(aggdef)
        rows = aggregation_text.sort_rows([(aggdef, entries)], aggregation_text.SortOrder())
        if not aggdef.keys:
            rows = rows if count == 0 else []
            if rows:
                self._cleared.discard(aggdef.ident)
        elif count > 0:
            rows = rows[: max(0, len(rows) - count)]
        elif count < 0:
            rows = rows[-count:]
        for row in rows:
            self._divisors.pop((aggdef.ident, row.key), None)
        if rows:
            gone = {row.key for row in rows}
            self._report_removal(aggdef, [entry for entry in entries if entry[0] in gone])
            self._remove_keys(aggdef, [*gone])

    def normalize(self, aggdef: AggDef, divisor: int) -> None:
        """Values that are there now are printed divided; those to come are not."""
        for key, _ in self.read_entries(aggdef):
            self._divisors[aggdef.ident, key] = divisor

    # --- printing ----------------------------------------------------------------------
    def mark_printed(self, aggdefs: list[AggDef]) -> None:
        """These have been printed: they are not printed again at the end."""
        self._printed.update(aggdef.ident for aggdef in aggdefs)

    def read_joined(self, aggdefs: list[AggDef]) -> Joined:
        """[(AggDef, entries)] of what one printa() prints."""
        return [(aggdef, self.read_entries(aggdef)) for aggdef in aggdefs]

    def render_printa(self, aggdefs: list[AggDef]) -> bytes:
        """What printa() without a format prints."""
        found = aggregation_text.render_joined(
            self.read_joined(aggdefs),
            self.program.strsize,
            self.sort_order(),
            self.find_divisor,
            self._symbols_for(aggdefs),
            self.table_style(),
            self.read_cpu_parts,
        )
        return b"\n" + found

    def unprinted_definitions(self) -> list[AggDef]:
        """The AggDefs that no printa() has printed."""
        return [aggdef for aggdef in self.program.aggregations if aggdef.ident not in self._printed]

    def render_unprinted(self) -> bytes:
        """The text of all that was not printed yet."""
        aggdefs = self.unprinted_definitions()
        found = self.read_joined(aggdefs)
        return aggregation_text.render_aggregations(
            found,
            self.program.strsize,
            self.sort_order(),
            self.find_divisor,
            self._symbols_for(aggdefs),
            self.table_style(),
            self.read_cpu_parts,
        )
