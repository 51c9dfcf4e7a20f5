"""A profile as a sampler would have made it."""

from __future__ import annotations

from pydtrace.profile.frame_key import FrameKey
from pydtrace.profile.stack_profile import Profile

MAIN, WORK, LEAF = (FrameKey((name, "/app.py", None)) for name in ("main", "work", "leaf"))


NASTY = FrameKey(("<script>a;b</script>\n\x1b", "\"'&.py", 3))


def made() -> Profile:
    profile = Profile(100, "running threads")
    profile.add_sample((), (MAIN, WORK, LEAF), 6)
    profile.add_sample((), (MAIN, WORK, WORK), 3)
    profile.add_sample((), (MAIN,))
    profile.seconds, profile.rounds = 0.1, 10
    return profile
