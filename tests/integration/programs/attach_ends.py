"""Ends after some milliseconds, with all that a program has at its end: attach_ends.py MILLISECONDS. Its last line is END."""

import atexit
import json
import sys
import threading
import time
import weakref

end = time.monotonic() + int(sys.argv[1]) / 1000


class Named:
    def __del__(self):  # a free-threaded build has cleared json by then
        self.squares = [number * number for number in (1, 2, 3)]


def work():
    while time.monotonic() < end:
        json.loads(json.dumps(["a", 1]))


def forever():
    while True:
        json.dumps(1)
        time.sleep(0.001)


kept = Named()
weakref.finalize(kept, json.dumps, 1)
atexit.register(print, "END", flush=True)
atexit.register(time.sleep, 0.02)
threading.Thread(target=forever, daemon=True).start()
threading.Thread(target=work).start()
work()
