"""Where the clauses of a script run when it traces many hosts: at the coordinator or on the hosts.

BEGIN, END and tick-n fire once, at the coordinator. ERROR fires where the error was. All other
probes fire on the hosts.
"""

from __future__ import annotations

from pydtrace.engine.tick_timers import tick_period

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

COORDINATOR, HOSTS = "the coordinator", "the hosts"
BOTH = frozenset((COORDINATOR, HOSTS))


def description_placement(description: Any) -> frozenset[str]:
    if description.name == "ERROR":
        return BOTH
    return (
        frozenset((COORDINATOR,))
        if description.name in ("BEGIN", "END") or tick_period(description.name)
        else frozenset((HOSTS,))
    )


def clause_placement(probes: Iterable[Any]) -> frozenset[str]:
    return frozenset().union(*map(description_placement, probes))
