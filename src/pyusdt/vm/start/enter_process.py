"""Load the provider `python` into this process, for `pyusdt attach` and `pydtrace --attach`.

Run by a thread of its own, by its path (src/pydtrace/attach/statement.py); what is raised goes to the tracer.

- Nothing is printed, and nothing is written but the tracer's slot.
"""

import posix


def enter(report, folder, temporary, core):
    """folder: that of the package pyusdt, if this process has none; temporary: until its last tracer goes; core: which
    extension that has."""
    import sys

    names = {"__file__": folder + "/vm/start/load_provider.py"}
    exec(compile(read(names["__file__"]), names["__file__"], "exec"), names)  # noqa: S102 - it is run by its path
    before = "pyusdt" in sys.modules
    hold_forks(names["load_pyusdt"], sys, core)
    from pyusdt.vm import attachment

    attachment.enter(before, temporary, core)


def read(path):
    fd = posix.open(path, 524288)
    try:
        return posix.read(fd, 99999)
    finally:
        posix.close(fd)


def hold_forks(load, sys, core):
    """A child that is forked in the middle of this would have half a module, and nobody to finish it. A fork waits for the
    lock of all imports. It is held while only modules of pyusdt's are imported: those that they need are there by then,
    and no import of the program's is waited for."""
    import _imp
    import atexit  # noqa: F401
    import functools  # noqa: F401
    import threading  # noqa: F401
    from importlib import util

    util.find_spec("pyusdt")  # other finders may import what they need
    _imp.acquire_lock()
    try:
        kept = take_extension(_imp, core)
        if kept:
            sys.modules["pyusdt._core"] = kept
        load()
        if kept:
            kept.publish_again()
        import pyusdt.vm.attachment  # noqa: F401
    finally:
        _imp.release_lock()


def take_extension(_imp, core):
    """The extension that pyusdt.vm.attachment.leave() has kept, as Python can neither unload it nor import it again; None: it
    is another one, and imported beside it."""
    kept, which = getattr(_imp, "_pyusdt_extension", (None, None))
    return kept if which == core else None
