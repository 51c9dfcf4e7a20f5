"""The live blocks of a heap as a table of stacks with lines, and as a profile whose unit is bytes."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from pydtrace.differences.difference_text import format_amount
from pydtrace.profile.frame_key import FrameKey, pseudo_frame
from pydtrace.profile.short_paths import ShortPaths
from pydtrace.profile.stack_profile import Profile
from pydtrace.untrusted.terminal_escape import escape_for_terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydtrace.remote_python.heap_table import HeapBlock, HeapSnapshot, HeapTable

ROWS = 10
SHOWN_FRAMES = 8  # of a stack in the table
NO_STACK = pseudo_frame("no Python function")


class HeapProfile(Profile):
    """What is counted are bytes that live."""

    pprof_type = ("inuse_space", "bytes")

    def __init__(self) -> None:
        super().__init__(1, "blocks", is_exact=True)

    def format_amount(self, n: int) -> str:
        return format_amount(n, "bytes")


class HeapState(NamedTuple):
    """at: ns of the monotonic clock."""

    snapshot: HeapSnapshot
    at: int

    def blocks_older_than(self, seconds: float) -> list[HeapBlock]:
        return [
            each for each in self.snapshot.blocks if self.at - each.born >= seconds * 1_000_000_000
        ]


class HeapReport:
    """before: the state at about half of the time; after: the last one; older: seconds that a block has to live."""

    def __init__(
        self, table: HeapTable, before: HeapState, after: HeapState, older: float = 0
    ) -> None:
        self._table, self.before, self.after = table, before, after
        self._older = older
        self._stacks: dict[int, tuple[FrameKey, ...]] = {}

    def read_names(self) -> None:
        """While the process lives."""
        for each in self.after.snapshot.blocks:
            self._find_stack(each.stack)

    def _weigh_stacks(self, state: HeapState, older: float) -> Counter[tuple[FrameKey, ...]]:
        """{stack, innermost first: bytes that live}."""
        weights: Counter[tuple[FrameKey, ...]] = Counter()
        for each in state.blocks_older_than(older):
            weights[self._find_stack(each.stack)] += each.weight
        return weights

    def _find_stack(self, number: int) -> tuple[FrameKey, ...]:
        """Innermost first."""
        if number not in self._stacks:
            frames, has_more = self._table.read_stack(number)
            places = [FrameKey((each.name, each.file, each.line)) for each in frames]
            places += [pseudo_frame("more")] if has_more else []
            self._stacks[number] = tuple(places) or (NO_STACK,)
        return self._stacks[number]

    def make_profile(self) -> HeapProfile:
        profile = HeapProfile()
        profile.rounds = len(self.after.blocks_older_than(self._older))
        profile.seconds = self._seconds
        for stack, weight in self._weigh_stacks(self.after, self._older).items():
            places = [profile.intern_frame(place) for place in stack]
            profile.add_sample((), profile.fold_stack(reversed(places)), weight)
        return profile

    @property
    def _seconds(self) -> float:
        return (self.after.at - self.after.snapshot.began) / 1e9

    # --- text -------------------------------------------------------------------------

    def render(self, whole_paths: bool = False) -> str:
        weights = self._weigh_stacks(self.after, self._older)
        earlier = self._weigh_stacks(self.before, max(0.0, self._older - self._half))
        blocks = Counter(
            self._find_stack(each.stack) for each in self.after.blocks_older_than(self._older)
        )
        rows = weights.most_common(ROWS)
        paths = ShortPaths(
            {} if whole_paths else {place.file for stack, _ in rows for place in stack}
        )
        lines = [self.render_head(), self.render_remarks()]
        if rows:
            lines.append("\n      LIVE      GROWN  BLOCKS  STACK\n")
        for stack, weight in rows:
            lines += self._render_row(weight, weight - earlier[stack], blocks[stack], stack, paths)
        if len(weights) > len(rows):
            rest = weights.total() - sum(weight for _, weight in rows)
            lines.append(
                f"… and {len(weights) - len(rows)} more stacks with {format_amount(rest, 'bytes')}\n"
            )
        return "".join(lines)

    @property
    def _half(self) -> float:
        return (self.after.at - self.before.at) / 1e9

    def render_head(self) -> str:
        live, snapshot = self._weigh_stacks(self.after, self._older).total(), self.after.snapshot
        older = f" and are older than {self._older:g} s" if self._older else ""
        return (
            f"{format_amount(live, 'bytes')} live that were allocated in {self._seconds:.1f} s{older}, of "
            f"{format_amount(snapshot.allocated, 'bytes')}; one sample in {format_amount(snapshot.mean, 'bytes')}; "
            f"GROWN: in the last {self._half:.1f} s\n"
        )

    def render_remarks(self) -> str:
        snapshot = self.after.snapshot
        remarks = [
            (snapshot.no_room, f"{snapshot.no_room} samples found no room and are missing\n"),
            (
                snapshot.other_threads,
                f"{snapshot.other_threads} samples were of threads whose Python stack cannot be read, and are missing\n",
            ),
            (
                snapshot.is_displaced,
                "another tool has replaced the allocators: blocks that were freed since then look alive\n",
            ),
        ]
        return "".join(text for is_so, text in remarks if is_so)

    @staticmethod
    def _render_row(
        weight: int, grown: int, blocks: int, stack: Sequence[FrameKey], paths: ShortPaths
    ) -> list[str]:
        names = [escape_for_terminal(place.shorten(paths).text) for place in stack[:SHOWN_FRAMES]]
        if len(stack) > SHOWN_FRAMES:
            names.append(f"… {len(stack) - SHOWN_FRAMES} more")
        sign = "+" if grown > 0 else ""
        head = f"{format_amount(weight, 'bytes'):>10} {sign + format_amount(grown, 'bytes'):>10} {blocks:7}  "
        return [
            f"{head if not i else ' ' * len(head) + '  '}{name}\n" for i, name in enumerate(names)
        ]
