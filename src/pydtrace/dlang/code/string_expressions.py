# mypy: ignore-errors
"""String expressions -> code.

In: typed expressions of type string.  Out: code that writes the string into the state block, or that
compares two.
Always: a string is NUL-terminated and padded with zeros to its storage, at most strsize - 1 bytes
long.  Where a string already lies somewhere (a Place) it is used there and not copied.

NULL: a self-> variable or an element that was never assigned is NULL, and so is a scalar to which 0 or
another NULL was assigned.  As in dtrace NULL equals only NULL and comes before every string; every use
but comparing and assigning is a fault, bad address 0.  In storage NULL is a NUL with a mark behind it,
where padding would be; maps have no element for it.
"""

import sys

from pydtrace.bpf.insn import (
    R0,
    R1,
    R2,
    R3,
    R6,
    alu_imm,
    const,
    ja,
    jump,
    jump_imm,
    ld_map_value,
    load,
    mov,
    mov_imm,
    store,
    store_imm,
)
from pydtrace.bpf.program_builder import Label
from pydtrace.dlang import ast
from pydtrace.program import program as p

from .argument_demand import STRING_CUT
from .emitter import Place
from .integer_expressions import constant, discard
from .layout import round_up
from .variable_storage import element, is_dynamic, scalar_place

_NULL_MARK = int.from_bytes(b"\0\1", sys.byteorder)
_MIRROR = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_JUMPS = {"==": "jeq", "!=": "jne", "<": "jslt", "<=": "jsle", ">": "jsgt", ">=": "jsge"}
_INVERSE = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def count_cut_string(g, address):
    """r0: the length with its NUL of a string that was read, strsize bytes at most, at the address in a Temp.  Counts it if it goes on
    behind, or is as long as an event holds at most; leaves r0."""
    strsize, long, counted = g.layout.strsize, Label(), Label()
    g.emit(jump_imm("jge", R0, min(strsize, STRING_CUT + 1), long))
    g.place(counted)
    mark, length, following = g.scratch, g.alloc(8), Place(False, g.alloc(8), 8)
    g.scratch = mark

    def count():
        ended = Label()
        g.place(long)
        if strsize > STRING_CUT:
            g.count_drop(p.COUNT_LONG)
        g.emit(store(8, R6, length, R0), jump_imm("jne", R0, strsize, ended))
        g.address(R1, following)
        g.get(address, R3)
        g.emit(mov_imm(R2, 1), alu_imm("add", R3, strsize - 1))
        g.helper("probe_read_user")
        g.emit(load(1, R0, R6, following.off), jump_imm("jeq", R0, 0, ended))
        g.count_drop(p.COUNT_CUT)
        g.place(ended)
        g.emit(load(8, R0, R6, length), ja(counted))

    g.at_end(count)


# --- where strings are ---------------------------------------------------------
def place_of(g, expr):
    """The Place where expr lies already, or None; emits nothing."""
    cls = expr.__class__
    if cls is ast.Var and expr.symbol.scope != "self":
        return scalar_place(g, expr.symbol)
    if cls is ast.Builtin and expr.row.size <= g.layout.strsize:
        return Place(False, expr.row.offset, expr.row.size)
    if cls is ast.Cast:
        return place_of(g, expr.operand)
    if cls is ast.Stringof and expr.operand.type.is_string:
        place = place_of(g, expr.operand)
        return None if place is None or place.null else place
    return None


def locate(g, expr):
    """The Place of a string that is not NULL: where it lies, or the scratch that it was written to."""
    place = place_of(g, expr)
    if place is None:
        place = _scratch(g)
        g.string(expr, place.off)
    elif place.null:
        fault_if_null(g, place)
    return place


def locate_or_null(g, expr):
    """The Place of a string that may be NULL, marked as such then."""
    place = place_of(g, expr)
    if place is not None or not may_be_null(g.layout, expr):
        return place or locate(g, expr)
    place = _scratch(g)
    _write_or_null(g, expr, place)
    return place


def _write_or_null(g, expr, place):
    """Write expr, or the mark of NULL, to a Place in the state block."""
    cls = expr.__class__
    other, end = Label(), Label()
    if cls is ast.Ternary:
        g.branch(expr.cond, other, False)
        _write_or_null(g, expr.then, place)
        g.emit(ja(end))
        g.place(other)
        _write_or_null(g, expr.otherwise, place)
    elif cls is ast.Comma:
        for part in expr.parts[:-1]:
            discard(g, part)
        _write_or_null(g, expr.parts[-1], place)
    elif cls is ast.Assign:
        g.value(expr)
        _write_or_null(g, expr.target, place)
    elif is_dynamic(expr):
        element(g, expr)
        g.emit(jump_imm("jeq", R0, 0, other), mov(R3, R0))
        g.copy_from_r3(place, place.size)
        g.emit(ja(end))
        g.place(other)
        set_null(g, place)
    elif is_null(expr):
        set_null(g, place)
    elif _is_nullable_call(expr):
        expr.row.emit(g, expr, place)
    else:
        source = place_of(g, expr)
        if source is not None:
            g.copy(source, place)
        else:
            g.string(expr, place.off)
    g.place(end)


def jump_if_null(g, place, label):
    _load_mark(g, place)
    g.emit(jump_imm("jeq", R1, _NULL_MARK, label))


def natural_size(g, expr):
    """The bytes of a record's field for expr: its storage, or less where it is known to be shorter."""
    if expr.__class__ is ast.StrLit:
        return round_up(
            min(len(expr.value), g.layout.strsize - 1) + 1
        )  # NULs at its end are room (hosts/request.py)
    place = place_of(g, expr)
    return place.size if place else g.layout.string_size


def _scratch(g):
    return Place(False, g.alloc(g.layout.string_size), g.layout.string_size)


def literal(g, expr):
    """The bytes of a constant as D sees them."""
    return expr.value.split(b"\0", 1)[0][: g.layout.strsize - 1]


def may_be_null(layout, expr):
    """Whether expr can be NULL without a fault before."""
    cls = expr.__class__
    if cls is ast.Ternary:
        return may_be_null(layout, expr.then) or may_be_null(layout, expr.otherwise)
    if cls in (ast.Cast, ast.Comma, ast.Assign):
        return may_be_null(layout, _inner(expr))
    if cls is ast.Var and not is_dynamic(expr):
        return expr.symbol in layout.nullable
    return is_dynamic(expr) or is_null(expr) or _is_nullable_call(expr)


def _is_nullable_call(expr):
    return expr.__class__ is ast.Call and expr.row.nullable


def _inner(expr):
    """The expression whose value expr has."""
    return (
        expr.operand
        if expr.__class__ is ast.Cast
        else expr.parts[-1]
        if expr.__class__ is ast.Comma
        else expr.value
    )


def set_null(g, place):
    g.zero(place)
    if place.map:
        g.address(R1, place)
        g.emit(store_imm(2, R1, 0, _NULL_MARK))
    else:
        g.emit(store_imm(2, R6, place.off, _NULL_MARK))


def _load_mark(g, place):
    if place.map:
        g.address(R1, place)
        g.emit(load(2, R1, R1, 0))
    else:
        g.emit(load(2, R1, R6, place.off))


def fault_if_null(g, place, address=None):
    """address: the register pushed that holds the illegal address; None for 0."""
    _load_mark(g, place)
    g.emit(jump_imm("jeq", R1, _NULL_MARK, g.fault(p.FAULT_BADADDR, address)))


# --- strings into the state block ------------------------------------------------
def _literal(g, expr, off, size):
    text = literal(g, expr)
    data = text.ljust(round_up(len(text) + 1), b"\0")
    for i in range(0, len(data), 8):
        word = int.from_bytes(data[i : i + 8], sys.byteorder, signed=True)
        if -0x80000000 <= word <= 0x7FFFFFFF:
            g.emit(store_imm(8, R6, off + i, word))
        else:
            for j in (i, i + 4):
                half = int.from_bytes(data[j : j + 4], sys.byteorder, signed=True)
                g.emit(store_imm(4, R6, off + j, half))
    if len(data) < size:
        g.zero(Place(False, off + len(data), size - len(data)))


def _builtin(g, expr, off, size):
    source = Place(False, expr.row.offset, min(expr.row.size, size))
    g.copy(source, Place(False, off, size))
    g.emit(*[store_imm(1, R6, off + i, 0) for i in range(g.layout.strsize - 1, source.size)])


def _variable(g, expr, off, size):
    """A variable's value; for an assignment, the target's new one."""
    if expr.__class__ is ast.Assign:
        g.value(expr)
        expr = expr.target
    if is_dynamic(expr):
        element(g, expr)
        g.mark(expr.loc)
        g.emit(jump_imm("jeq", R0, 0, g.fault(p.FAULT_BADADDR)), mov(R3, R0))
        g.copy_from_r3(Place(False, off, size), size)
    else:
        g.copy(locate(g, expr), Place(False, off, size))


def _cast(g, expr, off, size):
    g.string(expr.operand, off, size)


def _null(g, expr, off, size):
    g.mark(expr.loc)
    g.jump_surely(g.fault(p.FAULT_BADADDR))


def _comma(g, expr, off, size):
    for part in expr.parts[:-1]:
        discard(g, part)
    g.string(expr.parts[-1], off, size)


def _ternary(g, expr, off, size):
    otherwise, end = Label(), Label()
    g.branch(expr.cond, otherwise, False)
    g.string(expr.then, off, size)
    g.emit(ja(end))
    g.place(otherwise)
    g.string(expr.otherwise, off, size)
    g.place(end)


def _call(g, expr, off, size):
    target = Place(False, off, size)
    expr.row.emit(g, expr, target)
    if expr.row.nullable:
        g.mark(expr.loc)
        fault_if_null(g, target)


def _call_value(g, expr):
    expr.row.emit(g, expr, None)


# --- comparisons --------------------------------------------------------------------
def _compare(g, expr, label, when):
    left, op, right = expr.left, expr.op, expr.right
    if left.__class__ is ast.StrLit or is_null(left):
        left, op, right = right, _MIRROR[op], left
    if not when:
        op = _INVERSE[op]
    mark = g.scratch
    if is_null(right):
        _compare_null(g, left, op, label)
    elif right.__class__ is ast.StrLit and op in ("==", "!="):
        _compare_literal(g, left, op, literal(g, right), label)
    else:
        a, b = locate_or_null(g, left), locate_or_null(g, right)
        g.address(R1, a)
        g.address(R2, b)
        g.emit(mov_imm(R3, min(a.size, b.size) // 8))
        g.routine(
            "string_compare_null"
            if may_be_null(g.layout, left) or may_be_null(g.layout, right)
            else "string_compare"
        )
        g.emit(jump_imm(_JUMPS[op], R0, 0, label))
    g.scratch = mark


def is_null(expr):
    return not expr.__class__ is ast.StrLit and constant(expr) == 0


def _compare_null(g, expr, op, label):
    """Jump to label if expr is NULL (op "==") or is not ("!=")."""
    if is_dynamic(expr):
        element(g, expr)
        g.emit(jump_imm(_JUMPS[op], R0, 0, label))
        return
    is_marked = (
        _is_nullable_call(expr)
        or expr.__class__ in (ast.Ternary, ast.Comma)
        and may_be_null(g.layout, expr)
    )
    place = locate_or_null(g, expr) if is_marked else place_of(g, expr)
    if place and (place.null or is_marked):
        _load_mark(g, place)
        g.emit(jump_imm(_JUMPS[op], R1, _NULL_MARK, label))
        return
    discard(g, expr)
    g.emit(mov_imm(R0, 0), jump_imm(_JUMPS[_INVERSE[op]], R0, 0, label))  # see jump_surely


def _compare_literal(g, expr, op, text, label):
    """Jump to label if expr equals the constant `text`, or does not: only as many words are looked at as
    the constant has, its NUL included."""
    different = Label() if op == "==" else label
    base, off, size = R0, 0, g.layout.string_size
    if is_dynamic(expr):
        element(g, expr)
        g.emit(jump_imm("jeq", R0, 0, different))
    else:
        place = locate_or_null(g, expr)
        size = place.size
        if place.map:
            g.emit(ld_map_value(R0, p.MAP_GLOBALS, place.off))
        else:
            base, off = R6, place.off
    if len(text) >= size:
        g.jump_surely(different)
    else:
        for i in range(0, len(text) + 1, 8):
            word = int.from_bytes(text[i : i + 8].ljust(8, b"\0"), sys.byteorder, signed=True)
            g.emit(load(8, R1, base, off + i))
            if -0x80000000 <= word <= 0x7FFFFFFF:
                g.emit(jump_imm("jne", R1, word, different))
            else:
                g.emit(const(R2, word), jump("jne", R1, R2, different))
    if op == "==":
        g.emit(ja(label))
        g.place(different)


# Node class -> function, for emit.Tables.
VALUES = {ast.Call: _call_value}
COMPARISONS = {ast.Binary: _compare}
STRINGS = {
    ast.StrLit: _literal,
    ast.Builtin: _builtin,
    ast.Var: _variable,
    ast.AssocRef: _variable,
    ast.Assign: _variable,
    ast.Cast: _cast,
    ast.IntLit: _null,
    ast.Comma: _comma,
    ast.Ternary: _ternary,
    ast.Call: _call,
}
