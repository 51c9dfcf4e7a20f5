"""Short names of source files, and the package that a file belongs to.

- A file of an installed package or of the standard library is named from the package on, a file of
  the program from the folder that all of these share, a native library or a command by its name.
- Two files that would have the same short name keep their whole paths.
"""

from __future__ import annotations

import os
import re
from collections import Counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_INSTALLED = re.compile(r".*/(?:site|dist)-packages/(.+)", re.DOTALL)
_STANDARD = re.compile(r".*/lib(?:64)?/python\d+\.\d+t?/(?:lib-dynload/)?(.+)", re.DOTALL)
_FROZEN = re.compile(r"<frozen ([^>.]+)[^>]*>")
_NATIVE = re.compile(r"\.so(?:\.|$)")
_COMMAND = re.compile(r"/s?bin/[^/]+\Z")  # an interpreter, gunicorn
_OWN = re.compile(r".*/(?:site-packages|dist-packages|src)/(pyusdt|pydtrace)/")


class ShortPaths:
    """files: all that there are."""

    def __init__(self, files: Iterable[str]) -> None:
        names = {file: _name_in_package(file) for file in files if file.startswith("/")}
        others = [file for file, name in names.items() if name is None]
        project = _find_common_folder(others)
        self._names = {
            file: name if name is not None else file.removeprefix(project)
            for file, name in names.items()
        }
        taken = Counter(self._names.values())
        for file, name in self._names.items():
            if taken[name] > 1:
                self._names[file] = file

    def shorten(self, file: str) -> str:
        return self._names.get(file, file)


def _name_in_package(file: str) -> str | None:
    """None: it is no part of a package, but of the program."""
    if found := _INSTALLED.match(file) or _STANDARD.match(file):
        return found[1]
    return os.path.basename(file) if _NATIVE.search(file) or _COMMAND.search(file) else None


def _find_common_folder(files: list[str]) -> str:
    """With a slash at its end; "" where it is the root."""
    folder = os.path.commonpath([os.path.dirname(file) for file in files]) if files else "/"
    return f"{folder}/" if folder != "/" else ""


def library_of(file: str) -> str | None:
    """The installed package, or the module of the standard library, that a file is of; None: it is of the program."""
    found = _INSTALLED.match(file) or _STANDARD.match(file)
    if found:
        return found[1].partition("/")[0].partition(".")[0]
    found = _FROZEN.fullmatch(file)
    return found[1] if found else None


def own_package_of(file: str) -> str | None:
    """pyusdt or pydtrace, if a file is of one of them."""
    found = _OWN.match(file)
    return found[1] if found else None
