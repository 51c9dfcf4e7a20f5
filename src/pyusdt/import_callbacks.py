"""Call a function once the program has imported a module.

- callback(module) runs once, before the importer has the module; immediately if it is already
  imported.
- Modules are found and loaded by the same finders as without pyusdt, and keep their loaders.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

_waiting: dict[str, tuple[Callable[[ModuleType], None], Callable[[Exception], None]]] = {}


def call_when_imported(
    name: str, callback: Callable[[ModuleType], None], report: Callable[[Exception], None]
) -> None:
    """report(error): the module's loader cannot be observed.  The callback itself must raise nothing."""
    if name in sys.modules:
        callback(sys.modules[name])
        return
    _waiting[name] = (callback, report)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def forget_callback(name: str) -> None:
    """Nothing is called any more for this module."""
    _waiting.pop(name, None)
    if not _waiting and _finder in sys.meta_path:
        sys.meta_path.remove(_finder)


def _observe_loader(spec: Any) -> None:
    """Its loader calls back after it has run the module.  A loader is an object for one module; a class is left unchanged."""
    loader, run = spec.loader, spec.loader.exec_module

    def run_and_call(module: ModuleType) -> None:
        run(module)
        if waiting := _waiting.pop(spec.name, None):
            if not _waiting and _finder in sys.meta_path:
                sys.meta_path.remove(_finder)
            waiting[0](module)

    if isinstance(loader, type):
        raise TypeError(spec.name)
    loader.exec_module = run_and_call


class _Finder:
    """First in sys.meta_path: lets the other finders find a module for which a callback waits."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name not in _waiting:
            return None
        for finder in [
            each for each in sys.meta_path if each is not self and hasattr(each, "find_spec")
        ]:
            if (spec := finder.find_spec(name, path, target)) is not None:
                try:
                    _observe_loader(spec)
                except Exception as error:  # noqa: BLE001 - the program's import goes on
                    _waiting[name][1](error)
                return spec
        return None


_finder = _Finder()
