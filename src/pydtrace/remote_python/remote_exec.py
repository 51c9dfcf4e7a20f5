# mypy: ignore-errors
"""Takes back a script that sys.remote_exec() has asked a process to run, as long as the process has not begun to run it.

In:      a Python (remote_python.py) of 3.14 or later; the path of the script.
Out:     whether a thread had still to run it.
Always:  a word is written only in a thread that has this very script pending: 0, in the place of the 1 that sys.remote_exec()
         has written there.
"""

import os
import struct

_INTERPRETERS = 1000  # that are looked at


def take_back(python, path):
    """Raises OSError where the process does not let it be done, or has ended."""
    memory, layout, wanted = python.memory, python.layout, os.fsencode(path) + b"\0"
    found = False
    for thread in _main_threads(python):
        pending = thread + layout["thread_pending"]
        if (
            struct.unpack("=i", memory.read(pending, 4)) == (1,)
            and memory.read(thread + layout["thread_script"], len(wanted)) == wanted
        ):
            memory.write(pending, bytes(4))
            found = True
    return found


def _main_threads(python):
    """The thread that sys.remote_exec() asks is the main one of the interpreter that was first in the list then."""
    layout = python.layout
    interpreter = python.word(python.runtime + layout["runtime_interpreters"])
    for _ in range(_INTERPRETERS):
        if not interpreter:
            return
        thread = python.word(interpreter + layout["interp_main"])
        if thread:
            yield thread
        interpreter = python.word(interpreter + layout["interp_next"])
