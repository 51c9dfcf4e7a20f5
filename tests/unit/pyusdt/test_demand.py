"""With an embedded session attached: only what it asks for is converted, and nothing gets in the application's way."""

import asyncio
import contextlib
import os

import pytest

import pyusdt
from pydtrace._tracer import Session


class Counting:
    """Counts the times that it is converted."""

    def __init__(self):
        self.times = 0

    def __str__(self):
        self.times += 1
        return "text"


@contextlib.contextmanager
def session(name, demand):
    """A session of this process's own with itself."""
    made = Session()
    try:
        made.want("pyusdt*", "", "", name, demand)
        made.start()
        made.attach(os.getpid())
        yield made
    finally:
        made.close()


def test_a_session_enables_its_probe_and_no_other():
    probe = pyusdt.probe("user_trace-n7")
    assert not probe
    with session("user_trace-n7", {}):
        assert probe and pyusdt.pn(7) is True and probe() is True
        assert pyusdt.pn(8) is False and pyusdt.p() is False
    assert not probe and pyusdt.pn(7) is False


@pytest.mark.parametrize(
    ("demand", "converted"), [({}, 0), ({0: 64, 1: 64, 2: 0}, 0), ({6: 0}, 1), ({6: 64, 9: 8}, 2)]
)
def test_only_what_is_asked_for_is_converted(demand, converted):
    text = Counting()
    with session("user_trace-i4s4", demand):
        assert pyusdt.p(1, text, "b", "c", text) is True
    assert text.times == converted


@pytest.mark.parametrize(("demand", "asked"), [({2: 0}, 0), ({0: 64}, 1)])
def test_task_names_are_asked_for_on_demand_only(demand, asked):
    calls = 0

    class Named(asyncio.Task):
        def get_name(self):
            nonlocal calls
            calls += 1
            return super().get_name()

    async def main():
        assert pyusdt.p(1) is True

    with session("user_trace-i4s4", demand):
        loop = asyncio.new_event_loop()
        loop.run_until_complete(Named(main(), loop=loop))
        loop.close()
    assert calls == asked


def test_failures_stay_within_the_probe():
    class Failing:
        def __str__(self):
            raise ValueError

    with session("user_trace-i4s4", {6: 64, 7: 64}):
        assert pyusdt.p(1 << 100, Failing(), "\ud800" * 5000) is True


def test_a_session_and_a_tracer_at_once(tracer):
    """The site sees everything, whatever the session asks for."""
    text = Counting()
    with session("user_trace-i4s4", {2: 0}), tracer.attached("user_trace__i4s4") as events:
        assert pyusdt.p(5, text) is True
    assert text.times == 1
    assert events[0].values[:5] == [5, 0, 0, 0, b"text"]
