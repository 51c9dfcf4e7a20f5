"""The tracer's own stack: what ustack() is where the embedded engine fires a probe itself.

In: how many frames are wanted.  Out: addresses, the innermost first.
Always: the kernel's stack has no frames here; without a C library that has backtrace() neither has this one.
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
