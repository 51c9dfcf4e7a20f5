"""Attaching programs to probe sites: uprobe_multi links where the kernel has them (Linux 6.6),
else perf events.

- Closing the descriptors, or the end of this process, detaches everything.

The note of a site names a one-byte nop, and a uprobe there is a trap.  The sites of pyusdt are
nop, nop10, nop5 (c/target/sites_x86_64.h).  Linux 6.18 to 7.2 replace a uprobe on a nop5 by a
call, which costs less; later versions replace one on a nop10.  But fork() does not copy the page
that is called, and on Linux 6.18 it copies the call: a forked child of the traced process dies at
its first firing.  So find_cheapest_nop() tries the running kernel on a site of our own before it
attaches to the first such site.  The call pushes below the stack pointer, so only sites with
exactly these bytes are eligible.
"""

from __future__ import annotations

import errno
import mmap
import os
import struct

from pydtrace import _tracer
from pydtrace.bpf import syscalls
from pydtrace.bpf.insn import R0, exit_, mov_imm

from .probes import profile_timers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydtrace.bpf.insn import Insn

    from .program_btf import LoadedTypes

SITE_CODE = bytes.fromhex("90662e0f1f8400000000000f1f440000")  # nop, nop10, nop5
_NOP10, _NOP5 = 1, 11  # where in it
_NOP10_ONLY = (7, 3)  # Linux from which on the call takes the place of a nop10
_RETURN = b"\xc3"
_INSTRUCTION_ERRORS = (
    errno.EINVAL,
    errno.EIO,
    errno.EOPNOTSUPP,
    524,
)  # 524: ENOTSUPP, the kernel's own


NO_PREALLOC_SINCE = (
    6,
    1,
)  # Linux: the first whose tracing programs need not have all values of a hash map allocated before


def kernel_version() -> tuple[int, ...]:
    """The kernel's version as a tuple of two numbers."""
    parts = os.uname().release.split("-")[0].split(".")
    return tuple(int(part) for part in parts[:2])


_trials: list[
    int
] = []  # processes that tried and may not have ended: the kernel takes some 30 ms to take uprobes away


def find_cheapest_nop() -> int:
    """Where in a site a uprobe costs least and harms nobody, as tried: 0, the plain nop, where none is replaced by a call that
    forked children survive.  Raises OSError where this user may attach no probes."""
    _trials[:] = [child for child in _trials if not _tracer.kernel_trial_ended(child)]
    if not syscalls.has_uprobe_syscall():
        return 0
    fds = [os.memfd_create("pyusdt-site", os.MFD_CLOEXEC)]
    try:
        os.write(fds[0], (SITE_CODE + _RETURN).ljust(mmap.PAGESIZE, b"\0"))
        fds.append(
            syscalls.prog_load([mov_imm(R0, 0), exit_()], attach_type=syscalls.ATTACH_UPROBE_MULTI)
        )
        fds.append(
            syscalls.link_uprobe_multi(
                fds[1], f"/proc/self/fd/{fds[0]}", (_NOP10, _NOP5), (0, 0), (0, 0)
            )
        )
        place: int
        place, child = _tracer.kernel_trial(fds[0], len(SITE_CODE))
    finally:
        for fd in fds:
            os.close(fd)
    _trials.append(child)
    return place


class UprobePoint:
    """One place of a file.  offset: of the probe in the file; counter: of its semaphore, 0 for none; cookie."""

    __slots__ = ("offset", "semaphore", "cookie")

    def __init__(self, offset: int, semaphore: int, cookie: int) -> None:
        self.offset, self.semaphore, self.cookie = offset, semaphore, cookie


class Attacher:
    """method: "multi", "perf", or None to take the best; nop5: in sites of pyusdt's own always attach to the nop5, if the
    kernel puts a call there; False: never; None: as tried."""

    def __init__(self, method: str | None = None, nop5: bool | None = None) -> None:
        self.fds: list[int] = []
        self.refused: list[UprobePoint] = []
        version = kernel_version()
        self.method = method or ("multi" if version >= (6, 6) else "perf")
        self._place: int | None = None if nop5 is None else 0
        if nop5 and version < _NOP10_ONLY and syscalls.has_uprobe_syscall():
            self._place = _NOP5
        # before, a pid meant one thread, so the programs have to look themselves
        self.filters_pids = self.method == "multi" and version >= (6, 10)

    def nop_offset(self, code: bytes) -> int:
        """How far behind the note's nop to attach; code: what is there, len(SITE) bytes."""
        if code != SITE_CODE:
            return 0
        if self._place is None:
            try:
                self._place = find_cheapest_nop()
            except OSError:
                self._place = 0  # attaching will say what is missing
        return self._place

    def load_program(
        self, insns: list[Insn], map_fds: Sequence[int], types: LoadedTypes | None = None
    ) -> int:
        """A program that attach() can attach.  Raises syscalls.ProgramRejected."""
        attach_type = syscalls.ATTACH_UPROBE_MULTI if self.method == "multi" else 0
        return syscalls.load_program(insns, map_fds, attach_type=attach_type, types=types)

    def attach_uprobes(
        self,
        prog_fd: int,
        path: str,
        places: list[UprobePoint],
        pid: int = 0,
        returns: bool = False,
    ) -> None:
        """Attach to places of a file; pid: 0, or the only process, if filters_pids; returns: where the functions
        there return to.  The places that the kernel refuses, because of what instruction is there, are added to
        `refused`; where it refuses the only one, OSError."""
        try:
            self._create_links(prog_fd, path, places, pid, returns)
        except OSError as error:
            if len(places) == 1 or error.errno not in _INSTRUCTION_ERRORS:
                raise
            middle = len(places) // 2
            for half in (places[:middle], places[middle:]):
                try:
                    self.attach_uprobes(prog_fd, path, half, pid, returns)
                except OSError as error:
                    if len(half) > 1 or error.errno not in _INSTRUCTION_ERRORS:
                        raise
                    self.refused += half

    def _create_links(
        self, prog_fd: int, path: str, places: list[UprobePoint], pid: int, returns: bool
    ) -> None:
        if self.method == "multi":
            offsets, counters, cookies = zip(
                *[(place.offset, place.semaphore, place.cookie) for place in places]
            )
            self.fds.append(
                syscalls.link_uprobe_multi(prog_fd, path, offsets, counters, cookies, pid, returns)
            )
            return
        for place in places:
            event = syscalls.open_perf_uprobe(path, place.offset, place.semaphore, returns)
            self.fds.append(event)
            self.fds.append(syscalls.link_perf(prog_fd, event, place.cookie))

    def attach_tracepoint(self, prog_fd: int, number: int, cookie: int) -> None:
        """Attach to one of the kernel's tracepoints, on every CPU."""
        self.fds.append(syscalls.open_perf_tracepoint(number))
        self.fds.append(syscalls.link_perf(prog_fd, self.fds[-1], cookie))

    def attach_raw_tracepoint(self, prog_fd: int, name: str) -> None:
        """Attach to a raw tracepoint."""
        self.fds.append(syscalls.open_raw_tracepoint(prog_fd, name))

    def attach_profile_timers(self, prog_fd: int, nanoseconds: int, cookie: int) -> None:
        """Run a program at a rate, on every CPU."""
        self.fds += profile_timers.attach_timers(prog_fd, nanoseconds, cookie)

    def close(self, first: int = 0) -> None:
        """Detach all, or all since there were so many `fds`."""
        syscalls.close_all(reversed(self.fds[first:]))
        del self.fds[first:]


class SelfFiredProgram:
    """A program for probes that the engine fires itself: BEGIN, END, tick."""

    def __init__(
        self, insns: list[Insn], map_fds: Sequence[int], types: LoadedTypes | None = None
    ) -> None:
        self.fd = syscalls.load_program(insns, map_fds, syscalls.RAW_TRACEPOINT, types=types)

    def fire(self, ident: int, when: int = 0) -> None:
        """Run it now, in this process; `ident` is its probe's; when: its timestamp, 0 for the time that it is."""
        syscalls.prog_test_run(self.fd, struct.pack("=9Q", ident, *[0] * 7, when))

    def close(self) -> None:
        os.close(self.fd)
