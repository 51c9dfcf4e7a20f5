"""D libraries: the *.d files of the folders that -L names, read before a program.

In: folders.  Out: their inlines, translators and types, in the Compiler's names.
Always: a library comes after those that it depends on (`#pragma D depends_on library name`), which are in the
same folder; one that depends on a module or provider that is not there is passed over, as in dtrace.
"""

import os
import re

from ... import debug
from ..errors import CompileError, LibraryError

_DEPENDS = re.compile(rb"^[ \t]*#[ \t]*pragma[ \t]+D[ \t]+depends_on[ \t]+library[ \t]+(\S+)", re.MULTILINE)


def load(compiler, folders):
    """Add all libraries of these folders to a compile.Compiler."""
    for path in ordered(folders):
        debug.say("library %s", path)
        with open(path, "rb") as file:
            text = file.read()
        try:
            compiler.add_library(text, path)
        except CompileError as error:
            if error.tag == "D_PRAGMA_DEPEND":
                continue
            raise


def ordered(folders):
    """The paths of all libraries, each after those that it depends on."""
    depends = {}
    for folder in folders:
        for path in _files(folder):
            depends[path] = _dependencies(path)
    done, result = {}, []

    def visit(path, trail):
        state = done.get(path)
        if state:
            return
        if path in trail:
            raise LibraryError(f"Cyclic dependency detected: {path} => {trail[-1]}")
        for needed in depends[path]:
            if needed not in depends:
                raise LibraryError(f"Invalid library dependency in {path}: {needed}")
            visit(needed, [*trail, path])
        done[path] = True
        result.append(path)

    for path in depends:
        visit(path, [])
    return result


def _files(folder):
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [os.path.join(folder, name) for name in sorted(names) if name.endswith(".d")]


def _dependencies(path):
    with open(path, "rb") as file:
        found = _DEPENDS.findall(file.read())
    return [os.path.join(os.path.dirname(path), os.fsdecode(name)) for name in found]
