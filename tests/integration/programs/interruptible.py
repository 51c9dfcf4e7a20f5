"""Runs a Python script and writes to a file at which lines of all that it runs Ctrl-C would raise KeyboardInterrupt:
interruptible.py FILE SCRIPT ARGUMENT …

From the script's first line on; of this process alone, not of those it forks.
"""

import _signal
import os
import sys

process, found = os.getpid(), os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o666)


def line(frame, _event, _argument):
    """At each line, and wherever a function is entered or left."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler and os.getpid() == process:
        os.write(found, f"{frame.f_code.co_filename}:{frame.f_lineno}\n".encode())
    return line


sys.argv = sys.argv[2:]
with open(sys.argv[0], "rb") as file:
    code = compile(file.read(), sys.argv[0], "exec")
names = {"__name__": "__main__", "__file__": sys.argv[0]}
sys.settrace(line)
exec(code, names)  # noqa: S102
