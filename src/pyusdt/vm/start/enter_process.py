"""Load the provider `python` into this process, for `pyusdt attach` and `pydtrace --attach`.

Run by a thread of its own, by its path (src/pydtrace/attach/statement.py); what is raised goes to the tracer.

- Nothing is printed, and nothing is written but the tracer's slot.
"""

import posix


def enter(report, temporary, core):
    """temporary: seconds without a tracer after which it leaves, 0: it stays; core: which extension the package has that this
    file is part of."""
    folder = __file__.rpartition("/vm/start/")[0]
    try:
        load(folder, temporary, core)
    finally:
        remove_copy(folder)


def load(folder, temporary, core):
    """folder: that of the package pyusdt, if this process has none."""
    import sys

    names = {"__file__": folder + "/vm/start/load_provider.py"}
    exec(compile(read(names["__file__"]), names["__file__"], "exec"), names)  # noqa: S102 - it is run by its path
    for _ in range(10):
        before = "pyusdt" in sys.modules
        from importlib import util

        spec = util.find_spec("pyusdt")  # other finders may import what they need
        has_own = names["is_of_environment"](spec)
        if not before and has_own:
            refuse_of_others(spec.submodule_search_locations[0], sys)
        source = "" if before or has_own else folder
        attachment = hold_forks(names["load_pyusdt"], sys, core, source, before)
        if attachment and attachment.enter(before, temporary, core):
            return
    raise RuntimeError("other tracers attach and detach all the time")


def remove_copy(folder):
    """The tracer that has placed it here (src/pydtrace/attach/placed_copy.py) removes it, too, unless it was killed."""
    import os

    above = os.path.dirname(folder)
    if not os.path.basename(above).startswith(".pyusdt-"):
        return
    try:
        for each, folders, files in os.walk(above, topdown=False):
            remove_all(each, files, posix.unlink)
            remove_all(each, folders, posix.rmdir)
        posix.rmdir(above)
    except (OSError, RecursionError):
        pass


def remove_all(folder, names, remove):
    for name in names:
        try:
            remove(folder + "/" + name)
        except OSError:
            pass


def read(path):
    fd = posix.open(path, 524288)
    try:
        return posix.read(fd, 99999)
    finally:
        posix.close(fd)


def refuse_of_others(package, sys):
    """PermissionError if the program's own package pyusdt could be changed by a user whose code the program does not run
    already: attaching would run it."""
    import os

    owners = {0, posix.geteuid()}
    for path in (sys.prefix, getattr(sys.modules.get("__main__"), "__file__", None)):
        try:
            owners.add(posix.stat(path).st_uid)
        except (OSError, TypeError, ValueError):
            pass
    for folder in (os.path.abspath(package), os.path.realpath(package)):
        above = None
        while above != folder:
            state = posix.lstat(folder)
            is_link, is_sticky = state.st_mode & 0o170000 == 0o120000, state.st_mode & 0o1000
            is_open = state.st_mode & 0o002 and not is_link and not (above and is_sticky)
            if state.st_uid not in owners or is_open:
                raise PermissionError("another user can change its package pyusdt: " + folder)
            above, folder = folder, os.path.dirname(folder)


def hold_forks(load, sys, core, folder, before):
    """pyusdt.vm.attachment, or None: what was there before has left, or something has come.  A child that is forked in the middle of this would have half a module, and nobody to finish it. A fork waits for the
    lock of all imports. It is held while only modules of pyusdt's are imported: those that they need are there by then,
    and no import of the program's is waited for."""
    import _imp
    import atexit  # noqa: F401
    import functools  # noqa: F401
    import threading  # noqa: F401

    _imp.acquire_lock()
    try:
        if ("pyusdt" in sys.modules) != before:
            return None
        kept = take_extension(_imp, core)
        if not kept and folder and posix.statvfs(folder).f_flag & posix.ST_NOEXEC:
            load_from_memory(folder, core, sys)
        if kept:
            sys.modules["pyusdt._core"] = kept
        load()
        if kept:
            kept.publish_again()
        from pyusdt.vm import attachment

        return attachment
    finally:
        _imp.release_lock()


def load_from_memory(folder, core, sys):
    """The extension of a folder on a file system that no library can be loaded from."""
    from importlib import machinery, util

    names = posix.listdir(folder)  # an installation has _core.pyi, too
    name = next("_core" + end for end in machinery.EXTENSION_SUFFIXES if "_core" + end in names)
    memory = posix.memfd_create("pyusdt", posix.MFD_CLOEXEC)
    try:
        with open(folder + "/" + name, "rb") as file:
            copy_all(file, memory)
        path = "/proc/self/fd/%s%d" % (spell_identity(core), memory)  # noqa: UP031 - as the rest of this folder
        loader = machinery.ExtensionFileLoader("pyusdt._core", path)
        spec = util.spec_from_file_location("pyusdt._core", path, loader=loader)
        sys.modules["pyusdt._core"] = util.module_from_spec(spec)
        try:
            loader.exec_module(sys.modules["pyusdt._core"])
        except BaseException:
            del sys.modules["pyusdt._core"]
            raise
    finally:
        posix.close(memory)


def spell_identity(core):
    """The identity of an extension, 16 digits, as a part of a path that changes nothing: the system takes the library of a path with
    the same spelling for one that it has already, and that of an earlier attach may be of another build."""
    return "".join("/" * int(digit, 16) + "./" for digit in core)


def copy_all(file, descriptor):
    data = file.read()
    while data:
        data = data[posix.write(descriptor, data) :]


def take_extension(_imp, core):
    """The extension that pyusdt.vm.attachment.leave() has kept, as Python can neither unload it nor import it again; None: it
    is another one, and imported beside it."""
    kept, which = getattr(_imp, "_pyusdt_extension", (None, None))
    return kept if which == core else None
