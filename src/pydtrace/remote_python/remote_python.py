"""The CPython in another process: the address of its runtime, and its version.

- The process and its files are untrusted.
- StackReadError says what cannot be read, why, and what to do.
- The data belong to the process that had the id at the beginning; is_same_process() confirms it before they
  are shown.
"""

from __future__ import annotations

import errno
import os
import re
import struct

from pydtrace import _tracer
from pydtrace.process import maps
from pydtrace.process.identity import is_alive
from pydtrace.process.proc_status import read_ptrace_scope
from pydtrace.symbols import elf
from pydtrace.untrusted.terminal_escape import escape_for_terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pydtrace._tracer import Walker

_SYMBOL, _VERSION = "_PyRuntime", "Py_Version"
_SECTION = ".PyRuntime"  # in which the symbol is, and nothing else: it is there if the symbol is not exported
_TOLD = 13  # from 3.13 on the runtime has the offsets (_Py_DebugOffsets)
_OF_FOLDER = re.compile(r"python3\.(\d+)")


class StackReadError(Exception):
    """The stacks cannot be read; the message says why, and is safe for a terminal."""

    def __init__(self, message: str) -> None:
        super().__init__(escape_for_terminal(message))


class ProcessNotFound(StackReadError):
    """It has ended, or has never been."""

    @classmethod
    def for_pid(cls, pid: int) -> ProcessNotFound:
        return cls(f"no process {pid}")


class EndedBeforePython(StackReadError):
    """A command that has ended before a Python was seen in it.  status: as os.waitstatus_to_exitcode()."""

    status = 0

    @classmethod
    def for_command(cls, pid: int, program: str, status: int) -> EndedBeforePython:
        made = cls(
            f"process {pid} ({os.path.basename(program)}) has ended before a Python was seen in it"
        )
        made.status = status
        return made


class PythonNotFound(StackReadError):
    """There is no Python in the process."""


class PythonNotRunning(StackReadError):
    """It has not started yet, or has ended."""


def make_read_error(pid: int, error: OSError) -> StackReadError:
    """StackReadError for an OSError of a process."""
    if error.errno in (errno.ESRCH, errno.ENOENT):
        return ProcessNotFound.for_pid(pid)
    if error.errno in (errno.EPERM, errno.EACCES):
        return StackReadError(explain_forbidden(pid))
    if error.errno == errno.ENOSYS:
        return StackReadError(
            "this system cannot read the memory of another process: Linux 5.3 or later is needed"
        )
    return StackReadError(f"process {pid}: its memory cannot be read: {error.strerror}")


def explain_forbidden(pid: int) -> str:
    """Why this user may not read a process's memory, and what to do."""
    scope = read_ptrace_scope()
    try:
        owner = os.stat(f"/proc/{pid}").st_uid
    except OSError:
        owner = os.geteuid()
    refused = f"no permission to read process {pid}"
    if os.geteuid() == 0:
        return f"{refused}: root lacks it here (a container without CAP_SYS_PTRACE, or ptrace_scope {scope})"
    if owner != os.geteuid():
        return f"process {pid} belongs to another user (uid {owner}): run pyusdt as that user, or as root"
    if scope:
        return f"{refused}: kernel.yama.ptrace_scope is {scope}; run pyusdt as root"
    return f"{refused}: it has rights that this user lacks; run pyusdt as root"


class _RuntimeSymbols:
    """Of a file.  segments: as elf.ElfFile has them."""

    __slots__ = ("runtime", "segments", "version")

    def __init__(self, file: elf.ElfFile) -> None:
        self.runtime, self.version = (file.find_symbol(name) for name in (_SYMBOL, _VERSION))
        if self.runtime is None and _SECTION in file.sections:
            self.runtime = file.sections[_SECTION][1]
        self.segments = file.segments


_FILES = 256  # whose symbols are kept
_symbols_by_file: dict[tuple[int, ...], _RuntimeSymbols] = {}


def _read_symbols(path: str, status: os.stat_result) -> _RuntimeSymbols:
    """The _Symbols of a file, each looked for once.  Raises OSError, elf.BadFile."""
    key = status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
    if key not in _symbols_by_file:
        file = elf.ElfFile(path, status.st_ino)
        try:
            found = _RuntimeSymbols(file)
        finally:
            file.close()
        if len(_symbols_by_file) == _FILES:
            _symbols_by_file.clear()
        _symbols_by_file[key] = found
    return _symbols_by_file[key]


class RemotePython:
    """memory: _tracer.Memory; runtime: address of _PyRuntime; file: the mapping of the file that has it; layout: {name: offset}, "minor" of
    3.minor among them."""

    def __init__(self, pid: int, must_run: bool = True) -> None:
        """begun: it has to run already."""
        self.pid = pid
        try:
            self.memory = _tracer.Memory(pid)
            self.read_maps()
        except OSError as error:
            raise make_read_error(pid, error) from None
        self.file, self.runtime, version = self._find_runtime()
        self.layout = self._read_layout(self.file, version)
        if must_run:
            self.check_running()

    def read_maps(self) -> None:
        """What the process has mapped now.  Raises OSError."""
        self.maps = [each for each in map(maps.parse_mapping, maps.read_maps(self.pid)) if each]

    def check_running(self) -> None:
        """Raises StackReadError if another process has the id now, or the interpreter has not started or has ended."""
        try:
            head = self.read_word(self.runtime + self.layout["runtime_interpreters"])
        except OSError as error:
            raise make_read_error(self.pid, error) from None
        if not self.memory.is_same_process():
            raise StackReadError(f"process {self.pid} has ended")
        if not head:
            raise PythonNotRunning(
                f"process {self.pid}: its Python has not started yet, or has ended"
            )

    def make_walker(
        self, frames: int, tries: int, entries: bool = False, addresses: bool = False
    ) -> Walker:
        """A _tracer.Walker of its threads.  entries: with what Raw.entries() needs; addresses: of
        frames, for frame_locals.py."""
        try:
            return _tracer.Walker(
                self.memory, self.layout, self.runtime, frames, tries, entries, addresses
            )
        except ValueError as error:
            raise StackReadError(
                f"process {self.pid}: its Python's memory holds impossible values: {error}"
            ) from None

    def read_word(self, address: int) -> int:
        return int.from_bytes(self.memory.read(address, 8), "little")

    # --- finding ----------------------------------------------------------------------

    def _find_runtime(self) -> tuple[maps.Mapping, int, int | None]:
        """(Mapping of the file, address of _PyRuntime, address of Py_Version or None)."""
        lacking = ""
        for each in self.find_candidates():
            try:
                found = self._find_symbols(each)
            except (OSError, elf.BadFile):
                continue
            if found:
                return each, *found
            if each.is_deleted and not maps.find_mapped_file(self.pid, each):
                lacking = each.path
        if lacking:
            raise StackReadError(
                f"process {self.pid} ({self._read_comm()}): {lacking} cannot be read: the file was removed or replaced; run pyusdt as root"
            )
        if not is_alive(self.pid):
            raise StackReadError(
                f"process {self.pid} has ended; its parent has not waited for it yet"
            )
        raise PythonNotFound(
            f"process {self.pid} ({self._read_comm()}) is not a CPython process: neither its program nor a libpython in it has the symbol {_SYMBOL} or the section {_SECTION}"
        )

    def find_candidates(self) -> list[maps.Mapping]:
        """The mappings that begin a libpython, or the program."""
        try:
            program = os.stat(f"/proc/{self.pid}/exe").st_ino
        except OSError:
            program = None
        begins: dict[tuple[str, int, str], maps.Mapping] = {}
        for each in self.maps:
            if each.inode == program or each.module_name.startswith("libpython"):
                begins.setdefault(each.file_key, each)
        return sorted(begins.values(), key=lambda each: each.inode == program)

    def _read_comm(self) -> str:
        try:
            with open(f"/proc/{self.pid}/comm", errors="replace") as file:
                return file.read().strip()
        except OSError:
            return "?"

    def _find_symbols(self, mapping: maps.Mapping) -> tuple[int, int | None] | None:
        found = maps.find_mapped_file(self.pid, mapping)
        if not found:
            return None
        symbols = _read_symbols(*found)
        if symbols.runtime is None:
            return None
        distance = elf.load_bias(symbols, mapping)
        return symbols.runtime + distance, symbols.version and symbols.version + distance

    # --- version ----------------------------------------------------------------------

    def _read_layout(self, file: maps.Mapping, version: int | None) -> dict[str, int]:
        try:
            found: dict[str, int] = self._read_debug_offsets() or _tracer.python_layout(
                self._find_minor(file, version)
            )
            return found
        except OSError as error:
            if error.errno == errno.ENOENT:
                raise StackReadError(
                    f"process {self.pid}: its CPython is of a version that pyusdt does not know (3.9 to 3.15 are)"
                ) from None
            raise make_read_error(self.pid, error) from None

    def _read_debug_offsets(self) -> dict[str, int] | None:
        """The layout in the runtime of 3.13 and later, or None."""
        try:
            found: dict[str, int] = _tracer.python_layout_from_words(
                self.memory.read(self.runtime, _tracer.LAYOUT_SIZE)
            )
            return found
        except OSError as error:
            if error.errno == errno.EINVAL:
                return None
            raise

    def _find_minor(self, file: maps.Mapping, version: int | None) -> int:
        """3.11 and 3.12 have it in a variable, those before in the names of what they have mapped."""
        if version:
            return self.read_word(version) >> 16 & 0xFF
        for path in [file.path, *(each.path for each in self.maps)]:
            found = _OF_FOLDER.search(path)
            if found and int(found[1]) < _TOLD:
                return int(found[1])
        return 0


def unpack_word(data: bytes, offset: int) -> int:
    [word] = struct.unpack_from("=Q", data, offset)
    return int(word)
