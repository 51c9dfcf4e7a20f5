"""The names of probe arguments, for probes whose arguments have known names.

Control files and notes have only the types of arguments.  The names are those of
include/user_trace.d and of docs/reference/python-vm.md; tests/unit/cli/test_list_command.py compares them.
"""

from __future__ import annotations

from .user_trace import PROBE_ARGUMENTS

USER_TRACE_NAMES = PROBE_ARGUMENTS["user_trace-i4s4"]
_CODE = ("file", "function", "line")
_TASK = ("task", "name", "coroutine")
_OBJECT = ("type", "bytes", "address")
_PYTHON: dict[str, tuple[str, ...]] = {
    "function-entry": (*_CODE, "how"), "function-return": (*_CODE, "how"), "line": _CODE,
    "exception-raise": (*_CODE, "type", "text"), "exception-handled": (*_CODE, "type", "text"),
    "c-function-entry": _CODE, "c-function-return": (*_CODE, "how"), "gc-start": ("generation",), "gc-done": ("collected",),
    "import-find-load-start": ("name",), "import-find-load-done": ("name", "found"), "thread-start": ("name", "ident"),
    "thread-stop": ("name", "ident"), "task-create": _TASK, "task-run": _TASK, "task-suspend": (*_TASK, "inner", "awaits"),
    "task-done": (*_TASK, "how", "type", "waiters"), "alloc": _OBJECT, "free": _OBJECT, "audit": ("event",),
}  # fmt: skip


_PYTHON_TEXTS = frozenset(
    ["file", "function", "type", "text", "name", "coroutine", "inner", "awaits", "event"]
)


def python_arguments() -> dict[str, tuple[tuple[str, bool], ...]]:
    """All probes of the provider python: (name, whether it is a text) of each argument."""
    return {
        probe: tuple((name, name in _PYTHON_TEXTS) for name in names)
        for probe, names in _PYTHON.items()
    }


def argument_names(provider: str, name: str) -> tuple[str, ...]:
    """Empty where they are not known."""
    if provider == "python":
        return _PYTHON.get(name, ())
    if provider in ("pyusdt", "erlang") and name.startswith("user_trace-"):
        return PROBE_ARGUMENTS.get(name, USER_TRACE_NAMES)
    return ()
