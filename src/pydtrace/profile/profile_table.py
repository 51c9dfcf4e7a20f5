"""A profile as a table for a terminal: the functions with most of the time, and the quality of the
samples.

- Missed, torn and left out samples are reported.
"""

from __future__ import annotations

from pydtrace.untrusted.terminal_escape import escape_for_terminal

from .short_paths import ShortPaths
from .stack_profile import RUNNING_THREADS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .stack_profile import Profile

ROWS = 25
_REMARKS = {
    "torn": "samples of stacks that moved too fast to be read whole: their innermost functions are [moving]",
    "moved": "samples of stacks that moved while they were read: lines may be mixed",
    "lost": "samples of stacks that could not be followed: [lost]",
    "cut": "samples of stacks that were deeper than --frames",
    "no_native": "samples of stacks whose native frames are not all there",
    "unread": "samples whose stack was not read: [not read]",
    "dropped": "events were lost: some waits are missing",
    "left_out": "samples of stacks for which there was no room: [left out]",
}


MIN_UNSEEN = 0.05  # seconds that are worth a remark


def render_head(profile: Profile) -> str:
    if profile.is_exact:
        return f"{profile.format_amount(profile.samples)} of {profile.rounds} {profile.thread_kind} in {profile.seconds:.1f} s\n"
    return f"{profile.format_amount(profile.samples)} of {profile.thread_kind} in {profile.seconds:.1f} s, {profile.rounds} rounds at {profile.hz} Hz\n"


def render_unseen(profile: Profile) -> str:
    """What to know of children."""
    if profile.unseen_seconds < MIN_UNSEEN:
        return ""
    return f"{profile.unseen_seconds:.2f} s of processor time of child processes were not seen: these ended before a sample of them was taken\n"


def render_remarks(profile: Profile) -> str:
    """What to know of them."""
    lines = [
        f"{n} {words if n > 1 else words.replace('samples', 'sample').replace('events were', 'event was')}\n"
        for kind, words in _REMARKS.items()
        if (n := profile.counts[kind])
    ]
    if profile.missed_rounds:
        lines.append(
            f"{profile.missed_rounds} {'round was' if profile.missed_rounds == 1 else 'rounds were'} missed: the machine was busy, or the round before took too long\n"
        )
    lines.append(render_unseen(profile))
    if profile.rounds and not profile.samples and profile.thread_kind == RUNNING_THREADS:
        lines.append(
            "no thread ran: pyusdt dump says where they wait, --wall counts those that wait, too\n"
        )
    return "".join(lines)


def render_table(profile: Profile, whole_paths: bool = False, rows: int = ROWS) -> str:
    """The functions by their own share."""
    functions, samples = profile.rank_functions(), profile.samples
    paths = ShortPaths({} if whole_paths else {place.file for place, _, _ in functions})
    if not samples:
        return ""
    lines = ["  SELF   TOTAL  FUNCTION\n"]
    lines += [
        f"{own / samples:6.1%}  {total / samples:6.1%}  {escape_for_terminal(place.shorten(paths).text)}\n"
        for place, own, total in functions[:rows]
    ]
    if len(functions) > rows:
        lines.append(f"                … and {len(functions) - rows} more\n")
    return "".join(lines)


def render_profile(profile: Profile, whole_paths: bool = False) -> str:
    return (
        render_head(profile)
        + render_remarks(profile)
        + ("\n" + render_table(profile, whole_paths) if profile.samples else "")
    )
