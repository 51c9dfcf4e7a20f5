"""Memory while tracing goes on: soak.py, for seconds, and for an hour."""

import pytest
import soak


def check(seconds, rate, folder):
    lines, wrong = soak.report(soak.soak(seconds, rate, str(folder)))
    print("\n".join(lines))
    assert not wrong


def test_seconds_of_tracing_get_every_event_and_no_more_memory(tmp_path):
    check(8, 2000, tmp_path)


@pytest.mark.long
def test_an_hour_of_tracing(tmp_path):
    check(3600, 2000, tmp_path)


def test_growth_is_seen():
    """A tracer that keeps a KiB more each second."""
    steady = [(t, 40_000 + t % 3) for t in range(100)]
    assert abs(soak.growth(steady)) <= 2
    leaking = {"API": [(t, 40_000 + 20 * t) for t in range(100)], "pydtrace": steady, "target": steady}
    lines, wrong = soak.report((leaking, {"API": 9, "pydtrace": 8}, 9, 0))
    assert wrong == ["pydtrace got 8 of 9", "API grew by 1000 KiB"]
