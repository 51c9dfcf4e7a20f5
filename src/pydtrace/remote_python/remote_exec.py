"""Cancelling a script that sys.remote_exec() has scheduled in a process of 3.14 or later.

- Only a thread that has this very script pending is changed: 0 replaces the 1 of
  sys.remote_exec().
"""

from __future__ import annotations

import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .remote_python import RemotePython

_INTERPRETERS = 1000  # at most


def cancel_script(python: RemotePython, path: str) -> bool:
    """Raises OSError where the process does not let it be done, or has ended."""
    memory, layout, wanted = python.memory, python.layout, os.fsencode(path) + b"\0"
    found = False
    for thread in _iter_main_threads(python):
        pending = thread + layout["thread_pending"]
        if (
            struct.unpack("=i", memory.read(pending, 4)) == (1,)
            and memory.read(thread + layout["thread_script"], len(wanted)) == wanted
        ):
            memory.write(pending, bytes(4))
            found = True
    return found


def _iter_main_threads(python: RemotePython) -> Iterator[int]:
    """The thread that sys.remote_exec() asks is the main one of the interpreter that was first in the list then."""
    layout = python.layout
    interpreter = python.read_word(python.runtime + layout["runtime_interpreters"])
    for _ in range(_INTERPRETERS):
        if not interpreter:
            return
        thread = python.read_word(interpreter + layout["interp_main"])
        if thread:
            yield thread
        interpreter = python.read_word(interpreter + layout["interp_next"])
