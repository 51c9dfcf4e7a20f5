"""Attaching programs to sites: uprobe_multi links where the kernel has them (Linux 6.6), else perf events.

In: programs' descriptors, files, offsets, semaphores, cookies.  Out: descriptors that keep the programs attached.
Always: closing them, or the end of this process, detaches everything.

Where in a site.  The note names a one-byte nop; a uprobe there is a trap.  Sites of pyusdt's own are nop, nop10, nop5
(c/target/sites_x86_64.h).  Linux 6.18 to 7.2 replace a uprobe on a nop5 by a call, which costs less; whether the running
kernel does is asked of it.  But the page that is called is not copied by fork(), and the call is: a forked child of the
traced process dies of its first firing.  So this is done only where -x nop5 asks for it; and, since the call pushes below the
stack pointer, only where the bytes say that it is such a site.
"""

import errno
import os
import struct

from ..bpf import kernel
from . import kernel_profile

_SITE = bytes.fromhex("90" "662e0f1f840000000000" "0f1f440000")  # nop, nop10, nop5
_NOP5 = 11  # where in it
_NOP10_ONLY = (7, 3)  # Linux from which on the call takes the place of a nop10
_INSTRUCTION_ERRORS = (errno.EINVAL, errno.EIO, errno.EOPNOTSUPP, 524)  # 524: ENOTSUPP, the kernel's own


def release():
    """The kernel's version as a tuple of two numbers."""
    parts = os.uname().release.split("-")[0].split(".")
    return tuple(int(part) for part in parts[:2])


class Place:
    """One place of a file.  offset: of the probe in the file; counter: of its semaphore, 0 for none; cookie."""

    __slots__ = ("offset", "counter", "cookie")

    def __init__(self, offset, counter, cookie):
        self.offset, self.counter, self.cookie = offset, counter, cookie


class Attacher:
    """method: "multi", "perf", or None to take the best; nop5: attach where the kernel puts a call, if it does."""

    def __init__(self, method=None, nop5=False):
        self.fds, self.refused = [], []
        version = release()
        self.method = method or ("multi" if version >= (6, 6) else "perf")
        self.nop5 = nop5 and version < _NOP10_ONLY and kernel.has_uprobe_calls()
        # before, a pid meant one thread, so the programs have to look themselves
        self.filters_pids = self.method == "multi" and version >= (6, 10)

    def shift(self, data, offset):
        """How far behind the note's nop to attach; data: the file's bytes."""
        return _NOP5 if self.nop5 and data[offset : offset + len(_SITE)] == _SITE else 0

    def load(self, insns, map_fds, types=None):
        """A program that attach() can attach.  Raises kernel.Refused."""
        attach_type = kernel.ATTACH_UPROBE_MULTI if self.method == "multi" else 0
        return kernel.load(insns, map_fds, attach_type=attach_type, types=types)

    def attach(self, prog_fd, path, places, pid=0, returns=False):
        """Attach to places of a file; pid: 0, or the only process, if filters_pids; returns: where the functions
        there return to.  The places that the kernel refuses, because of what instruction is there, are added to
        `refused`; where it refuses the only one, OSError."""
        try:
            self._attach(prog_fd, path, places, pid, returns)
        except OSError as error:
            if len(places) == 1 or error.errno not in _INSTRUCTION_ERRORS:
                raise
            middle = len(places) // 2
            for half in (places[:middle], places[middle:]):
                try:
                    self.attach(prog_fd, path, half, pid, returns)
                except OSError as error:
                    if len(half) > 1 or error.errno not in _INSTRUCTION_ERRORS:
                        raise
                    self.refused += half

    def _attach(self, prog_fd, path, places, pid, returns):
        if self.method == "multi":
            offsets, counters, cookies = zip(*[(place.offset, place.counter, place.cookie) for place in places])
            self.fds.append(kernel.link_uprobe_multi(prog_fd, path, offsets, counters, cookies, pid, returns))
            return
        for place in places:
            event = kernel.perf_uprobe(path, place.offset, place.counter, returns)
            self.fds.append(event)
            self.fds.append(kernel.link_perf(prog_fd, event, place.cookie))

    def attach_tracepoint(self, prog_fd, number, cookie):
        """Attach to one of the kernel's tracepoints, on every CPU."""
        self.fds.append(kernel.perf_tracepoint(number))
        self.fds.append(kernel.link_perf(prog_fd, self.fds[-1], cookie))

    def attach_raw(self, prog_fd, name):
        """Attach to a raw tracepoint."""
        self.fds.append(kernel.raw_tracepoint(prog_fd, name))

    def attach_profile(self, prog_fd, nanoseconds, cookie):
        """Run a program at a rate, on every CPU."""
        self.fds += kernel_profile.attach(prog_fd, nanoseconds, cookie)

    def close(self):
        kernel.close_all(reversed(self.fds))
        self.fds = []


class Own:
    """A program for probes that the engine fires itself: BEGIN, END, tick."""

    def __init__(self, insns, map_fds, types=None):
        self.fd = kernel.load(insns, map_fds, kernel.RAW_TRACEPOINT, types=types)

    def fire(self, ident, arguments=()):
        """Run it now, in this process; `ident` is its probe's."""
        kernel.prog_test_run(self.fd, struct.pack("=9Q", ident, *(list(arguments) + [0] * 8)[:8]))

    def close(self):
        os.close(self.fd)
