"""Wakes the main thread of a program whose event loop of asyncio waits for input, so that it runs Python code.

- The loop wakes itself by a socket pair (`_csock`) and ignores a NUL byte there. It gets such a byte, by pidfd_getfd(2).
- The memory of the process is untrusted: c/attach/wake_socket.h says what its word is good for.
- uvloop has no such socket.
"""

from __future__ import annotations

import contextlib

from pydtrace import _tracer
from pydtrace.remote_python.asyncio_tasks import ERRORS, AsyncioTasks
from pydtrace.remote_python.code_objects import CodeObjects
from pydtrace.remote_python.remote_objects import RemoteObjects

from .placed_copy import find_user

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pydtrace.remote_python.remote_python import RemotePython

_SOCKET, _ATTRIBUTE = "socket", "_csock"
_MOST_THREADS = 10_000


def wake_main_loop(python: RemotePython) -> bool:
    """Whether a loop was woken."""
    codes = CodeObjects(python)
    objects = RemoteObjects(python, codes)
    woken = False
    with contextlib.suppress(*ERRORS):
        interpreter, thread = _find_main_thread(python)
        for loop in AsyncioTasks(python, codes).find_loops(thread, interpreter):
            with contextlib.suppress(*ERRORS):
                _tracer.wake_socket(
                    python.pid, _read_descriptor(python, objects, loop), *find_user(python.pid)
                )
                woken = True
    return woken


def _find_main_thread(python: RemotePython) -> tuple[int, int]:
    """(interpreter, thread state).  Raises OSError, LookupError."""
    layout, word = python.layout, python.read_word
    interpreter = word(python.runtime + layout["runtime_main"])
    ident = word(python.runtime + layout["runtime_main_thread"])
    thread = word(interpreter + layout["interp_threads"])
    for _ in range(_MOST_THREADS):
        if not thread or word(thread + layout["thread_id"]) == ident:
            break
        thread = word(thread + layout["thread_next"])
    if not thread:
        raise LookupError("no main thread")
    return interpreter, thread


def _read_descriptor(python: RemotePython, objects: RemoteObjects, loop: int) -> int:
    """Of the loop's socket.  Raises OSError, LookupError."""
    if not loop:
        raise LookupError("no loop")
    socket = objects.read_attribute(loop, _ATTRIBUTE)
    if objects.read_type_name(socket).rpartition(".")[2] != _SOCKET:
        raise LookupError("no socket")
    return objects.read_int(socket + python.layout["object_type"] + 8, 4)
