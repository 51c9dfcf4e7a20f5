"""The tracer's own stack: what ustack() is where the embedded engine fires a probe itself.

In: how many frames are wanted.  Out: addresses, the innermost first.
Always: the kernel's stack has no frames here; without a C library that has backtrace() neither has this one.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def frames(most: int) -> Sequence[int]:
    """Of this thread."""
    if not most:
        return ()
    import ctypes  # it takes longer to import than most programs to compile

    buffer = (ctypes.c_void_p * most)()
    try:
        count = ctypes.CDLL(None).backtrace(buffer, most)
    except AttributeError:
        return ()
    return [frame or 0 for frame in buffer[:count]]
