"""Which part of a script runs where, when it is traced on many hosts: by the probes of its clauses.

In: probe descriptions.  Out: HERE (the coordinator), THERE (every host), or both.
Always: BEGIN, END and tick-n fire once, at the coordinator; ERROR fires where the fault was; all else fires on the hosts.
"""

from __future__ import annotations

from pydtrace.engine.tick_timers import period

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

HERE, THERE = "the coordinator", "the hosts"
BOTH = frozenset((HERE, THERE))


def of_description(description: Any) -> frozenset[str]:
    if description.name == "ERROR":
        return BOTH
    return (
        frozenset((HERE,))
        if description.name in ("BEGIN", "END") or period(description.name)
        else frozenset((THERE,))
    )


def of_clause(probes: Iterable[Any]) -> frozenset[str]:
    return frozenset().union(*map(of_description, probes))
