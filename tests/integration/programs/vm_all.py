"""Does a little of everything that the provider python has probes for, as often as its standard input has lines; at once, where there
is none.

Output: a line for each time.
"""

import asyncio
import gc
import sys
import threading


def fails():
    raise LookupError("nothing")


async def pauses():
    await asyncio.sleep(0.001)


class Cycle:
    def __init__(self):
        self.itself = self


def everything():
    try:
        fails()
    except LookupError:
        len("a function of C")
    Cycle()
    gc.collect()
    for name in ("colorsys", "this_is_no_module"):
        sys.modules.pop(name, None)
        try:
            __import__(name)
        except ImportError:
            pass
    thread = threading.Thread(target=len, args=("",))
    thread.start()
    thread.join()
    asyncio.run(pauses())
    print("done", flush=True)


for _ in sys.stdin if sys.argv[1:] else [None]:
    everything()
