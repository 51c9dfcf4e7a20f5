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
    for path in _code_files(int(desc.provider[3:]), command):
        if desc.module and not glob(desc.module, os.path.basename(path)):
            continue
        if name := next((name for name in _chosen(path) if glob(desc.function, name)), None):
            return (f"{harmless(name)} of {harmless(os.path.basename(path))} stands for one of several functions, chosen when it is loaded (IFUNC): "
                    "name the function itself, if the file or its debug file names it")
    return None


def _code_files(pid: int, command: Any) -> list[str]:
    from .kernel.probes import code_files, libraries, which

    if command:
        program = os.path.realpath(which(command.argv[0]))
        return [program, *libraries(program)]
    return code_files(pid)


def _chosen(path: str) -> list[str]:
    try:
        file = File(path)
    except (OSError, BadFile):
        return []
    try:
        return file.chosen_functions()
    except (OSError, BadFile):
        return []
    finally:
        file.close()
