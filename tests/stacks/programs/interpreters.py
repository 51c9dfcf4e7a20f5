"""A thread of the main interpreter runs a function of a sub-interpreter, which is busy, or sleeps.

Input: busy, or sleep.
Output: a line when it is there.
"""

import sys
import threading
import time

try:
    import _interpreters as interpreters
except ImportError:  # before CPython 3.13
    import _xxsubinterpreters as interpreters

CODE = """
import time
def inner():
    print("here", flush=True)
    end = time.time() + 60
    while time.time() < end:
        WORK
inner()
"""


def outer():
    work = "pass" if sys.argv[1] == "busy" else "time.sleep(60)"
    interpreters.run_string(interpreters.create(), CODE.replace("WORK", work))


threading.Thread(target=outer, daemon=True).start()
time.sleep(60)
