# cython: language_level=3, freethreading_compatible=True, subinterpreters_compatible=own_gil, binding=False, embedsignature=True, embedsignature.format=clinic
"""The probes of this process, and its control file.

The functions that fire, and the tags, are in _core_c/module_methods.c.
"""

import os
import sys

# Whose package pyusdt is: the index has another of this name. vm/start/load_provider.py looks for
# these bytes in the extension's file.
MARK = "the pyusdt of the distribution pydtrace"


cdef void publish() noexcept:
    """Make the process traceable; without a run directory probes work for USDT tracers only."""
    name = os.fsencode(os.path.basename(__file__))
    pyusdt_module_publish(name)


def unpublish() -> None:
    """Remove the control file: the embedded engine no longer sees this process."""
    pyusdt_unpublish()


def publish_again() -> None:
    """Make the process traceable again after unpublish()."""
    publish()


def publish_forked() -> None:
    """Make a forked child traceable now, instead of when it fires for the first time."""
    pyusdt_demand(0)


def forget_ended() -> None:
    """Unmap the buffers of sessions that have ended, which otherwise stay mapped until the next session."""
    pyusdt_let_go()


def available() -> bool:
    """Return True if this build has USDT probe sites, which other tracers see. The embedded engine needs none."""
    return pyusdt_module_has_sites() != 0


def flight() -> str | None:
    """Return the flight recorder's file, or None without PYUSDT_FLIGHT. Raises OSError if there is none despite it."""
    cdef char path[1024]
    cdef int code = pyusdt_flight(path, sizeof(path))
    if code < 0:
        raise OSError(-code, os.strerror(-code))
    return os.fsdecode(<bytes>path) if code else None


def redact(*patterns: str) -> None:
    """Never give the values of these names to any tracer, nor to `pyusdt dump`: 'salary', 'card*'.

    - A pattern is one of a shell, without regard to case. `redact('*')` hides all values.
    - It holds until the process ends, as PYUSDT_REDACT in its environment does.
    - Raises ValueError without a pattern, or if there is no room for all of them (4,095 bytes in a process).
    """
    cdef bytes encoded
    if not patterns or not all(type(each) is str and each.strip(', \t\n') for each in patterns):
        raise ValueError("redact() takes patterns of names: redact('salary', 'card*')")
    encoded = ','.join(patterns).encode('utf-8', 'surrogatepass')
    if b'\0' in encoded:
        raise ValueError("redact(): a pattern has a NUL")
    if pyusdt_redact(encoded, len(encoded)) != 0:
        raise ValueError("redact(): more patterns than the 4,095 bytes of a process")


def remark(provider: str, names: str, text: str) -> None:
    """Explain to tracers of a framework's probes (names separated by blanks) why these do not fire here.

    Texts live as long as the process, so there may be only a few.
    """
    encoded = text.encode("utf-8", "replace")
    pyusdt_remark_set(PYUSDT_FRAMEWORK_REASON, provider.encode(), names.encode(), encoded, PYUSDT_REMARK_LACK)


def strict(bint on=True) -> bool:
    """Check the types of a probe's arguments at every call, traced or not, and raise TypeError: for development.

    - Errors are then: an integer argument that is not an int or None; a string argument that is not a str, bytes-like
      or None; a fifth string; an exception of a function given to Probe.lazy().
    - The setting is for the whole process. PYUSDT_STRICT=1 in the environment sets it at import.

    Returns the former setting.
    """
    return pyusdt_set_strict(on) != 0


pyusdt_module_add_methods(sys.modules[__name__])
pyusdt_vm_add_methods(sys.modules[__name__])
pyusdt_heap_add_methods(sys.modules[__name__])
pyusdt_python_stack_start()
publish()
