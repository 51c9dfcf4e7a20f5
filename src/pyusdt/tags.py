"""Tags: a text that every event of the current context carries, as in OTP's dyntrace.

- A tag belongs to the context (contextvars): asyncio tasks, asyncio.to_thread and copy_context()
  inherit it, other threads do not.
- It is encoded once, when it is set, and read only while a tracer listens.

put_tag() and get_tag() are in _core_c/module_methods.c, the propagation of spread_tag() is in
_tag_propagation.py. This module is loaded when one of its names is used, _tag_propagation.py with
the first spread_tag().
"""

from ._core import encode_tag, tag_variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Token
    from types import TracebackType
    from typing import Any, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["get_tag_data", "restore_tag", "spread_tag", "tag"]


def get_tag_data() -> "bytes | None":
    """Return the tag of the current context as bytes, as probes show it, or None if it has no tag."""
    return tag_variable.get()


class tag:
    """Set a tag for a block: `with pyusdt.tag("request 17"):`. Leaving the block restores the former tag.

    - tag: str, bytes-like or any other object, converted as by put_tag(); None removes the tag.
    - As a decorator, `@pyusdt.tag("nightly")`, it sets the tag for each run of a function, coroutine function or generator function.
      A generator has the tag only while it runs, not while its caller does.
    - The same object may be entered again within its block, but not by two threads at once.
    - If a block is left in another context than it was entered in, that context's tag does not change. This happens if another task
      closes a generator.
    """

    __slots__ = ("_data", "_tokens")

    def __init__(self, tag: object) -> None:
        self._data = encode_tag(tag)
        self._tokens: list[Token[bytes | None]] = []

    def __call__(self, function: "F") -> "F":
        from ._tag_decorator import tag_function

        made: F = tag_function(self._data, function)
        return made

    def __enter__(self) -> None:
        self._tokens.append(tag_variable.set(self._data))

    def __exit__(
        self,
        exception_type: "type[BaseException] | None",
        exception: "BaseException | None",
        traceback: "TracebackType | None",
    ) -> None:
        try:
            tag_variable.reset(self._tokens.pop())
        except ValueError:
            pass  # another context: what probes are for must not fail because of them


def spread_tag(on: bool) -> "tuple[bool, bytes | None]":
    """Let threads, executor calls and multiprocessing children that this context starts inherit its tag.

    Returns a value for restore_tag(), which undoes this call.
    """
    from . import _tag_propagation

    return _tag_propagation.set_spreading(bool(on)), tag_variable.get()


def restore_tag(before: "tuple[bool, bytes | None]") -> bool:
    """Restore the tag and the inheritance that were set when spread_tag() returned `before`.

    Returns True, as the function of OTP's dyntrace module does.
    """
    from . import _tag_propagation

    spreading, data = before
    _tag_propagation.set_spreading(spreading)
    tag_variable.set(data)
    return True
