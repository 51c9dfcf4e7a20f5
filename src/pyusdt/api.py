"""The probes' public side: what the C extension has, and the switches about it.

Always: importing this needs the standard library only, as little of it as possible, and starts no thread.
"""

import os

try:
    from pyusdt._core import (
        Probe,
        available,
        flight,
        p,
        pn,
        probe,
        set_strict,
        user_trace_i4s4,
        user_trace_n,
        user_trace_s1,
    )
except ModuleNotFoundError as error:
    if error.name != "pyusdt._core":
        raise
    raise ImportError(
        "pyusdt's C extension is not built for this Python; "
        "run `make build` in pyusdt's sources, or `pip install pyusdt` for this interpreter",
        name=error.name,
    ) from None

__all__ = ["Probe", "available", "p", "pn", "probe", "strict",
           "user_trace_i4s4", "user_trace_n", "user_trace_s1"]


def strict(on: bool = True) -> bool:
    """Check the types of a probe's arguments at every call, traced or not, and raise TypeError (for development).

    A value that is not int or None where an integer stands, or not str, bytes-like or None where a string stands, is
    an error then; so are a fifth string and what a function given to Probe.lazy() raises.  For the whole process;
    PYUSDT_STRICT=1 in the environment sets it at import.

    Returns what was set before.
    """
    return set_strict(on)


if os.environ.get("PYUSDT_STRICT", "0") not in ("", "0"):
    set_strict(True)
if os.environ.get("PYUSDT_FLIGHT"):
    try:
        flight()
    except OSError as error:
        import warnings

        warnings.warn(f"no flight recorder (PYUSDT_FLIGHT): {error.strerror}; docs/record.md", RuntimeWarning, 3)
