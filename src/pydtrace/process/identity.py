"""Identifies processes by pid and start time, since a pid is reused.

Another user can arrange which process gets a pid next. A pidfd therefore holds the process while it
is read or signalled.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def is_alive(pid: int) -> bool:
    """Whether the process still runs.  One that has ended, and that its parent has not waited for, does not run.  (The state
    of a process whose first thread has ended before others is the same: it still runs.)"""
    try:
        os.kill(pid, 0)
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b") ")[2].split()  # from the third on
        return fields[0] != b"Z" or int(fields[17]) > 1
    except ProcessLookupError:
        return False
    except OSError:  # another user's, or a system without /proc
        return True


def has_ended_or_ends(pid: int) -> bool:
    """Also a process whose threads are all ending, so that its memory has gone."""
    if not is_alive(pid):
        return True
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return not is_alive(pid)
    return not any(_has_program(f"/proc/{pid}/task/{each}/exe") for each in threads)


def _has_program(path: str) -> bool:
    try:
        os.readlink(path)
    except FileNotFoundError:
        return False
    except OSError:  # another user's
        pass
    return True


def read_comm(pid: int) -> str:
    """What it is called now; empty where it has ended."""
    try:
        with open(f"/proc/{pid}/comm", errors="replace") as file:
            return file.read().rstrip("\n")
    except OSError:
        return ""


def start_ticks(pid: int) -> int | None:
    """When a process began, as the system counts it; None where that is not known."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b") ")[2].split()[19])
    except (OSError, LookupError):  # it has ended; or a system without /proc
        return None


def existed_at(pid: int, when: int) -> bool:
    """Whether the process that has this id now can have been there at a time (ns, of the events' clock)."""
    began = start_ticks(pid)
    if began is None:
        return not os.path.exists("/proc/self/stat")
    asleep = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.monotonic_ns()
    return began * (1_000_000_000 // os.sysconf("SC_CLK_TCK")) - asleep <= when


def send_signal(pid: int, number: int, is_target: Callable[[], bool]) -> None:
    """Signal the process that has this id now, if is_it() says that it is the one that is meant.  Raises OSError."""
    with _holding_pidfd(pid) as fd:
        if not is_target():
            raise ProcessLookupError("it is none that is traced")
        if fd is None:
            os.kill(pid, number)
        else:
            signal.pidfd_send_signal(fd, number)


def query_process(pid: int, began: int | None, question: Callable[[], str]) -> str | None:
    """The answer of a question about the process that has this id and began at that time (start_ticks()); None: it has ended, and the answer
    may be about another."""
    try:
        with _holding_pidfd(pid) as fd:
            if began is None or start_ticks(pid) != began:
                return None
            answer = question()
            ended = select.poll()
            if fd is not None:
                ended.register(fd, select.POLLIN)
            return answer if start_ticks(pid) == began and not ended.poll(0) else None
    except OSError:
        return None


@contextlib.contextmanager
def _holding_pidfd(pid: int) -> Iterator[int | None]:
    fd = _open_pidfd(pid)
    try:
        yield fd
    finally:
        if fd is not None:
            os.close(fd)


def _open_pidfd(pid: int) -> int | None:
    """A descriptor of the process.  None where the system has none: there the id can become another process's between the look
    and the signal."""
    if pid <= 0:
        raise ProcessLookupError("it is none that is traced")
    try:
        return os.pidfd_open(pid)
    except AttributeError:  # not Linux
        return None
    except OSError as error:
        if error.errno in (
            errno.ENOSYS,
            errno.EPERM,
        ):  # before Linux 5.3; in a sandbox that has not heard of it
            return None
        raise
