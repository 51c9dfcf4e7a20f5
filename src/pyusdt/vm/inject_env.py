"""The environment variables that bring the provider `python` into a Python program that is about to
start.

start/sitecustomize.py removes them again before any code of the program runs.

- Nothing is written anywhere.
- An interpreter that ignores its environment is reported.
"""

from __future__ import annotations

import os

ISOLATED = "with %s Python takes nothing from its environment"
START = os.path.join(os.path.dirname(os.path.abspath(__file__)), "start")


def make_environment(
    pid: int, *, audit: bool = False, children: bool = False, hooks: bool = False
) -> dict[str, str]:
    """The variables for a process; pid: the one that is meant, 0: whatever Python the command starts first.  children: they stay in
    the environment, for all that it starts.  hooks: not the provider python, but pyusdt itself, as its own variables ask for it."""
    before = os.environ.get("PYTHONPATH")
    into = {
        "PYUSDT_VM_INTO": " ".join(
            ["children" if children else str(pid), *["audit"] * audit, *["hooks"] * hooks]
        ),
        "PYTHONPATH": os.pathsep.join([START, before] if before else [START]),
    }
    return into if before is None else {**into, "PYUSDT_VM_PYTHONPATH": before}
