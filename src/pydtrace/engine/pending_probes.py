"""Descriptions that no probe matches yet, and that an engine accepts because such probes may come.

- They are only probes that every process with pyusdt or the NIF has, and only without named
  processes.
- All other descriptions without a probe are an error, as in dtrace: a misspelt name would wait for
  ever. -Z accepts them.
"""

from __future__ import annotations

from pydtrace._tracer import glob, other_builds
from pydtrace.program.user_trace import PROBE_ARGUMENTS

from . import BUILTIN_PROVIDERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from . import Engine, Targets


def note_pending_probes(engine: Engine, targets: Targets) -> None:
    """Tell the engine, and the user, what is waited for."""
    if targets.named_pids() or engine.name in ("dtrace", "replay"):
        return
    found = [
        desc
        for desc, count in engine.matched
        if count == 0 and desc not in engine.pending_descriptions and _is_in_every_process(desc)
    ]
    if found and not engine.options.get("zdefs"):
        has = (
            "this build of pyusdt" if other_builds() else "pyusdt"
        )  # the session says which processes have another
        engine.startup_notices.append(
            f"no process has {has} in it yet: waiting for those to come (Ctrl-C ends)"
        )
    engine.pending_descriptions += found


def _is_in_every_process(desc: Any) -> bool:
    """Whether each process with pyusdt in it has a probe that matches, whatever its id and the module's name.  (pyusdt::: is of none:
    an id follows the name.)"""
    of_any = any(glob(desc.provider, own) and desc.provider != own for own in BUILTIN_PROVIDERS)
    return (
        of_any
        and not (desc.module or desc.function)
        and any(glob(desc.name, name) for name in PROBE_ARGUMENTS)
    )
