"""A profile as pprof's file, read by `go tool pprof`."""

from __future__ import annotations

import builtins
import subprocess

import pytest

from pydtrace.profile import pprof_schema
from pydtrace.profile.frame_key import FrameKey
from pydtrace.profile.pprof import encode_pprof
from pydtrace.profile.stack_profile import Profile
from tests.support import harness
from tests.support.made_up.made_profiles import MAIN, NASTY, made

MODULE = FrameKey(("<module>", "/app.py", 7))


def go_pprof(path, *options: str) -> str:
    done = subprocess.run(
        ["go", "tool", "pprof", *options, str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done
    return done.stdout


@pytest.fixture
def write(tmp_path):
    if lacking := harness.tools("go"):
        pytest.skip(f"host: {lacking} is not installed")

    def write(profile: Profile):
        path = tmp_path / "made.pb.gz"
        path.write_bytes(encode_pprof(profile, "python app.py"))
        return path

    return write


def test_go_reads_it(write):
    profile = made()
    profile.began_ns = 1_700_000_000_000_000_000
    profile.add_sample((("thread", "worker 7"), ("task", "")), (MODULE, MAIN), 2)
    raw = go_pprof(write(profile), "-raw")
    assert "Period: 10000000" in raw and "Time: 2023-11-14 22:13:20" in raw
    assert "PeriodType: cpu nanoseconds" in raw and "samples/count cpu/nanoseconds[dflt]" in raw
    assert "thread:[worker 7]" in raw and "task" not in raw
    assert "<module> /app.py:7" in raw and "Comment: python app.py" in raw
    top = go_pprof(write(profile), "-top").splitlines()
    rows = {row[-1]: (row[0], row[3]) for row in map(str.split, top[6:])}
    assert rows["leaf"] == ("60ms", "60ms") and rows["work"] == ("30ms", "90ms")
    assert rows["<module>"] == ("0", "20ms")


def test_what_is_measured_has_no_samples(write):
    exact = Profile(1_000_000, "waits", is_exact=True)
    exact.add_sample((), (MAIN,), 250_000)
    raw = go_pprof(write(exact), "-raw")
    assert "samples/count" not in raw and "offcpu/nanoseconds" in raw and "250000000: 1" in raw


def test_nothing_and_names_that_are_markup(write):
    assert "0% of 0 total" in go_pprof(write(Profile(97, "all threads")), "-top")
    profile = Profile(97, "all threads")
    profile.add_sample((("tag", "\x1b[2J\udcff"),), (NASTY,))
    raw = go_pprof(write(profile), "-raw")
    assert "\x1b" not in raw and "tag:[\\x1b[2J" in raw


def test_without_protobuf(monkeypatch):
    real = builtins.__import__

    def refuse(name: str, *rest: object):
        if name.startswith("google"):
            raise ImportError(name)
        return real(name, *rest)

    pprof_schema.load_profile_message.cache_clear()
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(pprof_schema.NoProtobuf, match=r"pip install 'pydtrace\[pprof\]'"):
        encode_pprof(made(), "app")
