"""A trace and a profile function of the program's own: what they see is what they see untraced, and what they raise, too."""

import sys
import threading

from counting import step, total

seen = []


class Stop(Exception):
    pass


def note(frame, event, _):
    if frame.f_code.co_name in ("step", "two"):
        seen.append((event, frame.f_code.co_name, frame.f_lineno))
    return note


def stop(*_):
    raise Stop


def two(a):
    b = a
    return b


def in_thread():
    thread = threading.Thread(target=two, args=(3,))
    thread.start()
    thread.join()


step()
sys.settrace(note)
two(1)
sys.settrace(None)
sys.setprofile(note)
two(2)
sys.setprofile(None)
sys.settrace(stop)
try:
    two(1)
except Stop:
    print("stopped", sys.gettrace())
threading.settrace(note)
in_thread()
threading.settrace(None)
print(seen)
total()
