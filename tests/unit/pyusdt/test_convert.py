"""What depends on the values: it never raises because a tracer is there."""

import array
import ctypes
import gc
import sys
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyusdt

NOTHING = [None] * 4


def wrapped(number: int) -> int:
    return ctypes.c_int64(number & (1 << 64) - 1).value


def cut(data: bytes, limit: int = 1023) -> bytes:
    """Up to the first NUL, and to the last whole character within the limit."""
    data = data.split(b"\0")[0]
    if len(data) <= limit:
        return data
    end = limit
    while data[end] & 0xC0 == 0x80 and limit - end < 3:
        end -= 1
    return data[:limit] if data[end] & 0xC0 == 0x80 else data[:end]


PLACES = [
    ((), [0, 0, 0, 0, *NOTHING]),
    ((1,), [1, 0, 0, 0, *NOTHING]),
    ((1, 2, "a"), [1, 2, 0, 0, b"a", None, None, None]),
    ((1, 2, 3, 4, "a", "b", "c", "d"), [1, 2, 3, 4, b"a", b"b", b"c", b"d"]),
    (("a", "b", "c", "d"), [0, 0, 0, 0, b"a", b"b", b"c", b"d"]),
    ((1, 2, 3, 4, 5, 6), [1, 2, 3, 4, b"5", b"6", None, None]),
    (("a", 1), [0, 0, 0, 0, b"a", b"1", None, None]),
    (("a", True, -5), [0, 0, 0, 0, b"a", b"True", b"-5", None]),
    (("a", "b", "c", "d", "e"), [0, 0, 0, 0, b"a", b"b", b"c", b"d"]),
    ((True, False), [1, 0, 0, 0, *NOTHING]),
    ((1, None, 3, "a", None, "c"), [1, 0, 3, 0, b"a", None, b"c", None]),
    ((None, None, "a"), [0, 0, 0, 0, b"a", None, None, None]),
    ((1 << 64, -1, (1 << 63), -(1 << 63) - 1), [0, -1, -(1 << 63), (1 << 63) - 1, *NOTHING]),
    ((1.5, "a"), [0, 0, 0, 0, b"1.5", b"a", None, None]),
    (
        (b"raw\xff", bytearray(b"ba"), memoryview(b"view"), array.array("b", [65, 66])),
        [0, 0, 0, 0, b"raw\xff", b"ba", b"view", b"AB"],
    ),
    (("", b"", bytearray()), [0, 0, 0, 0, b"", b"", b"", None]),
    (("a\0b", b"c\0d", memoryview(b"e\0f"), "ü\0x"), [0, 0, 0, 0, b"a", b"c", b"e", "ü".encode()]),
    (
        ("ascii", "latin-é", "bmp-€", "astral-😀"),
        [0, 0, 0, 0, *(s.encode() for s in ("ascii", "latin-é", "bmp-€", "astral-😀"))],
    ),
    (
        ("\ud800x", "€\udfff", [1, "\ud800"]),
        [0, 0, 0, 0, b"?x", "€?".encode(), b"[1, '\\ud800']", None],
    ),
    ((memoryview(b"abcdef")[::2],), [0, 0, 0, 0, *NOTHING]),
]


@pytest.mark.parametrize(("arguments", "values"), PLACES)
def test_places(arguments, values, fired):
    assert fired(lambda: pyusdt.p(*arguments)).values == values


def test_raw_calls_keep_every_value_in_its_place(fired):
    event = fired(
        lambda: pyusdt.user_trace_i4s4("own tag", 1, "no integer", None, 4, None, "b", 3, b"d")
    )
    assert (event.tag, event.values) == (b"own tag", [1, 0, 0, 4, None, b"b", b"3", b"d"])
    event = fired(lambda: pyusdt.user_trace_i4s4())
    assert (event.tag, event.values) == (None, [0, 0, 0, 0, *NOTHING])


@pytest.mark.parametrize("size", [1021, 1022, 1023, 1024, 1025, 1026, 5000])
@pytest.mark.parametrize("character", ["a", "é", "€", "😀"])
def test_long_strings_are_cut_between_characters(character, size, fired):
    for lead in ("", "x", "xx", "xxx"):
        text = (lead + character * size)[:size]
        encoded = text.encode()
        event = fired(
            lambda text=text, encoded=encoded: pyusdt.p(text, encoded, bytearray(encoded))
        )
        assert event.values[4:7] == [cut(encoded)] * 3


def test_bytes_that_are_no_text_are_cut_at_the_limit(fired):
    assert fired(lambda: pyusdt.p(b"\x80" * 2000)).values[4] == b"\x80" * 1023


@settings(max_examples=300, deadline=None)
@given(
    integers=st.lists(st.integers(-(1 << 70), 1 << 70), max_size=4),
    strings=st.lists(st.text(max_size=1200) | st.binary(max_size=1200), max_size=4),
)
def test_any_arguments(integers, strings, tracer):
    with tracer.attached("user_trace__i4s4") as events:
        assert pyusdt.p(*integers, *strings) is True
    data = [cut(s if isinstance(s, bytes) else s.encode("utf-8", "replace")) for s in strings]
    assert events[0].values == (
        [wrapped(i) for i in integers] + [0] * (4 - len(integers)) + data + [None] * (4 - len(data))
    )


class Failing:
    def __init__(self, exception):
        self.exception = exception

    def __str__(self):
        raise self.exception


class NoText:
    def __str__(self):
        return 3  # noqa: PLE0307 (what is tested)


@pytest.mark.parametrize(
    "bad",
    [
        Failing(ValueError("x")),
        Failing(SystemExit(3)),
        Failing(MemoryError()),
        Failing(GeneratorExit()),
        NoText(),
    ],
    ids=["ValueError", "SystemExit", "MemoryError", "GeneratorExit", "not-a-string"],
)
def test_what_str_raises_does_not_get_out(bad, fired):
    assert fired(lambda: pyusdt.p(1, "a", bad, "c")).values == [1, 0, 0, 0, b"a", None, b"c", None]


def test_an_interrupt_within_str_is_not_lost(tracer):
    """Ctrl-C that arrives while a probe calls str() is raised after the probe, not swallowed with it."""
    with tracer.attached("user_trace__i4s4") as events, pytest.raises(KeyboardInterrupt):
        assert pyusdt.p(Failing(KeyboardInterrupt())) is True
        for _ in range(1000):
            pass
    assert events[0].values == [0, 0, 0, 0, *NOTHING]


def test_exceptions_being_handled_stay(fired):
    def run():
        try:
            raise KeyError("mine")
        except KeyError as error:
            result = pyusdt.p(Failing(ValueError()))
            assert sys.exc_info()[1] is error
        return result

    assert fired(run).values == [0, 0, 0, 0, *NOTHING]


def test_a_probe_within_str_fires_too(tracer):
    class Nested:
        def __str__(self):
            pyusdt.p(1, "inner")
            return "outer"

    with tracer.attached("user_trace__i4s4") as events:
        pyusdt.p(2, Nested())
    assert [(event.values[0], event.values[4]) for event in events] == [
        (1, b"inner"),
        (2, b"outer"),
    ]


def test_endless_recursion_in_str_ends(tracer):
    class Endless:
        def __str__(self):
            pyusdt.p(self)
            return "x"

    with tracer.attached("user_trace__i4s4") as events:
        assert pyusdt.p(Endless()) is True
    assert events[0].values[4] is None and events[-1].values[4] == b"x"
    assert len(events) > 10


def test_argument_changed_by_another_ones_str(fired):
    victim = bytearray(b"before")

    class Shrinks:
        def __str__(self):
            victim.extend(b"x" * 100_000)
            return "done"

    # the buffer is held while str() runs, so it can not be resized: that is an error in __str__, and absent here
    assert fired(lambda: pyusdt.p(victim, Shrinks())).values[4:6] == [b"before", None]
    assert victim == b"before"


def test_nothing_is_leaked(tracer):
    class Object:
        def __str__(self):
            return "öbject" * 400

    def fire():
        pyusdt.p(1 << 80, 2, "é" * 3000, b"b" * 3000, Object(), Failing(ValueError()))
        pyusdt.user_trace_s1(memoryview(b"m"))
        pyusdt.probe("user_trace-i4s4").lazy(lambda: (1, Object()))

    with tracer.attached("user_trace__i4s4", "user_trace__s1"):
        fire()
        tracer.collect()
        gc.collect()
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            for _ in range(1000):
                fire()
            tracer.count.value = 0
            gc.collect()
            grown = tracemalloc.get_traced_memory()[0] - before
        finally:
            tracemalloc.stop()
    assert grown < 20_000  # an object for each round would be more


def test_a_traced_string_keeps_no_copy(fired):
    text = "é" * 100_000
    size = sys.getsizeof(text)
    fired(lambda: pyusdt.p(text))
    assert sys.getsizeof(text) == size
