"""`pyusdt list`: the probes of a file, of a process, or of all processes that have published
themselves.

- Nothing is written.
- NotFound says which file or process cannot be read, and why.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os

from pydtrace._tracer import AT_PLACE, glob, list_probes
from pydtrace.engine import probe_signatures
from pydtrace.process import maps, process_names
from pydtrace.remote_python.remote_python import explain_forbidden
from pydtrace.symbols import elf
from pydtrace.untrusted.terminal_escape import escape_for_terminal

from .semaphore_reader import LISTENERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from pydtrace.remote_python.module_functions import ModuleFunction

_KINDS = {probe_signatures.INTEGER: "integer"}
_BUILTIN_PROVIDERS = ("pyusdt", "erlang")  # the providers that every process with pyusdt has
_MAX_FILES, _MAX_NOTE_BYTES = (
    4096,
    8 << 20,
)  # of a process, that are looked into; bytes of all their notes


class NotFound(Exception):
    """Nothing can be listed; the message says why, and its names can not harm a terminal."""

    def __init__(self, message: str) -> None:
        super().__init__(escape_for_terminal(message))


class ListedProbe:
    """One probe, or a row of them.  provider, name: D's; module: the file's name; arguments: the operands of its note, or the
    types in its process's control file, with the names that are known; state: how many tracers listen, by its semaphore and its process's control file, "-" if unknown; pid, process: the id and the
    name of the process, None and "" for the probes of a file."""

    __slots__ = ("arguments", "module", "name", "pid", "process", "provider", "state")

    def __init__(
        self,
        provider: str,
        name: str,
        module: str,
        arguments: str,
        state: str = "-",
        pid: int | None = None,
        process: str = "",
    ) -> None:
        self.provider, self.name, self.module = provider, name, module
        self.arguments, self.state = arguments, state
        self.pid, self.process = pid, process

    def __repr__(self) -> str:
        return f"Found({self.provider}:{self.module}:{self.name} {self.state} {self.arguments})"


def _open_elf(path: str, shown: str) -> Any:
    try:
        return elf.ElfFile(path)
    except (OSError, elf.BadFile) as error:
        raise NotFound(f"{shown}: {getattr(error, 'strerror', None) or error}") from None


def read_file_probes(path: str) -> list[ListedProbe]:
    """The probes in the notes of an ELF file."""
    file = _open_elf(path, path)
    try:
        return [
            ListedProbe(note.provider, note.name, os.path.basename(path), note.arguments)
            for note in file.read_notes()
        ]
    except elf.BadFile as error:
        raise NotFound(f"{path}: {error}") from None
    finally:
        file.close()


# --- processes -----------------------------------------------------------------------------


class _MappedFile:
    """A file that a process has mapped, by its mapped.Mappings."""

    def __init__(self) -> None:
        self.parts: list[Any] = []

    def find_writable_address(self, offset: int) -> int | None:
        """Where a byte of the file is in memory and can be written to, or None."""
        for part in self.parts:
            if "w" in part.access and part.offset <= offset < part.offset + part.end - part.start:
                return int(part.start + offset - part.offset)
        return None


def _read_mapped_files(pid: int) -> list[_MappedFile]:
    """Each file once, by whatever names it is mapped."""
    try:
        parts = [part for part in map(maps.parse_mapping, maps.read_maps(pid)) if part]
    except FileNotFoundError:
        raise NotFound(f"no such process: {pid}") from None
    except PermissionError:
        raise NotFound(explain_forbidden(pid)) from None
    except OSError as error:
        raise NotFound(f"process {pid}: {error.strerror}") from None
    files: dict[Any, _MappedFile] = {}
    for part in parts:
        files.setdefault((part.device, part.inode), _MappedFile()).parts.append(part)
    return list(files.values())


def _read_notes(
    pid: int, where: _MappedFile, most: int
) -> tuple[list[tuple[Any, int | None]], int]:
    """(The notes of a file that it has mapped, each with where its semaphore is in memory; their bytes).  Of more bytes than `most` none are
    read."""
    place = maps.find_mapped_file(pid, where.parts[0])
    if place is None:
        return [], 0  # the file was deleted, and this user may not open it
    try:
        file = elf.ElfFile(place[0], place[1].st_ino)
    except (OSError, elf.BadFile):
        return [], 0
    size = 0
    try:
        size = file.notes_size
        offsets = (
            [
                (note, file.file_offset(note.semaphore) if note.semaphore else None)
                for note in file.read_notes()
            ]
            if size <= most
            else []
        )
        return [
            (note, None if offset is None else where.find_writable_address(offset))
            for note, offset in offsets
        ], size
    except elf.BadFile:
        return [], size
    finally:
        file.close()


def _read_all_notes(
    pid: int, files: list[_MappedFile], report_skipped: Callable[[str], None]
) -> Iterator[tuple[_MappedFile, list[tuple[Any, int | None]]]]:
    """Of each file its notes, as far as there is room; left(file's name): of one for which there is none."""
    most = _MAX_NOTE_BYTES
    for where in files[:_MAX_FILES]:
        notes, size = _read_notes(pid, where, most)
        if size > most:
            report_skipped(where.parts[0].module_name)
        else:
            most -= size
            yield where, notes
    if len(files) > _MAX_FILES:
        report_skipped(files[_MAX_FILES].parts[0].module_name)


def _list_sites(
    pid: int, where: _MappedFile, notes: list[tuple[Any, int | None]]
) -> list[ListedProbe]:
    counts = LISTENERS.count_tracers(pid, [address for _, address in notes if address is not None])
    return [
        ListedProbe(
            note.provider,
            note.name,
            where.parts[0].module_name,
            note.arguments,
            "-" if address is None else str(counts.get(address, "-")),
        )
        for note, address in notes
    ]


def _ignore_skipped(name: str) -> None:
    """Report it."""


def find_semaphores(pid: int) -> tuple[set[int], set[str]]:
    """Where the semaphores of a process's probes are in its memory, and the paths of all files that it has mapped; none where that
    can not be known."""
    with contextlib.suppress(NotFound):
        files = _read_mapped_files(pid)
        addresses = {
            address
            for _, notes in _read_all_notes(pid, files, _ignore_skipped)
            for _, address in notes
            if address is not None
        }
        return addresses, {part.path for where in files for part in where.parts}
    return set(), set()


def count_raised(pid: int, addresses: Iterable[int]) -> int:
    """How many of these semaphores count a tracer."""
    return sum(map(bool, LISTENERS.count_tracers(pid, addresses).values()))


def list_process_probes(
    pid: int, report_skipped: Callable[[str], None] = _ignore_skipped
) -> list[ListedProbe]:
    """The USDT probes of a process, and the probes that only the embedded engine sees.  left(name): of a file that was not looked into, as
    there are too many, or too many probes in them."""
    found: list[ListedProbe] = []
    files = _read_mapped_files(pid)
    for where, notes in _read_all_notes(pid, files, report_skipped):
        found += _list_sites(pid, where, notes)
    seen = {(each.provider, each.name) for each in found}
    try:
        own = list_probes(None, pid)
    except OSError:
        own = []  # the process has no pyusdt in it, or belongs to another user: there are no more probes to find
    published = {
        (each.provider.removesuffix(str(pid)), each.name): each
        for each in map(_make_listed_probe, without_code_locations(own))
    }
    for each in found:
        named = published.get((each.provider, each.name))
        if named and (
            each.state != "-" or named.state != "0"
        ):  # a semaphore that could not be read may count a tracer
            each.state = str(int(named.state) + (0 if each.state == "-" else int(each.state)))
        if (
            named and ":" in named.arguments and each.provider not in _BUILTIN_PROVIDERS
        ):  # what they are called, not where they lie
            each.arguments = named.arguments
    found += [each for key, each in published.items() if key not in seen]
    for each in found:
        each.pid, each.process = pid, _process_name(pid, "")
    return found


_process_name = functools.cache(process_names.describe_row)  # a process has a thousand probes


def without_code_locations(rows: Sequence[Any]) -> list[Any]:
    """A probe that has places counts once, not at each of them."""
    return [row for row in rows if row[7] != AT_PLACE]


def _make_listed_probe(row: Sequence[Any]) -> ListedProbe:
    """The probe of a row of the process's control file."""
    pid, provider, module, _function, name, *_, sessions, elsewhere = row
    arguments = [
        f"{called}:{_KINDS.get(type, type)}" if called else _KINDS.get(type, type)
        for called, type in probe_signatures.row_signature(row)
    ]
    return ListedProbe(
        provider,
        name,
        module,
        " ".join(arguments),
        str(sessions),
        pid,
        _process_name(pid, elsewhere),
    )


def list_published() -> list[ListedProbe]:
    """The probes of all of the user's processes that have pyusdt in them.  Probes of a program's own providers come first; this
    process counts only if there is no other."""
    try:
        rows = without_code_locations(list_probes())
    except OSError as error:
        raise NotFound(error.strerror or str(error)) from None
    others = [row for row in rows if row[0] != os.getpid()]
    probes = list(map(_make_listed_probe, others or rows))
    return sorted(
        probes, key=lambda each: each.provider.removesuffix(str(each.pid)) in _BUILTIN_PROVIDERS
    )


# --- functions of a Python ------------------------------------------------------------------


def list_functions(
    pid: int, pattern: str, report: Callable[[str], None] = _ignore_skipped
) -> list[ModuleFunction]:
    """Of a running Python, those that MODULE:FUNCTION or FUNCTION matches, with the names of their variables."""
    from pydtrace.remote_python.module_functions import ModuleFunctions
    from pydtrace.remote_python.remote_python import StackReadError

    module, _, function = pattern.rpartition(":")
    try:
        functions = ModuleFunctions(pid)
    except StackReadError as error:
        raise NotFound(str(error)) from None
    found = functions.find(lambda name: glob(module, name), lambda name: glob(function, name))
    if not functions.is_complete:
        report("the process has more functions than there is room for")
    return sorted(found, key=lambda each: (each.module, each.line, each.name))


# --- many of one kind ----------------------------------------------------------------------


def _family_key(probe: ListedProbe) -> tuple[str, str, str, str, int | None]:
    """Probes with the same family stand in one row."""
    return (probe.provider, probe.name.rstrip("0123456789"), probe.module, probe.state, probe.pid)


def fold_families(probes: list[ListedProbe]) -> list[ListedProbe]:
    """The same probes, but one row for three or more that follow each other and differ only in the number at the end of their names."""
    out = []
    for (_, stem, *_), group in itertools.groupby(probes, _family_key):
        members = list(group)
        if len(members) < 3 or any(each.name == stem for each in members):
            out += members
            continue
        first, last = members[0], members[-1]
        out.append(
            ListedProbe(
                first.provider,
                f"{first.name} … {last.name[len(stem) :]}",
                first.module,
                first.arguments,
                first.state,
                first.pid,
                first.process,
            )
        )
    return out
