"""Plain answers of what the commands printed: bounded, with a list of what is left out.

- What a process chose (names, values, messages) is data: it is shortened, never interpreted.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from .script_check import Refused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .run_command import Answer

_MAX_ROWS = 100
_MAX_TEXT = 8192  # characters
_MAX_VALUE = 400  # of a text among values
_MAX_BUCKETS = 64
_MAX_FUNCTIONS = 30  # of a profile
_MAX_ITEMS, _MAX_DEPTH = 40, 12  # of a list or an object; levels of values in values


def shorten(text: str, most: int = _MAX_TEXT) -> str:
    return text if len(text) <= most else f"{text[:most]} … ({len(text) - most} characters more)"


def quote(text: str) -> str:
    """A string of D."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def is_consumer_probe(description: str) -> bool:
    """BEGIN, END, ERROR, and clocks, which do not depend on a process."""
    name = description.rpartition(":")[2]
    return name in ("BEGIN", "END", "ERROR") or name.startswith(("tick-", "profile-"))


def _check_status(found: Answer) -> None:
    if found.status != 0 and not found.output:
        raise Refused(
            shorten(found.messages.strip() or f"it ended with status {found.status}", 2000)
        )


def _objects(found: Answer) -> Iterator[dict[str, Any]]:
    for line in found.output.splitlines():
        try:
            plain = json.loads(line)
        except ValueError:  # the last line, of which the rest was cut
            continue
        if isinstance(plain, dict):
            yield plain


def _take(rows: list[Any], most: int, what: str, cut: list[str]) -> list[Any]:
    if len(rows) > most:
        cut.append(f"{len(rows) - most} more {what}")
    return rows[:most]


class _Shortener:
    """Shortens values of any depth, and counts what it leaves out."""

    def __init__(self) -> None:
        self._items = 0

    def shorten_value(self, value: Any, depth: int = 0) -> Any:
        if isinstance(value, str):
            return shorten(value, _MAX_VALUE)
        if isinstance(value, list):
            self._items += max(0, len(value) - _MAX_ITEMS)
            return [self.shorten_value(each, depth + 1) for each in value[:_MAX_ITEMS]]
        if isinstance(value, dict):
            kept = list(value.items())[: _MAX_ITEMS if depth < _MAX_DEPTH else 0]
            self._items += len(value) - len(kept)
            return {name: self.shorten_value(each, depth + 1) for name, each in kept}
        return value

    def report(self, cut: list[str]) -> None:
        if self._items:
            cut.append(f"{self._items} more items of lists and objects")


def _messages(found: Answer, cut: list[str]) -> list[str]:
    if found.cut:
        cut.append(f"{found.cut} bytes of output")
    lines = [shorten(line, _MAX_VALUE) for line in found.messages.splitlines() if line]
    return _take(lines, 20, "messages", cut)


def group_processes(found: Answer) -> dict[str, Any]:
    _check_status(found)
    processes: dict[int, dict[str, Any]] = {}
    for probe in _objects(found):
        row = processes.setdefault(
            probe["pid"], {"pid": probe["pid"], "name": probe["process"], "providers": {}}
        )
        providers = row["providers"]
        providers[probe["provider"]] = providers.get(probe["provider"], 0) + 1
    cut: list[str] = []
    return {"processes": _take(list(processes.values()), _MAX_ROWS, "processes", cut), "cut": cut}


def select_probes(found: Answer, pattern: str) -> dict[str, Any]:
    _check_status(found)
    members = ("provider", "module", "name", "arguments")
    rows = [
        {member: probe[member] for member in members}
        for probe in _objects(found)
        if pattern in f"{probe['provider']}:{probe['module']}::{probe['name']}"
    ]
    cut: list[str] = []
    return {"probes": _take(rows, _MAX_ROWS, "probes: give a pattern", cut), "cut": cut}


def rate_probes(descriptions: list[str], counted: Answer | None) -> dict[str, Any]:
    """Of each description how many events fired in a second; null: that was not counted, and the messages say why."""
    rows = list(_objects(counted)) if counted else []
    was_counted = any(row.get("type") == "end" for row in rows)
    rates = {row["keys"][0]: row["value"] for row in rows if row.get("type") == "aggregation"}
    probes = []
    for text in descriptions:
        rate = rates.get(text, 0) if was_counted and not is_consumer_probe(text) else None
        probes.append({"description": text, "events_per_second": rate})
    cut: list[str] = []
    return {
        "valid": True,
        "problem": "",
        "messages": _messages(counted, cut) if counted else [],
        "probes": _take(probes, _MAX_ROWS, "descriptions", cut),
        "cut": cut,
    }


def digest_trace(found: Answer) -> dict[str, Any]:
    """What a script recorded and aggregated."""
    if found.status not in (0, 4) and '"type":"end"' not in found.output:
        _check_status(found)
    cut: list[str] = []
    records: list[Any] = []
    texts: list[str] = []
    errors: list[str] = []
    aggregations: dict[str, list[dict[str, Any]]] = {}
    drops: Counter[str] = Counter()
    short = _Shortener()
    for row in _objects(found):
        kind = row.get("type")
        if kind == "record":
            probe = ":".join(row["probe"].values())
            records.append({"probe": probe, "pid": row["pid"], "values": short.shorten_value(row["values"])})  # fmt: skip
        elif kind == "text":
            texts.append(shorten(row["text"]))
        elif kind == "error":
            errors.append(shorten(row["message"], _MAX_VALUE))
        elif kind == "drop":
            drops[row["kind"]] += row["count"]
        elif kind == "aggregation":
            aggregations.setdefault(row["name"], []).append(_digest_aggregation(row, short))
    for name, rows in aggregations.items():
        rows.sort(key=lambda each: -each["n"])
        aggregations[name] = _take(rows, _MAX_ROWS, f"keys of @{name}", cut)
    short.report(cut)
    return {"records": _take(records, _MAX_ROWS, "records", cut), "aggregations": aggregations,
            "text": shorten("".join(texts)), "errors": _take(errors, 10, "errors", cut),
            "drops": dict(drops), "ended_by_cpu_limit": found.status == 4,
            "messages": _messages(found, cut), "cut": cut}  # fmt: skip


def _digest_aggregation(row: dict[str, Any], short: _Shortener) -> dict[str, Any]:
    kept = {name: row[name] for name in ("function", "n", "value", "percentiles") if name in row}
    if len(row.get("buckets") or ()) <= _MAX_BUCKETS and "buckets" in row and "percentiles" not in row:  # fmt: skip
        kept["buckets"] = row["buckets"]
    return {"keys": short.shorten_value(row["keys"]), **kept}


def digest_dump(found: Answer) -> dict[str, Any]:
    _check_status(found)
    cut: list[str] = []
    short = _Shortener()
    processes = [short.shorten_value(each) for each in _objects(found)]
    short.report(cut)
    return {"processes": processes, "messages": _messages(found, cut), "cut": cut}


def digest_profile(found: Answer) -> dict[str, Any]:
    """The functions in most samples: alone, and with what they call."""
    _check_status(found)
    alone: Counter[str] = Counter()
    whole: Counter[str] = Counter()
    for line in found.output.splitlines():
        stack, _, count = line.rpartition(" ")
        if not count.isdigit():
            continue
        frames = stack.split(";")
        alone[frames[-1]] += int(count)
        for frame in set(frames):
            whole[frame] += int(count)
    cut: list[str] = []
    ranked = sorted(whole, key=lambda frame: (-alone[frame], -whole[frame]))
    rows = [{"function": shorten(each, _MAX_VALUE), "alone": alone[each], "with_calls": whole[each]} for each in ranked]  # fmt: skip
    return {"samples": sum(alone.values()), "functions": _take(rows, _MAX_FUNCTIONS, "functions", cut),
            "messages": _messages(found, cut), "cut": cut}  # fmt: skip


def digest_text(found: Answer, offset: int = 0) -> dict[str, Any]:
    _check_status(found)
    text, cut = found.output[offset : offset + _MAX_TEXT], []
    if (rest := len(found.output) - offset - len(text)) > 0:
        cut.append(f"{rest} more characters: offset {offset + len(text)}")
    return {"text": text, "status": found.status, "messages": _messages(found, cut), "cut": cut}
