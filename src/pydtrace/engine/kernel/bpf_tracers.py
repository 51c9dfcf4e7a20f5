"""Tracers with programs in the kernel, of pyusdt and others, as /proc/PID/fdinfo shows them.

- Nothing of theirs is changed.
- The kernel counts runs of programs only on request, for all at once; RunStatistics requests it
  while it is open.
"""

from __future__ import annotations

import os
import struct

from pydtrace.bpf import syscalls
from pydtrace.program import program as p

from .linker import CONTROL_DROPS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container
    from typing import Self

_TRACING = {
    2,
    5,
    7,
    17,
    24,
    26,
}  # types of programs: kprobe, tracepoint, perf_event, raw_tracepoint and its writable kind, tracing
_ARRAY = "2"
_LINK, _PROGRAM, _MAP = "anon_inode:bpf_link", "anon_inode:bpf-prog", "anon_inode:bpf-map"
_LARGEST = 16 << 20  # bytes of a value of ours; a map of that name may be anybody's
_DROP_COUNTERS = {
    "pyusdt_globals": p.DROP_RECORD,
    "pyusdt_control": CONTROL_DROPS,
}  # where in which of our maps they are counted


class BpfLink:
    """A program attached somewhere.  program: its id; kind: the kernel's word; pid: the only process that it is for, 0: all that have
    the file, or the kernel does not say; path: of the file, "" where it is none; places: how many; counters: how many semaphores it
    raises; tracepoint: its name, or ""."""

    __slots__ = ("counters", "kind", "path", "pid", "places", "program", "tracepoint")

    def __init__(self, fields: dict[str, str], rest: list[list[str]]) -> None:
        self.program, self.kind = int(fields.get("prog_id", 0)), fields.get("link_type", "")
        self.pid, self.path = (
            int(fields.get("pid", 0)),
            fields.get("path", fields.get("name", "")) if "uprobe" in self.kind else "",
        )
        self.places = int(fields.get("uprobe_cnt", fields.get("kprobe_cnt", 1)))
        self.counters = sum(
            len(row) == 3 and row[2].startswith("0x") and row[2] != "0x0" for row in rest
        )
        self.tracepoint = fields.get("tp_name", "")
        if self.kind == "uprobe_multi" and "pid" not in fields:
            self._query_kernel(int(fields["link_id"]))

    def _query_kernel(self, ident: int) -> None:
        """fdinfo tells of such a link from Linux 6.17 on, the link itself from 6.8 on."""
        try:
            self.path, self.pid, counters = syscalls.read_uprobe_multi(ident)
        except OSError:
            return
        self.places, self.counters = len(counters), sum(map(bool, counters))


class BpfTracer:
    """A process that has tracing programs.  runs: {id of a program: how often it ran, as far as it was counted}; links: Links."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.runs: dict[int, int] = {}
        self.links: dict[str | None, BpfLink] = {}
        self._arrays: set[int] = set()

    def add_descriptor(self, what: str, fields: dict[str, str], rest: list[list[str]]) -> None:
        """One of its descriptors; what fdinfo says of it."""
        if what == _LINK:
            self.links[fields.get("link_id")] = BpfLink(fields, rest)
        elif what == _PROGRAM and int(fields.get("prog_type", 0)) in _TRACING:
            self.runs[int(fields["prog_id"])] = int(fields.get("run_cnt", 0))
        elif what == _MAP and (fields.get("map_type"), fields.get("max_entries")) == (_ARRAY, "1"):
            self._arrays.add(int(fields["map_id"]))

    def links_of(self, pid: int, paths: Container[str]) -> list[BpfLink]:
        """Its links for a process that has mapped files with these paths."""
        return [
            link
            for link in self.links.values()
            if link.pid == pid or link.pid == 0 and link.path in paths
        ]

    def exclusive_programs(self, pid: int) -> list[int]:
        """The ids of those programs that are for this process and no other."""
        pids: dict[int, set[int]] = {}
        for link in self.links.values():
            pids.setdefault(link.program, set()).add(link.pid)
        return [ident for ident, found in pids.items() if found == {pid} and ident in self.runs]

    def count_drops(self) -> int | None:
        """How many firings and records there was no room for, of a tracer of pyusdt's; None: it is another, or nobody may know."""
        found = [count for ident in self._arrays if (count := _read_drops(ident)) is not None]
        return sum(found) if found else None


def _read_drops(ident: int) -> int | None:
    try:
        fd = syscalls.map_fd_by_id(ident)
    except OSError:
        return None
    try:
        name, key_size, value_size = syscalls.map_info(fd)
        if name not in _DROP_COUNTERS or value_size > _LARGEST:
            return None
        return int(
            struct.unpack_from(
                "=Q", syscalls.map_lookup(fd, bytes(key_size), value_size), _DROP_COUNTERS[name]
            )[0]
        )
    except (OSError, struct.error):
        return None
    finally:
        os.close(fd)


def find_tracers() -> list[BpfTracer]:
    """[Tracer] of the processes that this user may look at."""
    found = []
    for pid in (int(entry) for entry in os.listdir("/proc") if entry.isdigit()):
        tracer = _read_tracer(pid)
        if tracer.runs:
            found.append(tracer)
    return found


def _read_tracer(pid: int) -> BpfTracer:
    tracer = BpfTracer(pid)
    try:
        fds = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return tracer  # it has ended, or is another user's
    for fd in fds:
        try:
            what = os.readlink(f"/proc/{pid}/fd/{fd}")
            if what.startswith("anon_inode:bpf"):
                tracer.add_descriptor(what, *_read_fdinfo(f"/proc/{pid}/fdinfo/{fd}"))
        except (OSError, ValueError):
            continue  # it was closed meanwhile
    return tracer


def _read_fdinfo(path: str) -> tuple[dict[str, str], list[list[str]]]:
    """({name: text}, rows of a table's words) of a descriptor's fdinfo."""
    fields: dict[str, str] = {}
    rest: list[list[str]] = []
    with open(path, errors="surrogateescape", newline="\n") as file:
        for line in file:
            name, colon, text = line.rstrip("\n").partition(":\t")
            if colon:
                fields.setdefault(name, text.strip())
            else:
                rest.append(line.split())
    return fields, rest


def read_run_time(fd: int) -> int:
    """ns that a program of this process has taken while Statistics were kept."""
    return int(_read_fdinfo(f"/proc/self/fdinfo/{fd}")[0].get("run_time_ns", 0))


class RunStatistics:
    """Has the kernel count how often programs run, until it is closed.  lack: why it does not, or ""."""

    def __init__(self) -> None:
        self._fd, self.reason = -1, ""
        try:
            self._fd = syscalls.enable_stats()
        except OSError as error:
            if not _is_counting():
                self.reason = str(error.strerror)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _is_counting() -> bool:
    """Whether it counts anyway."""
    try:
        with open("/proc/sys/kernel/bpf_stats_enabled") as file:
            return file.read().strip() == "1"
    except OSError:
        return False
