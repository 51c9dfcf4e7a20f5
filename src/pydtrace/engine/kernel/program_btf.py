"""Type information (BTF) for a linked program, so that the verifier checks each clause by itself.

Clauses, and functions that loops call, become global functions.  The verifier checks each once,
for any state block, and not again for every path through the clauses before it.  Without BTF all
clauses of a probe count as one program, which can exceed its limits. Format:
Documentation/bpf/btf.rst of Linux.
"""

from __future__ import annotations

import struct

from pydtrace.bpf.insn import PSEUDO_CALL, PSEUDO_FUNC, R0, call_sub, ld_imm64

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from pydtrace.bpf.insn import Insn

    LoadedTypes = tuple[
        int, list[tuple[int, int]]
    ]  # the descriptor of the BTF, what make_btf() says of functions

_MAGIC, _VERSION = 0xEB9F, 1
_INT, _PTR, _ARRAY, _STRUCT, _FUNC, _PROTO = 1, 2, 3, 4, 12, 13
_STATIC, _GLOBAL = 0, 1
_SIGNED, _BITS_32, _BITS_8 = 1 << 24, 32, 8
_CALL, _WIDE = call_sub(0).opcode, ld_imm64(R0, 0)[0].opcode


def find_function_starts(insns: list[Insn]) -> list[int]:
    """Where the functions of a program begin, ascending."""
    return sorted(
        {0}
        | {
            at + insn.imm + 1
            for at, insn in enumerate(insns)
            if (insn.opcode, insn.src) in ((_CALL, PSEUDO_CALL), (_WIDE, PSEUDO_FUNC))
        }
    )


def make_btf(
    insns: list[Insn], clauses: Collection[int], state_size: int
) -> tuple[bytes, list[tuple[int, int]]]:
    """(BTF, [(instruction, type id)]): clauses: where they begin."""
    names, types = bytearray(b"\0"), bytearray()
    count = 0

    def add_name(text: str) -> int:
        names.extend(text.encode() + b"\0")
        return len(names) - len(text) - 1

    def add_type(text: str, kind: int, members: int, size: int, *more: int) -> int:
        nonlocal count
        types.extend(
            struct.pack("=3I", add_name(text) if text else 0, kind << 24 | members, size)
            + struct.pack(f"={len(more)}I", *more)
        )
        count += 1
        return count

    integer = add_type("int", _INT, 0, 4, _SIGNED | _BITS_32)
    char = add_type("char", _INT, 0, 1, _BITS_8)
    array = add_type("", _ARRAY, 0, 0, char, integer, state_size)
    state = add_type("state", _STRUCT, 1, state_size, add_name("bytes"), array, 0)
    pointer = add_type("", _PTR, 0, state)
    of_clause = add_type("", _PROTO, 1, integer, add_name("state"), pointer)
    context = add_type("", _PTR, 0, 0)
    of_others = add_type("", _PROTO, 1, integer, add_name("context"), context)
    infos = []
    for number, start in enumerate(find_function_starts(insns)):
        is_clause = start in clauses
        ident = add_type(
            f"clause_{number}" if is_clause else f"function_{number}",
            _FUNC,
            _GLOBAL if is_clause else _STATIC,
            of_clause if is_clause else of_others,
        )
        infos.append((start, ident))
    header = struct.pack(
        "=HBBIIIII", _MAGIC, _VERSION, 0, 24, 0, len(types), len(types), len(names)
    )
    return header + bytes(types) + bytes(names), infos
