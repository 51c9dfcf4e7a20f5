"""Finds out if a signal went to the whole process group: from the terminal, timeout(1) or systemd.

The witness is an idle process in the group. If one of ENDING_SIGNALS ends it, the group got the
signal. It ends with this process, and it ignores the signals that this process ignores.
"""

from __future__ import annotations

import os
import signal
import time

ENDING_SIGNALS: tuple[int, ...] = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
)  # signals that end a tracing
_GROUP_DELAY = 0.5  # s that a sender may take from one process of the group to the next


class GroupWitness:
    """Raises OSError where it cannot be started."""

    def __init__(self) -> None:
        reading, self._open = os.pipe()
        null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        try:
            self._pid = os.posix_spawnp(
                "cat",
                ["cat"],
                os.environ,
                setsigmask=[],
                setsigdef=[
                    each for each in ENDING_SIGNALS if signal.getsignal(each) is not signal.SIG_IGN
                ],
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, reading, 0),
                    *((os.POSIX_SPAWN_DUP2, null, fd) for fd in (1, 2)),
                ],
            )
        except OSError:
            os.close(self._open)
            raise
        finally:
            os.close(reading)
            os.close(null)

    def was_signalled(self, just_now: bool) -> bool:
        """just_now: this process was; the group may get the signal in a moment."""
        end = time.monotonic() + (_GROUP_DELAY if just_now else 0)
        while not (ended := self._has_ended()) and time.monotonic() < end:
            time.sleep(0.01)
        if ended is None:
            return False
        return ended.si_code == os.CLD_KILLED and ended.si_status in ENDING_SIGNALS

    def _has_ended(self) -> os.waitid_result | None:
        return os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)

    def close(self) -> None:
        """Its pipe alone would not end it where a forked child of this process has the other end, too."""
        os.close(self._open)
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
