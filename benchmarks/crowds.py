"""How the cost of an event grows with the number of those who take part: sessions, processes, threads; live.

Input: rounds.
Output: Curves.

- What is fired in one burst fits the rings, and every event is accounted for (subjects.py).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing

import subjects
from curve import Curve

BURST = 2_000  # events, by all together
PAUSE = 0.02  # seconds, in which they are consumed
BURSTS = 10  # for one figure
COUNT = (
    'pyusdt*:::user_trace-i4s4 { @ = count(); fired++; } END { printf("delivered %d\\n", fired); }'
)


def figures(subject, operation: str, n: int, rounds: int) -> tuple[list[float], list[float]]:
    """Nanoseconds of an event of bursts of n by each who fires: what they say themselves, and what the consumers take for all."""
    fired, consumed = [], []
    for kept in range(-1, rounds):
        before, took = subject.consumer_nanoseconds(), 0
        for _ in range(BURSTS):
            took += subject.ask(operation, n)
            time.sleep(PAUSE)
        if kept >= 0:
            fired.append(took / (BURSTS * n))
            consumed.append((subject.consumer_nanoseconds() - before) / (BURSTS * BURST))
    return fired, consumed


def sessions(rounds: int) -> Iterator[Curve]:
    """As many tracers of one process, each of which gets all its events."""
    fired, consumed = {}, {}
    for size in (1, 8, 63):
        with closing(subjects.SharedSubject(COUNT, size)) as subject:
            fired[size], consumed[size] = figures(subject, "p", BURST, rounds)
    yield Curve("sessions", "a firing", fired, proportional=True, budget=1.5)
    yield Curve("sessions", "their consumers", consumed, proportional=True, budget=1.5)


def processes(rounds: int) -> Iterator[Curve]:
    """As many processes, one tracer of all."""
    consumed = {}
    for size in (1, 10, 100, 500):
        with closing(subjects.FamilySubject(COUNT, size)) as subject:
            consumed[size] = figures(subject, "p", BURST // size, rounds)[1]
    yield Curve("processes", "consumer", consumed)


def threads(rounds: int) -> Iterator[Curve]:
    """As many threads of one process in C, which fire at the same time."""
    fired, consumed = {}, {}
    for size in (1, 2, 4, 8, 16):
        with closing(subjects.TracedCoreSubject(COUNT)) as subject:
            fired[size], consumed[size] = figures(subject, str(size), BURST // size, rounds)
    yield Curve("threads", "a firing", fired, budget=2.0)
    yield Curve("threads", "consumer", consumed, budget=2.0)


def curves(rounds: int) -> Iterator[Curve]:
    yield from sessions(rounds)
    yield from processes(rounds)
    yield from threads(rounds)
