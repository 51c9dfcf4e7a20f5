"""A profile as folded stacks, for flamegraph.pl, speedscope, inferno and grep: sorted lines
"thread;outermost;…;innermost samples".

- No name contains a semicolon or a newline, so every line can be read back.
"""

from __future__ import annotations

from pydtrace.untrusted.terminal_escape import escape_for_terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .stack_profile import Profile


def _escape_word(text: str) -> str:
    return escape_for_terminal(text).replace(";", ",")


def fold_stacks(profile: Profile) -> str:
    lines = []
    for thread, stacks in profile.group_by_thread():
        for stack, n in stacks:
            words = ([thread] if thread else []) + [place.text for place in stack]
            lines.append(f"{';'.join(map(_escape_word, words))} {n}\n")
    return "".join(sorted(lines))
