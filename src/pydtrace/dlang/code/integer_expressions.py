# mypy: ignore-errors
"""Integer expressions -> code.

In: typed expressions.  Out: code that leaves the value in r0, or jumps on its truth.
Always: values are 64-bit registers, extended by the sign of their type when they are loaded; as in
dtrace an operator's result is not cut to its type, only casts and stores cut.  Division by zero is
a fault; the smallest integer divided by -1 is itself.  Linux 5.15 has no signed division: it is
made from the unsigned one.
"""

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


def is_signed(type):
    return type.is_integer and type.signed


def s64(value):
    return (value & _MASK ^ 1 << 63) - (1 << 63)


def constant(expr):
    """The value of a constant as a signed 64-bit int, or None."""
    if expr.__class__ is ast.IntLit:
        return s64(expr.value)
    if expr.__class__ is ast.Unary and expr.op != "!":
        value = constant(expr.operand)
        if value is not None:
            return s64(-value if expr.op == "-" else ~value if expr.op == "~" else value)
    if expr.__class__ is ast.Cast and expr.type.is_integer:
        value = constant(expr.operand)
        if value is not None:
            return _cut(value, expr.type) if _cuts(expr) else value
    return None


def _cut(value, type):
    bits = 8 * type.size
    value &= (1 << bits) - 1
    return s64(value - (1 << bits) if is_signed(type) and value >> bits - 1 else value)


def _fits(value):
    return -0x80000000 <= value <= 0x7FFFFFFF


# --- operands ----------------------------------------------------------------
def _loadable(expr):
    """Whether `load_into` can put expr into any register and touch no other."""
    cls = expr.__class__
    if cls is ast.Cast:
        return not expr.operand.type.is_string and _loadable(expr.operand)
    if cls is ast.Var:
        return expr.symbol.scope != "self" and not expr.type.is_string
    return (cls is ast.Builtin and not expr.type.is_string) or constant(expr) is not None


def load_into(g, expr, reg):
    """reg = a leaf: a constant, a built-in variable, a this-> or global scalar, or a cast of one."""
    value = constant(expr)
    cls = expr.__class__
    if value is not None:
        g.emit(const(reg, value))
    elif cls is ast.Cast:
        load_into(g, expr.operand, reg)
        if _cuts(expr):
            g.narrow(reg, expr.type)
    elif cls is ast.Builtin and expr.row.constant:
        g.emit(const(reg, expr.row.constant(g.clause.index)))
    elif cls is ast.Builtin and expr.row.stack:
        whose, index = expr.row.stack
        g.emit(
            load(8, reg, R6, g.layout.stacks[whose][0] + (0 if index is None else 8 + 8 * index))
        )
    elif cls is ast.Builtin:
        g.load_typed(reg, R6, expr.row.offset, expr.row.type)
    elif expr.symbol.scope == "this":
        g.load_typed(reg, R6, expr.symbol.slot, expr.symbol.type)
    else:
        g.emit(ld_map_value(reg, p.MAP_GLOBALS, expr.symbol.slot))
        g.load_typed(reg, reg, 0, expr.symbol.type)


def _right_operand(g, expr):
    """With the left operand in r0: the right one, as an immediate (value, None) or in r1 (None, r1);
    r0 still holds the left one."""
    value = constant(expr)
    if value is not None and _fits(value):
        return value, None
    if _loadable(expr):
        load_into(g, expr, R1)
    else:
        left = g.push()
        g.value(expr)
        g.emit(mov(R1, R0))
        g.pop(left, R0)
    return None, R1


# --- values --------------------------------------------------------------------
def _leaf(g, expr):
    load_into(g, expr, R0)


def _cast(g, expr):
    g.value(expr.operand)
    if _cuts(expr):
        g.narrow(R0, expr.type)


def _cuts(cast):
    """Whether a cast can change a register: not where every value of the operand's type is one of the
    target's.  (dtrace does not cut a sum to its own type either.)"""
    source, target = cast.operand.type, cast.type
    if target.size == 8 or not target.is_integer:
        return False
    if is_signed(source) == target.signed:
        return target.size < source.size
    return target.size <= source.size or not target.signed


def _unary(g, expr):
    if expr.op == "!":
        return _truth_value(g, expr)
    value = constant(expr)
    if value is not None:
        g.emit(const(R0, value))
        return
    g.value(expr.operand)
    if expr.op == "-":
        g.emit(neg(R0))
    elif expr.op == "~":
        g.emit(alu_imm("xor", R0, -1))


def _comma(g, expr):
    for part in expr.parts[:-1]:
        discard(g, part)
    g.value(expr.parts[-1])


def is_object(type):
    """Whether a value of the type has no place in a register and is no string."""
    return type.is_record or type.is_array or isinstance(type, t.Float) and not t.is_real(type)


def discard(g, expr):
    """Run expr for what it does."""
    if is_object(expr.type) and expr.__class__ is not ast.Assign:
        mark = g.scratch
        g.object(expr, g.alloc(expr.type.size))
        g.scratch = mark
    elif expr.type.is_string and expr.__class__ is not ast.Assign:
        mark = g.scratch
        g.string(expr, g.alloc(g.layout.string_size))
        g.scratch = mark
    else:
        g.value(expr)


def _ternary(g, expr):
    otherwise, end = Label(), Label()
    g.branch(expr.cond, otherwise, False)
    g.value(expr.then)
    g.emit(ja(end))
    g.place(otherwise)
    g.value(expr.otherwise)
    g.place(end)


def _binary(g, expr):
    """A chain a + b + c … leans to the left: walked here, so that its length costs no depth."""
    chain = []
    while expr.__class__ is ast.Binary and expr.op in _ARITHMETIC:
        chain.append(expr)
        expr = expr.left
    if not chain:
        return _truth_value(g, expr)
    g.value(expr)
    for node in reversed(chain):
        _arithmetic(g, node)


def _arithmetic(g, expr):
    """r0 = r0 op right operand."""
    op = expr.op
    imm, reg = _right_operand(g, expr.right)
    if op in "/%":
        _divide(g, expr, imm)
        return
    name = _PLAIN.get(op) or ("arsh" if is_signed(expr.left.type) else "rsh")
    if reg is not None:
        g.emit(alu(name, R0, reg))
    else:
        g.emit(alu_imm(name, R0, imm & 63 if op in ("<<", ">>") else imm))


def _divide(g, expr, imm):
    """r0 = r0 / or % the immediate, or r1 where it is None."""
    name = "div" if expr.op == "/" else "mod"
    signed = is_signed(expr.common)
    g.mark(expr.loc)
    if imm is not None and imm <= 0:
        g.emit(const(R1, imm))
        imm = None
    if imm is None:
        g.emit(jump_imm("jeq", R1, 0, g.fault(p.FAULT_DIVZERO)))
    if not signed:
        g.emit(alu(name, R0, R1) if imm is None else alu_imm(name, R0, imm))
        return
    # The sign of the result: both operands', for a remainder too, as in dtrace.
    g.emit(mov(R2, R0))
    if imm is None:
        g.emit(alu("xor", R2, R1))
    _absolute(g, R0)
    if imm is None:
        _absolute(g, R1)
        g.emit(alu(name, R0, R1))
    else:
        g.emit(alu_imm(name, R0, imm))
    _absolute(g, R0, R2)


def _absolute(g, reg, sign=None):
    """Negate reg if `sign` (default: reg itself) is negative."""
    done = Label()
    g.emit(jump_imm("jsge", reg if sign is None else sign, 0, done), neg(reg))
    g.place(done)


def store_field(g, base, data, expr):
    """Evaluate expr into the field `data` (program.Data) of what begins at `base` in the state block."""
    off = base + data.offset
    if data.type.is_string:
        g.string(expr, off, data.size)
        return
    if is_object(data.type):
        g.object(expr, off)
        return
    value = constant(expr)
    if value is not None and _fits(value):
        g.emit(store_imm(data.size, R6, off, value))
    else:
        g.value(expr)
        g.emit(store(data.size, R6, off, R0))


# --- truth -----------------------------------------------------------------------
def _truth_value(g, expr):
    """r0 = 1 or 0."""
    if expr.__class__ is ast.Binary and expr.op == "^^":
        _truth_value(g, expr.left)
        left = g.push()
        _truth_value(g, expr.right)
        g.emit(alu("xor", R0, g.use(left, R1)))
        g.release(left)
        return
    true, end = Label(), Label()
    g.branch(expr, true, True)
    g.emit(mov_imm(R0, 0), ja(end))
    g.place(true)
    g.emit(mov_imm(R0, 1))
    g.place(end)


def _branch_unary(g, expr, label, when):
    if expr.op == "!":
        g.branch(expr.operand, label, not when)
    else:
        _branch_value(g, expr, label, when)


def _branch_value(g, expr, label, when):
    g.value(expr)
    g.emit(jump_imm("jne" if when else "jeq", R0, 0, label))


def _branch_binary(g, expr, label, when):
    op = expr.op
    if op in ("&&", "||"):
        _branch_logical(g, expr, label, when)
    elif op not in _SIGNED:
        _branch_value(g, expr, label, when)
    elif expr.common.is_string:
        g.compare_strings(expr, label, when)
    else:
        g.value(expr.left)
        imm, reg = _right_operand(g, expr.right)
        name = (_SIGNED if is_signed(expr.common) else _UNSIGNED)[op][not when]
        g.emit(jump_imm(name, R0, imm, label) if reg is None else jump(name, R0, reg, label))


def _branch_logical(g, expr, label, when):
    """a && b is true where both are, a || b false where both are: those need a way past the label."""
    decides = expr.op == "||"  # the truth of one operand that decides for the whole
    if when == decides:
        g.branch(expr.left, label, when)
        g.branch(expr.right, label, when)
    else:
        past = Label()
        g.branch(expr.left, past, decides)
        g.branch(expr.right, label, when)
        g.place(past)


# Node class -> function, for emit.Tables.
VALUES = {
    ast.IntLit: _leaf,
    ast.Builtin: _leaf,
    ast.Cast: _cast,
    ast.Unary: _unary,
    ast.Comma: _comma,
    ast.Ternary: _ternary,
    ast.Binary: _binary,
}
BRANCHES = {ast.Unary: _branch_unary, ast.Binary: _branch_binary}
