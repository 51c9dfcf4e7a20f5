# mypy: ignore-errors
"""Type information for a linked program, so that the verifier looks at each clause by itself.

In: a linked program, where its clauses begin, the size of the state block.  Out: BTF, and which function has which type.
Clauses, and what is called in loops, become global functions: verified once each, for any state block, and not again for every way through the
clauses before.  Without this all clauses of a probe count as one program, which may be too much for the verifier.
Source of the format: Linux Documentation/bpf/btf.rst.
"""

import struct

from pydtrace.bpf.insn import PSEUDO_CALL, PSEUDO_FUNC, R0, call_sub, ld_imm64

_MAGIC, _VERSION = 0xEB9F, 1
_INT, _PTR, _ARRAY, _STRUCT, _FUNC, _PROTO = 1, 2, 3, 4, 12, 13
_STATIC, _GLOBAL = 0, 1
_SIGNED, _BITS_32, _BITS_8 = 1 << 24, 32, 8
_CALL, _WIDE = call_sub(0).opcode, ld_imm64(R0, 0)[0].opcode


def functions(insns):
    """Where the functions of a program begin, ascending."""
    return sorted(
        {0}
        | {
            at + insn.imm + 1
            for at, insn in enumerate(insns)
            if (insn.opcode, insn.src) in ((_CALL, PSEUDO_CALL), (_WIDE, PSEUDO_FUNC))
        }
    )


def describe(insns, clauses, state_size):
    """(BTF, [(instruction, type id)]): clauses: where they begin."""
    names, types = bytearray(b"\0"), bytearray()
    count = 0

    def name(text):
        names.extend(text.encode() + b"\0")
        return len(names) - len(text) - 1

    def add(text, kind, members, size, *more):
        nonlocal count
        types.extend(
            struct.pack("=3I", name(text) if text else 0, kind << 24 | members, size)
            + struct.pack(f"={len(more)}I", *more)
        )
        count += 1
        return count

    integer = add("int", _INT, 0, 4, _SIGNED | _BITS_32)
    char = add("char", _INT, 0, 1, _BITS_8)
    array = add("", _ARRAY, 0, 0, char, integer, state_size)
    state = add("state", _STRUCT, 1, state_size, name("bytes"), array, 0)
    pointer = add("", _PTR, 0, state)
    of_clause = add("", _PROTO, 1, integer, name("state"), pointer)
    context = add("", _PTR, 0, 0)
    of_others = add("", _PROTO, 1, integer, name("context"), context)
    infos = []
    for number, start in enumerate(functions(insns)):
        is_clause = start in clauses
        ident = add(
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
