"""The difference of two profiles as a flame graph."""

from __future__ import annotations

from pydtrace.differences.difference_page import render_difference_page
from pydtrace.differences.profile_difference import ProfileDifference
from pydtrace.profile.stack_amounts import StackAmounts
from tests.support.made_up.flame_pages import boxes_of, page_data
from tests.support.made_up.made_profiles import LEAF, MAIN, WORK


def page(one: float | None = 1.0, times: int = 100, **options: bool) -> str:
    sides = []
    for leaf, work in ((5, 5), (8, 2)):
        made = StackAmounts("samples", one)
        made.stacks.update({(MAIN, LEAF): leaf * times, (MAIN, WORK): work * times})
        sides.append(made)
    difference = ProfileDifference(*sides, options.get("by_amount", False))
    return render_difference_page(difference, "<before>", "after")


def colours(text: str) -> dict[str, tuple[int, float]]:
    data = page_data(text)
    names = [data["names"][number][0] for number in data["name"]]
    return dict(zip(names, map(tuple, data["colour"]), strict=True))


def test_widths_and_colours():
    """Red has grown, blue has shrunk; both sides can be seen."""
    text = page()
    assert boxes_of(text)["leaf", 2] == (0, 0.8) and boxes_of(text, 1)["leaf", 2] == (0, 0.5)
    assert boxes_of(text)["work", 2] == (0.8, 0.2)
    found = colours(text)
    assert found["leaf"] == (8, 1.0) and found["work"][0] == 215 and found["main"][1] == 0
    assert "50.0% before, 80.0% after (+30.0 points)" in page_data(text)["text"]
    assert "&lt;before&gt;, 1000 samples" in text and "grey: chance explains it" in text


def test_what_chance_explains_is_grey():
    assert {strength for _, strength in colours(page(times=1)).values()} == {0}


def test_without_samples_all_changes_have_colours():
    text = page(one=None, times=1)
    assert colours(text)["leaf"] == (8, 1.0) and "what chance explains is not known" in text


def test_amounts():
    assert "500 before, 800 after (+300)" in page_data(page(by_amount=True))["text"]
