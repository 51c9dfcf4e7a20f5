"""What the hooks of all frameworks share: errors are kept from the application, and methods are
wrapped.

- No exception is asked for its text, since that would run code of the application.
- The number of failures of a hook is counted.
"""

from __future__ import annotations

from functools import partial, update_wrapper
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

type_name: Callable[[type], str] = vars(type)[
    "__name__"
].__get__  # a metaclass can not answer in its place
_failures: dict[str, tuple[int, str]] = {}
_undo: list[Callable[[], object]] = []  # what each hook needs to be gone again


def record_failure(where: str, error: Exception) -> None:
    """A hook failed.  The program goes on without its event; trouble() says so."""
    _failures[where] = (_failures.get(where, (0, ""))[0] + 1, type_name(type(error)))


def trouble() -> str:
    """Which hooks failed in this process, how often and with what, for a person; or ''."""
    return "; ".join(
        f"{where}: failed {times} times, last with {error}"
        for where, (times, error) in _failures.items()
    )


def function_name(function: Any) -> str:
    """The module and the qualified name of what a program wants to be called; of functools.partial those of what is within."""
    while isinstance(function, partial):
        function = function.func
    name = getattr(function, "__qualname__", None)
    return f"{function.__module__}.{name}" if name else type_name(type(function))


def suppress_errors(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which returns None where it would raise an Exception."""
    where = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"

    def guarded(*args: Any, **keywords: Any) -> Any:
        try:
            return function(*args, **keywords)
        except Exception as error:  # noqa: BLE001 - the application must not notice
            record_failure(where, error)
            return None

    return update_wrapper(guarded, function)


def wrap_method(owner: type, name: str, around: Callable[[Any], Any]) -> None:
    """Put around(method) in the place of a method of a framework's class.  Again: nothing more.  A class without it raises."""
    original = owner.__dict__[name]
    if not hasattr(original, "__pyusdt__"):
        wrapped: Any = update_wrapper(around(original), original)
        wrapped.__pyusdt__ = True
        replace_attribute(owner, name, wrapped)


def replace_attribute(owner: Any, name: str, new: Any) -> None:
    """Of a class or a module, until undo_hooks(). One that another replaces later stays: it may call ours."""
    original = owner.__dict__[name]
    setattr(owner, name, new)

    def restore() -> None:
        if owner.__dict__.get(name) is new:
            setattr(owner, name, original)

    call_to_undo(restore)


def call_to_undo(function: Callable[[], object]) -> None:
    """What undo_hooks() calls: a hook that is no wrapped method."""
    _undo.append(function)


@suppress_errors
def _undo_last() -> None:
    _undo.pop()()


def undo_hooks() -> None:
    """All hooks leave, the last one first, for a tracer that has brought them into a program that runs."""
    while _undo:
        _undo_last()
