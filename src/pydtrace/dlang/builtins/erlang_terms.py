# mypy: ignore-errors
"""term(): the Erlang term that a probe's argument carries, or an element of it, as text.

Always: the helper (c/bpf/helpers/term.c) reads what the event captured; only the embedded engine has it.
"""

from pydtrace.bpf.insn import R0, R1, R2, R3, R4, R5, jump_imm, mov_imm, store, store_imm
from pydtrace.bpf.program_builder import Label
from pydtrace.dlang.code.argument_demand import STRING_LIMIT
from pydtrace.dlang.code.emitter import Place
from pydtrace.dlang.code.string_expressions import set_null
from pydtrace.dlang.compile_errors import CompileError
from pydtrace.program import program as p

from .subroutine_base import SubroutineRow

_MISSING = 2  # ENOENT


def _check(call):
    for number, arg in enumerate(call.args[1:], 2):
        if not (arg.type.is_integer or arg.type.is_string):
            message = f"term( ) argument #{number} is incompatible with prototype:\n"
            message += f"\tprototype: integer or string\n\t argument: {arg.type}"
            hint = 'term(arg0, 1) is the first element, term(arg0, "a") a key\'s value'
            raise CompileError("D_PROTO_ARG", arg.loc, message, hint)


def _path(g, args):
    """Write the steps as c/bpf/helpers/term.h has them: (offset in the state block, bytes)."""
    sizes = [8 + (g.layout.string_size if arg.type.is_string else 8) for arg in args]
    at = start = g.alloc(sum(sizes))
    for arg, size in zip(args, sizes):
        if arg.type.is_string:
            g.string(arg, at + 8)
            g.state_address(R1, at)
            g.emit(store_imm(8, R1, 0, size - 8))
        else:
            g.value(arg)
            g.state_address(R1, at)
            g.emit(store_imm(8, R1, 0, 0), store(8, R1, 8, R0))
        at += size
    return start, sum(sizes)


def emit_term(g, call, target):
    """What there is not, or was cut, is NULL."""
    _check(call)
    g.value(call.args[0])
    address = g.push()
    path, size = _path(g, call.args[1:])
    g.zero(target)  # the helper writes the string and no padding
    g.address(R1, target)
    g.emit(mov_imm(R2, min(g.layout.strsize, target.size)))
    g.get(address, R3)
    g.state_address(R4, path)
    g.emit(mov_imm(R5, size))
    g.helper("term_text")
    missing, end = Label(), Label()
    g.mark(call.loc)
    g.emit(
        jump_imm("jeq", R0, -_MISSING, missing),
        jump_imm("jslt", R0, 0, g.fault(p.FAULT_BADADDR, address)),
    )
    g.jump(end)
    g.place(missing)
    set_null(g, Place(False, target.off, target.size))
    g.place(end)
    g.release(address)


ROWS = [
    SubroutineRow(
        "term",
        "string(uintptr_t, ...)",
        emit_term,
        "the Erlang term at an address of the firing process, as Erlang prints it; with further arguments the "
        "element of a tuple or list of that number, or a key's value, and so on; NULL where there is none",
        nullable=True,
        reads=lambda call, strsize: STRING_LIMIT,
    ),
]
