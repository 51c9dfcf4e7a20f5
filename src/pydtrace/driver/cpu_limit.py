"""What tracing costs in processor time, against the limit that the user sets (-x maxcpu).

- Whole windows are judged, so that the start or a burst alone ends nothing.
- Processes of other users do not end the tracing: if the whole is over the limit and the tracer's
  own part is not, the user who costs most is not traced any more.
- The traced programs pay for each event themselves, and that is not counted; what programs in the
  kernel cost there is, where a policy limits the run.
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Work = dict[int, tuple[int, float]]  # as Engine.work_by_user() says

WINDOW = 5.0  # s


class CpuLimit:
    """most: percent of one processor; elsewhere(): seconds that are taken outside of this process; work_by_user(), stop_tracing_user(uid): as
    Engine has them; tell(text): of who is cut off."""

    def __init__(self, max_percent: int, other_seconds: Callable[[], float] = float, work_by_user: Callable[[], Work] = dict,
                 stop_tracing_user: Callable[[int], object] | None = None, report: Callable[[str], object] | None = None) -> None:  # fmt: skip
        self._max_percent, self._other_seconds = max_percent, other_seconds
        self._work_by_user, self._stop_tracing_user, self._report = (
            work_by_user,
            stop_tracing_user,
            report,
        )
        self._began, self._used, self._work = (
            time.monotonic(),
            self._count_seconds(),
            work_by_user(),
        )
        self._stopped_users: set[int] = set()

    def _count_seconds(self) -> float:
        return time.process_time() + self._other_seconds()

    def check_limit(self) -> str:
        """The message for the user when the last window took more than is allowed, else ""."""
        now = time.monotonic()
        if now - self._began < WINDOW:
            return ""
        used, took = self._count_seconds() - self._used, now - self._began
        before, self._work = self._work, self._work_by_user()
        excess = (
            self._stop_costly_users(used, took, before)
            if 100 * used / took > self._max_percent
            else 0.0
        )
        self._began, self._used = now, self._count_seconds()
        return (
            f"tracing stops: it has taken {excess:.0f} % of a processor for {took:.0f} s, and -x maxcpu={self._max_percent} is what it may take"
            if excess > self._max_percent
            else ""
        )

    def _stop_costly_users(self, used: float, took: float, before: Work) -> float:
        """Cut off other users until the rest is within the bound; percent of a processor that the rest took.  Nobody is cut off where
        the tracer's own part is over the bound by itself."""
        others = divide_work(used, before, self._work)
        others.pop(os.geteuid(), None)
        left = 100 * used / took
        if left - sum(100 * seconds / took for seconds in others.values()) > self._max_percent:
            return left
        for uid in sorted(others, key=lambda uid: others[uid], reverse=True):
            if left <= self._max_percent or not self._stop_tracing_user:
                break
            percent = 100 * others[uid] / took
            left -= percent
            if uid not in self._stopped_users:
                self._stopped_users.add(uid)
                self._stop_tracing_user(uid)
                if self._report:
                    self._report(
                        f"processes of user {uid} are traced no more: they have taken {percent:.0f} % of a processor of this tracing for "
                        f"{took:.0f} s, and -x maxcpu={self._max_percent} is what all may take"
                    )
        return left


def divide_work(used: float, before: Work, after: Work) -> dict[int, float]:
    """{uid: seconds of `used` that each user's processes took}: those that were measured, and of the rest his share of the work."""
    none = (0, 0.0)
    direct = {
        uid: max(seconds - before.get(uid, none)[1], 0.0) for uid, (_, seconds) in after.items()
    }
    work = {uid: max(units - before.get(uid, none)[0], 0) for uid, (units, _) in after.items()}
    rest, units = max(used - sum(direct.values()), 0.0), sum(work.values())
    return {uid: direct[uid] + (rest * work[uid] / units if units else 0.0) for uid in after}
