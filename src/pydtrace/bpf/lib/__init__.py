"""The runtime library: one file NAME.bpf for each function, in the language of asm.py.

A function takes r1 … r5, returns r0, keeps r6 … r9 and ends in exit. `link_library` appends it
to the programs that `callsub NAME`. It may call other functions of the library.
"""

from __future__ import annotations

import os

from pydtrace.bpf.asm import assemble

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..insn import Insn

_cache: dict[str, str] = {}


def load_function(name: str) -> list[Insn]:
    """The function's instructions, a fresh list each time (linking writes into them)."""
    text = _cache.get(name)
    if text is None:
        path = os.path.join(os.path.dirname(__file__), name + ".bpf")
        with open(path, encoding="ascii") as file:
            text = _cache[name] = file.read()
    return assemble(text)


def function_names() -> list[str]:
    return sorted(f[:-4] for f in os.listdir(os.path.dirname(__file__)) if f.endswith(".bpf"))
