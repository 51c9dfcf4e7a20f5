"""The command line of a Python that pyusdt starts for itself, also as root, in any folder and
environment.

- This package is imported from its full path. Nothing is imported from the current folder, and no
  PYTHON… variable has an effect (-I).
- The program can also import what this process can, after the Python's own modules.
"""

from __future__ import annotations

import os
import sys

_FOLDER = os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
)  # of both packages
_BOOTSTRAP = """import sys
sys.path += {path!r}
from importlib import util
class Packages:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in ("pydtrace", "pyusdt"):
            package = {folder!r} + "/" + name
            return util.spec_from_file_location(name, package + "/__init__.py", submodule_search_locations=[package])
sys.meta_path.insert(0, Packages)
import pydtrace
"""

# At the beginning of a program whose first argument is the pid of its parent: it ends when that does, in whatever way.
DIES_WITH_PARENT = """import ctypes, os, signal, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
    if os.getppid() != int(sys.argv.pop(1)):
        sys.exit(1)
else:
    del sys.argv[1]
"""


def isolated_command(program: str, *arguments: str) -> list[str]:
    """arguments: sys.argv[1:] of the program."""
    beginning = _BOOTSTRAP.format(path=_extra_paths(), folder=_FOLDER)
    return [
        sys.executable,
        "-I",
        *["-B"] * sys.dont_write_bytecode,
        "-c",
        beginning + program,
        *arguments,
    ]


def _extra_paths() -> list[str]:
    """What PYTHONPATH and the user's own site-packages have added to this process's path, but never the current folder, which stands
    there after `python -m`."""
    try:
        current = os.getcwd()
    except FileNotFoundError:
        current = ""
    return [each for each in sys.path if os.path.isabs(each) and os.path.realpath(each) != current]
