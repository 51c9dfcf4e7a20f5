"""Has a CPython run a statement: finds what that needs, puts the entry, waits, takes it back.

- The process and its files are untrusted: what they say is checked, and only its own memory is written.
- NotAttached says why it was not run. Then it never will, unless the message says otherwise.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time

from pydtrace import _tracer
from pydtrace.process import maps
from pydtrace.process.identity import is_alive, read_comm
from pydtrace.process.proc_threads import read_inner_pid, read_kernel_threads
from pydtrace.remote_python.code_objects import CodeObjects
from pydtrace.remote_python.remote_modules import RemoteModules
from pydtrace.remote_python.remote_python import (
    PythonNotFound,
    PythonNotRunning,
    RemotePython,
    StackReadError,
)
from pydtrace.symbols import elf

from . import statement as statements
from .loop_wakeup import wake_main_loop
from .refusal import (
    NoPython,
    NotAttached,
    PathTooLong,
    check_state,
    has_brief_tracer,
    make_forbidden_refusal,
    make_stop_refusal,
)
from .statement import Statement
from .text_slots import find_abandoned, find_empty, find_slots

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydtrace.process.proc_threads import KernelThread

OLDEST = 10  # minor version
_MAIN_ONLY = 11  # the last one in which only the main thread makes pending calls
_FUNCTION = "PyRun_SimpleString"
_OF_TRACED_REFS = (
    "_Py_AddToAllObjects"  # Py_TRACE_REFS up to 3.12, by which objects begin with two more pointers
)
_PUT_TRIES, _PUT_PAUSE, _START_PAUSE = 60, 0.002, 0.02  # s
_LIMIT_TRIES, _STOP_LIMITS = (
    20,
    (10, 30, 100),
)  # ms in which all threads have to stop, by the number of the try
_POLL, _FIRST_MEND, _MEND = 0.005, 0.05, 0.5  # s
_BECOMING = 0.3  # s, for which a process that has just become a Python is waited for
_RUNNING = 2.0  # s, for which what has left the ring and not reported yet is waited for


class Target:
    """A CPython whose memory was looked at, with all that an entry needs.  NotAttached."""

    def __init__(self, pid: int) -> None:
        check_state(pid)
        self.pid = pid
        self.python = _find_python(pid)
        self.minor = int(self.python.layout["minor"])
        if self.minor < OLDEST:
            raise NotAttached(
                f"process {pid} is CPython 3.{self.minor}, and 3.{OLDEST} is the oldest that can be attached to"
            )
        self.has_gil = self.python.layout["object_type"] == 8  # else an object begins with more
        self.inner_pid = read_inner_pid(pid)
        self._check_version()
        function = self._find_function()
        try:
            self.entry = _tracer.RingEntry(
                self.python.memory,
                self.python.layout,
                self.python.runtime,
                function,
                self._find_slots(),
            )
        except OSError as error:
            raise make_stop_refusal(pid, error.errno or 0) from None

    def _find_slots(self) -> list[int]:
        try:
            return find_slots(self.python)
        except NotAttached:
            self._read_memory(self.python.runtime, 1)
            raise

    def _find_function(self) -> int:
        """The address of what runs a text, in the file that the interpreter is in."""
        mapping = self.python.file
        found = maps.find_mapped_file(self.pid, mapping)
        if not found:
            raise NotAttached(f"process {self.pid}: {mapping.path} cannot be read")
        try:
            file = elf.ElfFile(found[0], mapping.inode)
            try:
                address, other = (file.find_symbol(name) for name in (_FUNCTION, _OF_TRACED_REFS))
                bias = elf.load_bias(file, mapping)
            finally:
                file.close()
        except (OSError, elf.BadFile) as error:
            raise NotAttached(f"process {self.pid}: {mapping.path}: {error}") from None
        if address is None:
            raise NotAttached(
                f"process {self.pid}: {mapping.path} does not export {_FUNCTION}, so nothing can be run in it (a build of its own: PyInstaller, Nuitka)"
            )
        if other is not None:
            raise NotAttached(
                f"process {self.pid} is a build of CPython with Py_TRACE_REFS, whose structures pyusdt does not know"
            )
        if not any(
            each.start <= address + bias < each.end and "x" in each.access
            for each in self.python.maps
            if each.file_key == mapping.file_key
        ):
            raise NotAttached(f"process {self.pid}: {mapping.path} is not mapped as it says")
        return address + bias

    def _check_version(self) -> None:
        """Before 3.11 the version is in no variable of C. Names of files have it, and the interpreter's memory confirms it."""
        if self.minor > OLDEST:
            return
        end = time.monotonic() + _BECOMING
        while not (text := _read_version(self.python)) and time.monotonic() < end:
            time.sleep(_POLL)  # it has just started
        if not text.startswith(f"3.{self.minor}."):
            raise NotAttached(
                f"process {self.pid}: its files say CPython 3.{self.minor}, its memory does not"
            )

    # --- running ------------------------------------------------------------------------

    def run(self, statement: Statement, timeout: float) -> None:
        """Returns once the statement is done.  timeout: seconds for which the process may take to begin, and then again to end."""
        with _open_memory(self.pid) as memory:
            self._put(statement, timeout, memory)
            try:
                self._await_begin(timeout)
                self._await_end(timeout)
            finally:
                self._clear_slot(memory)

    def _make_texts(self, statement: Statement, free: list[int]) -> list[tuple[int, bytes]]:
        """For each of these slots: its number, the text."""
        texts = []
        slots = self.entry.slots
        for slot in free:
            try:
                texts.append((slots.index(slot), statement.make_text(self.inner_pid, slot)))
            except ValueError:
                raise PathTooLong(
                    f"process {self.pid}: the path of pyusdt's files is too long for the text that it would run"
                ) from None
        return texts

    def _put(self, statement: Statement, timeout: float, memory: int) -> None:
        """memory: a descriptor of the process's, or -1."""
        takes_abandoned = False
        texts = self._make_texts(statement, find_empty(self.python, self.entry.slots))
        if not texts:
            takes_abandoned = True
            texts = self._make_texts(statement, find_abandoned(self.python, self.entry.slots))
        if not texts:
            self._read_memory(self.entry.slots[0], 1)
            raise self._make_ring_refusal(_tracer.RING_NO_SLOT, "")
        error = result = 0
        end = time.monotonic() + timeout
        tries = 0
        while tries < _PUT_TRIES:
            limit = _STOP_LIMITS[min(tries // _LIMIT_TRIES, len(_STOP_LIMITS) - 1)]
            for number, text in texts:
                error, result, misfit = self._change(
                    "put", number, text, takes_abandoned, limit=limit
                )
                if error or result != _tracer.RING_NO_SLOT:
                    break
            if not error and result == _tracer.RING_STARTING and time.monotonic() < end:
                time.sleep(_START_PAUSE)
                continue
            tries += 1
            if not error and result == _tracer.RING_DONE:
                return
            if error == errno.EINTR:
                if self._was_put():
                    return
                if self.entry.step == _tracer.STEP_TEXT:
                    _write_zeros(memory, self.entry.slot)
                else:
                    texts = [each for each in texts if self.entry.slots[each[0]] != self.entry.slot]
                error = errno.EAGAIN
            if error == errno.EBUSY and has_brief_tracer(self.pid):
                error = errno.EAGAIN
            if error == errno.EAGAIN or result in (_tracer.RING_LOCKED, _tracer.RING_FULL):
                time.sleep(_PUT_PAUSE)
                continue
            if error:
                raise make_stop_refusal(self.pid, error)
            raise self._make_ring_refusal(result, misfit)
        raise make_stop_refusal(self.pid, error) if error else self._make_ring_refusal(result, "")

    def _was_put(self) -> bool:
        """After the kernel has killed the child: whether it had got so far.  If it had, the flags may be missing: _await_begin()
        sets them."""
        if self.entry.step == _tracer.STEP_ENTERED:
            return True
        if self.entry.step == _tracer.STEP_TEXT or not self.entry.slot:
            return False
        time.sleep(_FIRST_MEND)
        error, result, _ = self._change("mend")
        return (not error and result == _tracer.RING_DONE) or (
            self._read_report()[0] != statements.WAITS
        )

    def _change(
        self, what: str, *arguments: object, limit: int = _STOP_LIMITS[-1]
    ) -> tuple[int, int, str]:
        """put, mend or withdraw.  limit: milliseconds in which all threads have to stop."""
        try:
            error, result, misfit, *_ = getattr(self.entry, what)(limit, *arguments)
        except OSError as failed:
            if failed.errno == errno.EINTR:  # the kernel's timer: the machine was too busy
                return errno.EINTR, 0, ""
            raise NotAttached(
                f"process {self.pid}: no child process can be started for it: {failed.strerror}"
            ) from None
        return error, result, misfit

    def _make_ring_refusal(self, result: int, misfit: str) -> NotAttached:
        if result == _tracer.RING_STARTING:
            return NotAttached(f"process {self.pid}: its Python is not ready yet", "try again")
        if result == _tracer.RING_FINALIZING:
            return NotAttached(f"process {self.pid}: its Python is ending")
        if result == _tracer.RING_MISFIT:
            return NotAttached(
                f"process {self.pid} is a build of CPython 3.{self.minor} that pyusdt does not know: {misfit}; nothing was changed"
            )
        if result == _tracer.RING_NO_SLOT:
            return NotAttached(
                f"process {self.pid}: every place for the text that it would run is in use: another pyusdt is attaching, or the program writes there"
            )
        if result == _tracer.RING_FULL:
            return NotAttached(
                f"process {self.pid}: its ring of pending calls is full", "try again"
            )
        if result == _tracer.RING_LOCKED:
            return NotAttached(f"process {self.pid}: its pending calls are locked", "try again")
        return NotAttached(f"process {self.pid}: its memory cannot be written")

    # --- waiting ------------------------------------------------------------------------

    def _read_report(self) -> tuple[bytes, str]:
        data = self._read_memory(
            self.entry.slot + _tracer.SLOT_REPORT, _tracer.SLOT_SIZE - _tracer.SLOT_REPORT
        )
        return statements.parse_report(data)

    def _read_memory(self, address: int, size: int) -> bytes:
        """NotAttached: it has ended, or become another program."""
        try:
            return self.python.memory.read(address, size)
        except OSError as error:
            if not is_alive(self.pid) or error.errno == errno.ESRCH:
                raise NotAttached(f"process {self.pid} has ended") from None
            if error.errno == errno.EFAULT:
                raise make_stop_refusal(self.pid, errno.ESTALE) from None
            raise make_forbidden_refusal(self.pid) from None

    def _await_begin(self, timeout: float) -> None:
        begun = time.monotonic()
        mend_at = begun + _FIRST_MEND
        while self._read_report()[0] == statements.WAITS:
            now = time.monotonic()
            if now > begun + timeout:
                self._take_back(timeout)
                return
            if now > mend_at and self.entry.waits():
                self._change("mend")
                wake_main_loop(self.python)
                mend_at = now + _MEND
            time.sleep(_POLL)

    def _take_back(self, timeout: float) -> None:
        """NotAttached, unless it has just begun."""
        end = time.monotonic() + _RUNNING
        gone_at = None
        while time.monotonic() < end or gone_at:
            if self._read_report()[0] != statements.WAITS:
                return
            if gone_at is None:
                error, result, _ = self._change("withdraw")
                if not error and result == _tracer.RING_DONE:
                    raise NotAttached(
                        f"process {self.pid} has run no Python code for {timeout:g} s ({self._describe_wait()}): the request was taken back",
                        self._advise_wait(),
                    )
                if not error and result == _tracer.RING_GONE:
                    gone_at = time.monotonic()
                elif not error and result == _tracer.RING_FINALIZING:
                    raise self._make_ring_refusal(result, "")
                elif error in (errno.ESRCH, errno.ESTALE):
                    raise make_stop_refusal(self.pid, error)
            elif time.monotonic() > gone_at + _RUNNING:
                raise NotAttached(
                    f"process {self.pid} has run the statement, which could not start a thread (no memory, no free descriptor, a limit of threads, no /proc, an audit hook), or its child took it"
                )
            time.sleep(_POLL)
        raise NotAttached(
            f"process {self.pid}: the request could not be taken back, and it may still run it"
        )

    def _read_main_thread(self) -> KernelThread | None:
        try:
            return read_kernel_threads(self.pid).get(self.inner_pid)
        except OSError:
            return None

    def _advise_wait(self) -> str:
        main = self._read_main_thread()
        if main and main.syscall == "futex" and self.minor <= _MAIN_ONLY:
            return "a worker of multiprocessing or Celery runs Python code when its next task comes: try again with a longer --timeout"
        return "try again, or with a longer --timeout"

    def _describe_wait(self) -> str:
        """What its main thread does."""
        main = self._read_main_thread()
        if main is None:
            return "its main thread has ended"
        if main.syscall:
            return f"its main thread waits in {main.syscall}()"
        return f"its main thread is {main.state} in C code"

    def _await_end(self, timeout: float) -> None:
        end = time.monotonic() + timeout
        while True:
            state, text = self._read_report()
            if state == statements.DONE:
                return
            if state == statements.FAILED:
                raise NotAttached(f"process {self.pid}: pyusdt could not be loaded there: {text}")
            if time.monotonic() > end:
                raise NotAttached(
                    f"process {self.pid} has begun to load pyusdt and is not done after {timeout:g} s: it goes on with it"
                )
            time.sleep(_POLL)

    def _clear_slot(self, memory: int) -> None:
        """Nothing is left there, once the text was run.  The kernel has written the page, so it is the process's own."""
        with contextlib.suppress(NotAttached):
            if self._read_report()[0] in (statements.DONE, statements.FAILED):
                _write_zeros(memory, self.entry.slot)


def _find_python(pid: int) -> RemotePython:
    """NotAttached.  A process that has just become a Python is waited for."""
    end = time.monotonic() + _BECOMING
    while True:
        try:
            return RemotePython(pid)
        except (PythonNotFound, PythonNotRunning) as error:
            is_python = isinstance(error, PythonNotRunning) or read_comm(pid).startswith("python")
            if not is_python or time.monotonic() > end:
                kind = NoPython if isinstance(error, PythonNotFound) else NotAttached
                raise kind(str(error)) from None
        except StackReadError as error:
            raise NotAttached(str(error)) from None
        time.sleep(_POLL)


def _read_version(python: RemotePython) -> str:
    """sys.version, or ""."""
    try:
        codes = CodeObjects(python)
        main = python.read_word(python.runtime + python.layout["runtime_main"])
        version = RemoteModules(python, codes).find_member(main, "sys", "version")
        return codes.read_text(version) if version else ""
    except (OSError, LookupError):
        return ""


def _write_zeros(memory: int, slot: int) -> None:
    with contextlib.suppress(OSError):
        os.pwrite(memory, bytes(_tracer.SLOT_SIZE), slot)


@contextlib.contextmanager
def _open_memory(pid: int) -> Iterator[int]:
    """A descriptor of the memory of the program that a process runs, -1 if there is none: after an exec() it is nothing's, so a
    process cannot have a set-uid program written by it."""
    try:
        memory = os.open(f"/proc/{pid}/mem", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        memory = -1
    try:
        yield memory
    finally:
        if memory >= 0:
            os.close(memory)
