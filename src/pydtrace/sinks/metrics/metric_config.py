"""What an aggregation is as a metric: name, help, unit, multiplier, labels.

The lines have one format in all places (-x metric=LINE, -x metrics=FILE, `#pragma D metric LINE`):
    latency name=shop_request_duration unit=seconds multiplier=1e-9 labels=route,status sum=latency_sum help="Time of a request"

- Errors are found before anything is traced: MappingError has the place and the reason.
- An aggregation without a line has a name and is exported.
"""

from __future__ import annotations

import re
import shlex
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pydtrace.program.program import AggDef

OVERFLOW_LABEL = "overflow"  # the label of what is beyond the most series that there may be
_UNNAMED = "_"  # how D calls the aggregation @
_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL = re.compile(r"(?!__)[a-zA-Z_][a-zA-Z0-9_]*")
_RESERVED = ("le", "quantile", OVERFLOW_LABEL)
_SUFFIXES = (
    "",
    "_total",
    "_bucket",
    "_count",
    "_sum",
    "_created",
    "_info",
)  # of what a metric's samples may be called


class MetricConfigError(Exception):
    """A line that says nothing sensible; the message is one line for the user."""


class MetricSpec:
    """One aggregation as a metric.  kind: "counter" where a sum() only grows, else None; sum: the aggregation that has the sum of
    this distribution's values, else None; labels: one for each key, None: those of _fill_defaults(); buckets: (low, high) of values whose
    buckets are there from the beginning, else None; exemplar: names of what a record has, of the value and of what goes with it."""

    __slots__ = (
        "buckets",
        "exemplar",
        "help",
        "kind",
        "labels",
        "multiplier",
        "name",
        "sum",
        "unit",
    )

    def __init__(self) -> None:
        self.name = self.help = self.unit = ""
        self.multiplier = Decimal(1)
        self.labels: list[str] | None = None
        self.kind: str | None = None
        self.sum: str | None = None
        self.buckets: tuple[int, int] | None = None
        self.exemplar: list[str] = []


def _parse_name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise MetricConfigError(
            f"'{text}' is not a metric name: letters, digits, _ and :, and the first is not a digit"
        )
    return text.removesuffix("_total")


def _parse_unit(text: str) -> str:
    if not re.fullmatch(r"[a-zA-Z0-9_]+", text):
        raise MetricConfigError(f"'{text}' is no unit: seconds, bytes, ratio … are")
    return text


def _parse_multiplier(text: str) -> Decimal:
    try:
        found = Decimal(text)
    except InvalidOperation:
        found = Decimal(0)
    if not (found.is_finite() and Decimal("1e-30") <= found <= Decimal("1e30")):
        raise MetricConfigError(
            f"multiplier={text}: a number greater than 0 is needed, such as 1e-9"
        )
    return found


def _parse_labels(text: str) -> list[str]:
    found = text.split(",") if text else []
    for label in found:
        if not _LABEL.fullmatch(label) or label in _RESERVED:
            raise MetricConfigError(f"'{label}' is not a label name")
    if len({*found}) < len(found):
        raise MetricConfigError(f"labels={text}: a name is there twice")
    return found


def _parse_kind(text: str) -> str:
    if text != "counter":
        raise MetricConfigError(
            f"type={text}: only a sum() that never falls needs a type, which is counter"
        )
    return text


def _parse_buckets(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(-?\d{1,19})\.\.(-?\d{1,19})", text)
    if not found or int(found[1]) > int(found[2]):
        raise MetricConfigError(
            f"buckets={text}: the least and the greatest value are needed, such as 1000..1000000000"
        )
    return int(found[1]), int(found[2])


def _parse_exemplar(text: str) -> list[str]:
    value, *labels = text.split(",")
    if not value or not labels:
        raise MetricConfigError(
            f"exemplar={text}: the name of a value and of what goes with it are needed, such as exemplar=ms,trace_id"
        )
    return [value, *_parse_labels(",".join(labels))]


_WORDS: dict[str, tuple[str, Callable[[str], Any]]] = {  # word: (attribute, what checks and reads its value)
    "name": ("name", _parse_name), "help": ("help", str), "unit": ("unit", _parse_unit), "multiplier": ("multiplier", _parse_multiplier),
    "labels": ("labels", _parse_labels), "type": ("kind", _parse_kind), "sum": ("sum", lambda text: _parse_aggregation(text)),
    "buckets": ("buckets", _parse_buckets), "exemplar": ("exemplar", _parse_exemplar),
}  # fmt: skip


def _parse_aggregation(text: str) -> str:
    return text.removeprefix("@") or _UNNAMED


def parse_line(line: str) -> tuple[str, MetricSpec]:
    """(aggregation, Meaning) of one line."""
    try:
        first, *words = shlex.split(line)
    except ValueError:
        raise MetricConfigError(
            "a name of an aggregation is needed, and each quote twice"
        ) from None
    meaning = MetricSpec()
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or key not in _WORDS:
            raise MetricConfigError(
                f"'{word}': behind the aggregation stand {', '.join(f'{each}=…' for each in _WORDS)}"
            )
        attribute, read = _WORDS[key]
        setattr(meaning, attribute, read(value))
    return _parse_aggregation(first), meaning


def read_lines(path: str) -> list[tuple[str, str]]:
    """(where, line) of a file; empty lines and those that begin with # say nothing."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise MetricConfigError(
            f"{path}: {getattr(error, 'strerror', None) or 'it is no UTF-8'}"
        ) from None
    return [
        (f"{path}:{number}", line)
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and line.lstrip()[0] != "#"
    ]


def collect_lines(options: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(where, line): those of the file, of the command line and of the script.  MappingError."""
    lines = read_lines(options["metrics"]) if "metrics" in options else []
    return lines + [(f"metric '{line}'", line) for line in options.get("metric", ())]


def read_specs(
    lines: Iterable[tuple[str, str]], definitions: Iterable[AggDef]
) -> dict[str, MetricSpec]:
    """lines: (where it stands, line); definitions: of all aggregations of the script; a Meaning for each of them whose name is not ""
    where a line has set it."""
    of_name = {definition.name: definition for definition in definitions}
    found: dict[str, MetricSpec] = {}
    parts: set[str | None] = set()  # the sums beside distributions
    for where, line in lines:
        try:
            name, meaning = parse_line(line)
            if name in found:
                raise MetricConfigError(f"@{name} has a line already")
            _check_spec(name, meaning, of_name)
            if name in parts or meaning.sum in {*parts, *found}:
                raise MetricConfigError(
                    f"@{name if name in parts else meaning.sum} is the sum of one distribution, and nothing else"
                )
            parts |= {meaning.sum} - {None}
        except MetricConfigError as error:
            raise MetricConfigError(f"{where}: {error}") from None
        found[name] = meaning
    return found


def _check_spec(name: str, meaning: MetricSpec, of_name: dict[str, AggDef]) -> None:
    """What a line says, against the script."""
    definition = of_name.get(name)
    if definition is None:
        raise MetricConfigError(
            f"the script has no @{name}, but {', '.join(f'@{each}' for each in of_name) or 'none'}"
        )
    if meaning.labels is not None and len(meaning.labels) != len(definition.keys):
        raise MetricConfigError(
            f"@{name} has {len(definition.keys)} keys, and labels= names {len(meaning.labels)}"
        )
    if meaning.kind and not definition.row.can_decrease:
        raise MetricConfigError(
            f"type={meaning.kind} is for a sum(), and @{name} is a {definition.row.function_name}()"
        )
    if meaning.exemplar and (
        definition.row.metric_type not in ("histogram", "counter") or meaning.labels is None
    ):
        raise MetricConfigError(
            f"exemplar= is for a distribution or a counter with labels=, and @{name} is a {definition.row.function_name}()"
            if meaning.labels is not None
            else f"exemplar= of @{name} needs labels=, which its records have as well"
        )
    if meaning.buckets and definition.row.metric_type != "histogram":
        raise MetricConfigError(
            f"buckets= is for a histogram, and @{name} is a {definition.row.function_name}()"
        )
    if meaning.sum is not None:
        _check_sum(name, definition, of_name.get(meaning.sum), meaning.sum)


def _check_sum(name: str, definition: AggDef, other: AggDef | None, called: str) -> None:
    if not definition.row.is_distribution:
        raise MetricConfigError(
            f"sum= is for a distribution, and @{name} is a {definition.row.function_name}()"
        )
    if other is None or not other.row.can_decrease or len(other.keys) != len(definition.keys):
        raise MetricConfigError(f"sum=@{called} is no sum() of the script with the keys of @{name}")


def complete_specs(
    specs: dict[str, MetricSpec], definitions: Iterable[AggDef], reserved: Iterable[str]
) -> tuple[dict[str, MetricSpec], list[str]]:
    """(a Meaning with name and labels for each aggregation that is a metric, the names of those that had no line).  taken: names of
    metrics that there are already.  An aggregation that is the sum of another's values is a part of that, and no metric."""
    companions = {meaning.sum for meaning in specs.values()}
    seen = {name + suffix for name in reserved for suffix in _SUFFIXES}
    made: dict[str, MetricSpec] = {}
    for definition in definitions:
        meaning = specs.get(definition.name)
        if meaning is None and definition.name in companions:
            continue
        meaning = made[definition.name] = meaning or MetricSpec()
        _fill_defaults(meaning, definition)
        mine = {meaning.name + suffix for suffix in _SUFFIXES}
        if mine & seen:
            raise MetricConfigError(
                f"@{definition.name}: there is a metric {meaning.name}, or one of that name with _total, _sum … behind it,"
                " already: give it another by name="
            )
        seen |= mine
    return made, [name for name in made if name not in specs]


def _fill_defaults(meaning: MetricSpec, definition: AggDef) -> None:
    """What the line, or its absence, has left open."""
    name = "aggregation" if definition.name == _UNNAMED else definition.name
    meaning.name = meaning.name or f"dtrace_{name.removesuffix('_total')}"
    if meaning.unit and not meaning.name.endswith(f"_{meaning.unit}"):
        meaning.name += f"_{meaning.unit}"
    if meaning.labels is None:
        meaning.labels = [f"key{number}" for number in range(1, len(definition.keys) + 1)]
    meaning.help = (
        meaning.help or f"@{definition.name} = {definition.row.function_name}() of a D script"
    )
