"""Python functions that extensions in C call: sqlite3, ctypes, re, functools, a type's slots; some of them raise."""

import ctypes
import functools
import re
import sqlite3

from counting import step, total


def counted(value):
    step()
    return value


def broken(_):
    step()
    raise ValueError("broken")


@functools.total_ordering
class Ordered:
    def __init__(self, n):
        self.n = n

    def __lt__(self, other):
        step()
        return self.n < other.n

    def __eq__(self, other):
        return self.n == other.n

    def __hash__(self):
        return counted(self.n)


database = sqlite3.connect(":memory:")
database.create_function("counted", 1, counted)
database.create_function("broken", 1, broken)
print(database.execute("select counted(21)").fetchone())
try:
    database.execute("select broken(1)").fetchone()
except sqlite3.OperationalError as error:
    print(error)
COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
numbers = (ctypes.c_int * 5)(3, 1, 2, 5, 4)
ctypes.CDLL(None).qsort(numbers, 5, 4, COMPARE(lambda a, b: counted(a[0] - b[0])))
print(
    list(numbers),
    re.sub("a", lambda match: counted("b"), "aaa"),
    [each.n for each in sorted(map(Ordered, (3, 1, 2)))],
)
print(len({Ordered(1), Ordered(1)}), functools.reduce(lambda a, b: counted(a) + b, range(5)))
total()
