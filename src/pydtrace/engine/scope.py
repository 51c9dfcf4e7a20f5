"""Combines -c, -p, the providers' patterns and -x children into the processes to trace.

The rule is the same on every engine (table in docs/reference/pydtrace.md). A combination that it cannot
express is an error; it is never narrowed.
"""

from __future__ import annotations

from . import EngineError, Targets
from .probe_kinds import BUILTIN, probe_kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from pydtrace.program.program import Program

_TRACER_PROBES = ("BEGIN", "END", "ERROR", "tick-", "profile-")


def process_probes(program: Program) -> list[Any]:
    """The descriptions of probes that processes have, not the tracer or the kernel."""
    from .kernel.probes.raw_tracepoints import PROVIDERS, RAW_PROVIDER

    system = ("syscall", RAW_PROVIDER, *PROVIDERS)
    return [
        desc
        for clause in program.clauses
        for desc in clause.probes
        if desc.provider not in system and not desc.name.startswith(_TRACER_PROBES)
    ]


def limit_to_named(program: Program, targets: Targets) -> Targets:
    """Beside -p, patterns of the providers that pyusdt brings stand for those processes and their descendants, unless a description
    names one of the processes, so that a pattern must mean others as well."""
    if not targets.pids or targets.command or targets.only:
        return targets
    asked = process_probes(program)
    if not asked or any(
        probe_kind(desc) != BUILTIN or targets.cover_provider(desc.provider) for desc in asked
    ):
        return targets
    return Targets(targets.pids, only=True, children=True)


def add_children(program: Program, options: Mapping[str, Any], targets: Targets) -> Targets:
    """With -x children the provider of a process that was named stands for its descendants' as well: the descriptions are widened, and the
    Targets say whose they are.  Raises EngineError."""
    if "children" not in options:
        return limit_to_named(program, targets)
    if not targets.named_pids():
        raise EngineError(
            "-x children adds the descendants of a process that is named: -c or -p is missing"
        )
    if targets.only and not targets.children:
        raise EngineError(
            "-x children: no other processes may be traced here than those that are named"
        )
    asked = process_probes(program)
    own = [desc for desc in asked if targets.cover_provider(desc.provider)]
    if not own:
        return targets
    if others := [desc for desc in asked if desc not in own]:
        raise EngineError(
            f"-x children: {others[0].provider or '*'}::: means all processes and {own[0].provider}::: one and its "
            "descendants; a script can have one of the two"
        )
    if len(targets.pids) > 1:
        raise EngineError("-x children follows one process: give -p once")
    for desc in own:
        desc.provider = desc.provider.rstrip("0123456789") + "*"
    return Targets(targets.pids, targets.command, only=True, children=True)
