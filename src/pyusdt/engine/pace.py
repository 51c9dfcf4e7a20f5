"""How long the embedded consumer sleeps between two looks at the rings.

In: how many events a look found, when it was, and whether it found a ring more than half full.  Out: seconds until it is worth
looking again.  Always: rings hold what comes meanwhile, as far as the last looks can tell; where nothing comes, the sleep is the longest.
"""

SHORTEST, LONGEST = 0.0005, 0.02  # s
_LONGEST_BUSY = 0.003  # s; while events come: a thread at full speed needs as long to fill a ring
_WORTH = 2048  # events that are worth waking up for
_FEW = 16  # events after a pause that need no second look soon: at full speed they take a microsecond


class Pace:
    def __init__(self) -> None:
        self._sleep = SHORTEST
        self._looked = 0.0  # when
        self._idle = True  # the last look found nothing, so how long events take to come is not known

    def next(self, n: int, now: float, crowded: bool) -> float:
        """Seconds to sleep after a look that found n events: at their pace."""
        since, self._looked = now - self._looked, now
        was_idle, self._idle = self._idle, n == 0
        if n == 0:
            self._sleep = max(SHORTEST, min(self._sleep * 2, LONGEST))
        elif crowded:
            self._sleep = 0.0
        elif was_idle and n > _FEW:
            self._sleep = SHORTEST
        else:
            self._sleep = max(SHORTEST, min(since * _WORTH / n, _LONGEST_BUSY))
        return self._sleep
