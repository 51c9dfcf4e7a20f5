"""A profile as tables of text."""

from __future__ import annotations

import re

from pydtrace.profile import profile_table
from pydtrace.profile.folded import fold_stacks
from pydtrace.profile.stack_profile import RUNNING_THREADS, Profile
from tests.support.made_up.made_profiles import LEAF, MAIN, NASTY, WORK, made


def test_functions():
    """A function that calls itself is counted once."""
    assert made().rank_functions() == [(LEAF, 6, 6), (WORK, 3, 9), (MAIN, 1, 10)]
    assert made().samples == 10


def test_table():
    profile = made()
    assert profile_table.render_profile(profile) == (
        "10 samples of running threads in 0.1 s, 10 rounds at 100 Hz\n\n"
        "  SELF   TOTAL  FUNCTION\n"
        " 60.0%   60.0%  leaf (/app.py)\n"
        " 30.0%   90.0%  work (/app.py)\n"
        " 10.0%  100.0%  main (/app.py)\n"
    )
    assert profile_table.render_table(profile, rows=1).endswith(
        "leaf (/app.py)\n                … and 2 more\n"
    )
    assert profile_table.render_table(Profile(97, "all threads")) == ""
    profile.missed_rounds = 1
    assert (
        profile_table.render_remarks(profile)
        == "1 round was missed: the machine was busy, or the round before took too long\n"
    )
    profile.counts.update(torn=2, left_out=1)
    profile.missed_rounds = 3
    said = profile_table.render_remarks(profile)
    assert re.match(
        r"2 samples of stacks that moved too fast.*\n1 sample of .* no room.*\n3 rounds were missed",
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
    profile.add_sample((("thread", "thread\x1b;"),), (NASTY,))
    assert profile_table.render_table(profile).splitlines()[1:] == [
        "100.0%  100.0%  <script>a;b</script>\\n\\x1b (\"'&.py:3)"
    ]
    assert fold_stacks(profile) == "thread\\x1b,;<script>a,b</script>\\n\\x1b (\"'&.py:3) 1\n"
