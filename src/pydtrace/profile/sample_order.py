"""When samples were taken: each sample's time, for outputs that show time.

- At most MAX_SAMPLES are kept. Later ones are counted in the profile, and have no time.
"""

from __future__ import annotations

from array import array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .sample_labels import Labels
    from .stack_profile import Stack

    Key = tuple[Labels, Stack]

MAX_SAMPLES = 1 << 22


class SampleOrder:
    def __init__(self) -> None:
        self._keys: list[Key] = []
        self._numbers: dict[Key, int] = {}
        self._times, self._which, self._amounts = array("d"), array("L"), array("Q")

    def add_sample(self, key: Key, n: int, at: float) -> None:
        """at: seconds of the monotonic clock."""
        if len(self._times) >= MAX_SAMPLES:
            return
        number = self._numbers.setdefault(key, len(self._keys))
        if number == len(self._keys):
            self._keys.append(key)
        self._times.append(at)
        self._which.append(number)
        self._amounts.append(n)

    def sort_samples(self) -> Iterator[tuple[float, Labels, Stack, int]]:
        """(time, labels, stack, n) of each, the first first."""
        for i in sorted(range(len(self._times)), key=self._times.__getitem__):
            labels, stack = self._keys[self._which[i]]
            yield self._times[i], labels, stack, self._amounts[i]
