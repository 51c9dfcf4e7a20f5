"""Call a hook once the program has imported a module: function(module), before the importer has it,
or at once.

- The hook is given as the names of a module and a function.
- An exception of a hook is counted (core.trouble()).
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

from pyusdt.import_callbacks import call_when_imported, forget_callback

from .core import record_failure, suppress_errors

_requested: set[str] = set()


def install_when_imported(module: str, hook: str, function: str) -> None:
    if module not in _requested:
        _requested.add(module)
        call_when_imported(
            module, partial(_run_hook, hook, function), partial(record_failure, "arrival.observe")
        )


def are_requested() -> bool:
    return bool(_requested)


def forget_hooks() -> None:
    """Of modules that have not been imported yet."""
    for module in _requested:
        forget_callback(module)
    _requested.clear()


@suppress_errors
def _run_hook(hook: str, function: str, module: Any) -> None:
    getattr(import_module(hook), function)(module)
