"""What differs between two profiles."""

from __future__ import annotations

import json

import pytest

from pydtrace.differences.difference_text import encode_difference, render_difference
from pydtrace.differences.profile_difference import DifferentUnits, ProfileDifference
from pydtrace.profile.frame_key import FrameKey
from pydtrace.profile.stack_amounts import StackAmounts
from tests.support.made_up.made_profiles import LEAF, MAIN, NASTY, WORK


def amounts(stacks: dict, unit: str = "samples", one: float | None = 1.0) -> StackAmounts:
    made = StackAmounts(unit, one)
    made.stacks.update(stacks)
    return made


def row(difference: ProfileDifference, place: FrameKey):
    return next(each for each in difference.rows if each.place == place)


BEFORE = {(MAIN, LEAF): 500, (MAIN, WORK): 500}
AFTER = {(MAIN, LEAF): 1500, (MAIN, WORK): 500}


def test_shares():
    found = ProfileDifference(amounts(BEFORE), amounts(AFTER), by_amount=False)
    leaf, main = row(found, LEAF), row(found, MAIN)
    assert (leaf.own.before, leaf.own.after) == (0.5, 0.75) and leaf.exceeds_chance
    assert main.total.difference == 0 and not main.exceeds_chance
    assert abs(leaf.own.margin - 0.0362) < 0.001
    assert [each.place for each in found.rows[:2]] == [LEAF, WORK]


def test_amounts():
    """The work of WORK is the same; only that of LEAF has grown."""
    found = ProfileDifference(amounts(BEFORE), amounts(AFTER), by_amount=True)
    assert row(found, LEAF).own.difference == 1000 and row(found, LEAF).exceeds_chance
    assert row(found, WORK).own.difference == 0 and not row(found, WORK).exceeds_chance


def test_amounts_of_other_rates():
    """Seconds are compared, whatever the rate: 500 samples of 10 ms are 5 s as 5,000 of 1 ms are."""
    before = amounts({(MAIN,): 5.0}, "seconds", 0.01)
    after = amounts({(MAIN,): 5.0}, "seconds", 0.001)
    assert ProfileDifference(before, after, True).rows[0].own.p == pytest.approx(1, abs=0.05)
    twice = amounts({(MAIN,): 10.0}, "seconds", 0.001)
    assert ProfileDifference(before, twice, True).rows[0].exceeds_chance


def test_few_samples_show_nothing():
    found = ProfileDifference(
        amounts({(MAIN, LEAF): 5, (MAIN, WORK): 5}),
        amounts({(MAIN, LEAF): 8, (MAIN, WORK): 2}),
        False,
    )
    assert not any(each.exceeds_chance for each in found.rows)
    assert "0 of 3 functions changed by more" in render_difference(found, "a", "b")


def test_what_was_measured_has_no_chance():
    found = ProfileDifference(
        amounts(BEFORE, "seconds", None), amounts(AFTER, "seconds", None), False
    )
    text = render_difference(found, "a", "b")
    assert "what chance explains is not known" in text and "*" not in text and "±" not in text
    assert json.loads(encode_difference(found).splitlines()[0])["exceeds_chance"] is None


def test_units_must_be_the_same():
    with pytest.raises(DifferentUnits, match="the first profile has samples, the second bytes"):
        ProfileDifference(amounts(BEFORE), amounts(AFTER, "bytes", None), False)


def test_nothing():
    """Profiles without samples, and two that are the same."""
    empty = ProfileDifference(amounts({}), amounts({}), False)
    assert render_difference(empty, "a", "b").endswith("no difference\n")
    grown = ProfileDifference(amounts({}), amounts(AFTER), False)
    assert "a profile has no samples" in render_difference(grown, "a", "b")
    assert row(grown, MAIN).total.after == 1 and not row(grown, MAIN).exceeds_chance


def test_text():
    before, after = amounts({**BEFORE, (NASTY,): 1}), amounts(AFTER)
    lines = render_difference(
        ProfileDifference(before, after, False), "a.txt", "much longer\n"
    ).splitlines()
    assert lines[0] == "before  a.txt          1001 samples"
    assert lines[1] == "after   much longer\\n  2000 samples"
    assert lines[2].startswith("2 of 4 functions changed by more than the chance of sampling")
    cells = " 50.0%  75.0%  +25.0 ± 3.6  *"
    assert f"{cells}  {cells}  leaf (/app.py)" in lines
    assert not any("\x1b" in line for line in lines)


def test_bytes():
    found = ProfileDifference(
        amounts({(MAIN,): 3 << 20}, "bytes", None), amounts({(MAIN,): 5 << 20}, "bytes", None), True
    )
    assert "3 MiB  5 MiB  +2 MiB" in render_difference(found, "a", "b")
