"""A command that is traced from its first probe on (-c); which process it is that has an id.

In: the command line.  Out: a process that exists, so that its pid can be named in the session and in
the script ($target), but runs the command only after go().  Always: if the tracer dies before go(), the
child ends without having run anything.  An engine may start the command in another way: hand_over().
Process ids are used again, and whose turn it is others can arrange: a signal goes to a process that is held while it is looked at.
"""

import errno
import os
import signal
import time

from . import NoSuchProcess

_IGNORED = (signal.SIGPIPE, signal.SIGXFSZ)  # by Python, for itself: what it starts would inherit that


class Command:
    """argv: list of str; pid: the child's process id, which the command keeps."""

    def __init__(self, argv):
        self.argv = argv
        self._started_by_other = False
        self._began = None
        self.status = None  # wait status, once it has ended
        gate_read, self._gate = os.pipe()
        self._failure, failure_write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            self._child(gate_read, failure_write)
        os.close(gate_read)
        os.close(failure_write)

    def hand_over(self):
        """Somebody else starts the command: go() will do nothing.  What it ends with is not known then; its pid is, once
        is_now() has told it."""
        os.close(self._gate)
        os.close(self._failure)
        self._gate = -1
        os.waitpid(self.pid, 0)
        self._started_by_other = True
        self.pid = 0

    def is_now(self, pid):
        """What somebody else has started has this id."""
        if pid != self.pid:
            self.pid, self._began = pid, ticks(pid)

    def _child(self, gate, failure):
        """Waits for go(), then becomes the command; tells the errno if that fails."""
        try:
            os.close(self._gate)
            for number in (signal.SIGINT, signal.SIGTERM, *_IGNORED):
                signal.signal(number, signal.SIG_DFL)
            if os.read(gate, 1) == b"g":
                os.execvp(self.argv[0], self.argv)
        except OSError as error:
            os.write(failure, str(error.errno).encode())
        finally:
            os._exit(127)

    def go(self):
        """Let the command run.  Raises OSError if it can not be started."""
        if self._started_by_other:
            return
        os.write(self._gate, b"g")
        os.close(self._gate)
        self._gate = -1
        code = os.read(self._failure, 16)  # closed by a successful exec
        os.close(self._failure)
        if code:
            self.wait()
            raise OSError(int(code), os.strerror(int(code)), self.argv[0])

    def poll(self):
        """True once the command has ended."""
        if self._started_by_other:
            return not (self.pid and alive(self.pid))
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = status
        return self.status is not None

    def wait(self):
        if self.status is None:
            self.status = os.waitpid(self.pid, 0)[1]

    def stop(self, patience=0.5):
        """End it: SIGTERM, then after `patience` seconds SIGKILL; nothing if it has ended."""
        if self._gate >= 0:
            os.close(self._gate)  # never started: it ends by itself
            self._gate = -1
            self.wait()
            return
        if self.poll():
            return
        self._kill(signal.SIGTERM)
        deadline = time.monotonic() + patience
        while not self.poll() and time.monotonic() < deadline:
            time.sleep(0.01)
        if not self.poll():
            self._kill(signal.SIGKILL)
            if not self._started_by_other:
                self.wait()

    def _kill(self, number):
        try:
            send(self.pid, number, lambda: not self._started_by_other or ticks(self.pid) == self._began)
        except OSError:  # another's child may be gone by now, or be another user's
            pass


def gone(pids):
    """The error for processes of which one is not there: it names the first."""
    return NoSuchProcess(next((pid for pid in pids if not alive(pid)), pids[0]))


def alive(pid):
    """Whether the process still runs; one that has ended but that its parent has not waited for does not.  (The first
    thread is in that state, too, when it has ended before others.)"""
    try:
        os.kill(pid, 0)
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b") ")[2].split()  # from the third on
        return fields[0] != b"Z" or int(fields[17]) > 1
    except ProcessLookupError:
        return False
    except OSError:  # another user's, or a system without /proc
        return True


def ticks(pid: int) -> int | None:
    """When a process began, as the system counts it; None where that is not known."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b") ")[2].split()[19])
    except (OSError, LookupError):  # it has ended; or a system without /proc
        return None


def was_there(pid: int, when: int) -> bool:
    """Whether the process that has this id now can have been there at a time (ns, as events are told)."""
    began = ticks(pid)
    if began is None:
        return not os.path.exists("/proc/self/stat")
    asleep = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.monotonic_ns()
    return began * (1_000_000_000 // os.sysconf("SC_CLK_TCK")) - asleep <= when


def send(pid, number, is_it):
    """Signal a process if is_it() says that the one which has this id now is meant.  Raises OSError."""
    fd = _hold(pid)
    try:
        if not is_it():
            raise ProcessLookupError("it is none that is traced")
        if fd is None:
            os.kill(pid, number)
        else:
            signal.pidfd_send_signal(fd, number)
    finally:
        if fd is not None:
            os.close(fd)


def _hold(pid):
    """A descriptor of the process, or None where the system has none: the id may then be another's between look and signal."""
    if pid <= 0:
        raise ProcessLookupError("it is none that is traced")
    try:
        return os.pidfd_open(pid)
    except AttributeError:  # not Linux
        return None
    except OSError as error:
        if error.errno in (errno.ENOSYS, errno.EPERM):  # before Linux 5.3; in a sandbox that has not heard of it
            return None
        raise
