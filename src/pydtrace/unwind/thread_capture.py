"""Registers and stacks of threads, copied so that all are of one moment.

- A thread that waits in the kernel is not stopped: the kernel shows its stack pointer, though not
  all registers.
- A running thread is stopped for as long as the copy takes (about ten microseconds).  It continues
  in any case, since a process of its own holds it (c/pystack/ptrace_holder.h).
- A waiting thread is stopped only if more registers are needed and its system call restarts by
  itself.
"""

from __future__ import annotations

import errno
import os
import struct

from pydtrace import _tracer

from .native_unwinder import PC, SP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from typing import TypeVar

    from pydtrace._tracer import Memory

    T = TypeVar("T")

STACK_LIMIT = 1 << 20  # bytes of a stack
TOTAL_LIMIT = 1 << 28  # of all stacks together
_STEP = 1 << 16
# Those that give EINTR when a thread was stopped in them (man 7 signal), epoll_wait for one, are not among them.
_RESTARTABLE = {
    "futex",
    "select",
    "pselect6",
    "poll",
    "ppoll",
    "nanosleep",
    "clock_nanosleep",
    "wait4",
    "waitid",
}


class ThreadCopy:
    """registers: {number in DWARF: value}, all, or those that /proc shows; data: the stack from its pointer on."""

    __slots__ = ("data", "registers", "start", "syscall_words")

    def __init__(
        self, registers: Mapping[int, int], data: bytes, syscall: list[str] | None
    ) -> None:
        self.registers, self.data, self.start, self.syscall_words = (
            registers,
            data,
            registers[SP],
            syscall,
        )

    def read_word(self, address: int) -> int:
        """Raises IndexError, struct.error where it is not in the copy."""
        if address < self.start:
            raise IndexError("it lies outside of its stack")
        [word] = struct.unpack_from("=Q", self.data, address - self.start)
        return int(word)


class ThreadCapture:
    """Of one process.  child: it was started by this one, which waits for its end."""

    def __init__(self, memory: Memory, child: bool = False) -> None:
        self._memory, self._child = memory, child
        self._late: set[int] = set()  # threads that had not stopped in time, and may stop later

    @property
    def has_late(self) -> bool:
        """Whether a thread may stand still by and by, for HOLD_LIMIT, that the next read_stopped(), copy_threads() or close() lets go on."""
        return bool(self._late)

    def close(self) -> None:
        """Those that were late go on."""
        if self._late:
            late = self._late
            _tracer.continue_threads({*self._stop_threads(late), *late})

    def read_stopped(self, tids: Iterable[int], read: Callable[[], T]) -> tuple[Collection[int], T]:
        """({threads that were stopped during read()}, its result)."""
        stopped = {}
        try:
            stopped = self._stop_threads({*tids, *self._late})
            found = read()
        finally:
            stood = _tracer.continue_threads(stopped)
        return stood, found

    def copy_threads(
        self, tids: Iterable[int], waiting: bool, read: Callable[[], T]
    ) -> tuple[dict[int, ThreadCopy], T]:
        """({thread: Copy}, what read() gave, which is called while they stand still).  waiting: those that wait in the kernel, too.
        No copy is of a thread that went on before all was read."""
        syscalls = {
            tid: ["running"] if tid in self._late else self._read_syscall(tid)
            for tid in {*tids, *self._late}
        }
        waits = {
            tid: words
            for tid, words in syscalls.items()
            if words and words[0].lstrip("-").isdigit()
        }
        stopped, stood = {}, set()
        try:
            stopped = self._stop_threads(
                [tid for tid, words in syscalls.items() if words and tid not in waits]
            )
            registers = dict(stopped)
            if waiting:
                registers.update(
                    (tid, {SP: int(words[-2], 16), PC: int(words[-1], 16)})
                    for tid, words in waits.items()
                )
            found = read()
            most = min(STACK_LIMIT, TOTAL_LIMIT // max(len(registers), 1))
            kept = {
                tid: ThreadCopy(each, self._copy_stack(each[SP], most), waits.get(tid))
                for tid, each in registers.items()
            }
        finally:
            if stopped:
                stood = _tracer.continue_threads(stopped)
        return {
            tid: copy
            for tid, copy in kept.items()
            if (
                tid in stood
                if copy.syscall_words is None
                else copy.syscall_words == self._read_syscall(tid)
            )
        }, found

    def _stop_threads(self, tids: Iterable[int]) -> dict[int, dict[int, int]]:
        """{stopped thread: its registers}."""
        tids = [*tids][: _tracer.MOST_STOPPED]
        self._late.difference_update(tids)
        if not tids:
            return {}
        try:
            stopped, failed = _tracer.stop_threads(self._memory, tids, self._child)
        except OSError:
            return {}
        self._late.update(tid for tid, number in failed.items() if number == errno.EAGAIN)
        return {tid: dict(enumerate(registers)) for tid, registers in stopped.items()}

    def _read_syscall(self, tid: int) -> list[str] | None:
        """The words of what the kernel says of a thread's system call; None where it may not be read."""
        try:
            with open(f"/proc/{self._memory.pid}/task/{tid}/syscall") as file:
                return file.read().split() or None
        except OSError:
            return None

    def all_registers(self, tid: int, copy: ThreadCopy, call: str | None) -> ThreadCopy | None:
        """Of a thread that waits in a system call of this name: the Copy with all its registers, or None where that may not be."""
        if copy.syscall_words is None or not self._is_restartable(tid, copy.syscall_words, call):
            return None
        stopped = self._stop_threads([tid])
        _tracer.continue_threads(stopped)
        registers = stopped.get(tid)
        if registers is None or (registers[SP], registers[PC]) != (
            copy.registers[SP],
            copy.registers[PC],
        ):
            return None
        return ThreadCopy(registers, copy.data, copy.syscall_words)

    def _is_restartable(self, tid: int, syscall: list[str], call: str | None) -> bool:
        """A read does of a pipe, a terminal and a file; of a socket it may have a time limit."""
        if call != "read":
            return call in _RESTARTABLE
        try:
            return not os.readlink(
                f"/proc/{self._memory.pid}/task/{tid}/fd/{int(syscall[1], 16)}"
            ).startswith(("socket:", "anon_inode:"))
        except (OSError, LookupError, ValueError):
            return False

    def _copy_stack(self, start: int, most: int) -> bytes:
        """The stack from `start` on, up to about `most` bytes."""
        data, at = [], start
        while at - start < most:
            size = _STEP - at % _STEP
            try:
                data.append(self._memory.read(at, size))
            except OSError as error:
                if error.errno != errno.EFAULT:
                    break
                data.append(self._copy_pages(at, size))
                break
            at += size
        return b"".join(data)

    def _copy_pages(self, at: int, size: int) -> bytes:
        """What is there of a part that is not there as a whole."""
        data, end = [], at + size
        while at < end:
            step = 4096 - at % 4096
            try:
                data.append(self._memory.read(at, step))
            except OSError:
                break
            at += step
        return b"".join(data)
