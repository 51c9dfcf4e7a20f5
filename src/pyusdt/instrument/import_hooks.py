"""Notices that the program has imported a certain module, and hands it to a hook.

In:      the module's name; the hook, as the names of a module and a function of it.
Out:     function(module), once, before whoever imports the module has it; at once where it is imported already.
Always:  what a hook raises is noted (core.trouble()).
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

from pyusdt.import_callbacks import call_when_imported

from .core import record_failure, suppress_errors

_requested: set[str] = set()


def install_when_imported(module: str, hook: str, function: str) -> None:
    if module not in _requested:
        _requested.add(module)
        call_when_imported(
            module, partial(_run_hook, hook, function), partial(record_failure, "arrival.observe")
        )


@suppress_errors
def _run_hook(hook: str, function: str, module: Any) -> None:
    getattr(import_module(hook), function)(module)
