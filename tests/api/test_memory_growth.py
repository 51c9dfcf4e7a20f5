"""Memory while tracing goes on: soak.py, for seconds, and for an hour."""

import pytest

from tests.support import memory_soak


def check(seconds, rate, folder, most, bufsize="8m"):
    lines, wrong = memory_soak.report(memory_soak.soak(seconds, rate, str(folder), bufsize), most)
    print("\n".join(lines))
    assert not wrong


def test_seconds_of_tracing_take_no_more_memory(tmp_path):
    """So short a run still fills its caches; its rings are small, so that what waits in them is, however busy the machine."""
    check(5, 4000, tmp_path, most=4096, bufsize="256k")


@pytest.mark.long
def test_an_hour_of_tracing(tmp_path):
    check(3600, 2000, tmp_path, memory_soak.GROWTH)


def test_growth_is_seen():
    """A tracer that keeps a KiB more each second."""
    steady = [(t, 40_000 + t % 3) for t in range(100)]
    assert abs(memory_soak.growth(steady)) <= 2
    leaking = {
        "API": [(t, 40_000 + 20 * t) for t in range(100)],
        "pydtrace": steady,
        "target": steady,
    }
    _, wrong = memory_soak.report((leaking, {"API": (8, 1), "pydtrace": (8, 0)}, 9))
    assert wrong == ["pydtrace got 8 and dropped 0 of 9", "API grew by 1000 KiB"]
