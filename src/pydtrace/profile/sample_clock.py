"""When to look: so many times a second, whatever a round of looks takes. Rounds for which there was no
time are counted.
"""

from __future__ import annotations

import time

from pydtrace import _tracer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pydtrace._tracer import Looker

    from .stack_profile import Profile


class SampleClock:
    def __init__(self, hz: int, profile: Profile) -> None:
        self._rounds, self._profile = _tracer.LookRounds(hz), profile
        self.began = time.monotonic()

    def wait_for_sample(self) -> None:
        """Until the next round is due."""
        self.run_rounds([], 0.0)

    def run_rounds(self, lookers: list[Looker], seconds: float) -> tuple[int, int, bytes]:
        """The rounds of the next seconds, as _tracer.LookRounds.run()."""
        try:
            return self._rounds.run(lookers, seconds)
        finally:
            done, missed = self._rounds.take_rounds()
            self._profile.rounds += done
            self._profile.missed_rounds += missed

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began
