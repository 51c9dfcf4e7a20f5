"""Finds the file that has the probes of a provider that no process has, for a hint.

Only programs in PATH and what is installed with the command are read, for SEARCH_TIMEOUT at most.
"""

from __future__ import annotations

import os
import time

from pydtrace._tracer import glob
from pydtrace.symbols.elf import BadFile, ElfFile
from pydtrace.untrusted.terminal_escape import escape_for_terminal

from .probe_kinds import OTHER, probe_kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

SEARCH_TIMEOUT = 1.5  # s


def find_file_with_provider(desc: Any, command: Any = None) -> str | None:
    """A hint for a description, or None."""
    if probe_kind(desc) != OTHER or desc.module:
        return None
    deadline = time.monotonic() + SEARCH_TIMEOUT
    stem = desc.provider.rstrip("0123456789*")
    for path in _candidate_files(stem, command):
        if time.monotonic() > deadline:
            return None
        if _has_probe(path, desc):
            rights = "" if os.geteuid() == 0 else "as root, "
            return f"{rights}-x file={escape_for_terminal(path)} has such probes: it names a file that no process has loaded yet"
    return None


def _candidate_files(stem: str, command: Any) -> Iterator[str]:
    """Programs that are called as the provider first, with the libraries that they are linked with."""
    from .kernel.probes.finder import find_in_path, find_libraries, is_trusted

    if command:
        program = os.path.realpath(find_in_path(command.argv[0]))
        yield program
        yield from _bundled_libraries(program)
    names = {}
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        try:
            names.update({os.path.join(folder, name): name for name in os.listdir(folder)})
        except OSError:
            continue
    for path in sorted(names, key=lambda path: (not names[path].startswith(stem[:3]), path)):
        program = os.path.realpath(path)
        yield program
        if stem and names[path].startswith(stem) and is_trusted(program, program):
            yield from map(os.path.realpath, find_libraries(program))


def _bundled_libraries(program: str) -> Iterator[str]:
    """What is installed beside a program that is not the system's."""
    folder = os.path.dirname(os.path.dirname(program))
    if folder in ("/", "/usr", "/usr/local"):
        return
    for place, _, files in os.walk(folder):
        yield from (os.path.join(place, name) for name in files if ".so" in name)


def _has_probe(path: str, desc: Any) -> bool:
    try:
        file = ElfFile(path)
    except (OSError, BadFile):
        return False
    try:
        return any(
            glob(desc.provider.rstrip("0123456789"), note.provider) and glob(desc.name, note.name)
            for note in file.read_notes()
        )
    except BadFile:
        return False
    finally:
        file.close()
