# cython: language_level=3, freethreading_compatible=True, subinterpreters_compatible=own_gil, binding=False, embedsignature=True, embedsignature.format=clinic
"""The probes of this process: what C has for Python, and the control file.

What fires, and the tags, come from _core_c/module_methods.c.
"""

import os
import sys


cdef void publish() noexcept:
    """Make the process traceable; without a run directory probes work for USDT tracers only."""
    name = os.fsencode(os.path.basename(__file__))
    pyusdt_module_publish(name)


def unpublish() -> None:
    """Remove the control file: the embedded engine no longer sees this process."""
    pyusdt_unpublish()


def publish_forked() -> None:
    """Make a forked child traceable now, and not only when it fires for the first time."""
    pyusdt_demand(0)


def forget_ended() -> None:
    """Give back the buffers' addresses of sessions that have ended; else they stay mapped until the next session."""
    pyusdt_let_go()


def available() -> bool:
    """Whether this build has USDT probe sites, which other tracers see; the embedded engine needs none."""
    return pyusdt_module_has_sites() != 0


def flight() -> str | None:
    """The file in which the last events are kept, as PYUSDT_FLIGHT asks; None where it does not.  OSError: why there is
    none."""
    cdef char path[1024]
    cdef int code = pyusdt_flight(path, sizeof(path))
    if code < 0:
        raise OSError(-code, os.strerror(-code))
    return os.fsdecode(<bytes>path) if code else None


def remark(provider: str, names: str, text: str) -> None:
    """Tell tracers of a framework's probes (names with blanks between them) why they do not fire here.  The text stays, so be few."""
    said = text.encode("utf-8", "replace")
    pyusdt_remark_set(PYUSDT_FRAMEWORK_REASON, provider.encode(), names.encode(), said, PYUSDT_REMARK_LACK)


def strict(bint on=True) -> bool:
    """Check the types of a probe's arguments at every call, traced or not, and raise TypeError (for development).

    A value that is not int or None where an integer stands, or not str, bytes-like or None where a string stands, is
    an error then; so are a fifth string and what a function given to Probe.lazy() raises.  For the whole process;
    PYUSDT_STRICT=1 in the environment sets it at import.

    Returns what was set before.
    """
    return pyusdt_set_strict(on) != 0


pyusdt_module_add_methods(sys.modules[__name__])
pyusdt_vm_add_methods(sys.modules[__name__])
pyusdt_python_stack_start()
publish()
