"""Sub-interpreters that come and go, in several threads at once, and raise, collect, import meanwhile."""

import sys

from counting import in_threads, step, total

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

INSIDE = """
import gc, threading
def step():
    try: 1 / 0
    except ZeroDivisionError: pass
for _ in range(100): step()
thread = threading.Thread(target=step) # started, it would be refused in some versions
gc.collect()
import colorsys
"""


def inside():
    own = interpreters.create()
    step()
    run = getattr(interpreters, "exec", interpreters.run_string)
    assert not run(own, INSIDE)
    interpreters.destroy(own)


for _ in range(5):
    inside()
if sys.version_info >= (3, 12):  # before, they share what is not safe to share
    in_threads(4, inside)
total()
