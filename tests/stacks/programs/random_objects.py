"""Objects that chance makes, each with what reading it must give: a line of JSON for each, [address, JSON of dump_values.encode_value()].

Arguments: a seed, how many objects, and the limits: depth, items, characters.  What is expected comes from how an object was made, not
from looking at it, which could change it.  The last line says how often a hook of a class ran.
"""

import collections
import datetime
import decimal
import enum
import json
import pathlib
import random
import sys
import types
import uuid

chance = random.Random(int(sys.argv[1]))
COUNT, DEPTH, ITEMS, CHARACTERS = map(int, sys.argv[2:])
hooks = 0


def count(*_, **__):
    global hooks
    hooks += 1
    raise RuntimeError("a hook ran")


class Hurting:
    """Everything that a careless reader would run."""

    __getattr__ = __getattribute__ = __eq__ = __len__ = __iter__ = __repr__ = __str__ = count
    __bool__ = __index__ = __getitem__ = __contains__ = __lt__ = __call__ = count
    price = property(count)

    def __hash__(self):
        return 1

    @property
    def __class__(self):
        return count()


class Hashed:
    """A key whose __eq__ and __hash__ count, but for when the generator makes a dict of it."""

    def __init__(self, name, value):
        object.__setattr__(self, name, value)

    def __eq__(self, other):
        return count()

    def __hash__(self):
        return 1234567


class Slotted:
    __slots__ = ("first", "__private", "third")


class SlottedChild(Slotted):
    __slots__ = ("fourth",)


class SlottedWithDict(Slotted):
    pass


class Described:
    """A slot, and a property with the name of an instance value."""

    __slots__ = ("__dict__", "x")
    shown = property(count)


class Meta(type):
    __getattribute__ = __eq__ = __instancecheck__ = count
    __hash__ = type.__hash__


class WithMeta(metaclass=Meta):
    pass


class OwnInt(int):
    pass


class OwnStr(str):
    pass


class OwnList(list):
    __slots__ = ()
    __len__ = __iter__ = __getitem__ = count


class OwnDict(dict):
    __getitem__ = __iter__ = keys = items = count


class OwnTuple(tuple):
    pass


class OwnFloat(float):
    __slots__ = ("unit",)


class OwnError(ValueError):
    pass


Point = collections.namedtuple("Point", "x y")
Login = collections.namedtuple("Login", "user password")


class Color(enum.Enum):
    RED = 1
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1


PLAIN_CLASSES = [type(name, (), {}) for name in ("int", "list", "dict", "NoneType", "Cart")]
NAMES = ["a", "b", "price", "shown", "user_password", "x" * 200, "größe", "_p", "self"]
SECRETS = {"user_password", "password"}


def encoded(kind, **fields):
    return {"type": kind, **fields}


# ---- leaves: each gives (object, JSON) ----


def make_int():
    bits = chance.choice([0, 1, 5, 29, 30, 31, 59, 60, 61, 64, 90, 200, 4 * CHARACTERS])
    bits = min(bits, 4 * CHARACTERS)
    number = chance.getrandbits(bits) if bits else 0
    number *= chance.choice([1, -1])
    return number, number


def make_long_int():
    above = chance.randrange(4 * CHARACTERS, 4 * CHARACTERS + 5000)
    number = 1 << above | chance.getrandbits(above)
    bits, negative = number.bit_length(), chance.random() < 0.5
    head = number >> bits - 4 * CHARACTERS
    head = -head if negative else head
    return -number if negative else number, encoded(
        "int", value=head, cut="characters", length=bits
    )


def make_float():
    number = chance.choice([0.0, -0.0, 1.5, chance.random() * 10 ** chance.randrange(-300, 300)])
    return number, number


def make_odd_float():
    return chance.choice(
        [
            (float("nan"), encoded("float", value="nan")),
            (float("-inf"), encoded("float", value="-inf")),
        ]
    )


ALPHABETS = ["abc \n\x00'\"", "äöü\xff", "ąλж☃", "a\U0001f600", "\ud800a\udfff"]


def random_text(most):
    alphabet = chance.choice(ALPHABETS)
    return "".join(chance.choice(alphabet) for _ in range(chance.randrange(most)))


def cut_text(kind, text, **more):
    if len(text) <= CHARACTERS and not more and kind == "str":
        return text
    cut = {"cut": "characters", "length": len(text)} if len(text) > CHARACTERS else {}
    return encoded(kind, **more, value=text[:CHARACTERS], **cut)


def make_str():
    text = random_text(2 * CHARACTERS)
    return text, cut_text("str", text)


def make_bytes():
    data = bytes(chance.randrange(256) for _ in range(chance.randrange(2 * CHARACTERS)))
    kind = chance.choice([bytes, bytearray])
    cut = {"cut": "characters", "length": len(data)} if len(data) > CHARACTERS else {}
    made = kind(data)
    if kind is bytearray and len(data) > 3:
        del made[:1]
        data = data[1:]
        cut = {"cut": "characters", "length": len(data)} if len(data) > CHARACTERS else {}
    return made, encoded(kind.__name__, hex=data[:CHARACTERS].hex(), **cut)


def make_constant():
    return chance.choice(
        [
            (None, None),
            (True, True),
            (False, False),
            (..., encoded("ellipsis", text="Ellipsis")),
            (NotImplemented, encoded("NotImplementedType", text="NotImplemented")),
        ]
    )


def make_subclass_leaf():
    which = chance.randrange(3)
    if which == 0:
        number = chance.getrandbits(chance.choice([0, 3, 40]) or 1)
        made, expected = OwnInt(number), encoded("OwnInt", base="int", value=number)
        return made, add_attributes(made, expected)
    if which == 1:
        text = random_text(CHARACTERS)
        made, expected = OwnStr(text), cut_text("OwnStr", text, base="str")
        return made, add_attributes(made, expected)
    made = OwnFloat(2.5)
    made.unit = "kg"
    expected = encoded("OwnFloat", base="float", value=2.5)
    return made, lambda depth: {**expected, **attributes_of([("unit", "kg")], depth)}


def make_date():
    day = datetime.date(chance.randrange(1, 9999), chance.randrange(1, 13), chance.randrange(1, 29))
    moment = datetime.datetime(
        day.year, day.month, day.day, 1, 2, 3, chance.randrange(10**6), fold=1
    )
    span = datetime.timedelta(chance.randrange(-1000, 1000), 5, 7)
    time = datetime.time(1, chance.randrange(60))
    found = chance.choice([day, moment, span, time, datetime.timezone(datetime.timedelta(hours=2))])
    kind = f"datetime.{type(found).__name__}"
    return found, encoded(kind, text=repr(found))


def make_zoned():
    moment = datetime.datetime(2020, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)
    expected = encoded("datetime.datetime", text=repr(moment.replace(tzinfo=None)))
    zone = encoded("datetime.timezone", text="datetime.timezone.utc")

    def at(depth):
        if depth >= DEPTH:
            return {**expected, "cut": "depth"}
        return {**expected, "attributes": {"tzinfo": zone}}

    return moment, at


def make_known():
    number = decimal.Decimal(
        (
            chance.randrange(2),
            tuple(chance.randrange(10) for _ in range(chance.randrange(1, 60))),
            chance.randrange(-70, 70),
        )
    )
    digits = len(number.as_tuple().digits)
    shown = encoded("decimal.Decimal", text=f"Decimal('{number}')")
    if digits > CHARACTERS:
        shown = encoded("decimal.Decimal", cut="characters", length=digits)
    odd = decimal.Decimal(
        chance.choice(["NaN", "-Infinity", "sNaN12", "0", "-0.00", "1E+3", "123"])
    )
    identity = uuid.UUID(int=chance.getrandbits(128))
    path = pathlib.Path(chance.choice(["/", "/a/b", "a", ".", "a/b/c.txt"]))
    return chance.choice(
        [
            (number, shown),
            (odd, encoded("decimal.Decimal", text=f"Decimal('{odd}')")),
            (identity, encoded("UUID", text=f"UUID('{identity}')")),
            (path, encoded("PosixPath", text=f"PosixPath('{path}')")),
            (json, encoded("module", text="<module 'json'>")),
            (random_text, encoded("function", text="<function random_text>")),
            (Slotted, encoded("type", text="<class 'Slotted'>")),
            (WithMeta, encoded("Meta", base="type", text="<class 'WithMeta'>")),
        ]
    )


def make_enum():
    each, value = chance.choice([(Color.RED, 1), (Color.BLUE, "blue"), (Level.LOW, 1)])
    kind = "Level" if each is Level.LOW else "Color"
    expected = encoded(kind, text=f"{kind}.{each._name_}")
    return (
        each,
        lambda depth: (
            {**expected, "cut": "depth"}
            if depth >= DEPTH
            else {**expected, "attributes": {"value": value}}
        ),
    )


def make_empty_slots():
    return Slotted(), encoded("Slotted", attributes={})


LEAVES = [
    make_int,
    make_int,
    make_long_int,
    make_float,
    make_odd_float,
    make_str,
    make_str,
    make_bytes,
]
LEAVES += [
    make_constant,
    make_subclass_leaf,
    make_date,
    make_zoned,
    make_known,
    make_enum,
    make_empty_slots,
]


# ---- containers: (object, a function that gives the JSON at a depth) ----


def at_depth(expected, depth):
    return expected(depth) if callable(expected) else expected


def make_any(level):
    if level <= 0 or chance.random() < 0.4:
        return chance.choice(LEAVES)()
    return chance.choice(CONTAINERS)(level - 1)


def make_several(level, most):
    made = [make_any(level) for _ in range(chance.randrange(most))]
    return [each for each, _ in made], [expected for _, expected in made]


def sequence(kind, items, depth, **more):
    """JSON of a list and the like."""
    if depth >= DEPTH and items:
        return encoded(kind, **more, items=[], cut="depth", length=len(items))
    shown = [at_depth(each, depth + 1) for each in items[:ITEMS]]
    if len(items) > ITEMS:
        return encoded(kind, **more, items=shown, cut="items", length=len(items))
    return shown if kind == "list" and not more else encoded(kind, **more, items=shown)


def make_list(level):
    values, expected = make_several(level, ITEMS + 4)
    kind = chance.choice([list, list, tuple, OwnList, OwnTuple])
    made = kind(values)
    if kind is list and chance.random() < 0.3:
        made.append(0)
        made.pop()
    more = {"base": kind.__base__.__name__} if kind in (OwnList, OwnTuple) else {}
    return made, lambda depth: sequence(kind.__name__, expected, depth, **more)


def make_set(_):
    values = [chance.randrange(50) for _ in range(chance.randrange(ITEMS))]
    kind = chance.choice([set, frozenset])
    made = kind(values)
    if kind is set:
        made |= {1000 + each for each in range(chance.randrange(40))}
        made -= set(range(1000, 1040))
    expected = list(made)  # in the order of the table
    return made, lambda depth: sequence(kind.__name__, expected, depth)


def make_key(number):
    return chance.choice(
        [
            lambda: (number, number),
            lambda: (f"k{number}", f"k{number}"),
            lambda: (chance.choice(NAMES), None),
            lambda: (b"%d" % number, encoded("bytes", hex=(b"%d" % number).hex())),
            lambda: ((number,), lambda depth: sequence("tuple", [number], depth)),
            lambda: (
                Hashed("name", number),
                lambda depth: instance("Hashed", [("name", number)], depth),
            ),
        ]
    )()


def make_dict(level):
    kind = chance.choice([dict, dict, OwnDict, collections.OrderedDict, collections.defaultdict])
    made = kind()
    rows = {}
    for number in range(chance.randrange(ITEMS + 4)):
        key, shown = make_key(number)
        value, expected = make_any(level)
        if isinstance(key, str):
            shown = cut_text("str", key)
        if isinstance(key, Hashed):
            if any(type(each[0]) is Hashed for each in rows.values()):
                continue
            rows[id(key)] = [key, shown, expected]
        else:
            rows[key] = [key, shown, expected]
        kind.__setitem__(made, key, value)
    plain = [key for key, row in rows.items() if row[0] is key]
    for key in chance.sample(plain, len(plain) // 3):
        kind.__delitem__(made, key)
        del rows[key]
    names = {dict: "dict", OwnDict: "OwnDict"}
    name = names.get(kind) or f"collections.{kind.__name__}"
    more = {} if kind is dict else {"base": "dict"}

    def at(depth):
        length = len(rows)
        if depth >= DEPTH and length:
            return encoded(name, **more, items=[], cut="depth", length=length)
        shown = [
            [at_depth(shown, depth + 1), redacted(key, at_depth(expected, depth + 1))]
            for key, shown, expected in list(rows.values())[:ITEMS]
        ]
        cut = {"cut": "items", "length": length} if length > ITEMS else {}
        return encoded(name, **more, items=shown, **cut)

    return made, at


def redacted(name, expected):
    return {"absent": "redacted"} if isinstance(name, str) and name in SECRETS else expected


def attributes_of(pairs, depth):
    """What attributes add to the JSON of a value that is more than them."""
    if not pairs:
        return {}
    if depth >= DEPTH:
        return {"cut": "depth"}
    shown = {
        name if len(name) <= 100 else name[:100] + "…": redacted(name, at_depth(each, depth + 1))
        for name, each in pairs[:ITEMS]
    }
    return {"attributes": shown, **({"cut": "items"} if len(pairs) > ITEMS else {})}


def instance(kind, pairs, depth):
    return {**encoded(kind, attributes={}), **attributes_of(pairs, depth)}


def add_attributes(made, expected):
    if chance.random() < 0.5:
        return expected
    made.extra = 5
    return lambda depth: (
        {**expected, **attributes_of([("extra", 5)], depth)}
        if "cut" not in expected or depth < DEPTH
        else {**expected, "cut": "depth"}
    )


def set_attribute(made, name, value):
    object.__setattr__(made, name, value)


def make_instance(level):
    kind = chance.choice([*PLAIN_CLASSES, Hurting, WithMeta, Described])
    made = object.__new__(kind)
    rows = {}
    for name in chance.sample(NAMES, chance.randrange(len(NAMES))):
        if kind is Hurting and name == "price" or kind is Described and name == "shown":
            continue  # the property stands in the way of setting it
        value, expected = make_any(level)
        set_attribute(made, name, value)
        rows[name] = expected
    for name in chance.sample(list(rows), len(rows) // 3):
        object.__delattr__(made, name)
        del rows[name]
    if rows and chance.random() < 0.3:
        if chance.random() < 0.5 and kind is not Hurting:
            vars(made)["shown"] = 1  # makes the dict, behind the property
            rows.setdefault("shown", None)
            rows["shown"] = 1
        elif kind is not Hurting:
            made.__dict__ = {**vars(made), "b": 2}
            rows["b"] = 2
    pairs = list(rows.items())
    if kind is Described and chance.random() < 0.5:
        made.x = 1
        pairs.insert(0, ("x", 1))
    return made, lambda depth: instance(
        type.__dict__["__name__"].__get__(kind), order(made, pairs), depth
    )


def order(made, pairs):
    """Before a dict is made, values are in the order of the class's keys: JSON has no order, so only what is cut needs one."""
    return pairs


def make_slotted(level):
    kind = chance.choice([Slotted, SlottedChild, SlottedWithDict])
    made, pairs = kind(), []
    for name, shown in (
        ("first", "first"),
        ("_Slotted__private", "_Slotted__private"),
        ("third", "third"),
        ("fourth", "fourth"),
    ):
        if chance.random() < 0.6 and (name != "fourth" or kind is not Slotted):
            value, expected = make_any(level)
            setattr(made, name, value)
            pairs.append((shown, expected))
    return made, lambda depth: instance(kind.__name__, pairs, depth)


def make_named_tuple(level):
    (first, second), shown = zip(*(make_any(level) for _ in range(2)))
    kind = chance.choice([Point, Login])
    names = kind._fields

    def at(depth):
        expected = encoded(kind.__name__, base="tuple", length=2)
        if depth >= DEPTH:
            return {**expected, "items": [], "cut": "depth"}
        return {**expected, **attributes_of(list(zip(names, shown)), depth)}

    return kind(first, second), at


def make_exception(level):
    values, expected = make_several(level, 3)
    kind = chance.choice([ValueError, OwnError, KeyError])
    made = kind(*values)
    pairs = []
    if chance.random() < 0.5:
        made.code = 7
        pairs = [("code", 7)]

    def at(depth):
        found = sequence(kind.__name__, expected, depth, base="exception")
        found.update(attributes_of(pairs, depth))
        return {**found, "length": len(expected)} if "cut" in found else found

    return made, at


def make_namespace(level):
    value, expected = make_any(level)
    return types.SimpleNamespace(a=value), lambda depth: instance(
        "types.SimpleNamespace", [("a", expected)], depth
    )


CONTAINERS = [make_list, make_list, make_set, make_dict, make_dict, make_instance, make_instance]
CONTAINERS += [make_slotted, make_named_tuple, make_exception, make_namespace]

alive = []
for _ in range(COUNT):
    made, expected = make_any(4)
    alive.append(made)
    print(json.dumps([id(made), at_depth(expected, 0)]))
print("ready", flush=True)
sys.stdin.readline()
print(hooks, flush=True)
sys.stdin.readline()
