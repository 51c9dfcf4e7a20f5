"""Programs whose calls leave Python's own frames and come back, whose code is freed, whose threads and children end while they are sampled.

In: programs/odd.py.  Out: samples of its stacks.
Always: a stack is one that the program can have, or is marked; the program goes on; nothing fails.
"""

from __future__ import annotations

import re
import sys
import time
from collections import Counter

import pytest
import stacks_harness as harness

from pyusdt.data.profile import Profile
from pyusdt.stacks.sampler import RUNNING, Options, Sampler

WANTED = 30  # samples that are in innermost()
# What may stand where, outermost first; "?" is what was gone before its name was read.  A greenlet has a stack of its own, which begins
# with its own function.  Names are read a moment after the stack and kept for a second: another function may have the memory of a freed one
# by then, so the names of those that are freed are any of theirs.
FREED = r"(<module>|made_\d+|\?)"
POSSIBLE = {
    "generator_in_c": "<module>;generator_in_c;generator;innermost",
    "called_back": "<module>;called_back;(compare|<lambda>);innermost",
    "freed_code": f"<module>;freed_code;{FREED};{FREED};innermost",
    "switches": "(ping|pong);innermost",
    "cython": "<module>;cython;action;innermost",
    "threads_that_end": "_bootstrap;_bootstrap_inner;run;innermost",
    "forks": r"(<module>|\?);(forks|\?);innermost",  # a child that ends
}
OF_THIS_PYTHON = {"switches", "cython"}  # the others have no greenlet and no Cython


def cases() -> list:
    return [pytest.param(python, kind, id=f"{harness.name_of(python)}-{kind}", marks=() if python == sys.executable else pytest.mark.long)
            for python in harness.INTERPRETERS for kind in POSSIBLE if python == sys.executable or kind not in OF_THIS_PYTHON]


def inside(profile: Profile) -> Counter[str]:
    """{names of a stack: its samples} of those in innermost().  (Only from 3.11 on are names those with their classes.)"""
    found: Counter[str] = Counter()
    for (_, stack), n in profile.stacks.items():
        if stack[-1].function == "innermost":
            found[";".join(place.function.rpartition(".")[2] for place in stack)] += n
    return found


@pytest.mark.parametrize(("python", "kind"), cases())
def test_stacks_are_possible(python, kind):
    with harness.running(python, "odd.py", kind) as subject:
        profile = Profile(100, "running threads")
        sampler, until = Sampler(profile, Options(RUNNING), lambda: None), time.monotonic() + 60
        sampler.add(subject.pid)
        sampler.retry()
        while inside(profile).total() < WANTED:
            assert sampler.look() and time.monotonic() < until, (sampler.why_none, profile.stacks)
            sampler.add_children()
            sampler.retry()
            time.sleep(0.002)
        sampler.close()
        assert subject.process.poll() is None
    assert [names for names in inside(profile) if not re.fullmatch(POSSIBLE[kind], names)] == []
