"""A profile as a flame graph: the data of its page."""

from __future__ import annotations

from pydtrace.profile import flame_tree
from pydtrace.profile.flamegraph import render_flamegraph
from pydtrace.profile.frame_key import FrameKey
from pydtrace.profile.stack_profile import Profile
from tests.support.made_up.flame_pages import boxes_of, page_data
from tests.support.made_up.made_profiles import LEAF, MAIN, NASTY, WORK, made


def test_flame():
    """Boxes are as wide as their share, and stand below their callers' one beside the other."""
    assert boxes_of(render_flamegraph(made(), "app")) == {
        ("all", 0): (0, 1),
        ("main", 1): (0, 1),
        ("work", 2): (0, 0.9),
        ("leaf", 3): (0, 0.6),
        ("work", 3): (0.6, 0.3),
    }


def test_texts():
    data = page_data(render_flamegraph(made(), "app"))
    assert data["text"][:3] == ["10 samples, 100.0%", "10 samples, 100.0%", "9 samples, 90.0%"]
    assert data["names"][1] == ["main", "/app.py", "/app.py"]


def test_flame_of_nothing_and_of_much(monkeypatch):
    assert boxes_of(render_flamegraph(Profile(97, "all threads"), "nothing")) == {}
    profile = Profile(97, "all threads")
    profile.add_sample((), (MAIN,), 1_000_000)
    profile.add_sample((), (LEAF,))  # narrower than can be seen
    profile.add_sample((), (WORK,) * 3000, 1_000_000)
    found = boxes_of(render_flamegraph(profile, "deep"))
    assert ("leaf", 1) not in found and max(row for _, row in found) == 2000
    assert found["main", 1][0] < 0.000001 and abs(found["work", 1][0] - 0.5) < 0.00001
    monkeypatch.setattr(flame_tree, "MAX_BOXES", 100)
    assert max(row for _, row in boxes_of(render_flamegraph(profile, "deep"))) < 100


def test_names_are_text():
    profile = Profile(97, "all threads")
    profile.add_sample((("thread", "{{DATA}}\x1b"),), (NASTY, FrameKey(("</script>", "", None))))
    page = render_flamegraph(profile, "<title>&{{DATA}}", ["</p><script>"])
    assert page.count("<script") == 2 and page.count("</script>") == 2 and "\x1b" not in page
    assert "<title>&lt;title&gt;&amp;{{DATA}}</title>" in page
    names = [name for name, *_ in page_data(page)["names"]]
    assert names == ["all", "{{DATA}}\\x1b", "<script>a;b</script>\\n\\x1b", "</script>"]
