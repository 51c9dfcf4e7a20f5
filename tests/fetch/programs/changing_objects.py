"""Paths into objects that other threads change, free and read meanwhile.

Arguments: the folder of fetch_main, seconds.  It prints "ok READS PRESENT BUSY", or what was wrong.
"""

import random
import re
import sys
import threading
import time
import types

sys.argv[2:] = ["1", "0", *sys.argv[2:]]
import random_paths as paths

fetch = paths.fetch_main
ends_at = time.monotonic() + float(sys.argv[4])
wrong = []
counts = [0, 0, 0]


class Item:
    """A value whose destructor must not run within a read."""

    def __init__(self, number):
        self.a, self.b = number, f"text {number}"

    def __del__(self, in_read=fetch.in_read, wrong=wrong):
        if in_read():
            wrong.append("reading ran a destructor")


class Slotted:
    __slots__ = ("a", "b")


class Left:
    plain = 1


class Right:
    plain = 2


class Changing(Left):
    pass


class Other(Changing):
    pass


shared = types.SimpleNamespace()
box = Changing()
box.item, box.items, box.more, box.number = Item(0), [Item(1)], {"a": Item(2)}, 1
slots = Slotted()
slots.a = Item(3)
cell = Item(4)
ROOTS = {"box": box, "slots": slots, "shared": shared, "list": box.items, "dict": box.more}


def change(chance):
    """One change; all of it is allowed to threads at once."""
    number = chance.randrange(1000)
    kind = chance.randrange(14)
    if kind == 0:
        box.item = Item(number)
    elif kind == 1:
        box.items[:] = [Item(each) for each in range(number % 40)]
    elif kind == 2:
        box.items.append(Item(number))
    elif kind == 3:
        box.more[f"key {number}"] = Item(number)
    elif kind == 4:
        box.more["a"] = Item(number)
    elif kind == 5:
        box.more.clear()
    elif kind == 6:
        slots.a = Item(number)
    elif kind == 7:
        setattr(shared, f"x{number % 60}", Item(number))
    elif kind == 8:
        shared.__dict__.pop(f"x{number % 60}", None)
    elif kind == 9:
        box.__dict__ = {"item": Item(number), "items": [Item(number)], "more": {}, "number": number}
    elif kind == 10:
        box.__class__ = chance.choice([Changing, Other])
    elif kind == 11:
        Changing.plain_too = Item(number)
    elif kind == 12 and number % 50 == 0:
        Changing.__bases__ = (chance.choice([Left, Right]),)
    elif kind == 13:
        Changing.__name__ = f"Changing{number}"


def write(seed):
    chance = random.Random(seed)
    while time.monotonic() < ends_at and not wrong:
        for _ in range(200):
            try:
                change(chance)
            except (AttributeError, KeyError, TypeError):
                pass


STEPS = [
    ("box", ["item", "a"]),
    ("box", ["item", "b"]),
    ("box", ["plain"]),
    ("box", ["plain_too", "a"]),
    ("box", ["number"]),
    ("box", ["items", 0, "a"]),
    ("box", ["items", -1, "b"]),
    ("slots", ["a", "b"]),
    ("shared", ["x1", "a"]),
    ("list", [0, "a"]),
    ("dict", ["a", "b"]),
]
PROGRAMS = []
for root, steps in STEPS:
    rows = [
        (paths.INDEX, each)
        if isinstance(each, int)
        else (paths.KEY if root == "dict" and each == "a" else paths.ATTRIBUTE, each)
        for each in steps
    ]
    PROGRAMS += [(root, paths.encode(paths.GIVEN, "", rows, result)) for result in (1, 3, 4, 5)]
PROGRAMS += [(root, paths.encode(paths.GIVEN, "", [], paths.REPR, 900)) for root in ROOTS]
PROGRAMS += [(root, paths.encode(paths.GIVEN, "", [], paths.LENGTH)) for root in ROOTS]


def check(found):
    """Both attributes of an item are its own."""
    text = found[2].decode()
    for number, other in re.findall(r"Item\(a=(\d+), b='text (\d+)'\)", text):
        assert number == other, text


class Slow:
    """Its comparison keeps the set that it is in locked."""

    is_compared = is_over = False

    def __hash__(self):
        return 1

    def __eq__(self, other):
        Slow.is_compared = True
        while not Slow.is_over:
            pass
        return False


def check_busy():
    """An object that another thread has locked is busy, at once, and not a moment later."""
    locked = {Slow()}
    thread = threading.Thread(target=locked.add, args=(Slow(),))
    thread.start()
    while not Slow.is_compared:
        pass
    program = paths.encode(paths.GIVEN, "", [], paths.REPR)
    begin = time.monotonic()
    texts = {fetch.run(program, [locked])[2] for _ in range(100)}
    took = time.monotonic() - begin
    Slow.is_over = True
    thread.join()
    assert texts == {b"[<busy>]"}, texts
    assert took < 5, took
    assert fetch.run(program, locked)[2] == b"{<Slow object>, <Slow object>}"


def read(seed):
    """Also from cells and globals."""
    chance = random.Random(seed)
    programs = [paths.encode(paths.LOCAL, "held", [(paths.ATTRIBUTE, "b")], paths.STRING)]
    programs += [paths.encode(paths.GLOBAL, "cell", [(paths.ATTRIBUTE, "b")], paths.STRING)]
    held = Item(seed)

    def replace():
        nonlocal held
        held = Item(seed)

    threading.Thread(target=lambda: [replace() for _ in range(1000)]).start()
    while time.monotonic() < ends_at and not wrong:
        for _ in range(200):
            root, program = chance.choice(PROGRAMS)
            found = fetch.run(program, ROOTS[root])
            counts[0] += 1
            if found is not None:
                counts[1] += 1
                counts[2] += b"<busy>" in found[2]
                check(found)
            fetch.run(chance.choice(programs), None)


def guard(function, seed):
    try:
        function(seed)
    except Exception as error:  # noqa: BLE001  (of a thread)
        wrong.append(repr(error))


if not getattr(sys, "_is_gil_enabled", lambda: True)():
    check_busy()
threads = [threading.Thread(target=guard, args=(write, seed)) for seed in range(3)] + [
    threading.Thread(target=guard, args=(read, seed)) for seed in range(3)
]
for each in threads:
    each.start()
for each in threads:
    each.join()
print(*(wrong or ["ok", *counts]))
