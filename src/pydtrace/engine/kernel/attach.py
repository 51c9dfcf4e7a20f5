# mypy: ignore-errors
"""Attaching programs to sites: uprobe_multi links where the kernel has them (Linux 6.6), else perf events.

In: programs' descriptors, files, offsets, semaphores, cookies.  Out: descriptors that keep the programs attached.
Always: closing them, or the end of this process, detaches everything.

Where in a site.  The note names a one-byte nop; a uprobe there is a trap.  Sites of pyusdt's own are nop, nop10, nop5
(c/target/sites_x86_64.h): Linux 6.18 to 7.2 replace a uprobe on a nop5 by a call, which costs less, later ones that on a nop10.
But the page that is called is not copied by fork(), and on Linux 6.18 the call is: a forked child of the traced process dies of
its first firing.  What the running kernel does is tried on a site of our own (cheapest_place()) before the first such site is
attached to; and, since the call pushes below the stack pointer, only sites with these very bytes are meant.
"""

import errno
import mmap
import os
import struct

from pydtrace import _tracer
from pydtrace.bpf import syscalls
from pydtrace.bpf.insn import R0, exit_, mov_imm

from .probes import profile_timers

SITE = bytes.fromhex("90662e0f1f8400000000000f1f440000")  # nop, nop10, nop5
_NOP10, _NOP5 = 1, 11  # where in it
_NOP10_ONLY = (7, 3)  # Linux from which on the call takes the place of a nop10
_RETURN = b"\xc3"
_INSTRUCTION_ERRORS = (
    errno.EINVAL,
    errno.EIO,
    errno.EOPNOTSUPP,
    524,
)  # 524: ENOTSUPP, the kernel's own


ON_DEMAND = (
    6,
    1,
)  # Linux: the first whose tracing programs need not have all values of a hash map allocated before


def release():
    """The kernel's version as a tuple of two numbers."""
    parts = os.uname().release.split("-")[0].split(".")
    return tuple(int(part) for part in parts[:2])


_trials = []  # processes that tried and may not have ended: the kernel takes some 30 ms to take uprobes away


def cheapest_place():
    """Where in a site a uprobe costs least and harms nobody, as tried: 0, the plain nop, where none is replaced by a call that
    forked children survive.  Raises OSError where this user may attach no probes."""
    _trials[:] = [child for child in _trials if not _tracer.kernel_trial_ended(child)]
    if not syscalls.has_uprobe_calls():
        return 0
    fds = [os.memfd_create("pyusdt-site", os.MFD_CLOEXEC)]
    try:
        os.write(fds[0], (SITE + _RETURN).ljust(mmap.PAGESIZE, b"\0"))
        fds.append(
            syscalls.prog_load([mov_imm(R0, 0), exit_()], attach_type=syscalls.ATTACH_UPROBE_MULTI)
        )
        fds.append(
            syscalls.link_uprobe_multi(
                fds[1], f"/proc/self/fd/{fds[0]}", (_NOP10, _NOP5), (0, 0), (0, 0)
            )
        )
        place, child = _tracer.kernel_trial(fds[0], len(SITE))
    finally:
        for fd in fds:
            os.close(fd)
    _trials.append(child)
    return place


class Place:
    """One place of a file.  offset: of the probe in the file; counter: of its semaphore, 0 for none; cookie."""

    __slots__ = ("offset", "counter", "cookie")

    def __init__(self, offset, counter, cookie):
        self.offset, self.counter, self.cookie = offset, counter, cookie


class Attacher:
    """method: "multi", "perf", or None to take the best; nop5: in sites of pyusdt's own always attach to the nop5, if the
    kernel puts a call there; False: never; None: as tried."""

    def __init__(self, method=None, nop5=None):
        self.fds, self.refused = [], []
        version = release()
        self.method = method or ("multi" if version >= (6, 6) else "perf")
        self._place = None if nop5 is None else 0
        if nop5 and version < _NOP10_ONLY and syscalls.has_uprobe_calls():
            self._place = _NOP5
        # before, a pid meant one thread, so the programs have to look themselves
        self.filters_pids = self.method == "multi" and version >= (6, 10)

    def shift(self, code):
        """How far behind the note's nop to attach; code: what is there, len(SITE) bytes."""
        if code != SITE:
            return 0
        if self._place is None:
            try:
                self._place = cheapest_place()
            except OSError:
                self._place = 0  # attaching will say what is missing
        return self._place

    def load(self, insns, map_fds, types=None):
        """A program that attach() can attach.  Raises kernel.Refused."""
        attach_type = syscalls.ATTACH_UPROBE_MULTI if self.method == "multi" else 0
        return syscalls.load(insns, map_fds, attach_type=attach_type, types=types)

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
            offsets, counters, cookies = zip(
                *[(place.offset, place.counter, place.cookie) for place in places]
            )
            self.fds.append(
                syscalls.link_uprobe_multi(prog_fd, path, offsets, counters, cookies, pid, returns)
            )
            return
        for place in places:
            event = syscalls.perf_uprobe(path, place.offset, place.counter, returns)
            self.fds.append(event)
            self.fds.append(syscalls.link_perf(prog_fd, event, place.cookie))

    def attach_tracepoint(self, prog_fd, number, cookie):
        """Attach to one of the kernel's tracepoints, on every CPU."""
        self.fds.append(syscalls.perf_tracepoint(number))
        self.fds.append(syscalls.link_perf(prog_fd, self.fds[-1], cookie))

    def attach_raw(self, prog_fd, name):
        """Attach to a raw tracepoint."""
        self.fds.append(syscalls.raw_tracepoint(prog_fd, name))

    def attach_profile(self, prog_fd, nanoseconds, cookie):
        """Run a program at a rate, on every CPU."""
        self.fds += profile_timers.attach(prog_fd, nanoseconds, cookie)

    def close(self, first=0):
        """Detach all, or all since there were so many `fds`."""
        syscalls.close_all(reversed(self.fds[first:]))
        del self.fds[first:]


class Own:
    """A program for probes that the engine fires itself: BEGIN, END, tick."""

    def __init__(self, insns, map_fds, types=None):
        self.fd = syscalls.load(insns, map_fds, syscalls.RAW_TRACEPOINT, types=types)

    def fire(self, ident, when=0):
        """Run it now, in this process; `ident` is its probe's; when: its timestamp, 0 for the time that it is."""
        syscalls.prog_test_run(self.fd, struct.pack("=9Q", ident, *[0] * 7, when))

    def close(self):
        os.close(self.fd)
