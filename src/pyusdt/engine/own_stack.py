"""The tracer's own stack: what ustack() is where the embedded engine fires a probe itself.

In: the program's maps.  Out: the user's stack in the state block (Program.stacks) while such a probe is fired.
Always: afterwards it has no frames, so that no event of a process shows them; the kernel's stack has none here; without a C
library that has backtrace() neither has this one.
"""

from __future__ import annotations

import contextlib
import struct

from ..data import program as p

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any


@contextlib.contextmanager
def shown(vm: Any, program: p.Program) -> Iterator[None]:
    """The stack of this thread is in the state block meanwhile."""
    if "user" not in program.stacks:
        yield
        return
    _put(vm, program, _frames(program.stacks["user"][1]))
    try:
        yield
    finally:
        _put(vm, program, ())


def _put(vm: Any, program: p.Program, frames: Sequence[int]) -> None:
    offset, most = program.stacks["user"]
    state = bytearray(vm.value(p.MAP_STATE, 0))
    struct.pack_into(f"={most + 1}Q", state, offset, len(frames), *frames, *[0] * (most - len(frames)))
    vm.update(p.MAP_STATE, struct.pack("=I", 0), bytes(state))


def _frames(most: int) -> Sequence[int]:
    import ctypes  # it takes longer to import than most programs to compile

    buffer = (ctypes.c_void_p * most)()
    try:
        count = ctypes.CDLL(None).backtrace(buffer, most)
    except AttributeError:
        return ()
    return [frame or 0 for frame in buffer[:count]]
