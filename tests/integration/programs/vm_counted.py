"""Calls, raises, imports and collects, counts that itself, and prints its counts as JSON.  It knows nothing of pyusdt.

Arguments: how often.

Output: {"what": count}, on one line.
"""

import gc
import json
import sys
import threading

ROUNDS = int((sys.argv[1:] or [5])[0])
count = dict.fromkeys(
    ("plain", "Shape.area", "steps", "yields", "resumes", "failing", "lines", "len"), 0
)


def plain(n):
    count["plain"] += 1
    return n


class Shape:
    def area(self):
        count["Shape.area"] += 1
        return plain(2)


def steps(n):
    count["steps"] += 1
    for i in range(n):
        count["yields"] += 1
        yield i
        count["resumes"] += 1


def failing(n):
    count["failing"] += 1
    if n:
        return failing(n - 1)
    raise LookupError("no such thing")


def lined():
    count["lines"] += 2
    return len("two lines are traced of it")


class Own(Exception):
    def __str__(self):
        raise SystemExit("a tracer has run the program's code")


def raises():
    try:
        failing(3)
    except LookupError:
        pass
    try:
        raise Own("own text", 1)
    except Own:
        pass


def main():
    gc.disable()
    for _ in range(ROUNDS):
        plain(1)
        Shape().area()
        list(steps(3))
        raises()
        lined()
        count["len"] += 1
        gc.collect()
        sys.audit("vm_counted.round")
        thread = threading.Thread(target=plain, args=(3,), name="counted")
        thread.start()
        thread.join()
        sys.modules.pop("this", None)
        try:
            import no_such_module_of_ours  # noqa: F401
        except ImportError:
            pass
    print(json.dumps({**count, "rounds": ROUNDS}), flush=True)


main()
