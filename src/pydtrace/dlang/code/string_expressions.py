"""String expressions -> code that writes the string into the state block, or compares two.

- A string is NUL-terminated and padded with zeros to its storage, at most strsize - 1 bytes
  long. The code uses a string where it lies (a StringSlot) and does not copy it.
- NULL: an unassigned self-> variable or element, and a scalar to which 0 or NULL was assigned.
  As in dtrace, NULL equals only NULL and precedes every string; every use except comparison and
  assignment is a fault, bad address 0. In storage NULL is a NUL with a mark behind it, where
  padding would be; maps have no element for it.
"""

from __future__ import annotations

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

from .argument_demand import STRING_TRUNCATED_MIN
from .emitter import StringSlot
from .integer_expressions import constant_value, emit_for_effect
from .layout import round_up
from .variable_storage import emit_lookup, is_dynamic, scalar_slot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeGuard

    from .emitter import Emitter, Temp
    from .layout import Layout

_NULL_MARK = int.from_bytes(b"\0\1", sys.byteorder)
_MIRROR = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_JUMPS = {"==": "jeq", "!=": "jne", "<": "jslt", "<=": "jsle", ">": "jsgt", ">=": "jsge"}
_INVERSE = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def count_truncated_string(g: Emitter, address: Temp) -> None:
    """r0: the length with its NUL of a string that was read, strsize bytes at most, at the address in a Temp.  Counts it if it goes on
    behind, or is as long as an event holds at most; leaves r0."""
    strsize, long, counted = g.layout.strsize, Label(), Label()
    g.emit(jump_imm("jge", R0, min(strsize, STRING_TRUNCATED_MIN + 1), long))
    g.place_label(counted)
    mark, length, following = (
        g.scratch,
        g.alloc_scratch(8),
        StringSlot(False, g.alloc_scratch(8), 8),
    )
    g.scratch = mark

    def emit_count() -> None:
        ended = Label()
        g.place_label(long)
        if strsize > STRING_TRUNCATED_MIN:
            g.count_drop(p.COUNT_LONG)
        g.emit(store(8, R6, length, R0), jump_imm("jne", R0, strsize, ended))
        g.load_address(R1, following)
        g.load_temp(address, R3)
        g.emit(mov_imm(R2, 1), alu_imm("add", R3, strsize - 1))
        g.call_helper("probe_read_user")
        g.emit(load(1, R0, R6, following.off), jump_imm("jeq", R0, 0, ended))
        g.count_drop(p.COUNT_CUT)
        g.place_label(ended)
        g.emit(load(8, R0, R6, length), ja(counted))

    g.emit_at_end(emit_count)


# --- where strings are ---------------------------------------------------------
def find_slot(g: Emitter, expr: ast.Expr) -> StringSlot | None:
    """The Place where expr lies already, or None; emits nothing."""
    if type(expr) is ast.Var and expr.symbol.scope != "self":
        return scalar_slot(g, expr.symbol)
    if type(expr) is ast.Builtin and expr.row.size <= g.layout.strsize:
        return StringSlot(False, expr.row.offset, expr.row.size)
    if type(expr) is ast.Cast:
        return find_slot(g, expr.operand)
    if type(expr) is ast.Stringof and expr.operand.type.is_string:
        place = find_slot(g, expr.operand)
        return None if place is None or place.may_be_null else place
    return None


def locate_string(g: Emitter, expr: ast.Expr) -> StringSlot:
    """The Place of a string that is not NULL: where it lies, or the scratch that it was written to."""
    place = find_slot(g, expr)
    if place is None:
        place = _alloc_slot(g)
        g.emit_string(expr, place.off)
    elif place.may_be_null:
        fault_if_null(g, place)
    return place


def locate_nullable_string(g: Emitter, expr: ast.Expr) -> StringSlot:
    """The Place of a string that may be NULL, marked as such then."""
    place = find_slot(g, expr)
    if place is not None or not may_be_null(g.layout, expr):
        return place or locate_string(g, expr)
    place = _alloc_slot(g)
    _emit_nullable(g, expr, place)
    return place


def _emit_nullable(g: Emitter, expr: ast.Expr, place: StringSlot) -> None:
    """Write expr, or the mark of NULL, to a Place in the state block."""
    other, end = Label(), Label()
    if type(expr) is ast.Ternary:
        g.emit_branch(expr.cond, other, False)
        _emit_nullable(g, expr.then, place)
        g.emit(ja(end))
        g.place_label(other)
        _emit_nullable(g, expr.otherwise, place)
    elif type(expr) is ast.Comma:
        for part in expr.parts[:-1]:
            emit_for_effect(g, part)
        _emit_nullable(g, expr.parts[-1], place)
    elif type(expr) is ast.Assign:
        g.emit_value(expr)
        _emit_nullable(g, expr.target, place)
    elif is_dynamic(expr):
        emit_lookup(g, expr)
        g.emit(jump_imm("jeq", R0, 0, other), mov(R3, R0))
        g.copy_from_r3(place, place.size)
        g.emit(ja(end))
        g.place_label(other)
        emit_null(g, place)
    elif is_null_constant(expr):
        emit_null(g, place)
    elif _is_nullable_call(expr):
        expr.row.emit(g, expr, place)
    else:
        source = find_slot(g, expr)
        if source is not None:
            g.copy_slot(source, place)
        else:
            g.emit_string(expr, place.off)
    g.place_label(end)


def jump_if_null(g: Emitter, place: StringSlot, label: Label) -> None:
    _emit_mark_load(g, place)
    g.emit(jump_imm("jeq", R1, _NULL_MARK, label))


def natural_size(g: Emitter, expr: ast.Expr) -> int:
    """The bytes of a record's field for expr: its storage, or less where it is known to be shorter."""
    if type(expr) is ast.StrLit:
        return round_up(
            min(len(expr.value), g.layout.strsize - 1) + 1
        )  # NULs at its end are room (hosts/request.py)
    place = find_slot(g, expr)
    return place.size if place else g.layout.string_size


def _alloc_slot(g: Emitter) -> StringSlot:
    return StringSlot(False, g.alloc_scratch(g.layout.string_size), g.layout.string_size)


def literal_bytes(g: Emitter, expr: ast.StrLit) -> bytes:
    """The bytes of a constant as D sees them."""
    return expr.value.split(b"\0", 1)[0][: g.layout.strsize - 1]


def may_be_null(layout: Layout, expr: ast.Expr) -> bool:
    """Whether expr can be NULL without a fault before."""
    if type(expr) is ast.Ternary:
        return may_be_null(layout, expr.then) or may_be_null(layout, expr.otherwise)
    if isinstance(expr, (ast.Cast, ast.Comma, ast.Assign)):
        return may_be_null(layout, _value_operand(expr))
    if type(expr) is ast.Var and not is_dynamic(expr):
        return expr.symbol in layout.nullable
    return is_dynamic(expr) or is_null_constant(expr) or _is_nullable_call(expr)


def _is_nullable_call(expr: ast.Expr) -> TypeGuard[ast.Call]:
    return type(expr) is ast.Call and expr.row.is_nullable


def _value_operand(expr: ast.Cast | ast.Comma | ast.Assign) -> ast.Expr:
    """The expression whose value expr has."""
    if isinstance(expr, ast.Cast):
        return expr.operand
    return expr.parts[-1] if isinstance(expr, ast.Comma) else expr.value


def emit_null(g: Emitter, place: StringSlot) -> None:
    g.zero_slot(place)
    if place.in_globals:
        g.load_address(R1, place)
        g.emit(store_imm(2, R1, 0, _NULL_MARK))
    else:
        g.emit(store_imm(2, R6, place.off, _NULL_MARK))


def _emit_mark_load(g: Emitter, place: StringSlot) -> None:
    if place.in_globals:
        g.load_address(R1, place)
        g.emit(load(2, R1, R1, 0))
    else:
        g.emit(load(2, R1, R6, place.off))


def fault_if_null(g: Emitter, place: StringSlot, address: Temp | None = None) -> None:
    """address: the register pushed that holds the illegal address; None for 0."""
    _emit_mark_load(g, place)
    g.emit(jump_imm("jeq", R1, _NULL_MARK, g.fault_label(p.FAULT_BADADDR, address)))


# --- strings into the state block ------------------------------------------------
def _emit_literal(g: Emitter, expr: ast.StrLit, off: int, size: int) -> None:
    text = literal_bytes(g, expr)
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
        g.zero_slot(StringSlot(False, off + len(data), size - len(data)))


def _emit_builtin(g: Emitter, expr: ast.Builtin, off: int, size: int) -> None:
    source = StringSlot(False, expr.row.offset, min(expr.row.size, size))
    g.copy_slot(source, StringSlot(False, off, size))
    g.emit(*[store_imm(1, R6, off + i, 0) for i in range(g.layout.strsize - 1, source.size)])


def _emit_variable(g: Emitter, expr: ast.Expr, off: int, size: int) -> None:
    """A variable's value; for an assignment, the target's new one."""
    if type(expr) is ast.Assign:
        g.emit_value(expr)
        expr = expr.target
    if is_dynamic(expr):
        emit_lookup(g, expr)
        g.mark_location(expr.loc)
        g.emit(jump_imm("jeq", R0, 0, g.fault_label(p.FAULT_BADADDR)), mov(R3, R0))
        g.copy_from_r3(StringSlot(False, off, size), size)
    else:
        g.copy_slot(locate_string(g, expr), StringSlot(False, off, size))


def _emit_cast(g: Emitter, expr: ast.Cast, off: int, size: int) -> None:
    g.emit_string(expr.operand, off, size)


def _emit_null_fault(g: Emitter, expr: ast.IntLit, off: int, size: int) -> None:
    g.mark_location(expr.loc)
    g.jump_opaquely(g.fault_label(p.FAULT_BADADDR))


def _emit_comma(g: Emitter, expr: ast.Comma, off: int, size: int) -> None:
    for part in expr.parts[:-1]:
        emit_for_effect(g, part)
    g.emit_string(expr.parts[-1], off, size)


def _emit_ternary(g: Emitter, expr: ast.Ternary, off: int, size: int) -> None:
    otherwise, end = Label(), Label()
    g.emit_branch(expr.cond, otherwise, False)
    g.emit_string(expr.then, off, size)
    g.emit(ja(end))
    g.place_label(otherwise)
    g.emit_string(expr.otherwise, off, size)
    g.place_label(end)


def _emit_call(g: Emitter, expr: ast.Call, off: int, size: int) -> None:
    target = StringSlot(False, off, size)
    expr.row.emit(g, expr, target)
    if expr.row.is_nullable:
        g.mark_location(expr.loc)
        fault_if_null(g, target)


def _emit_call_value(g: Emitter, expr: ast.Call) -> None:
    expr.row.emit(g, expr, None)


# --- comparisons --------------------------------------------------------------------
def _emit_comparison(g: Emitter, expr: ast.Binary, label: Label, when: bool) -> None:
    left, op, right = expr.left, expr.op, expr.right
    if type(left) is ast.StrLit or is_null_constant(left):
        left, op, right = right, _MIRROR[op], left
    if not when:
        op = _INVERSE[op]
    mark = g.scratch
    if is_null_constant(right):
        _emit_null_comparison(g, left, op, label)
    elif type(right) is ast.StrLit and op in ("==", "!="):
        _emit_literal_comparison(g, left, op, literal_bytes(g, right), label)
    else:
        a, b = locate_nullable_string(g, left), locate_nullable_string(g, right)
        g.load_address(R1, a)
        g.load_address(R2, b)
        g.emit(mov_imm(R3, min(a.size, b.size) // 8))
        g.call_routine(
            "string_compare_null"
            if may_be_null(g.layout, left) or may_be_null(g.layout, right)
            else "string_compare"
        )
        g.emit(jump_imm(_JUMPS[op], R0, 0, label))
    g.scratch = mark


def is_null_constant(expr: ast.Expr) -> bool:
    return not type(expr) is ast.StrLit and constant_value(expr) == 0


def _emit_null_comparison(g: Emitter, expr: ast.Expr, op: str, label: Label) -> None:
    """Jump to label if expr is NULL (op "==") or is not ("!=")."""
    if is_dynamic(expr):
        emit_lookup(g, expr)
        g.emit(jump_imm(_JUMPS[op], R0, 0, label))
        return
    is_marked = (
        _is_nullable_call(expr)
        or isinstance(expr, (ast.Ternary, ast.Comma))
        and may_be_null(g.layout, expr)
    )
    place = locate_nullable_string(g, expr) if is_marked else find_slot(g, expr)
    if place and (place.may_be_null or is_marked):
        _emit_mark_load(g, place)
        g.emit(jump_imm(_JUMPS[op], R1, _NULL_MARK, label))
        return
    emit_for_effect(g, expr)
    g.emit(mov_imm(R0, 0), jump_imm(_JUMPS[_INVERSE[op]], R0, 0, label))  # see jump_surely


def _emit_literal_comparison(
    g: Emitter, expr: ast.Expr, op: str, text: bytes, label: Label
) -> None:
    """Jump to label if expr equals the constant `text`, or does not: only as many words are looked at as
    the constant has, its NUL included."""
    different = Label() if op == "==" else label
    base, off, size = R0, 0, g.layout.string_size
    if is_dynamic(expr):
        emit_lookup(g, expr)
        g.emit(jump_imm("jeq", R0, 0, different))
    else:
        place = locate_nullable_string(g, expr)
        size = place.size
        if place.in_globals:
            g.emit(ld_map_value(R0, p.MAP_GLOBALS, place.off))
        else:
            base, off = R6, place.off
    if len(text) >= size:
        g.jump_opaquely(different)
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
        g.place_label(different)


# Node class -> function, for emit.Tables.
VALUES = {ast.Call: _emit_call_value}
COMPARISONS = {ast.Binary: _emit_comparison}
STRINGS = {
    ast.StrLit: _emit_literal,
    ast.Builtin: _emit_builtin,
    ast.Var: _emit_variable,
    ast.AssocRef: _emit_variable,
    ast.Assign: _emit_variable,
    ast.Cast: _emit_cast,
    ast.IntLit: _emit_null_fault,
    ast.Comma: _emit_comma,
    ast.Ternary: _emit_ternary,
    ast.Call: _emit_call,
}
