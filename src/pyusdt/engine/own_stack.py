"""The tracer's own stack: what ustack() is where the embedded engine fires a probe itself.

In: the program's maps.  Out: the user's stack in the state block (Program.stacks), filled.
Always: the kernel's stack has no frames here; without a C library that has backtrace() neither has this one.
"""

import struct

from ..data import program as p


def put(vm, program):
    """Write the stack of this thread into the state block, before a probe is fired."""
    state = bytearray(vm.value(p.MAP_STATE, 0))
    for whose, (offset, most) in program.stacks.items():
        frames = _frames(most) if whose == "user" else ()
        struct.pack_into(f"={most + 1}Q", state, offset, len(frames), *frames, *[0] * (most - len(frames)))
    vm.update(p.MAP_STATE, struct.pack("=I", 0), bytes(state))


def _frames(most):
    import ctypes  # it takes longer to import than most programs to compile

    buffer = (ctypes.c_void_p * most)()
    try:
        count = ctypes.CDLL(None).backtrace(buffer, most)
    except AttributeError:
        return ()
    return [frame or 0 for frame in buffer[:count]]
