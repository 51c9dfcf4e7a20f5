"""D libraries, read before a program: the *.d files of the -L folders, and those of this
package.

A library follows the libraries that it depends on (`#pragma D depends_on library name`), which
are in the same folder. A library that depends on a missing module or provider is skipped, as in
dtrace.
"""

from __future__ import annotations

import os

from pydtrace import debug_log
from pydtrace.dlang.compile_errors import CompileError, LibraryError

from . import cpu_types, kernel_probes, kernel_types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ...options import Options
    from ..types.resolve import ProgramNames
    from .source_text import Source

_DEPENDS = rb"^[ \t]*#[ \t]*pragma[ \t]+D[ \t]+depends_on[ \t]+library[ \t]+(\S+)"


class Libraries:
    """add_library(text, path): enters what one library declares; kernel(structure, member): the offset in the running kernel's
    struct, None where it has no such member.  kernel is None where nothing is known of the kernel."""

    def __init__(self, add_library: Callable[..., Any], kernel: Any | None = None) -> None:
        self.add_library, self.kernel = add_library, kernel
        self.folders_read = self.tasks_read = self.probes_read = self.cpus_read = False

    def read_needed(self, source: Source, names: ProgramNames, options: Options) -> None:
        """Read what a text may need, once a compilation.  source: of the text; names: resolve.ProgramNames."""
        if not self.folders_read:
            self.read_folders(source, options)
        if not self.cpus_read and "cpuinfo_t" not in names.typedefs and _may_name_cpus(source.text):
            self.cpus_read = True
            self.add_library(cpu_types.library_text(), "<cpu>")
        if not self.tasks_read and self.kernel is not None and _may_name_tasks(source.text):
            self.tasks_read = True
            library = kernel_types.library_text(self.kernel, self.cpus_read)
            if library:
                self.add_library(library, "<kernel>")
        if not self.probes_read and self.kernel is not None and _may_name_probes(source.text):
            self.probes_read = True
            library = kernel_probes.library_text(self.kernel)
            if library:
                self.add_library(library, "<kernel>")

    def read_folders(self, source: Source, options: Options) -> None:
        """What -L names."""
        self.folders_read = True
        folders = [
            folder for folder in (options.get("syslibdir"), *options.get("libdir", ())) if folder
        ]
        if options.get("nolibs"):
            return
        try:
            for path in order_libraries(folders):
                self.read_file(path)
        except CompileError as error:
            error.program_source = source
            raise

    def read_file(self, path: str) -> None:
        debug_log.log("library %s", path)
        with open(path, "rb") as file:
            text = file.read()
        try:
            self.add_library(text, path)
        except CompileError as error:
            if error.tag != "D_PRAGMA_DEPEND":
                raise


# What a program may name of kernel_probes.py and kernel_packets.py without a probe's args[].
_NAMES = (
    "bufinfo",
    "devinfo",
    "fileinfo",
    "ipinfo",
    "ifinfo",
    "ipv4info",
    "ipv6info",
    "udpinfo",
    "udpsinfo",
    "tcpinfo",
    "tcpsinfo",
    "tcp_state_string",
    "TCP_STATE_",
    "IPPROTO_",
    "TH_",
)


def _may_name_tasks(text: str) -> bool:
    """Whether a program may need what kernel_types.py declares."""
    return any(name in text for name in ("psinfo", "curthread", "task_struct")) or (
        "args" in text and ("proc" in text or "sched" in text)
    )


def _may_name_probes(text: str) -> bool:
    """Whether a program may need what kernel_probes.py declares."""
    asked = "args" in text and any(
        f"{provider}:" in text for provider in ("io", "ip", "tcp", "udp")
    )
    return asked or any(name in text for name in _NAMES)


def _may_name_cpus(text: str) -> bool:
    """Whether a program may need what cpu_types.py declares."""
    return any(name in text for name in ("curcpu", "cpuinfo_t", "chip", "lgrp", "pset", "queue"))


def order_libraries(folders: list[str]) -> list[str]:
    """The paths of all libraries, each after those that it depends on."""
    depends = {}
    for folder in folders:
        for path in _list_libraries(folder):
            depends[path] = _read_dependencies(path)
    done: set[str] = set()
    result: list[str] = []

    def visit(path: str, trail: list[Any]) -> None:
        if path in done:
            return
        if path in trail:
            raise LibraryError(f"Cyclic dependency detected: {path} => {trail[-1]}")
        for needed in depends[path]:
            if needed not in depends:
                raise LibraryError(f"Invalid library dependency in {path}: {needed}")
            visit(needed, [*trail, path])
        done.add(path)
        result.append(path)

    for path in depends:
        visit(path, [])
    return result


def _list_libraries(folder: str) -> list[str]:
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [os.path.join(folder, name) for name in sorted(names) if name.endswith(".d")]


def _read_dependencies(path: str) -> list[Any]:
    import re  # few programs have libraries: the compiler's import does without it

    with open(path, "rb") as file:
        found = re.findall(_DEPENDS, file.read(), re.MULTILINE)
    return [os.path.join(os.path.dirname(path), os.fsdecode(name)) for name in found]
