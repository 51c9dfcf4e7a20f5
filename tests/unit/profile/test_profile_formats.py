"""What is made of a profile: tables, folded stacks, speedscope's file and flame graphs of made-up samples."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import fastjsonschema
import pytest

from pydtrace.profile import profile_table
from pydtrace.profile import stack_profile as profiles
from pydtrace.profile.flamegraph import TOP, WIDTH, render_flamegraph
from pydtrace.profile.folded import fold_stacks
from pydtrace.profile.frame_key import FrameKey, pseudo_frame
from pydtrace.profile.speedscope import make_speedscope
from pydtrace.profile.stack_profile import RUNNING_THREADS, Profile
from tests.support.speedscope_schema import VALID, check_speedscope

MAIN, WORK, LEAF = (FrameKey((name, "/app.py", None)) for name in ("main", "work", "leaf"))
NASTY = FrameKey(("<script>a;b</script>\n\x1b", "\"'&.py", 3))


def made() -> Profile:
    profile = Profile(100, "running threads")
    profile.add_sample("", (MAIN, WORK, LEAF), 6)
    profile.add_sample("", (MAIN, WORK, WORK), 3)
    profile.add_sample("", (MAIN,))
    profile.seconds, profile.rounds = 0.1, 10
    return profile


def test_functions():
    """A function that calls itself is counted once."""
    assert made().rank_functions() == [(LEAF, 6, 6), (WORK, 3, 9), (MAIN, 1, 10)]
    assert made().samples == 10


def test_table():
    profile = made()
    assert profile_table.render_profile(profile) == (
        "10 samples of running threads in 0.1 s, 10 looks at 100 Hz\n\n"
        "  SELF   TOTAL  FUNCTION\n"
        " 60.0%   60.0%  leaf (/app.py)\n"
        " 30.0%   90.0%  work (/app.py)\n"
        " 10.0%  100.0%  main (/app.py)\n"
    )
    assert profile_table.render_table(profile, 1).endswith(
        "leaf (/app.py)\n                … and 2 more\n"
    )
    assert profile_table.render_table(Profile(97, "all threads")) == ""
    profile.missed_rounds = 1
    assert (
        profile_table.render_remarks(profile)
        == "1 look was missed: the machine was busy, or the look before took too long\n"
    )
    profile.counts.update(torn=2, left_out=1)
    profile.missed_rounds = 3
    said = profile_table.render_remarks(profile)
    assert re.match(
        r"2 samples of stacks that moved too fast.*\n1 sample of .* no room.*\n3 looks were missed",
        said,
    )


def test_where_no_thread_ran_it_says_what_to_ask():
    profile = Profile(97, RUNNING_THREADS)
    profile.rounds = 5
    assert (
        "no thread ran: pyusdt dump says where they wait, --wall counts those that wait, too\n"
        in profile_table.render_profile(profile)
    )
    waiting = Profile(97, "all threads")
    waiting.rounds = 5
    assert "no thread ran" not in profile_table.render_profile(waiting)


def test_names_obey_nobody():
    profile = Profile(97, "all threads")
    profile.add_sample("thread\x1b;", (NASTY,))
    assert profile_table.render_table(profile).splitlines()[1:] == [
        "100.0%  100.0%  <script>a;b</script>\\n\\x1b (\"'&.py:3)"
    ]
    assert fold_stacks(profile) == "thread\\x1b,;<script>a,b</script>\\n\\x1b (\"'&.py:3) 1\n"
    drawn = render_flamegraph(profile, "<title>&")
    tree = ElementTree.fromstring(drawn)
    names = [box.get("data-name") for box in tree.iter("{http://www.w3.org/2000/svg}g")]
    assert names == ["all", "thread\\x1b;", "<script>a;b</script>\\n\\x1b (\"'&.py:3)"]
    assert len(list(tree.iter("{http://www.w3.org/2000/svg}script"))) == 1


def test_folded():
    profile = made()
    profile.add_sample("worker 7", (MAIN, pseudo_frame("moving")), 2)
    assert fold_stacks(profile) == (
        "main (/app.py) 1\nmain (/app.py);work (/app.py);leaf (/app.py) 6\n"
        "main (/app.py);work (/app.py);work (/app.py) 3\nworker 7;main (/app.py);[moving] 2\n"
    )


def test_the_schema_refuses_what_is_wrong():
    file = make_speedscope(made(), "app")
    for wrong in (
        {**file, "profiles": 1},
        {**file, "profiles": [{**file["profiles"][0], "unit": "years"}]},
        {**file, "shared": {}},
    ):
        with pytest.raises(fastjsonschema.JsonSchemaException):
            VALID(wrong)


def test_speedscope():
    profile = made()
    profile.add_sample("worker", (NASTY, MAIN))
    file = make_speedscope(profile, "app")
    check_speedscope(file)
    first, second = file["profiles"]
    assert (first["name"], second["name"]) == ("app", "worker")
    assert sum(first["weights"]) == pytest.approx(0.10) == first["endValue"] and second[
        "weights"
    ] == [0.01]
    names = [frame["name"] for frame in file["shared"]["frames"]]
    assert [[names[number] for number in stack] for stack in first["samples"]] == [
        ["main", "work", "leaf"],
        ["main", "work", "work"],
        ["main"],
    ]
    assert file["shared"]["frames"][-1] == {"name": NASTY.function, "file": NASTY.file, "line": 3}


def test_speedscope_of_nothing():
    check_speedscope(make_speedscope(Profile(97, "all threads"), "nothing"))


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
    profile.add_sample("", (MAIN,), 1_000_000)
    profile.add_sample("", (LEAF,))  # narrower than can be seen
    profile.add_sample("", (WORK,) * 3000, 1_000_000)
    found = boxes(render_flamegraph(profile, "deep"))
    assert ("leaf (/app.py)", 1) not in found and max(row for _, row in found) == 2000
    assert f'height="{TOP + 2001 * 17 + 10}"' in render_flamegraph(profile, "deep")


def test_room(monkeypatch):
    """However many stacks a process shows."""
    monkeypatch.setattr(profiles, "MAX_FRAMES", 5)
    profile = made()
    profile.add_sample("", (LEAF, LEAF), 4)
    assert profile.counts == {"left_out": 7} and profile.samples == 14
    assert profile.stacks["", (pseudo_frame("left out"),)] == 7


def test_more_names_than_there_is_room_for(monkeypatch):
    """Of a process that calls itself something else all the time."""
    monkeypatch.setattr(profiles, "MAX_TEXT", 30 + profiles.NAME_OVERHEAD)
    profile = Profile(100, "threads")
    places = [profile.intern_frame(FrameKey((f"function {i}", "/f.py", None))) for i in range(5)]
    assert [place.function for place in places] == ["function 0", "function 1", *["[left out]"] * 3]
    assert profile.intern_frame(FrameKey(("function 0", "/f.py", None))) is places[0]
    for place in places:
        profile.add_sample("", (place,))
    assert profile.counts == {"left_out": 3} and profile.samples == 5


def test_names_without_a_letter_take_room(monkeypatch):
    """Of a process that says of each line that it is of another function without a name, in a file without one."""
    monkeypatch.setattr(profiles, "MAX_TEXT", 10 * profiles.NAME_OVERHEAD)
    profile = Profile(100, "threads")
    kept = {profile.intern_frame(FrameKey(("", "", line))) for line in range(1000)}
    assert len(kept) == 12 and pseudo_frame("left out") in kept


def test_more_threads_and_stacks_than_there_is_room_for(monkeypatch):
    """Of a process whose threads have another tag at each look: what stands for the samples that found no room grew with each of them."""
    monkeypatch.setattr(profiles, "MAX_STACKS", 3)
    monkeypatch.setattr(profiles, "MAX_TEXT", 2 * profiles.NAME_OVERHEAD)
    profile = Profile(100, "threads")
    for i in range(1000):
        profile.add_sample(f"tag {i}", (MAIN,))
    left = (pseudo_frame("left out"),)
    assert profile.stacks == {
        **{(f"tag {i}", (MAIN,)): 1 for i in range(3)},
        **{(f"tag {i}", left): 1 for i in (3, 4)},
        ("[left out]", left): 995,
    }
    assert profile.counts == {"left_out": 997} and profile.samples == 1000
