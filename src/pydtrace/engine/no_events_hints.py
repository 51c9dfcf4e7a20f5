"""Hints at the end of a tracing in which no probe fired: where pyusdt looked, and what helps.

A claim of a process about itself is reported as its claim; only observations are stated as facts.
"""

from __future__ import annotations

from pydtrace import _tracer
from pydtrace.installed_scripts import fitting_scripts
from pyusdt.framework_probes import FRAMEWORK_PROBES

from . import BUILTIN_PROVIDERS
from .embedded.young_processes import is_python_probe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any

_SHELL_HINT = "if one of these starts another Python through a shell: -x pychildren traces it, too"
_MAX_NAMED = 4  # processes and descriptions that are named; of more only the number


def find_providers(pids: Collection[int]) -> set[str]:
    """The providers, without process ids, of those of the processes that are still there."""
    return find_known_providers(pids)[0]


def find_known_providers(pids: Collection[int]) -> tuple[set[str], bool]:
    """(The providers, without process ids, of those of the processes that are still there; whether all are)."""
    found, complete = set(), True
    for pid in pids:
        try:
            found |= {probe[1].removesuffix(str(pid)) for probe in _tracer.list_probes(None, pid)}
        except OSError:
            complete = False
    return found, complete


def explain_silence(
    descriptions: Sequence[Any],
    processes: Sequence[tuple[int, str]],
    hints: Sequence[str],
    providers: Collection[str],
    leaves_out_children: bool = False,
    some_ended: bool = False,
    has_conditions: bool = False,
) -> list[str]:
    """processes: (pid, command) of those that were traced; providers: that they had; leaves_out_children: of a command all Pythons but those
    that it waits for; some_ended: the providers of these processes are not known; has_conditions: the processes decide predicates, so
    probes may have fired."""
    asked = {
        f"{desc.provider}:{desc.module}:{desc.function}:{desc.name}": desc for desc in descriptions
    }
    named = {text: desc for text, desc in asked.items() if is_python_probe(desc)}
    if named and processes:
        where = f"{_join_limited(list(named))} did not fire in {_join_limited([f'process {pid} ({command})' for pid, command in processes])}"
        if has_conditions:
            where += ", or the predicate was false each time"
        if (
            not hints
            and leaves_out_children
            and any(desc.provider.endswith("*") for desc in named.values())
        ):
            return [where, _SHELL_HINT]
        return [where, *hints]
    if named:
        return list(hints)
    if hints:
        return list(hints)
    return _suggest_scripts(asked, providers) + _explain_frameworks(asked, providers, some_ended)


def _join_limited(words: Sequence[str]) -> str:
    more = len(words) - _MAX_NAMED
    return ", ".join(words[:_MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


def _suggest_scripts(asked: dict[str, Any], providers: Collection[str]) -> list[str]:
    """For probes that a program fires by itself, where the processes have those of frameworks: which scripts are for these."""
    own = [
        desc.name
        for desc in asked.values()
        if (stem := desc.provider.rstrip("0123456789*")) in BUILTIN_PROVIDERS
        and stem != "erlang"  # a node fires those by itself
    ]
    frameworks = sorted(set(providers) & FRAMEWORK_PROBES.keys())
    if not own or not frameworks:
        return []
    fitting = fitting_scripts(frameworks)
    text = (
        f"{_join_limited(list(dict.fromkeys(own)))} did not fire: a program's own code has to fire it; the traced processes have probes of "
        f"frameworks ({', '.join(frameworks)}): pyusdt trace {', '.join(fitting)}"
    )
    return [text]


def _explain_frameworks(
    asked: dict[str, Any], providers: Collection[str], some_ended: bool
) -> list[str]:
    """For probes of frameworks that no process had, or that did not fire in one that has ended."""
    absent = sorted(
        {
            stem
            for desc in asked.values()
            if (stem := desc.provider.rstrip("0123456789*")) in FRAMEWORK_PROBES
        }
        - set(providers)
    )
    if not absent:
        return []
    names = " or ".join(absent)
    said = f"{names}: no event came" if some_ended else f"no process had a provider {names}"
    text = (
        f"{said}: the program must run under `pyusdt run` and import such a framework"
        " (see `pyusdt help frameworks`)"
    )
    return [text]
