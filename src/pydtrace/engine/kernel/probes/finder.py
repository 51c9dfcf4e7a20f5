"""Finding probes: the USDT sites of files, and the processes that have mapped these files.

- A file is identified by its inode: a file that many processes map is read once, and a file of the
  same name in another mount namespace is another file.
- Files that cannot be read are skipped.
"""

from __future__ import annotations

import glob
import os
import resource
from collections import OrderedDict
from functools import partial

from pydtrace.engine import EngineError
from pydtrace.process import maps
from pydtrace.symbols import elf
from pydtrace.symbols.demangle import demangle
from pydtrace.symbols.ifunc_targets import find_ifunc_targets
from pydtrace.untrusted.responsive_fs import RESPONSIVE_FS
from pydtrace.untrusted.terminal_escape import escape_for_terminal
from pydtrace.untrusted.user_quota import UserQuota, canonical_uid

from . import instruction_starts, usdt_operands
from .return_sites import ReturnSites

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from typing import Any

    from pydtrace.symbols.elf import UsdtNote

    from .matcher import FunctionFilter, ProbeDesc
    from .return_sites import ReturnPoint

_COMMAND_DEPTH = 4  # #! in a script that is a script's interpreter …
_FILES, _NOTES = 1 << 16, 32 << 20  # of all processes; bytes of their files' notes
_SYMBOLS = (
    64 << 20
)  # bytes of the tables of symbols that are looked through for functions of processes that nobody has named
_LINES = 1 << 12  # of a process's maps, that are kept
_FORKS = 1 << 14  # children that were not looked at


class Site:
    """A probe's place.  file: TracedFile; note: elf.UsdtNote, for functions one that is made up; size: of the function whose
    returns the probe stands for, else None; ident: the probe's id, once it is matched."""

    __slots__ = ("file", "note", "size", "ident", "_function")

    def __init__(
        self, file: TracedFile, note: UsdtNote, function: str | None = None, size: int | None = None
    ) -> None:
        self.file, self.note, self.size = file, note, size
        self.ident, self._function = 0, function

    @property
    def module_names(self) -> tuple[str, ...]:
        """What D may call the file.  The pid provider knows short names as well."""
        return (
            *(self.file.short_names if self.note.provider == "pid" else (self.file.name,)),
            *self.file.requested_paths,
        )

    @property
    def shown_function(self) -> str:
        """The function as it is shown."""
        return demangle(self.function) if self.file.demangles else self.function

    def return_points(self) -> list[ReturnPoint]:
        """[returns.Point].  Raises returns.NotFound."""
        return self.file.return_sites.find_points(self.note.address, self.size or 0, self.function)

    @property
    def function(self) -> str:
        if self._function is None:
            try:
                self._function = self.file.elf.find_function_name(self.note.address)
            except elf.BadFile:
                self._function = ""
        return self._function


class TracedFile:
    """A file that is mapped by processes.  path: where it was found; owner: whose it is; elf: it itself, open as long as its sites are wanted, since
    what is at the path may be another file at any time; name: D's module; pids: set of those
    that have it mapped; main: it is a process's program; sites: list, empty where it is no ELF file or has no notes;
    searched: its functions were looked at; asked: the user named it, so that processes to come count, asked_as: by these paths; most: bytes of notes that are read, 0:
    the file is not opened; noted: how many it has; left: they were not read."""

    def __init__(
        self, path: str, name: str, inode: int, most: int, owner: int, demangles: bool = True
    ) -> None:
        self.path, self.name, self.owner, self.demangles = path, name, owner, demangles
        self.pids: set[int] = set()
        self.is_program = self.is_searched = self.is_requested = False
        self.requested_paths: tuple[str, ...] = ()
        self._inode = inode
        self.elf: elf.ElfFile = None  # type: ignore[assignment]  # wherever there are sites it is open
        self.sites: list[Site] = []
        self.note_bytes, self.is_skipped = 0, most <= 0
        self._returns: ReturnSites | None = None
        if not self.is_skipped:
            self._read_notes(most)

    def _read_notes(self, most: int) -> None:
        try:
            file = elf.ElfFile(self.path, self._inode)
        except (OSError, elf.BadFile):
            return  # not ours to complain about: most files have no probes
        try:
            self.note_bytes = file.notes_size
            self.is_skipped = self.note_bytes > most
            self.sites = (
                [Site(self, note) for note in file.read_notes()] if not self.is_skipped else []
            )
        except elf.BadFile:
            pass
        if self.sites:
            self.elf = file
        else:
            file.close()

    @property
    def short_names(self) -> tuple[str, ...]:
        """As short_names()."""
        return short_names(self.name, self.is_program)

    @property
    def return_sites(self) -> ReturnSites:
        if self._returns is None:
            self._returns = ReturnSites(self.elf)
        return self._returns

    def read_code(self, offset: int, size: int) -> bytes:
        """The bytes at an offset, b"" where there are not so many."""
        try:
            return self.elf.read(offset, size)
        except elf.BadFile:
            return b""

    def add_functions(
        self, wanted: FunctionFilter, most: int = elf.SECTION_LIMIT, processes: Iterable[int] = ()
    ) -> int:
        """Sites of the pid provider: for each function the names in wanted(function, its size, where its instructions are).  most: bytes of
        a table of symbols that is read; the bytes of the file's.  processes: named ones, that are asked what they have chosen (IFUNC)."""
        self.is_searched, table = True, 0
        if self.elf is None and not self.is_skipped:
            try:
                self.elf = elf.ElfFile(self.path, self._inode)
            except (OSError, elf.BadFile):
                return 0
        arguments = usdt_operands.FUNCTION_ARGUMENTS.get(self.elf.machine, ()) if self.elf else ()
        try:
            table = self.elf.symbols_size if arguments else 0
            functions: list[tuple[int, int, str]] = []
            if arguments and table <= most:
                functions = [
                    *self.elf.read_functions(),
                    *find_ifunc_targets(self.elf, self._inode, self.pids.intersection(processes)),
                ]
        except elf.BadFile:
            functions = []
        for address, size, name in functions:
            for probe in wanted(name, size, partial(self._instruction_offsets, address, size)):
                returns, is_place = probe == "return", probe not in ("entry", "return")
                note = elf.UsdtNote(
                    "pid",
                    probe,
                    address + (int(probe, 16) if is_place else 0),
                    0,
                    arguments[returns],
                )
                self.sites.append(Site(self, note, name, size if returns else None))
        if self.elf and not self.sites:
            self.elf.close()
            self.elf = None  # type: ignore[assignment]  # there are no sites
        return table

    def _instruction_offsets(self, address: int, size: int) -> Iterable[int]:
        """Where the instructions of a function begin."""
        offset = self.elf.file_offset(address)
        code = self.read_code(offset, size) if offset is not None else b""
        return instruction_starts.instruction_offsets(code, self.elf.machine)


class ProbeFinder:
    """Files by inode, found as processes are looked at.  files: {key: TracedFile}; maps: {pid: the lines of its maps
    that tell of code}, as last seen; forks: of children that were not looked at, their parent's; demangles: functions of C++ and Rust are shown as they are written; tell(text): of a user who has more files or probes than there is room for."""

    def __init__(self, tell: Callable[[str], None], demangles: bool = True) -> None:
        self.files: dict[tuple[int, int], TracedFile] = {}
        self.maps: dict[int, list[str]] = {}
        self.forks: OrderedDict[int, Sequence[str]] = OrderedDict()
        self._demangles, self._report = demangles, tell
        self._reported_owners: set[int] = set()
        self._known, self._open = UserQuota(_FILES), UserQuota(_descriptor_limit())
        self._notes, self._symbols = UserQuota(_NOTES), UserQuota(_SYMBOLS)
        self._seen: dict[
            tuple[str, int, str], TracedFile | None
        ] = {}  # what a line of maps says of a file: TracedFile or None

    def scan_process(self, pid: int) -> list[TracedFile]:
        """Look at what a process has mapped; the TracedFiles of it that were not known before, or not of it.
        Raises OSError where it can not be looked at."""
        changed = []
        program = os.readlink(f"/proc/{pid}/exe")
        lines = _code_lines(pid)
        if lines and lines != _code_lines(
            "self"
        ):  # a command that does not run yet is a copy of this process
            self.maps[pid] = lines[:_LINES]
        for each in {line.file_key: line for line in _mappings(lines)}.values():
            if each.file_key in self._seen:
                file = self._seen[each.file_key]
            else:
                found = maps.find_mapped_file(pid, each, RESPONSIVE_FS)
                file = self._seen[each.file_key] = (
                    self.add_file(found[0], each.module_name, found[1]) if found else None
                )
            if file is not None and pid not in file.pids:
                file.pids.add(pid)
                file.is_program = file.is_program or each.path == program
                changed.append(file)
        return changed

    def note_fork(self, child: int, parent: int) -> None:
        """A child has its parent's code, and an id that another may have had."""
        lines = self.maps_of(parent)
        self.maps.pop(child, None)
        self.forks[child] = lines
        if len(self.forks) > _FORKS:
            self.forks.popitem(last=False)

    def maps_of(self, pid: int) -> Sequence[str]:
        return self.maps.get(pid) or self.forks.get(pid, ())

    def add_file(
        self, path: str, name: str | None = None, status: os.stat_result | None = None
    ) -> TracedFile | None:
        """A file by its path; the TracedFile, None where there is no room for it."""
        status = status or os.stat(path)
        key, owner = (status.st_dev, status.st_ino), canonical_uid(status.st_uid)
        if key in self.files:
            return self.files[key]
        if self._known.find_available(owner) <= 0:
            self._report_quota(owner, path)
            return None
        most = self._notes.find_available(owner) if self._open.find_available(owner) > 0 else 0
        file = self.files[key] = TracedFile(
            path, name or os.path.basename(path), status.st_ino, most, owner, self._demangles
        )
        self._known.used[owner] += 1
        self._open.used[owner] += bool(file.sites)
        if not file.is_skipped:
            self._notes.used[owner] += file.note_bytes
        else:
            self._report_quota(owner, path)
        return file

    def add_functions(
        self,
        wanted_of: Callable[[TracedFile, Collection[int]], FunctionFilter | None],
        pids: Collection[int],
    ) -> None:
        """To the files whose functions are not there yet: wanted_of(file, pids) as Matcher.make_function_filter().  Of processes that nobody has named
        the tables of symbols have bounds."""
        for file in self.files.values():
            if file.is_searched or not (wanted := wanted_of(file, pids)):
                continue
            most = (
                elf.SECTION_LIMIT
                if pids or file.is_requested
                else self._symbols.find_available(file.owner)
            )
            size = file.add_functions(wanted, most, pids)
            if size > most:
                self._report_quota(file.owner, file.path)
            else:
                self._symbols.used[file.owner] += size

    def _report_quota(self, owner: int, path: str) -> None:
        if owner not in self._reported_owners:
            self._reported_owners.add(owner)
            self._report(
                f"there is no room for the probes of {escape_for_terminal(path)}: user {owner} has too many files or probes (ulimit -n allows more files)"
            )

    def add_command(self, argv: Sequence[str], pid: int) -> None:
        """What a command that has not started yet will have mapped: its program, the libraries that this is
        linked with, and pyusdt's own module, which it may import."""
        path = find_in_path(argv[0])
        for _ in range(_COMMAND_DEPTH):
            interpreter = script_interpreter(path)
            if interpreter is None:
                break
            path = interpreter
        self._add_program_files(path, pid, [*find_libraries(path), _core_module_path()])

    def scan_program(self, pid: int) -> None:
        """Look at a process that is about to run its program's first instruction.  Raises OSError."""
        self.scan_process(pid)
        path = os.readlink(f"/proc/{pid}/exe")
        if is_trusted(path, f"/proc/{pid}/exe"):
            self._add_program_files(path, pid, find_libraries(path))

    def _add_program_files(self, path: str, pid: int, libraries: Iterable[str]) -> None:
        """Add a program and its libraries, which are those of a process."""
        for each in (path, *libraries):
            if each:
                try:
                    file = self.add_file(os.path.realpath(each))
                except OSError:
                    continue
                if file:
                    file.pids.add(pid)
                    file.is_program = file.is_program or each == path

    def add_requested_file(self, path: str, pids: Collection[int]) -> None:
        """A file that the user named, which these processes (none: any) may map later.  Raises OSError."""
        file = self.add_file(os.path.realpath(path))
        if file:
            file.is_requested = True
            file.requested_paths = (*file.requested_paths, path)
            file.pids.update(pids)

    def scan_all(self, but: Collection[int] = ()) -> None:
        """Look at all processes that may be looked at; pids that are `but` are not."""
        for entry in os.listdir("/proc"):
            if entry.isdigit() and int(entry) not in but:
                try:
                    self.scan_process(int(entry))
                except OSError:
                    continue

    def co_mapped_names(self, file: TracedFile) -> set[str]:
        """The names of all files that processes have mapped which have this one mapped."""
        return {
            each.name
            for each in self.files.values()
            if each is file or not each.pids.isdisjoint(file.pids)
        }

    @property
    def sites(self) -> list[Site]:
        return [site for file in self.files.values() for site in file.sites]


def _descriptor_limit() -> int:
    """How many files with probes may be open: half of what this process may open."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return most // 2 if most != resource.RLIM_INFINITY else _FILES


def add_requested_files(finder: ProbeFinder, paths: Iterable[str], pids: Collection[int]) -> None:
    """The files of -x file, which may be patterns, for a Finder.  Raises EngineError."""
    for pattern in paths:
        found = sorted(glob.glob(pattern)) if glob.has_magic(pattern) else [pattern]
        if not found:
            raise EngineError(f"-x file={pattern}: no file matches")
        for path in found:
            try:
                finder.add_requested_file(path, pids)
            except OSError as error:
                raise EngineError(f"-x file={path}: {error.strerror}") from None


def requested_paths(
    options: Mapping[str, Any], descriptions: Iterable[ProbeDesc] | None
) -> tuple[str, ...]:
    """The paths that -x file names, and those that stand for a description's module."""
    return (
        *options.get("file", ()),
        *dict.fromkeys(desc.module for desc in descriptions or () if desc.module.startswith("/")),
    )


def is_32_bit(path: str) -> bool:
    """Whether a file is a program for 32-bit processes; OSError where it can not be read."""
    with open(path, "rb") as file:
        return file.read(5) == b"\x7fELF\x01"


def _code_lines(pid: int | str) -> list[str]:
    """The lines of a process's maps that are executable and of files."""
    return [
        line
        for line in maps.read_maps(pid)
        if (each := maps.parse_mapping(line)) and "x" in each.access
    ]


def _mappings(lines: Iterable[str]) -> list[maps.Mapping]:
    return [each for each in map(maps.parse_mapping, lines) if each]


def mapped_module_names(pid: int) -> set[str]:
    """The names of the files whose code a process has mapped; none where it can not be looked at."""
    try:
        return {each.module_name for each in _mappings(_code_lines(pid))}
    except OSError:
        return set()


def short_names(name: str, is_program: bool) -> tuple[str, ...]:
    """What D calls a file: libc.so.6 is libc.so and libc too, and a process's program is a.out; as in dtrace."""
    parts = name.split(".")
    names = [".".join(parts[:count]) for count in range(len(parts), 0, -1)]
    return (*names, "a.out") if is_program else tuple(names)


def code_files(pid: int) -> list[tuple[str, int, tuple[str, ...]]]:
    """[(path, inode, short_names())] of the files whose code a process has mapped, where they can be looked at."""
    try:
        found = {line.file_key: line for line in _mappings(_code_lines(pid))}.values()
        program = os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return []
    places = ((each, maps.find_mapped_file(pid, each, RESPONSIVE_FS)) for each in found)
    return [
        (place[0], place[1].st_ino, short_names(each.module_name, each.path == program))
        for each, place in places
        if place
    ]


def find_in_path(name: str) -> str:
    if "/" in name:
        return name
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK):
            return path
    return name


def script_interpreter(path: str) -> str | None:
    """The program that runs a script, or None where it is none."""
    try:
        with open(path, "rb") as file:
            first = file.readline(256)
    except OSError:
        return None
    if first[:2] != b"#!":
        return None
    words = os.fsdecode(first[2:]).split()
    if len(words) > 1 and os.path.basename(words[0]) == "env":
        return find_in_path(
            next(
                (word for word in words[1:] if not word.startswith("-") and "=" not in word),
                words[1],
            )
        )
    return words[0] if words else None


def find_libraries(path: str) -> list[str]:
    """The libraries that a program is linked with, as its own dynamic loader finds them."""
    try:
        file = elf.ElfFile(path)
    except (OSError, elf.BadFile):
        return []
    loader = file.interpreter
    file.close()
    if not loader:
        return []
    words = os.fsdecode(_read_output([loader, "--list", path])).split()
    return [loader, *[word for word in words if word.startswith("/")]]


def is_trusted(path: str, running: str) -> bool:
    """Whether a program's loader may be run to name its libraries: the program that runs is the one at the path, and only root or the
    tracer's own user can have written it."""
    try:
        there, status = os.stat(path), os.stat(running)
    except OSError:
        return False
    same = (there.st_dev, there.st_ino) == (status.st_dev, status.st_ino)
    return same and there.st_uid in (0, os.geteuid()) and not there.st_mode & 0o022


def _read_output(argv: list[str]) -> bytes:
    """What a command prints; b"" where it can not be run.  (Importing subprocess takes longer than this.)"""
    reading, writing = os.pipe()
    try:
        actions = [
            (os.POSIX_SPAWN_DUP2, writing, 1),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ]
        pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=actions)
    except OSError:
        os.close(reading)
        return b""
    finally:
        os.close(writing)
    with open(reading, "rb") as pipe:
        out = pipe.read()
    os.waitpid(pid, 0)
    return out


def _core_module_path() -> str:
    from pyusdt import _core

    return _core.__file__
