"""`pyusdt run COMMAND`: run a Python program with probes in the frameworks that it uses
(docs/reference/frameworks.md).

PYUSDT_INSTRUMENT lists the parts of pyusdt.instrument that are wanted; all, if it is not set.

- The command replaces this process; NotRun gives the reason where that is not possible.
- Nothing is written anywhere. The environment is passed on to the Pythons that the command
  starts.
"""

from __future__ import annotations

import os

from pyusdt.vm.inject_env import ISOLATED, make_environment
from pyusdt.vm.target_python import (
    find_interpreter_line,
    find_isolating_option,
    inspect_interpreter,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


class NotRun(Exception):
    """Why, for a person."""


def exec_command(words: list[str]) -> NoReturn:
    if words[:1] == ["--"]:
        words = words[1:]
    if not words:
        raise NotRun("which command? As in `pyusdt run gunicorn shop.wsgi`")
    prepare_environment(words)
    try:
        os.execvp(words[0], words)
    except OSError as error:
        raise NotRun(f"failed to run {words[0]}: {error.strerror}") from None


def prepare_environment(words: list[str]) -> None:
    """Changes the environment of this process, which the command inherits.  Raises NotRun."""
    check_injectable(words)
    os.environ.update(
        {
            "PYUSDT_INSTRUMENT": os.environ.get("PYUSDT_INSTRUMENT") or "all",
            **make_environment(0, children=True, hooks=True),
        }
    )


def check_injectable(words: list[str]) -> None:
    """NotRun where the command is a Python that we can not get into; a command that is none may start Pythons."""
    line = find_interpreter_line(words)
    if option := find_isolating_option(line or words):
        raise NotRun(f"{ISOLATED % option}: no probes can be brought into it")
    if line and (lack := inspect_interpreter(line[0]).reason):
        raise NotRun(f"no probes can be brought into it: {lack}")
