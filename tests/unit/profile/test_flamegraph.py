"""A profile as a flame graph."""

from __future__ import annotations

from xml.etree import ElementTree

from pydtrace.profile.flamegraph import TOP, WIDTH, render_flamegraph
from pydtrace.profile.stack_profile import Profile
from tests.support.made_up.made_profiles import LEAF, MAIN, WORK, made


def boxes(drawn: str) -> dict[tuple[str, int], tuple[float, float]]:
    """{(name, row): (x, width)}"""
    found = {}
    for box in ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}g"):
        rect = box.find("{http://www.w3.org/2000/svg}rect")
        found[box.get("data-name"), int(box.get("data-row"))] = (
            float(rect.get("x")),
            float(rect.get("width")),
        )
    return found


def test_flame():
    """Boxes are as wide as their share, and stand below their callers' one beside the other."""
    found = boxes(render_flamegraph(made(), "app"))
    assert found == {
        ("all", 0): (0, WIDTH),
        ("main (/app.py)", 1): (0, WIDTH),
        ("work (/app.py)", 2): (0, WIDTH * 0.9),
        ("leaf (/app.py)", 3): (0, WIDTH * 0.6),
        ("work (/app.py)", 3): (WIDTH * 0.6, WIDTH * 0.3),
    }


def test_flame_of_nothing_and_of_much():
    assert boxes(render_flamegraph(Profile(97, "all threads"), "nothing")) == {}
    profile = Profile(97, "all threads")
    profile.add_sample((), (MAIN,), 1_000_000)
    profile.add_sample((), (LEAF,))  # narrower than can be seen
    profile.add_sample((), (WORK,) * 3000, 1_000_000)
    found = boxes(render_flamegraph(profile, "deep"))
    assert ("leaf (/app.py)", 1) not in found and max(row for _, row in found) == 2000
    assert f'height="{TOP + 2001 * 17 + 10}"' in render_flamegraph(profile, "deep")
