"""The tracer's own stack: the ustack() of probes that the embedded engine fires itself.

The kernel's frames are missing, and a C library without backtrace() has none at all.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def backtrace(limit: int) -> Sequence[int]:
    """Of this thread."""
    if not limit:
        return ()
    import ctypes  # it takes longer to import than most programs to compile

    buffer = (ctypes.c_void_p * limit)()
    try:
        count = ctypes.CDLL(None).backtrace(buffer, limit)
    except AttributeError:
        return ()
    return [frame or 0 for frame in buffer[:count]]
