"""Random paths into random objects, read by a fetch program and by an oracle that runs no code of the objects.

Arguments: the folder of fetch_main, a seed, how many paths.  It prints "ok PATHS PRESENT" or the first difference.
"""

import collections
import ctypes
import dataclasses
import datetime
import decimal
import enum
import gc
import pathlib
import random
import struct
import sys
import types
import uuid
import weakref

sys.path.insert(0, sys.argv[1])
import fetch_main

chance = random.Random(int(sys.argv[2]))
MISSING = object()
LOCAL, GLOBAL, GIVEN = 1, 2, 3
ATTRIBUTE, INDEX, KEY = 1, 2, 3
INT, DOUBLE, STRING, PRESENT, TYPENAME, LENGTH = 1, 2, 3, 4, 5, 6
hooks = 0


def count(*_, **__):
    global hooks
    hooks += 1
    raise RuntimeError("a hook ran")


def encode(root, name, steps, result, most=0):
    """The bytes of a program."""
    names, rows = b"", b""

    def add(text):
        nonlocal names
        data = text.encode()
        names += data
        return len(names) - len(data), len(data)

    root_name = add(name) if name else (0, 0)
    for op, value in steps:
        at = add(value) if isinstance(value, str) else (0, 0)
        rows += struct.pack("=B3xHHq", op, *at, value if isinstance(value, int) else 0)
    size = 16 + len(rows) + len(names)
    return (
        struct.pack("=IBBBBHHI", size, 1, root, len(steps), result, *root_name, most) + rows + names
    )


# ---- objects that hurt ----


class Hurting:
    __getattr__ = __getattribute__ = __eq__ = __len__ = __iter__ = __repr__ = count
    __bool__ = __index__ = __getitem__ = __contains__ = __lt__ = __call__ = __int__ = __float__ = (
        count
    )
    price = property(count)
    plain = 5

    def __hash__(self):
        return 1

    @property
    def __class__(self):
        return count()


class DataDescriptor:
    __get__ = __set__ = count


class NonData:
    __get__ = count


class EvilKey(str):
    __eq__ = count

    def __hash__(self):
        return str.__hash__(self)


class Meta(type):
    __getattribute__ = __eq__ = __instancecheck__ = __subclasscheck__ = count
    __hash__ = type.__hash__
    only_meta = 3


class WithMeta(metaclass=Meta):
    a = "class"


class Base:
    a = 1
    text = "of the class"
    data, lazy = DataDescriptor(), NonData()


class Slotted:
    __slots__ = ("a", "b", "__private")


class Child(Slotted, Base):
    __slots__ = ("c",)


class OwnList(list):
    __len__ = __iter__ = __getitem__ = count


class OwnDict(dict):
    __getitem__ = __iter__ = __len__ = get = count


class OwnTuple(tuple):
    extra = 3


class OwnInt(int):
    pass


class OwnStr(str):
    __len__ = __iter__ = count


class EvilNames:
    """Its class has a key that is no exact str: every lookup by a hash could call its __eq__."""


type.__setattr__(EvilNames, "shown", 9)
Stolen = type("Stolen", (), {"a": Slotted.__dict__["a"], "b": 4})  # another class's slot
Mixed = type("Mixed", (), {EvilKey("a"): 1, "b": 2, EvilKey("c"): 3})
Point = collections.namedtuple("Point", "a b")


class Structure(ctypes.Structure):
    _fields_ = [("a", ctypes.c_int), ("b", ctypes.c_char * 8)]


class Referent(Hurting):
    """A proxy hands every question on to it."""

    __hash__ = count


class Dead:
    pass


HURTING = object.__new__(Referent)
object.__setattr__(HURTING, "a", 7)
HUGE = 1 << 3_400_000  # more than 10**6 digits
OUTSIDE = [
    weakref.ref(HURTING),
    weakref.proxy(HURTING),
    weakref.proxy(Dead()),  # which has ended
    Structure(3, b"text"),
    (ctypes.c_int * 3)(1, 2, 3),
    ctypes.pointer(ctypes.c_int(5)),
    HUGE,
    -HUGE,
    "\ud800\udfff" * 9,
]
OUTSIDE[3].c = 8  # beside its fields
NAMES = [
    "a",
    "b",
    "c",
    "price",
    "plain",
    "data",
    "lazy",
    "text",
    "größe",
    "_Slotted__private",
    "extra",
    "missing",
]
NAMES += ["__dict__", "__class__", "__doc__", "only_meta"]


def make_leaf():
    return chance.choice(
        [
            lambda: (
                chance.getrandbits(chance.choice([1, 8, 30, 31, 62, 63, 64, 65, 300]))
                * chance.choice([1, -1])
            ),
            lambda: chance.random() * 1e9,
            lambda: "".join(
                chance.choice("aä\u20ac\U0001f600\ud800") for _ in range(chance.randrange(30))
            ),
            lambda: "ascii" * chance.randrange(5),
            lambda: bytes(chance.randrange(256) for _ in range(chance.randrange(20))),
            lambda: None,
            lambda: True,
            lambda: OwnInt(chance.getrandbits(70)),
            lambda: OwnStr("own"),
            lambda: {1, 2, 3},
            lambda: count,
            lambda: WithMeta,
            lambda: Base,
            lambda: types,
            lambda: chance.choice(OUTSIDE),
        ]
    )()


def make_dict(level):
    made = chance.choice([dict, OwnDict])()
    for _ in range(chance.randrange(6)):
        key = chance.choice(
            [
                chance.choice(NAMES),
                chance.randrange(-3, 4),
                (1,),
                EvilKey(f"evil{chance.randrange(3)}"),
            ]
        )
        if not isinstance(key, EvilKey) or not any(
            isinstance(each, EvilKey) for each in dict.keys(made)
        ):
            dict.__setitem__(made, key, make_any(level))
    return made


def make_instance(level):
    kind = chance.choice(
        [Hurting, Base, Slotted, Child, WithMeta, Stolen, Mixed, EvilNames, types.SimpleNamespace]
    )
    made = kind() if kind is types.SimpleNamespace else object.__new__(kind)
    for name in chance.sample(NAMES[:11], chance.randrange(6)):
        try:
            if name == "data" and kind in (Base, Child):  # behind the data descriptor
                object.__getattribute__(made, "__dict__")["data"] = make_any(level)
            else:
                object.__setattr__(made, name, make_any(level))
        except (AttributeError, RuntimeError, TypeError):
            global hooks
            hooks = 0
    if chance.random() < 0.2:
        try:
            own = object.__getattribute__(made, "__dict__")  # it is made
            if chance.random() < 0.5:
                dict.__setitem__(own, EvilKey("evil"), 1)
        except AttributeError:
            pass
    if chance.random() < 0.2:
        try:
            object.__delattr__(made, chance.choice(NAMES[:4]))
        except (AttributeError, RuntimeError, TypeError):
            hooks = 0
    return made


def make_any(level):
    if level <= 0 or chance.random() < 0.3:
        return make_leaf()
    several = [make_any(level - 1) for _ in range(chance.randrange(5))]
    return chance.choice(
        [
            lambda: several,
            lambda: tuple(several),
            lambda: OwnList(several),
            lambda: OwnTuple(several),
            lambda: Point(make_any(level - 1), 2),
            lambda: make_dict(level - 1),
            lambda: make_instance(level - 1),
            lambda: make_instance(level - 1),
        ]
    )()


# ---- the oracle ----

MRO = type.__dict__["__mro__"].__get__
CLASS_DICT = type.__dict__["__dict__"].__get__


def find_in_dict(mapping, name):
    """By identity and exact types, never by ==."""
    items = (
        dict.items(mapping) if isinstance(mapping, dict) else types.MappingProxyType.items(mapping)
    )
    for key, value in items:
        if type(key) is type(name) and (type(key) in (str, int)) and key == name:
            return value
    return MISSING


def find_in_types(kind, name):
    for base in MRO(kind):
        found = find_in_dict(CLASS_DICT(base), name)
        if found is not MISSING:
            return found
    return MISSING


def has(kind, name):
    return find_in_types(kind, name) is not MISSING


def attribute(value, name):
    kind = type(value)
    if issubclass_raw(kind, type):
        found = find_in_types(value, name)
        return MISSING if found is MISSING or has(type(found), "__get__") else found
    found = find_in_types(kind, name)
    if type(found) is types.MemberDescriptorType:
        owner = types.MemberDescriptorType.__dict__["__objclass__"].__get__(found)
        if owner not in list(map(Same, MRO(kind))):
            return MISSING
        try:
            slot = found.__get__(value)
        except (AttributeError, TypeError):
            return MISSING
        return slot if slotted(owner) else MISSING
    if found is not MISSING and type(found) is TUPLE_GETTER:
        return found.__get__(value)
    own = instance_value(value, name)
    if own is not MISSING or found is MISSING:
        return own
    if has(type(found), "__get__") or has(type(found), "__set__") or has(type(found), "__delete__"):
        return MISSING
    return found


TUPLE_GETTER = type(Point.__dict__["a"])


class Same:
    """Compares by identity, whatever the metaclass says."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return self.value is (other.value if type(other) is Same else other)

    __hash__ = None


def slotted(owner):
    return owner in list(
        map(Same, (Slotted, Child, types.SimpleNamespace, types.FunctionType, types.ModuleType))
    )


def issubclass_raw(kind, base):
    return any(each is base for each in MRO(kind))


def instance_value(value, name):
    if issubclass_raw(type(value), types.ModuleType):
        return find_in_dict(vars(value), name)
    if not has_dict(type(value)):
        return MISSING
    try:
        return find_in_dict(object.__getattribute__(value, "__dict__"), name)
    except AttributeError:
        return MISSING


def has_dict(kind):
    return type.__dict__["__dictoffset__"].__get__(kind) != 0


def step(value, op, operand):
    kind = type(value)
    if op == ATTRIBUTE:
        return attribute(value, operand)
    if op == INDEX and not issubclass_raw(kind, dict):
        for base in (list, tuple):
            if issubclass_raw(kind, base):
                try:
                    return base.__getitem__(value, operand)
                except IndexError:
                    return MISSING
        return MISSING
    return find_in_dict(value, operand) if issubclass_raw(kind, dict) else MISSING


def utf8(text, most):
    data, truncated = b"", 0
    for number in range(str.__len__(text)):
        each = str.__getitem__(text, number)
        piece = b"?" if "\ud800" <= each <= "\udfff" else str.encode(each)
        if len(data) + len(piece) > most:
            return data, 1
        data += piece
    return data, truncated


def bits_of(real):
    return struct.unpack("=q", struct.pack("=d", real))[0]


def wanted_of(value, result, most):
    kind = type(value)
    if value is MISSING:
        return None
    if result == PRESENT:
        return 1, 0.0, b"", 0
    if result == TYPENAME:
        name = c_name(kind)
        return 0, 0.0, name[:most], int(len(name) > most)
    if result == LENGTH:
        for base in (str, list, tuple, bytes, dict, set, frozenset):
            if issubclass_raw(kind, base):
                return base.__len__(value), 0.0, b"", 0
        return None
    if result == STRING:
        if issubclass_raw(kind, str):
            return 0, 0.0, *utf8(value, most)
        if issubclass_raw(kind, bytes):
            return 0, 0.0, value[:most], int(len(value) > most)
        return None
    if issubclass_raw(kind, int):
        number = int.__int__(value)
        near = max(min(number, 2**63 - 1), -(2**63))
        shown = bits_of(float(near)) if result == DOUBLE else near
        return shown, float(near), b"", int(near != number)
    if issubclass_raw(kind, float):
        real = float.__float__(value)
        if result == DOUBLE:
            return bits_of(real), real, b"", 0
        number = int(real)
        near = max(min(number, 2**63 - 1), -(2**63))
        return near, real, b"", int(near != number)
    return None


def c_name(kind):
    name = type.__dict__["__name__"].__get__(kind)
    return C_NAMES.get(kind.__name__ if type(kind) is type else name, name).encode()


C_NAMES = {
    "SimpleNamespace": "types.SimpleNamespace",
    "ReferenceType": "weakref.ReferenceType",
    "ProxyType": "weakref.ProxyType",
    "CallableProxyType": "weakref.CallableProxyType",
}


# ---- paths ----


def random_step(value):
    kind = type(value)
    if chance.random() < 0.85:  # one that may lead somewhere
        if issubclass_raw(kind, dict):
            keys = [key for key in dict.keys(value) if type(key) in (str, int)]
            if keys:
                key = chance.choice(keys)
                return (KEY, key) if type(key) is str else (INDEX, key)
        if issubclass_raw(kind, list) or issubclass_raw(kind, tuple):
            return INDEX, chance.randrange(-6, 6)
    return chance.choice(
        [
            (ATTRIBUTE, chance.choice(NAMES)),
            (ATTRIBUTE, chance.choice(NAMES)),
            (INDEX, chance.choice([0, -1, 1 << 62, -(1 << 63)])),
            (KEY, chance.choice(NAMES)),
            (INDEX, chance.randrange(-2, 3)),
        ]
    )


SHARED = (type(None), bool, int, bytes, str)


def check(made):
    """One path; whether it leads to a value."""
    steps, value = [], made
    for _ in range(chance.randrange(5)):
        if value is MISSING:
            break
        steps.append(random_step(value))
        before = value
        # the program first: the oracle makes dicts
        program = encode(GIVEN, "", steps, PRESENT)
        is_present = fetch_main.run(program, made) is not None
        value = step(before, *steps[-1])
        assert is_present == (value is not MISSING), (
            steps,
            is_present,
            type.__repr__(type(before)),
        )
    fetch_main.run(encode(GIVEN, "", steps, chance.choice([REPR, REPR_WITH_SECRETS]), 300), made)
    result, most = chance.randrange(1, 7), chance.choice([1, 5, 40, 4096])
    references = sys.getrefcount(value)
    found = fetch_main.run(encode(GIVEN, "", steps, result, most), made)
    assert sys.getrefcount(value) == references or type(value) in SHARED
    wanted = wanted_of(value, result, most)
    assert found == wanted, (steps, result, most, found, wanted)
    return wanted is not None


def locals_and_globals(argument, *rest):
    """Variables of the frame that calls: arguments, cells, free variables, unbound ones."""
    cell = argument
    unbound = 1
    del unbound

    def inner():
        assert fetch_main.run(encode(LOCAL, "cell", [], INT), None)[0] == cell
        assert fetch_main.run(encode(LOCAL, "argument", [], INT), None) is None

    inner()
    assert fetch_main.run(encode(LOCAL, "argument", [], INT), None)[0] == argument
    assert fetch_main.run(encode(LOCAL, "cell", [], INT), None)[0] == argument
    assert fetch_main.run(encode(LOCAL, "rest", [(INDEX, -1)], STRING), None)[2] == b"last"
    assert fetch_main.run(encode(LOCAL, "unbound", [], PRESENT), None) is None
    assert fetch_main.run(encode(GLOBAL, "NAMES", [(INDEX, 0)], STRING), None)[2] == b"a"
    assert fetch_main.run(encode(GLOBAL, "no such", [], PRESENT), None) is None
    return [fetch_main.run(encode(LOCAL, "each", [], INT), None)[0] for each in (7,)]


def wrong_programs():
    good = encode(LOCAL, "name", [(ATTRIBUTE, "a"), (INDEX, 1)], INT)
    for size in range(len(good)):
        try:
            fetch_main.run(good[:size], None)
        except ValueError:
            continue
        raise AssertionError(size)
    for _ in range(3000):
        bad = bytearray(good)
        for _ in range(chance.randrange(1, 4)):
            bad[chance.randrange(len(bad))] = chance.randrange(256)
        try:
            fetch_main.run(bytes(bad), [1, 2])
        except ValueError:
            pass


class Account:
    def __init__(self):
        self.name, self.api_key = "a", "hunter2"


Login = collections.namedtuple("Login", "user password")


class OwnLogin(Login):
    pass


class OwnBytes(bytes):
    pass


class Both:
    __slots__ = ("x", "__dict__")


REPR, REPR_WITH_SECRETS, LOCALS = 7, 8, 5


def shown(value, result=REPR, most=0):
    found = fetch_main.run(encode(GIVEN, "", [], result, most), value)
    return found[2].decode()


def texts():
    """Whole values: as repr() where there is one, limits, secrets."""
    both = Both()
    both.x, both.y = 1, 2
    looped = [1]
    looped.append(looped)
    looped.append(2)
    for value in (
        [None, True, -7, 2.5, 1e100, "it's\n\\", b"\x00'a\xff"],
        ((), (1,), {}, {"a": [1]}, set(), {3}, frozenset(), frozenset({3})),
        "größe \ud800 \x7f",
    ):
        assert eval(shown(value)) == value, shown(value)
    assert shown(datetime.date(2026, 1, 2)) == "datetime.date(2026, 1, 2)"
    wanted = {
        "Account(name='a', api_key=<redacted>)": Account(),
        "{'password': <redacted>, b'token': <redacted>, 'ok': 3}": {
            "password": 1,
            b"token": 2,
            "ok": 3,
        },
        "[('cookie', <redacted>)]": [("cookie", "x")],
        "Both(x=1, y=2)": both,
        "[1, [1, [1, list(…), 2], 2], 2]": looped,
        "<int of 501 bits>": 1 << 500,
        "OwnList([1])": OwnList([1]),
        "OwnDict({})": OwnDict(),
        "ValueError('no', 1)": ValueError("no", 1),
        "<function count>": count,
        "<class Account>": Account,
        "<object object>": object(),
        "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, …]": list(range(11)),
        f"'{'a' * 120}'… (121 characters)": "a" * 121,
        "Login(user='a', password=<redacted>)": Login("a", "hunter2"),
        "OwnLogin(user=1, password=<redacted>, 3)": tuple.__new__(OwnLogin, (1, 2, 3)),
        "{OwnBytes(b'token'): <redacted>}": {OwnBytes(b"token"): 1},
    }
    for text, value in wanted.items():
        assert shown(value) == text, shown(value)
    assert shown(Account(), REPR_WITH_SECRETS) == "Account(name='a', api_key='hunter2')"
    assert shown(Login("a", "b"), REPR_WITH_SECRETS) == "Login(user='a', password='b')"
    assert shown({"x" * 130 + "password": "hunter2"}).endswith("): <redacted>}")
    assert shown(["größe"] * 5, most=20) == "['größe', 'grö…"
    inner = [fetch_main.run(encode(LOCALS, "", [], REPR), None)[2]]
    assert inner[0].startswith(b"both=Both(x=1, y=2), looped=[1, ["), inner


class Color(enum.Enum):
    RED, TEXT = 1, "red"


@dataclasses.dataclass
class Line:
    count: int
    price: decimal.Decimal


class OwnPath(type(pathlib.Path())):
    pass


class UUID:
    """Another one of this name."""

    def __init__(self):
        self.int = 5


def make_numbers():
    """Where digits, words of digits and points begin and end."""
    texts = "0 -0 1.50 -3.7E+5 1E-7 1E-6 0.00001 0E+3 0.000 NaN -NaN sNaN Infinity -Infinity"
    yield from map(decimal.Decimal, f"{texts} 1E+999999 1E-999999 {'9' * 19} {'1' * 120}".split())
    for _ in range(3000):
        digits = tuple(chance.randrange(10) for _ in range(chance.randrange(1, 60)))
        yield decimal.Decimal((chance.randrange(2), digits, chance.randrange(-70, 70)))
    for bits in range(397):
        yield from ((1 << bits) - 1, -(1 << bits), chance.getrandbits(bits + 1))
    yield from (1j, -1j, 1 + 2j, complex(-0.0, 1), complex("nan"), complex(0.0, -0.0))


def make_known():
    yield from make_numbers()
    for bits in (1, 64, 127, 128):
        yield from (uuid.UUID(int=chance.getrandbits(bits)) for _ in range(50))
    yield from (Color.RED, Color.TEXT, [[Color.RED]])
    zones = [None, datetime.timezone.utc, datetime.timezone(datetime.timedelta(hours=-2))]
    for zone in zones:
        yield datetime.datetime(2026, 1, 2, tzinfo=zone)
        yield datetime.datetime(2026, 1, 2, 3, 4, 0, 7, tzinfo=zone)
        yield datetime.time(1, 2, 3, tzinfo=zone)
    for parts in [(0,), (1, 2, 3), (0, 5), (0, 0, -1), (-1,)]:
        yield datetime.timedelta(*parts)
    for text in ("/a/b", ".", "a", "/", "gr\u00f6\u00dfe/its"):
        path = pathlib.Path(text)
        yield from (path, path / "x" / "y", pathlib.PurePosixPath(text) / "/z" / "w")
        str(path)
        yield path


def known_types():
    """As repr() of Python has them; types that only look like them are not taken for them."""
    for value in make_known():
        assert shown(value) == repr(value), (shown(value), repr(value))
    assert shown(Line(2, decimal.Decimal("9.50"))) == "Line(count=2, price=Decimal('9.50'))"
    assert shown(decimal.Decimal("1" * 121)) == "<Decimal of 121 digits>"
    assert shown(UUID()) == "UUID(int=5)"
    assert shown(OwnPath("a")).startswith("OwnPath("), shown(OwnPath("a"))
    broken = object.__new__(uuid.UUID)
    assert shown(broken) == "<UUID object>"
    object.__setattr__(broken, "int", Hurting())
    assert shown(broken).startswith("UUID(int=")
    half = object.__new__(pathlib.PurePosixPath)
    assert shown(half) == "<PurePosixPath object>", shown(half)
    names = ["_raw_paths", "_parts"]
    for name in (each for each in names if hasattr(type(half), each)):
        object.__setattr__(half, name, ["a", Hurting()])
        assert shown(half).startswith(f"PurePosixPath({name}=['a', "), shown(half)
    arrays()


def arrays():
    try:
        import numpy
    except ImportError:  # a Python without it
        return
    for kind in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
        assert shown(getattr(numpy, kind)(100)) == f"np.{kind}(100)"
    assert shown([numpy.float32(1.5), numpy.bool_(True)]) == "[np.float32(1.5), np.True_]"
    if sys._is_gil_enabled() if hasattr(sys, "_is_gil_enabled") else True:
        assert shown(numpy.zeros((3, 4))) == "<numpy.ndarray of shape (3, 4), float64>"
        assert shown(numpy.zeros(5, "i2")) == "<numpy.ndarray of shape (5,), int16>"


def items_behind_removed_ones():
    """The first thousands of places are looked at; what is behind them is not shown as if it were not there."""
    kept, numbers = dict.fromkeys(range(9000)), set(range(20000))
    for number in range(5000):
        del kept[number]
    numbers.difference_update(range(15000))
    assert (shown(kept), shown(numbers)) == ("{…}", "{…}")
    few = dict.fromkeys(range(5000))
    for number in range(1, 4990):
        del few[number]
    assert shown(few) == "{0: None, …}"


COMPARED = {1: "__eq__", 2: "__ne__", 3: "__lt__", 4: "__le__", 5: "__gt__", 6: "__ge__"}


def conditions():
    """Random ones against all() and any() of Python, and bytes that are none."""
    texts = b"abbccd"
    for _ in range(3000):
        rows, clauses = b"", {}
        for clause in sorted(chance.randrange(4) for _ in range(chance.randrange(1, 9))):
            subject, operation = chance.choice([0, 1, 2, 0x82, 0x83]), chance.randrange(1, 7)
            is_text = subject < 3 and operation < 3 and chance.random() < 0.5
            number, at = chance.randrange(1, 9), chance.randrange(0, 5)
            rows += struct.pack(
                "=BBBBBxHH6xq", clause, 1, subject, operation, is_text, at, 2, number
            )
            value = 7 if subject < 3 else subject & 0x7F
            value = (b"ab", b"bc", b"cd")[subject] if is_text else value
            other = texts[at : at + 2] if is_text else number
            clauses.setdefault(clause, []).append(getattr(value, COMPARED[operation])(other))
        size = 16 + len(rows) + len(texts)
        made = struct.pack("=IBBBBHHI", size, 1, 4, len(rows) // 24, 0, 0, 0, 1) + rows + texts
        assert fetch_main.hold(made, 1) == any(map(all, clauses.values()))
        assert fetch_main.hold(made, 2) is True
        bad = bytearray(made)
        for _ in range(chance.randrange(1, 4)):
            bad[chance.randrange(len(bad))] = chance.randrange(256)
        fetch_main.hold(bytes(bad), 1)
        fetch_main.hold(made[: chance.randrange(len(made))], 1)


def main():
    if not fetch_main.is_supported():
        print("not supported")
        return
    assert locals_and_globals(5, "first", "last") == [7]
    wrong_programs()
    conditions()
    texts()
    known_types()
    items_behind_removed_ones()
    present = paths = 0
    while paths < int(sys.argv[3]):
        made = make_any(4)
        global hooks
        hooks = 0
        for _ in range(10):
            present += check(made)
            paths += 1
        assert hooks == 0, "a hook ran"
    gc.collect()
    print("ok", paths, present)


if __name__ == "__main__":
    main()
