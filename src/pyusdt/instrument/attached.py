"""Hooks in the frameworks that a running program has imported, for a tracer that has attached to it.

- They leave with it (pyusdt.vm.attachment). A program whose hooks are its own keeps them.
- A child that is forked meanwhile has no half module: a fork waits for the lock of all imports, which is held while only
  modules of pyusdt are imported.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_HERE = __name__.rpartition(".")[0]
PARTS = (
    "aiohttp",
    "asyncio",
    "asyncpg",
    "celery",
    "django",
    "flask",
    "httpx",
    "pools",
    "psycopg",
    "psycopg2",
    "redis",
    "requests",
    "rq",
    "sqlalchemy",
    "starlette",
    "tag_blocks",
)  # whose hooks reach what exists already, and can leave
NEEDED = (
    "collections",
    "contextlib",
    "contextvars",
    "functools",
    "gc",
    "importlib",
    "inspect",
    "itertools",
    "keyword",
    "os",
    "re",
    "sys",
    "sysconfig",
    "threading",
    "time",
    "typing",
    "urllib.parse",
)  # of the standard library


def enter() -> Callable[[], object] | None:
    """Sets the hooks.  What takes them out again; None: the program has its own."""
    from . import _HOOKS, enable, import_hooks
    from .core import undo_hooks

    if import_hooks.are_requested():
        return None
    for name in NEEDED:
        import_module(name)
    sys.modules["sysconfig"].get_paths()  # imports what it needs
    parts = {part for module, (part, _) in _HOOKS.items() if module in sys.modules}
    _import_parts(parts & set(PARTS))
    enable(*PARTS)

    def leave() -> None:
        import_hooks.forget_hooks()
        undo_hooks()

    return leave


def _import_parts(parts: set[str]) -> None:
    import _imp

    _imp.acquire_lock()
    try:
        for part in parts:
            import_module(f"{_HERE}.{part}")
    finally:
        _imp.release_lock()
