"""Raises exceptions and calls methods of C whose texts and names can not be asked for without
running code of its own; each such code notes that it was run.

Output: how often that was, as JSON.
"""

import contextlib
import json
import pathlib
import sys

sprung = []


class Trap(str):
    """A value that notes whoever wants its text."""

    def __str__(self):
        sprung.append("str")
        return "trap"

    __repr__ = __format__ = __fspath__ = __str__


class Guarded(type):
    """A class whose module is computed by the program."""

    @property
    def __module__(cls):
        sprung.append("module")
        return "guarded"


class Computed(type):
    """A class whose attributes all are."""

    def __getattribute__(cls, name):
        sprung.append(name)
        return super().__getattribute__(name)


class Kept(list, metaclass=Guarded):
    pass


class Held(list, metaclass=Computed):
    pass


def with_path(error):
    error.filename = Trap("x")
    return error


def with_message(error):
    error.msg = Trap("x")
    return error


EXCEPTIONS = {
    "plain": lambda: OSError(2, "No such file", "name"),
    "path": lambda: OSError(2, "No such file", pathlib.Path("name")),
    "filename": lambda: with_path(OSError(2, "No such file", "name")),
    "message": lambda: with_message(SyntaxError("bad", ("file", 1, 2, "text"))),
    "import": lambda: with_message(ImportError("bad")),
    "key": lambda: KeyError(Trap("x")),
    "second": lambda: ValueError("first", Trap("x")),
    "large": lambda: ValueError("first", b"x" * 2000),
    "reason": lambda: UnicodeDecodeError("utf-8", b"x", 0, 1, "reason"),
}


def fails(name):
    raise EXCEPTIONS[name]()


def main():
    kept, held = Kept(), Held()
    del sprung[:]  # making them has asked
    for name in EXCEPTIONS:
        with contextlib.suppress(Exception):
            fails(name)
    for each in (kept, held, []):
        each.reverse()
        reverse = each.reverse
        reverse()
    sys.stdout.write(json.dumps({"sprung": sprung, "reversed": 6}) + "\n")


main()
