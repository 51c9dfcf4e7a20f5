"""site_tracer.c for tests: what a USDT tracer sees of the probes of this process, an Event for each hit."""

from __future__ import annotations

import contextlib
import ctypes
import glob
import os
import subprocess
from collections.abc import Iterator

import pyusdt._core
from tests.support import elf_notes

HERE = os.path.dirname(os.path.abspath(__file__))
MAX_ARGS, MAX_TEXT, MAX_EVENTS = 12, 2048, 4096
# indices of glibc's gregs
REGISTERS = {
    "r8": 0,
    "r9": 1,
    "r10": 2,
    "r11": 3,
    "r12": 4,
    "r13": 5,
    "r14": 6,
    "r15": 7,
    "rdi": 8,
    "rsi": 9,
    "rbp": 10,
    "rbx": 11,
    "rdx": 12,
    "rax": 13,
    "rcx": 14,
}


def find_tracers() -> list[str]:
    """The processes that have a uprobe attached, or another perf event or link of BPF: "PID COMMAND"."""
    found = []
    for path in glob.glob("/proc/[0-9]*/fd"):
        with contextlib.suppress(OSError):
            files = {os.readlink(entry.path) for entry in os.scandir(path)}
            if files & {"anon_inode:[perf_event]", "anon_inode:bpf_link", "anon_inode:bpf-link"}:
                process = os.path.dirname(path)
                with open(f"{process}/cmdline", "rb") as file:
                    command = file.read().replace(b"\0", b" ").decode(errors="replace")
                found.append(f"{os.path.basename(process)} {command}")
    return found


class Site(ctypes.Structure):
    _fields_ = [
        ("address", ctypes.c_void_p),
        ("semaphore", ctypes.c_void_p),
        ("nargs", ctypes.c_uint32),
        ("registers", ctypes.c_uint8 * MAX_ARGS),
        ("strings", ctypes.c_uint8 * MAX_ARGS),
    ]


class RawEvent(ctypes.Structure):
    _fields_ = [
        ("site", ctypes.c_uint32),
        ("length", ctypes.c_int32 * MAX_ARGS),
        ("value", ctypes.c_uint64 * MAX_ARGS),
        ("text", (ctypes.c_char * MAX_TEXT) * MAX_ARGS),
    ]


class Event:
    """One hit: integers as int, strings as bytes, or None where the pointer was NULL."""

    def __init__(self, probe: str, arguments: list[int | bytes | None]) -> None:
        self.probe = probe
        self.arguments = arguments

    @property
    def who(self) -> int | bytes | None:
        return self.arguments[0]

    @property
    def tag(self) -> int | bytes | None:
        return self.arguments[1]

    @property
    def values(self) -> list[int | bytes | None]:
        """i1 … i4, s1 … s4"""
        return self.arguments[2:]

    def __repr__(self) -> str:
        return f"{self.probe}{tuple(self.arguments)}"


class SiteTracer:
    """Built once; `with tracer.attached("user_trace__i4s4") as events:`"""

    def __init__(self, folder: str) -> None:
        path = os.path.join(folder, "site_tracer.so")
        subprocess.run(
            [
                "gcc",
                "-O2",
                "-Wall",
                "-Werror",
                "-shared",
                "-fPIC",
                os.path.join(HERE, "site_tracer.c"),
                "-o",
                path,
            ],
            check=True,
        )
        self.library = ctypes.CDLL(path)
        self.events = (RawEvent * MAX_EVENTS).in_dll(self.library, "events")
        self.count = ctypes.c_uint.in_dll(self.library, "event_count")
        module = pyusdt._core.__file__
        self.notes = {note.name: note for note in elf_notes.read_notes(module)}
        self.bias = elf_notes.load_bias(module)

    def semaphore(self, probe: str) -> int:
        return ctypes.c_uint16.from_address(self.notes[probe].semaphore + self.bias).value

    def _site(self, probe: str) -> Site:
        note = self.notes[probe]
        site = Site(
            address=note.location + self.bias,
            semaphore=note.semaphore + self.bias,
            nargs=len(note.operands),
        )
        for i, operand in enumerate(note.operands):
            size, register = operand.split("@%")
            assert abs(int(size)) == 8
            site.registers[i] = REGISTERS[register]
            site.strings[i] = (
                int(size) > 0
            )  # in the user-trace provider all that is not signed is a string
        return site

    @contextlib.contextmanager
    def attached(self, *probes: str) -> Iterator[list[Event]]:
        """The events, complete at the end of the block (or after collect()).

        The kernel changes a semaphore without an atomic instruction: a tracer of all processes that comes or goes at this
        moment makes ours lose its count, and all later tests of this process would fail.  So this one fails, and names it.
        """
        self.count.value = 0
        self.attached_probes, self.collected = probes, []
        for i, probe in enumerate(probes):
            assert self.library.attach(i, ctypes.byref(self._site(probe))) == 0
        try:
            yield self.collected
        finally:
            for i in range(len(probes)):
                assert self.library.detach(i) == 0
            self.collect()
            for probe in probes:
                self._require_no_tracer(probe)

    def _require_no_tracer(self, probe: str) -> None:
        counter = ctypes.c_uint16.from_address(self.notes[probe].semaphore + self.bias)
        tracers = find_tracers()
        if counter.value and not tracers:
            left, counter.value = counter.value, 0
            raise AssertionError(f"the semaphore of {probe} was left at {left}, and nobody traces")
        assert not counter.value, f"{probe} is traced by others: {tracers}"

    def collect(self) -> list[Event]:
        """What was hit since the last call, now in the list of attached()."""
        assert self.count.value <= MAX_EVENTS
        for raw in self.events[: self.count.value]:
            probe = self.attached_probes[raw.site]
            arguments: list[int | bytes | None] = []
            for i, operand in enumerate(self.notes[probe].operands):
                if operand.startswith("-"):
                    arguments.append(ctypes.c_int64(raw.value[i]).value)
                else:
                    arguments.append(
                        None
                        if raw.length[i] < 0
                        else bytes(ctypes.string_at(raw.text[i], raw.length[i]))
                    )
            self.collected.append(Event(probe, arguments))
        self.count.value = 0
        return self.collected
