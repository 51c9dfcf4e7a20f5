"""Integer expressions -> code that leaves the value in r0, or jumps on its truth.

- Values are 64-bit registers, extended by the sign of their type when they are loaded. As in
  dtrace, casts and stores truncate, operators do not.
- Division by zero is a fault; the smallest integer divided by -1 is itself. Linux 5.15 has no
  signed division: the code uses the unsigned one.
"""

from __future__ import annotations

from pydtrace.bpf.insn import (
    R0,
    R1,
    R2,
    R6,
    alu,
    alu_imm,
    const,
    ja,
    jump,
    jump_imm,
    ld_map_value,
    load,
    mov,
    mov_imm,
    neg,
    store,
    store_imm,
)
from pydtrace.bpf.program_builder import Label
from pydtrace.dlang import ast
from pydtrace.program import d_types as t
from pydtrace.program import program as p

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .emitter import Emitter

_MASK = (1 << 64) - 1
_PLAIN = {"+": "add", "-": "sub", "*": "mul", "&": "and", "|": "or", "^": "xor", "<<": "lsh"}
_ARITHMETIC = {*_PLAIN, "/", "%", ">>"}
# Comparison: (jump if it holds, jump if it does not), signed and unsigned.
_SIGNED = {
    "==": ("jeq", "jne"),
    "!=": ("jne", "jeq"),
    "<": ("jslt", "jsge"),
    "<=": ("jsle", "jsgt"),
    ">": ("jsgt", "jsle"),
    ">=": ("jsge", "jslt"),
}
_UNSIGNED = {
    "==": ("jeq", "jne"),
    "!=": ("jne", "jeq"),
    "<": ("jlt", "jge"),
    "<=": ("jle", "jgt"),
    ">": ("jgt", "jle"),
    ">=": ("jge", "jlt"),
}


def is_signed(type: t.Type | None) -> bool:
    return type is not None and type.is_integer and type.signed


def wrap_s64(value: int) -> int:
    return (value & _MASK ^ 1 << 63) - (1 << 63)


def constant_value(expr: ast.Expr) -> int | None:
    """The value of a constant as a signed 64-bit int, or None."""
    if type(expr) is ast.IntLit:
        return wrap_s64(expr.value)
    if type(expr) is ast.Unary and expr.op != "!":
        value = constant_value(expr.operand)
        if value is not None:
            return wrap_s64(-value if expr.op == "-" else ~value if expr.op == "~" else value)
    if type(expr) is ast.Cast and expr.type.is_integer:
        value = constant_value(expr.operand)
        if value is not None:
            return _truncate_value(value, expr.type) if _cast_changes_register(expr) else value
    return None


def _truncate_value(value: int, type: t.Integer) -> int:
    bits = 8 * type.size
    value &= (1 << bits) - 1
    return wrap_s64(value - (1 << bits) if is_signed(type) and value >> bits - 1 else value)


def _fits_immediate(value: int) -> bool:
    return -0x80000000 <= value <= 0x7FFFFFFF


# --- operands ----------------------------------------------------------------
def _is_loadable(expr: ast.Expr) -> bool:
    """Whether `load_into` can put expr into any register and touch no other."""
    if type(expr) is ast.Cast:
        return not expr.operand.type.is_string and _is_loadable(expr.operand)
    if type(expr) is ast.Var:
        return expr.symbol.scope != "self" and not expr.type.is_string
    return (type(expr) is ast.Builtin and not expr.type.is_string) or constant_value(
        expr
    ) is not None


def load_into(g: Emitter, expr: ast.Expr, reg: int) -> None:
    """reg = a leaf: a constant, a built-in variable, a this-> or global scalar, or a cast of one."""
    value = constant_value(expr)
    if value is not None:
        g.emit(const(reg, value))
    elif type(expr) is ast.Cast:
        load_into(g, expr.operand, reg)
        if _cast_changes_register(expr):
            g.narrow_register(reg, expr.type)
    elif type(expr) is ast.Builtin and expr.row.constant:
        g.emit(const(reg, expr.row.constant(g.clause.index)))
    elif type(expr) is ast.Builtin and expr.row.stack_entry:
        whose, index = expr.row.stack_entry
        g.emit(
            load(8, reg, R6, g.layout.stacks[whose][0] + (0 if index is None else 8 + 8 * index))
        )
    elif type(expr) is ast.Builtin:
        g.load_typed(reg, R6, expr.row.offset, expr.row.type)
    else:
        assert isinstance(expr, ast.Var)
        kind, slot = expr.symbol.known_type, expr.symbol.placed_slot
        if expr.symbol.scope == "this":
            g.load_typed(reg, R6, slot, kind)
        else:
            g.emit(ld_map_value(reg, p.MAP_GLOBALS, slot))
            g.load_typed(reg, reg, 0, kind)


def _emit_right_operand(g: Emitter, expr: ast.Expr) -> tuple[int | None, int | None]:
    """With the left operand in r0: the right one, as an immediate (value, None) or in r1 (None, r1);
    r0 still holds the left one."""
    value = constant_value(expr)
    if value is not None and _fits_immediate(value):
        return value, None
    if _is_loadable(expr):
        load_into(g, expr, R1)
    else:
        left = g.push_r0()
        g.emit_value(expr)
        g.emit(mov(R1, R0))
        g.pop_temp(left, R0)
    return None, R1


# --- values --------------------------------------------------------------------
def _emit_leaf(g: Emitter, expr: ast.Expr) -> None:
    load_into(g, expr, R0)


def _emit_cast(g: Emitter, expr: ast.Cast) -> None:
    g.emit_value(expr.operand)
    if _cast_changes_register(expr):
        g.narrow_register(R0, expr.type)


def _cast_changes_register(cast: ast.Cast) -> bool:
    """Whether a cast can change a register: not where every value of the operand's type is one of the
    target's.  (dtrace does not cut a sum to its own type either.)"""
    source, target = cast.operand.type, cast.type
    if target.size == 8 or not target.is_integer:
        return False
    if is_signed(source) == target.signed:
        return bool(target.size < source.size)
    return bool(target.size <= source.size or not target.signed)


def _emit_unary(g: Emitter, expr: ast.Unary) -> None:
    if expr.op == "!":
        return _emit_truth_value(g, expr)
    value = constant_value(expr)
    if value is not None:
        g.emit(const(R0, value))
        return
    g.emit_value(expr.operand)
    if expr.op == "-":
        g.emit(neg(R0))
    elif expr.op == "~":
        g.emit(alu_imm("xor", R0, -1))


def _emit_comma(g: Emitter, expr: ast.Comma) -> None:
    for part in expr.parts[:-1]:
        emit_for_effect(g, part)
    g.emit_value(expr.parts[-1])


def is_memory_type(type: t.Type) -> bool:
    """Whether a value of the type has no place in a register and is no string."""
    return type.is_record or type.is_array or isinstance(type, t.Float) and not t.is_real(type)


def emit_for_effect(g: Emitter, expr: ast.Expr) -> None:
    """Run expr for what it does."""
    if is_memory_type(expr.type) and type(expr) is not ast.Assign:
        mark = g.scratch
        g.emit_object(expr, g.alloc_scratch(expr.type.size))
        g.scratch = mark
    elif expr.type.is_string and type(expr) is not ast.Assign:
        mark = g.scratch
        g.emit_string(expr, g.alloc_scratch(g.layout.string_size))
        g.scratch = mark
    else:
        g.emit_value(expr)


def _emit_ternary(g: Emitter, expr: ast.Ternary) -> None:
    otherwise, end = Label(), Label()
    g.emit_branch(expr.cond, otherwise, False)
    g.emit_value(expr.then)
    g.emit(ja(end))
    g.place_label(otherwise)
    g.emit_value(expr.otherwise)
    g.place_label(end)


def _emit_binary(g: Emitter, expr: ast.Binary) -> None:
    """A chain a + b + c … leans to the left: walked here, so that its length costs no depth."""
    chain: list[ast.Binary] = []
    first: ast.Expr = expr
    while type(first) is ast.Binary and first.op in _ARITHMETIC:
        chain.append(first)
        first = first.left
    if not chain:
        return _emit_truth_value(g, expr)
    g.emit_value(first)
    for node in reversed(chain):
        _emit_arithmetic(g, node)


def _emit_arithmetic(g: Emitter, expr: ast.Binary) -> None:
    """r0 = r0 op right operand."""
    op = expr.op
    imm, reg = _emit_right_operand(g, expr.right)
    if op in "/%":
        _emit_division(g, expr, imm)
        return
    name = _PLAIN.get(op) or ("arsh" if is_signed(expr.left.type) else "rsh")
    if imm is None:
        assert reg is not None
        g.emit(alu(name, R0, reg))
    else:
        g.emit(alu_imm(name, R0, imm & 63 if op in ("<<", ">>") else imm))


def _emit_division(g: Emitter, expr: ast.Binary, imm: int | None) -> None:
    """r0 = r0 / or % the immediate, or r1 where it is None."""
    name = "div" if expr.op == "/" else "mod"
    signed = is_signed(expr.common)
    g.mark_location(expr.loc)
    if imm is not None and imm <= 0:
        g.emit(const(R1, imm))
        imm = None
    if imm is None:
        g.emit(jump_imm("jeq", R1, 0, g.fault_label(p.FAULT_DIVZERO)))
    if not signed:
        g.emit(alu(name, R0, R1) if imm is None else alu_imm(name, R0, imm))
        return
    # The sign of the result: both operands', for a remainder too, as in dtrace.
    g.emit(mov(R2, R0))
    if imm is None:
        g.emit(alu("xor", R2, R1))
    _emit_absolute(g, R0)
    if imm is None:
        _emit_absolute(g, R1)
        g.emit(alu(name, R0, R1))
    else:
        g.emit(alu_imm(name, R0, imm))
    _emit_absolute(g, R0, R2)


def _emit_absolute(g: Emitter, reg: int, sign: int | None = None) -> None:
    """Negate reg if `sign` (default: reg itself) is negative."""
    done = Label()
    g.emit(jump_imm("jsge", reg if sign is None else sign, 0, done), neg(reg))
    g.place_label(done)


def store_field(g: Emitter, base: int, data: p.Data, expr: ast.Expr) -> None:
    """Evaluate expr into the field `data` (program.Data) of what begins at `base` in the state block."""
    off = base + data.offset
    if data.type.is_string:
        g.emit_string(expr, off, data.size)
        return
    if is_memory_type(data.type):
        g.emit_object(expr, off)
        return
    value = constant_value(expr)
    if value is not None and _fits_immediate(value):
        g.emit(store_imm(data.size, R6, off, value))
    else:
        g.emit_value(expr)
        g.emit(store(data.size, R6, off, R0))


# --- truth -----------------------------------------------------------------------
def _emit_truth_value(g: Emitter, expr: ast.Expr) -> None:
    """r0 = 1 or 0."""
    if type(expr) is ast.Binary and expr.op == "^^":
        _emit_truth_value(g, expr.left)
        left = g.push_r0()
        _emit_truth_value(g, expr.right)
        g.emit(alu("xor", R0, g.in_register(left, R1)))
        g.release_temp(left)
        return
    true, end = Label(), Label()
    g.emit_branch(expr, true, True)
    g.emit(mov_imm(R0, 0), ja(end))
    g.place_label(true)
    g.emit(mov_imm(R0, 1))
    g.place_label(end)


def _emit_unary_branch(g: Emitter, expr: ast.Unary, label: Label, when: bool) -> None:
    if expr.op == "!":
        g.emit_branch(expr.operand, label, not when)
    else:
        _emit_value_branch(g, expr, label, when)


def _emit_value_branch(g: Emitter, expr: ast.Expr, label: Label, when: bool) -> None:
    g.emit_value(expr)
    g.emit(jump_imm("jne" if when else "jeq", R0, 0, label))


def _emit_binary_branch(g: Emitter, expr: ast.Binary, label: Label, when: bool) -> None:
    op = expr.op
    if op in ("&&", "||"):
        _emit_logical_branch(g, expr, label, when)
    elif op not in _SIGNED:
        _emit_value_branch(g, expr, label, when)
    elif expr.common and expr.common.is_string:
        g.emit_string_comparison(expr, label, when)
    else:
        g.emit_value(expr.left)
        imm, reg = _emit_right_operand(g, expr.right)
        name = (_SIGNED if is_signed(expr.common) else _UNSIGNED)[op][not when]
        if imm is not None:
            g.emit(jump_imm(name, R0, imm, label))
        else:
            assert reg is not None
            g.emit(jump(name, R0, reg, label))


def _emit_logical_branch(g: Emitter, expr: ast.Binary, label: Label, when: bool) -> None:
    """a && b is true where both are, a || b false where both are: those need a way past the label."""
    decides = expr.op == "||"  # the truth of one operand that decides for the whole
    if when == decides:
        g.emit_branch(expr.left, label, when)
        g.emit_branch(expr.right, label, when)
    else:
        past = Label()
        g.emit_branch(expr.left, past, decides)
        g.emit_branch(expr.right, label, when)
        g.place_label(past)


# Node class -> function, for emit.Tables.
VALUES = {
    ast.IntLit: _emit_leaf,
    ast.Builtin: _emit_leaf,
    ast.Cast: _emit_cast,
    ast.Unary: _emit_unary,
    ast.Comma: _emit_comma,
    ast.Ternary: _emit_ternary,
    ast.Binary: _emit_binary,
}
BRANCHES = {ast.Unary: _emit_unary_branch, ast.Binary: _emit_binary_branch}
