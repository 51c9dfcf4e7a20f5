"""A profile: how often each stack was seen, and how often each function, alone (self) and with its
callees (total).

- Every sample is counted, also those that could not be read or found no room.
- At most MAX_STACKS stacks and MAX_FRAMES frames are kept, however many a process shows, and at
  most MAX_SHOWN characters are printed. Names of threads (with their tasks and tags) and of code
  locations have MAX_TEXT characters each.
"""

from __future__ import annotations

import time
from collections import Counter

from pydtrace.untrusted.terminal_escape import escape_for_terminal

from .frame_folding import fold_frames
from .frame_key import FrameKey, pseudo_frame
from .sample_labels import THREAD, format_labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from .sample_labels import Labels
    from .sample_order import SampleOrder

    Stack = tuple[FrameKey, ...]

RUNNING_THREADS = "running threads"  # what a profile is of, in words
MAX_FRAMES = 1 << 22  # frames of all the different stacks together
MAX_STACKS = 1 << 19
MAX_SHOWN = 1 << 28  # characters of them, as all outputs show them
MAX_TEXT = (
    1 << 26
)  # characters of all the different places together, and of all the different threads
NAME_OVERHEAD = (
    64  # characters that a name counts as beside its own: one without any takes room, too
)

LEFT_OUT_FRAME = pseudo_frame("left out")


def _label_size(labels: Labels) -> int:
    return sum(len(value) for _, value in labels)


class Profile:
    """hz: samples a second that were wanted; what: which threads, in words; seconds: how long it took; unseen: seconds of
    processor time of children that ended before they were looked at; status: of the program, negative: the signal that ended it.  stacks: {(labels, stack from
    the outermost frame on): samples}; separated: the names of the labels that outputs of text separate.  looks: how often all threads were looked at;
    missed: how often there was no time to; exact: what is counted are no samples but microseconds, which were measured, and looks are how
    many times these came together from; counts: of samples that are moved, torn, cut, lost, and left_out for want of room."""

    pprof_type: tuple[str, str] | None = None  # of what is counted, if that is no time

    def __init__(
        self,
        hz: int,
        thread_kind: str,
        is_exact: bool = False,
        separated: Container[str] = (THREAD, "task", "tag"),
    ) -> None:
        self.hz, self.thread_kind, self.is_exact = hz, thread_kind, is_exact
        self.separated = separated
        self.folds_libraries = False  # frames of installed packages and of the standard library
        self.began_ns = time.time_ns()
        self.order: SampleOrder | None = None  # whoever needs the samples' times sets it
        self.seconds = 0.0
        self.unseen_seconds = 0.0
        self.exit_status = 0
        self.rounds = self.missed_rounds = 0
        self.stacks: Counter[tuple[Labels, Stack]] = Counter()
        self.counts: Counter[str] = Counter()
        self._frames = self._shown = self._frame_text = self._label_text = 0
        self._full = False
        self._labels: set[Labels] = set()
        self._places: dict[FrameKey, FrameKey] = {}
        self._sizes: dict[FrameKey, int] = {}  # characters that each of them is shown with

    def intern_frame(self, place: FrameKey) -> FrameKey:
        """It, each once, however many stacks it is in; where there is no room for more, what says so."""
        known = self._places.get(place)
        if known is None:
            if self._frame_text > MAX_TEXT:
                self._full = True
                return LEFT_OUT_FRAME
            self._frame_text += len(place.text) + NAME_OVERHEAD
            self._sizes[place] = len(escape_for_terminal(place.text))
            known = self._places[place] = place
        return known

    def fold_stack(self, stack: Iterable[FrameKey]) -> Stack:
        """It without what its reader does not want to see."""
        return tuple(self.intern_frame(place) for place in fold_frames(stack, self.folds_libraries))

    def _intern_labels(self, labels: Labels) -> Labels:
        """The same for labels."""
        if labels not in self._labels:
            if self._label_text > MAX_TEXT:
                return ((THREAD, LEFT_OUT_FRAME.function),)
            self._label_text += _label_size(labels) + NAME_OVERHEAD
            self._labels.add(labels)
        return labels

    def add_sample(self, labels: Labels, stack: Stack, n: int = 1, at: float = 0.0) -> None:
        """at: when it was taken, in seconds of the monotonic clock."""
        key = labels, stack
        if key not in self.stacks:
            shown = _label_size(labels) + sum(self._sizes.get(place, 1) for place in stack)
            if (
                len(self.stacks) >= MAX_STACKS
                or self._frames + len(stack) > MAX_FRAMES
                or self._shown + shown > MAX_SHOWN
            ):
                self._full = True
                key = self._intern_labels(labels), (LEFT_OUT_FRAME,)
            else:
                self._frames += len(stack)
                self._shown += shown
        if self._full and LEFT_OUT_FRAME in key[1]:
            self.counts["left_out"] += n
        self.stacks[key] += n
        if self.order is not None:
            self.order.add_sample(key, n, at)

    @property
    def samples(self) -> int:
        return self.stacks.total()

    def format_amount(self, n: int) -> str:
        """So many samples, as all outputs show them."""
        return f"{n / self.hz:.6f} s" if self.is_exact else f"{n} samples"

    def group_by_thread(self) -> Iterator[tuple[str, list[tuple[Stack, int]]]]:
        """(text of the labels that are separated, [(stack, samples)])."""
        groups: dict[str, Counter[Stack]] = {}
        for (labels, stack), n in self.stacks.items():
            groups.setdefault(format_labels(labels, self.separated), Counter())[stack] += n
        for text, stacks in sorted(groups.items()):
            yield text, list(stacks.items())

    def rank_functions(self) -> list[tuple[FrameKey, int, int]]:
        """(place, self, total), those with the most of their own first; in a recursion a function is counted once."""
        own: Counter[FrameKey] = Counter()
        total: Counter[FrameKey] = Counter()
        for (_, stack), n in self.stacks.items():
            own[stack[-1]] += n
            for place in set(stack):
                total[place] += n
        return sorted(
            ((place, own[place], n) for place, n in total.items()),
            key=lambda row: (-row[1], -row[2], row[0].text),
        )
