"""Functions that a file chooses among when it is loaded (STT_IFUNC), as strlen() of glibc: for hints.

In: a description of pid functions, the command of -c or None.  Out: a hint that names the symbol and its file.
Always: no probe is put on such a symbol: it is the code that chooses, which runs once.
"""

from __future__ import annotations

import os
import re

from .._tracer import glob
from ..data.harmless import harmless
from .elf import BadFile, File

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def chosen_function(desc: Any, command: Any = None) -> str | None:
    """A hint for a description of functions that a file chooses among when it is loaded, or None."""
    if not re.fullmatch(r"pid\d+", desc.provider) or not desc.function:
        return None
    for path, inode, modules in _code_files(int(desc.provider[3:]), command):
        if desc.module and not any(glob(desc.module, module) for module in modules):
            continue
        if name := next((name for name in _chosen(path, inode) if glob(desc.function, name)), None):
            return (f"{harmless(name)} of {harmless(modules[0])} stands for one of several functions, chosen when it is loaded (IFUNC): "
                    "name the function itself, if the file or its debug file names it")
    return None


def _code_files(pid: int, command: Any) -> list[tuple[str, int | None, tuple[str, ...]]]:
    """As kernel.probes.code_files(); a command does not run yet."""
    from .kernel.probes import code_files, libraries, short_names, which

    if not command:
        return code_files(pid)
    program = os.path.realpath(which(command.argv[0]))
    return [(path, None, short_names(os.path.basename(path), path == program)) for path in (program, *libraries(program))]


def _chosen(path: str, inode: int | None) -> list[str]:
    try:
        file = File(path, inode)
    except (OSError, BadFile):
        return []
    try:
        return file.chosen_functions()
    except (OSError, BadFile):
        return []
    finally:
        file.close()
