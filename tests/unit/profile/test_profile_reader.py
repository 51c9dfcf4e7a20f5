"""Profiles that are read from files."""

from __future__ import annotations

import gzip
import json

import pytest

from pydtrace.profile import profile_reader, stack_amounts
from pydtrace.profile.folded import fold_stacks
from pydtrace.profile.frame_key import FrameKey
from pydtrace.profile.pprof import encode_pprof
from pydtrace.profile.profile_reader import read_profile
from pydtrace.profile.speedscope import make_speedscope
from pydtrace.profile.stack_amounts import UnreadableProfile
from pydtrace.profile.stack_profile import Profile
from tests.support.made_up.made_profiles import LEAF, MAIN, NASTY, WORK, made

SAME = {(MAIN, WORK, LEAF): 6, (MAIN, WORK, WORK): 3, (MAIN,): 1}


@pytest.fixture
def read(tmp_path):
    def read(data: str | bytes, lines: bool = False):
        path = tmp_path / "profile"
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return read_profile(str(path), lines)

    return read


def test_folded(read):
    found = read(fold_stacks(made()))
    assert (found.unit, found.samples, found.stacks) == ("samples", 10, SAME)


def test_gzip(read):
    assert read(gzip.compress(fold_stacks(made()).encode())).stacks == SAME


def test_speedscope(read):
    """Seconds; how many samples they are follows from the weights, also where no stack was seen once only."""
    found = read(json.dumps(make_speedscope(made(), "app")))
    assert found.unit == "seconds" and found.samples == 10
    assert found.stacks[MAIN, WORK, LEAF] == pytest.approx(0.06)
    profile = made()
    profile.stacks.pop(((), (MAIN,)))
    profile.add_sample((), (MAIN,), 4)
    profile.add_sample((), (LEAF,), 97)
    profile.hz = 97
    assert read(json.dumps(make_speedscope(profile, "app"))).samples == 110


def test_pprof(read):
    found = read(encode_pprof(made(), "app"))
    assert (found.unit, found.samples) == ("seconds", 10)
    assert found.stacks == {stack: pytest.approx(n / 100) for stack, n in SAME.items()}
    exact = Profile(1_000_000, "waits", is_exact=True)
    exact.add_sample((), (MAIN,), 250_000)
    found = read(encode_pprof(exact, "app"))
    assert (found.unit, found.samples, found.stacks) == ("seconds", None, {(MAIN,): 0.25})


def test_damaged_pprof(read):
    """Whatever byte is another one, it is read or refused."""
    data = gzip.decompress(encode_pprof(made(), "app"))
    refused = 0
    for at in range(len(data)):
        for value in (0, 0x7F, 0xFF):
            try:
                read(data[:at] + bytes([value]) + data[at + 1 :])
            except UnreadableProfile:
                refused += 1
    assert refused > 50


def test_lines(read):
    profile = made()
    profile.add_sample((), (FrameKey(("main", "/app.py", 7)),), 2)
    text = fold_stacks(profile)
    assert read(text).stacks[MAIN,] == 3
    assert read(text, lines=True).stacks[FrameKey(("main", "/app.py", 7)),] == 2


def test_threads_have_no_number(read):
    profile = made()
    for number in (11, 22):
        profile.add_sample((("thread", f"worker {number}"),), (MAIN,))
    found = read(fold_stacks(profile))
    assert found.stacks[FrameKey(("worker", "", None)), MAIN] == 2


def test_names_come_back(read):
    profile = made()
    profile.add_sample((), (NASTY,))
    (stack,) = (stack for stack in read(fold_stacks(profile)).stacks if stack not in SAME)
    assert len(stack) == 1 and "script" in stack[0].function


def evented(events: list) -> str:
    return json.dumps(
        {
            "shared": {"frames": [{"name": "f"}, {"name": "g", "file": "x.py", "line": 1}]},
            "profiles": [
                {"type": "evented", "unit": "milliseconds", "startValue": 0, "events": events}
            ],
        }
    )


def test_events(read):
    """What was measured has no samples."""
    found = read(
        evented(
            [
                {"type": "O", "frame": 0, "at": 0},
                {"type": "O", "frame": 1, "at": 10},
                {"type": "C", "frame": 1, "at": 40},
                {"type": "C", "frame": 0, "at": 50},
            ]
        )
    )
    f, g = FrameKey(("f", "", None)), FrameKey(("g", "x.py", None))
    assert found.samples is None and found.unit == "seconds"
    assert found.stacks == {(f,): pytest.approx(0.02), (f, g): pytest.approx(0.03)}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("a;b 3\nnonsense\n", "line 2 is no folded stack"),
        ("a;b -3\n", "line 1 is no folded stack"),
        (" 3\n", "line 1 is no folded stack"),
        (b"\x7fELF\0\0", "line 1 is no folded stack"),
        ("{", "no JSON"),
        ("{}", "no file of speedscope"),
        ('{"shared": {"frames": [1]}, "profiles": []}', "no file of speedscope"),
        ('{"a":' * 100_000, "no JSON"),
        (evented([{"type": "C", "frame": 0, "at": 0}]), "no file of speedscope"),
        (evented([{"type": "O", "frame": 9, "at": 0}, {"type": "C", "frame": 9, "at": 5}]), "no f"),
        (evented([{"type": "O", "frame": 0, "at": -5}]), "no file of speedscope"),
        (b"\x1f\x8b" + b"x" * 100, "damaged gzip data"),
    ],
)
def test_what_is_wrong(read, data, said):
    with pytest.raises(UnreadableProfile, match=said):
        read(data)


def test_limits(read, monkeypatch):
    monkeypatch.setattr(profile_reader, "MAX_BYTES", 1 << 20)
    for data in (b"a 1\n" * (1 << 19), gzip.compress(b"a 1\n" * (1 << 19))):
        with pytest.raises(UnreadableProfile, match="larger than 1 MiB"):
            read(data)
    monkeypatch.setattr(stack_amounts, "MAX_FRAMES", 3)
    with pytest.raises(UnreadableProfile, match="more than 3 frames"):
        read("a;b;c;d 1\n")
