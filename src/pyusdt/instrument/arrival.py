"""Notices that the program has imported a certain module, and hands it to a hook.

In:      the module's name; the hook, as the names of a module and a function of it.
Out:     function(module), once, before whoever imports the module has it; at once where it is imported already.
Always:  modules are found and loaded by whom they would be without us, and keep their loaders; what a hook raises is noted.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from .core import harmless

_waiting: dict[str, tuple[str, str]] = {}
_done: set[str] = set()


def when_imported(module: str, hook: str, function: str) -> None:
    if module in _done:
        return
    if module in sys.modules:
        _arrived(module, hook, function)
        return
    _waiting[module] = (hook, function)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


@harmless
def _arrived(module: str, hook: str, function: str) -> None:
    _done.add(module)
    getattr(import_module(hook), function)(sys.modules[module])


@harmless
def _listen(spec: Any) -> None:
    """Its loader calls us after it has run the module.  A loader is an object for one module; one that is a class is left alone."""
    loader, run = spec.loader, spec.loader.exec_module

    def run_and_tell(module: Any) -> None:
        run(module)
        if waiting := _waiting.pop(spec.name, None):
            _arrived(spec.name, *waiting)

    if isinstance(loader, type):
        raise TypeError(spec.name)
    loader.exec_module = run_and_tell


class _Finder:
    """First in sys.meta_path: lets the others find what a hook waits for."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name not in _waiting:
            return None
        for finder in [each for each in sys.meta_path if each is not self and hasattr(each, "find_spec")]:
            if (spec := finder.find_spec(name, path, target)) is not None:
                _listen(spec)
                return spec
        return None


_finder = _Finder()
