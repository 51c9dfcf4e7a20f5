"""Blocks of pyusdt.tag: `with pyusdt.tag("order 17"):` is a request of its own, for `pyusdt why`.

- A block within a request, or within another block, belongs to it.
- The route is the tag without its numbers: "tag order ?".
"""

from __future__ import annotations

import re
import sys
from typing import Any

from .core import suppress_errors, type_name, wrap_method
from .request_spans import begin_request, current_request, done_probe, span_probe

_NUMBER = re.compile(r"\b(?=[0-9a-f-]*\d)[0-9a-f][0-9a-f-]{6,}[0-9a-f]\b|\d+")


@suppress_errors
def _begin_block(block: Any) -> None:
    """A block that has just been entered."""
    request = begin_request("tag", _is_on_loop())
    if request is not None:
        request.block = block, len(block._tokens)


@suppress_errors
def _end_block(block: Any, error: type[BaseException] | None) -> None:
    """A block that is left now; an object may be entered again within its block."""
    request = current_request.get()
    if request is not None and request.block == (block, len(block._tokens)):
        status = type_name(error) if error is not None else ""
        request.done(f"tag {_NUMBER.sub('?', request.name)}", status)


def _is_on_loop() -> bool:
    events = sys.modules.get("asyncio.events")
    return events is not None and events._get_running_loop() is not None


def _wrap_enter(enter: Any) -> Any:
    def __enter__(self: Any) -> None:
        enter(self)
        if (span_probe or done_probe) and self._data is not None:
            _begin_block(self)

    return __enter__


def _wrap_exit(leave: Any) -> Any:
    def __exit__(self: Any, kind: Any, error: Any, traceback: Any) -> None:
        if current_request.get() is not None:
            _end_block(self, kind)
        leave(self, kind, error, traceback)

    return __exit__


def install_blocks(tags: Any) -> None:
    wrap_method(tags.tag, "__enter__", _wrap_enter)
    wrap_method(tags.tag, "__exit__", _wrap_exit)
