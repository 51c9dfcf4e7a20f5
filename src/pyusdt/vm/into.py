"""Bringing the provider `python` into a program that does not know it: what its environment must be.

In:      who is to have it.
Out:     variables for the environment of a Python that is about to start; start/sitecustomize.py takes them back before any code
         of the program's runs.
Always:  nothing is written anywhere, and an interpreter that takes nothing from its environment is told of.
"""

from __future__ import annotations

import os
import re

from pyusdt._core import vm_probes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEAF = "with %s Python takes nothing from its environment"
START = os.path.join(os.path.dirname(os.path.abspath(__file__)), "start")
_INTERPRETER = re.compile(r"python(\d+(\.\d+)?t?)?$")
_DEAF, _WITH_VALUE, _LAST = "IES", "WX", "cm"  # letters of Python's options; behind the last ones stands the program


def environment(pid: int, *, audit: bool = False) -> dict[str, str]:
    """The variables for a process; pid: the one that is meant, 0: whatever Python the command starts first."""
    before = os.environ.get("PYTHONPATH")
    into = {"PYUSDT_VM_INTO": f"{pid} audit" if audit else str(pid),
            "PYTHONPATH": os.pathsep.join([START, before] if before else [START])}
    return into if before is None else {**into, "PYUSDT_VM_PYTHONPATH": before}


def deaf(words: list[str]) -> str | None:
    """The option of a Python's command line that keeps it from reading its environment, or site.py; None: there is none, or it is
    no Python."""
    if not _INTERPRETER.match(os.path.basename(words[0])):
        return None
    value = False  # the word belongs to the option before it
    for word in words[1:]:
        if value:
            value = False
            continue
        letters = word[1:] if word.startswith("-") and not word.startswith("--") else ""
        if not letters:
            return None
        at = next((i for i, letter in enumerate(letters) if letter in _DEAF or letter in _LAST or letter in _WITH_VALUE), None)
        if at is not None and letters[at] in _DEAF:
            return f"-{letters[at]}"
        if at is not None and letters[at] in _LAST:
            return None
        value = at == len(letters) - 1
    return None


def into_command(command: Any, wanted: list[Any]) -> tuple[list[tuple[Any, ...]], str | None]:
    """The provider into an engine.command.Command that has not started: the probes that it will have,
    as _tracer.list_probes() has them, or why it can have none.
    wanted: the descriptions (dlang.ast.ProbeDesc) that name the provider; a pattern is for whatever Python the command starts."""
    if option := deaf(command.argv):
        return [], f"{DEAF % option}: the provider python can not be brought into it"
    from pyusdt._tracer import HAS_PLACES

    only = all(desc.provider == f"python{command.pid}" for desc in wanted)
    audit = any(desc.name == "audit" for desc in wanted)
    command.environment = environment(command.pid if only else 0, audit=audit)
    rows = [(command.pid, f"python{command.pid}", "", "", name, 0, 0, HAS_PLACES if places else 0)
            for name, places in vm_probes() if audit or name != "audit"]
    return rows, None
