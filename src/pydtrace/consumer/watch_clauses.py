"""Make the clauses that watch() traces of the names of probes.

There is a Clause for each probe whose arguments its process publishes, else for each name.

- An argument has the name that it was declared with, or arg0, arg1 …; a string is a str.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pydtrace._tracer import glob, list_probes
from pydtrace.engine import BUILTIN_PROVIDERS, probe_signatures

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

_MESSAGE = "user_trace-s1"
_FLOAT_TYPES = ("float", "double")


class Clause(NamedTuple):
    """description: of probes, in D; body: what records all arguments, "" where they are not known; is_typed: it needs -x pyusdt."""

    description: str
    body: str = ""
    is_typed: bool = False
    unless: str = ""  # not this one of the probes, which has a clause of its own


def make_clauses(probes: Sequence[str], pid: int | Iterable[int] | None) -> list[Clause]:
    """Those of the probes."""
    pids = () if pid is None else (pid,) if isinstance(pid, int) else tuple(pid)
    rows = _read_rows(pids)
    return [clause for probe in probes for clause in _make_probe_clauses(probe, rows)]


def _read_rows(pids: Iterable[int]) -> list[Any]:
    found = []
    for pid in pids:
        try:
            found += [row for row in list_probes(None, pid) if not row[7]]
        except OSError:  # whoever opens the engine says why
            continue
    return [
        row for row in found if not _provider_name(row).startswith((*BUILTIN_PROVIDERS, "python"))
    ]


def _provider_name(row: Any) -> str:
    return str(row[1]).removesuffix(str(row[0]))


def _make_probe_clauses(probe: str, rows: list[Any]) -> list[Clause]:
    """A name alone is one of pyusdt's own probes, or of any provider of the processes."""
    parts = probe.split(":")
    named = [row for row in rows if glob(parts[-1], row[4])]
    if len(parts) == 1:
        if probe.startswith("user_trace-") or not named:
            return _make_builtin_clauses(f"pyusdt*:::{probe}", probe)
    elif len(parts) == 4:
        named = [row for row in named if all(map(glob, parts[:3], row[1:4]))]
    else:
        named = []
    signatures: dict[tuple[str, str], list[Any]] = {}
    for row in named:
        signatures.setdefault((_provider_name(row), row[4]), []).append(
            probe_signatures.row_signature(row)
        )
    if not signatures or any(len(set(each)) > 1 for each in signatures.values()):
        return (
            _make_builtin_clauses(probe, parts[-1]) if len(parts) > 1 else [Clause(f"*:::{probe}")]
        )
    return [
        _make_typed_clause(f"{provider}[0-9]*:::{name}", each[0])
        for (provider, name), each in signatures.items()
    ]


def _make_builtin_clauses(description: str, name: str) -> list[Clause]:
    """user_trace-s1 has other arguments than the rest of them: a pattern for both is two clauses."""
    if name != _MESSAGE and name.startswith("user_trace-") and glob(name, _MESSAGE):
        return [
            Clause(f"{description[: len(description) - len(name)]}{_MESSAGE}"),
            Clause(description, unless=_MESSAGE),
        ]
    return [Clause(description)]


def _make_typed_clause(description: str, arguments: Any) -> Clause:
    formats, values, is_typed = [], [], False
    for i, (name, type) in enumerate(arguments):
        value = f"arg.{name}" if name else f"arg{i}"
        is_typed |= bool(name) or type in _FLOAT_TYPES
        if type in (probe_signatures.STRING, probe_signatures.TERM):
            formats.append("%s")
            value = f'arg{i} ? copyinstr(arg{i}) : ""'
        elif type in _FLOAT_TYPES:
            formats.append("%f")
            value = value if name else f"args[{i}]"
        else:
            formats.append("%d" if type.startswith("int") else "%u")
        values.append(value)
    labels = " ".join(
        f"{name or f'arg{i}'}={each}" for i, ((name, _), each) in enumerate(zip(arguments, formats))
    )
    return Clause(
        description,
        f'printf("{labels}", {", ".join(values)});' if values else 'printf("");',
        is_typed,
    )


def read_probe_names(pid: int) -> set[str]:
    """The names of all probes of a process; empty where it does not tell."""
    try:
        return {row[4] for row in list_probes(None, pid)}
    except OSError:
        return set()
