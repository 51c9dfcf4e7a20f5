"""A profile as folded stacks."""

from __future__ import annotations

from pydtrace.profile.folded import fold_stacks
from pydtrace.profile.frame_key import pseudo_frame
from tests.support.made_up.made_profiles import MAIN, made


def test_folded():
    profile = made()
    profile.add_sample((("thread", "worker 7"),), (MAIN, pseudo_frame("moving")), 2)
    assert fold_stacks(profile) == (
        "main (/app.py) 1\nmain (/app.py);work (/app.py);leaf (/app.py) 6\n"
        "main (/app.py);work (/app.py);work (/app.py) 3\nworker 7;main (/app.py);[moving] 2\n"
    )
