"""Damaged frames: what of them is text, and what they must not change."""

import pytest

from pydtrace.aggregation.int64 import unpack_words
from pydtrace.dlang.builtins.registry import AGGREGATIONS
from tests.support.dtrace_frames import frame, frames_of


@pytest.mark.parametrize(
    "damaged",
    [
        b"R0,1,0,123,4,5,0.7",
        b"R0,1,0,123,4,5,a,b,c",
        b"R-1,1,0,123,4,5,a,b,c,d,0.7",
        b"R0,1,0,123,4,5,a,b,c,d,-1.7",
        b"R0,1,0,123,4,5,a,b,c,d,0",
        b"R0,1,0,123,4,5,a,b,c,d,0.7.8",
        b"R0,1,0,123,4,5,a,b,c,d,0.0x7",
        b"R0,1,0,123,4,5,a,b,c,d,0.1_0",
        b"R0,1,0,123,4,5,a,b,c,d,0." + b"9" * 5000,
        b"R0,1,0,-3,4,5,a,b,c,d,0.7",
        b"R0,4294967296,0,123,4,5,a,b,c,d,0.7",
        b"B-1",
        b"B1_0",
        b"S-1",
        b"S9",
        b"T-1",
        b"A0,k;1",
        b"K1,x",
        b"P1,x",
    ],
)
def test_a_damaged_frame_is_text_and_changes_nothing(damaged):
    """Indices from behind, too few and too many fields, numbers that are none."""
    frames, _ = frames_of("BEGIN { trace(1); @a[1] = count(); @b[usym(1)] = count(); }")
    damaged = b"\1" + damaged.translate(bytes.maketrans(b",.;", b"\3\5\6")) + b"\4"
    assert (frames.feed(damaged), frames.text, frames.damaged, frames.items, frames.target) == (
        b"",
        damaged,
        1,
        [{}, {}],
        0,
    )
    assert not (frames.names or frames.begun or frames.exiting)


STACK = b"\n              a`f\n              a`g\n                3\n"  # of an aggregation whose key is one


@pytest.mark.parametrize(
    "said",
    [
        b"A0;7",
        b"A0,k;7",
        b"A0,1,2;7",
        b"A0,1;",
        b"A0,1;" + b"9" * 20,
        b"P0,\n 1 7\n",
        b"P0," + STACK,
        b"K0,x",
        b"A2,x;7",
        b"K2",
        b"P2," + STACK,
        b"K3,s\4\1P3,\n  s" + b" " * 49 + STACK[1:],
        b"Zwhat",
    ],
)
def test_a_snapshot_with_something_damaged_in_it_is_none(said):
    """What an aggregation had stays, and it is told."""
    frames, _ = frames_of(
        'BEGIN { @a[1] = count(); @b = count(); @c[usym(1)] = count(); @d["s", umod(1)] = count(); }'
    )
    index = int(said[1:2]) if said[1:2].isdigit() else 0
    said = (
        frame(f"S{index}")
        + b"\1"
        + said.translate(bytes.maketrans(b",;", b"\3\6"))
        + b"\4"
        + frame(f"T{index}")
    )
    whole = frame("S0") + frame("A0", b"1\0065") + frame("T0")
    frames.feed(whole)
    before = [dict(items) for items in frames.items]
    frames.feed(said)
    assert (frames.items, frames.stale_names()) == (before, ["abcd"[index]])
    frames.feed(frame("S0") + frame("A0", b"1\0066"))  # the end is missing
    frames.feed(frame("S1") + frame("T1") + frame("T0"))
    assert frames.items == before and "a" in frames.stale_names()
    frames.feed(whole)
    assert "a" not in frames.stale_names()


def test_the_least_of_all_numbers_is_an_average():
    frames, _ = frames_of("BEGIN { @ = avg(1); }")
    for value in (-(1 << 63), 0, -1, (1 << 63) - 1):
        frames.feed(frame("S0") + frame(f"A0\6{value}") + frame("T0"))
        assert int(AGGREGATIONS["avg"].make_value((), unpack_words(frames.items[0][b""]))) == value
