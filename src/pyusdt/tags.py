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
    """The tag of this context as the bytes that probes show, None without one."""
    return tag_variable.get()


class tag:
    """`with pyusdt.tag("request 17"):` sets a tag for the block, and afterwards the one before again.

    As a decorator, `@pyusdt.tag("nightly")`, it does so for each run of a function, coroutine function or generator function; of a
    generator only while it runs itself, and not while its caller does.

    It may be entered again within its block, not by two threads at once.  A block that is left in another context than
    it was entered in (that of a generator which another task closes) leaves that context's tag alone.
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
    """Make threads, executors' calls and multiprocessing children that this context starts take over its tag.

    Returns what restore_tag() takes to have tag and spreading as they were before.
    """
    from . import _tag_propagation

    return _tag_propagation.set_spreading(bool(on)), tag_variable.get()


def restore_tag(before: "tuple[bool, bytes | None]") -> bool:
    """Set tag and spreading to what they were when spread_tag() returned `before`.  Returns True, as in OTP."""
    from . import _tag_propagation

    spreading, data = before
    _tag_propagation.set_spreading(spreading)
    tag_variable.set(data)
    return True
