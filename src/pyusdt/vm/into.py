"""Bringing the provider `python` into a program that does not know it: what its environment must be.

In:      who is to have it.
Out:     variables for the environment of a Python that is about to start; start/sitecustomize.py takes them back before any code
         of the program's runs.
Always:  nothing is written anywhere, and an interpreter that takes nothing from its environment is told of.
"""

from __future__ import annotations

import os

from pyusdt._core import vm_probes

from .interpreter import Interpreter, deaf, interpreter, line_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEAF = "with %s Python takes nothing from its environment"
START = os.path.join(os.path.dirname(os.path.abspath(__file__)), "start")


def environment(pid: int, *, audit: bool = False, children: bool = False, hooks: bool = False) -> dict[str, str]:
    """The variables for a process; pid: the one that is meant, 0: whatever Python the command starts first.  children: they stay in
    the environment, for all that it starts.  hooks: not the provider python, but pyusdt itself, as its own variables ask for it."""
    before = os.environ.get("PYTHONPATH")
    into = {"PYUSDT_VM_INTO": " ".join(["children" if children else str(pid), *["audit"] * audit, *["hooks"] * hooks]),
            "PYTHONPATH": os.pathsep.join([START, before] if before else [START])}
    return into if before is None else {**into, "PYUSDT_VM_PYTHONPATH": before}


def rows(pid: int, minor: int, *, audit: bool) -> list[tuple[Any, ...]]:
    """The probes that CPython 3.minor can have, as _tracer.list_probes() has them, for a process that does not have them yet."""
    from pyusdt._tracer import HAS_PLACES

    return [(pid, f"python{pid}", "", "", name, 0, 0, HAS_PLACES if places else 0, "", 0, "")
            for name, since, places in vm_probes() if since <= minor and (audit or name != "audit")]


def into_command(command: Any, wanted: list[Any], *, children: bool = False) -> tuple[list[tuple[Any, ...]], str | None]:
    """The provider into an engine.command.Command that has not started: the probes that it will have,
    as _tracer.list_probes() has them, or why it can have none.
    wanted: the descriptions (dlang.ast.ProbeDesc) that name the provider; a pattern is for whatever Python the command starts.
    children: for every Python that these start, as well."""
    line = line_of(command.argv)
    if option := deaf(line or command.argv):
        return [], f"{DEAF % option}: the provider python can not be brought into it"
    found = interpreter(line[0]) if line else Interpreter()
    if found.lack:
        return [], f"the provider python can not be brought into it: {found.lack}"
    only = all(desc.provider == f"python{command.pid}" for desc in wanted)
    audit = any(desc.name == "audit" for desc in wanted)
    command.environment = environment(command.pid if only else 0, audit=audit, children=children)
    return rows(command.pid, found.minor, audit=audit), None
