"""-x maxcpu: whose work ends the tracing, and who is cut off instead."""

import os

import pytest

from pydtrace.driver import cpu_limit

OWN, ALICE, BOB = os.geteuid(), 54001, 54002


class Case:
    """A tracing that may take 25 %, whose clock and work a test sets."""

    def __init__(self, monkeypatch):
        self.now = self.used = self.others = 0.0
        self.work, self.cut, self.told = {}, [], []
        monkeypatch.setattr(cpu_limit.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(cpu_limit.time, "process_time", lambda: self.used)
        self.cost = cpu_limit.CpuLimit(
            25, lambda: -self.others, lambda: dict(self.work), self.cut.append, self.told.append
        )

    def window(self, used, **work):
        """Ten seconds of which so many were used.  work: {user: units, or seconds that were measured}."""
        self.now += 10.0
        self.used += used
        for name, more in work.items():
            uid = {"own": OWN, "alice": ALICE, "bob": BOB}[name]
            units, seconds = self.work.get(uid, (0, 0.0))
            self.work[uid] = (
                (units + more, seconds) if isinstance(more, int) else (units, seconds + more)
            )
        return self.cost.check_limit()


@pytest.fixture
def case(monkeypatch):
    return Case(monkeypatch)


def test_within_the_bound(case):
    assert case.window(2.4, alice=100, bob=1) == "" and not case.cut and not case.told


def test_who_costs_most_is_cut_off(case):
    assert case.window(4.0, alice=300, bob=80, own=20) == ""
    assert case.cut == [ALICE]
    assert case.told == [
        (
            f"processes of user {ALICE} are traced no more: they have taken 30 % of a processor of this tracing for 10 s, and "
            "-x maxcpu=25 is what all may take"
        )
    ]
    assert case.window(2.0, bob=80) == "" and case.cut == [ALICE]


def test_two_at_once(case):
    assert case.window(9.0, alice=500, bob=400) == "" and case.cut == [ALICE, BOB]
    assert case.window(9.0, own=400).startswith(
        "tracing stops: it has taken 90 % of a processor for 10 s, and -x maxcpu=25 "
    )


def test_processes_that_come_and_go_cost_without_events(case):
    assert case.window(4.0, alice=3.0, bob=500) == "" and case.cut == [ALICE]


def test_own_processes_end_it(case):
    """Nobody is cut off where that would not help."""
    assert (
        "tracing stops: it has taken 50 %" in case.window(5.0, own=400, alice=100) and not case.cut
    )


def test_without_users(case):
    assert "tracing stops: it has taken 50 %" in case.window(5.0) and not case.told


def test_connections_are_not_events(case):
    case.others = 4.0
    assert case.window(5.0, alice=100) == "" and not case.cut
