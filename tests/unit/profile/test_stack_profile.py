"""The room that a profile takes."""

from __future__ import annotations

from pydtrace.profile import stack_profile as profiles
from pydtrace.profile.frame_key import FrameKey, pseudo_frame
from pydtrace.profile.stack_profile import Profile
from tests.support.made_up.made_profiles import LEAF, MAIN, made


def test_room(monkeypatch):
    """However many stacks a process shows."""
    monkeypatch.setattr(profiles, "MAX_FRAMES", 5)
    profile = made()
    profile.add_sample((), (LEAF, LEAF), 4)
    assert profile.counts == {"left_out": 7} and profile.samples == 14
    assert profile.stacks[(), (pseudo_frame("left out"),)] == 7


def test_more_names_than_there_is_room_for(monkeypatch):
    """Of a process that calls itself something else all the time."""
    monkeypatch.setattr(profiles, "MAX_TEXT", 30 + profiles.NAME_OVERHEAD)
    profile = Profile(100, "threads")
    places = [profile.intern_frame(FrameKey((f"function {i}", "/f.py", None))) for i in range(5)]
    assert [place.function for place in places] == ["function 0", "function 1", *["[left out]"] * 3]
    assert profile.intern_frame(FrameKey(("function 0", "/f.py", None))) is places[0]
    for place in places:
        profile.add_sample((), (place,))
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
        profile.add_sample((("thread", f"tag {i}"),), (MAIN,))
    left = (pseudo_frame("left out"),)
    assert profile.stacks == {
        **{((("thread", f"tag {i}"),), (MAIN,)): 1 for i in range(3)},
        **{((("thread", f"tag {i}"),), left): 1 for i in (3, 4)},
        ((("thread", "[left out]"),), left): 995,
    }
    assert profile.counts == {"left_out": 997} and profile.samples == 1000
