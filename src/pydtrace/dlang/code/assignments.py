"""Assignments -> code; the op of an Assign node is always "=" here.

- Assigning 0 or NULL to a self-> variable or an element deletes it.
- A new element that finds no room is a drop (DROP_DYNAMIC); as in dtrace the clause ends there,
  without a record.
- If the value is a fault, the variable keeps its old value.
"""

from __future__ import annotations

from pydtrace.bpf.insn import R0, R1, R3, R6, ja, jump_imm, ld_map_value, mov_imm, store
from pydtrace.bpf.program_builder import Label
from pydtrace.dlang import ast
from pydtrace.program import program as p

from . import memory_objects
from .emitter import StringSlot
from .integer_expressions import constant_value
from .string_expressions import emit_null, jump_if_null, locate_nullable_string, may_be_null
from .variable_storage import emit_element_key, emit_put, emit_removal, is_dynamic, scalar_slot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pydtrace.dlang.variable_table import Variable

    from .emitter import Emitter
    from .variable_storage import Element


def _emit_assign(g: Emitter, expr: ast.Assign) -> None:
    """Assign; an integer's value is left in r0 as it was before it was cut to the variable's type."""
    target, value = expr.target, expr.value
    if target.__class__ in memory_objects.OBJECT_NODES or target.type.is_record:
        memory_objects.emit_object_assign(g, expr)
        return
    mark = g.scratch
    if is_dynamic(target):
        if constant_value(value) == 0:
            emit_removal(g, target.symbol.placed_slot, emit_element_key(g, target))
            g.emit(mov_imm(R0, 0))
        elif target.type.is_string:
            _emit_string_element_assign(g, target, value)
        else:
            _emit_element_assign(g, target, value)
    else:
        assert isinstance(target, ast.Var)
        _emit_scalar_assign(g, target.symbol, value)
    g.scratch = mark


def _emit_scalar_assign(g: Emitter, symbol: Variable, value: ast.Expr) -> None:
    if symbol.known_type.is_string:
        _emit_string_assign(g, scalar_slot(g, symbol), value)
        return
    g.emit_value(value)
    size, slot = symbol.known_type.size, symbol.placed_slot
    if symbol.scope == "this":
        g.emit(store(size, R6, slot, R0))
    else:
        g.emit(ld_map_value(R1, p.MAP_GLOBALS, slot), store(size, R1, 0, R0))


def _emit_element_assign(g: Emitter, target: Element, value: ast.Expr) -> None:
    symbol, slot = target.symbol, target.symbol.placed_slot
    delete, end = Label(), Label()
    g.emit_value(value)
    kept = g.push_r0()
    key = emit_element_key(g, target)
    cell = g.alloc_scratch(8)
    g.load_temp(kept, R1)
    g.narrow_register(R1, symbol.known_type)
    g.emit(jump_imm("jeq", R1, 0, delete), store(8, R6, cell, R1))
    emit_put(g, slot, key, lambda: g.load_state_address(R3, cell))
    g.emit(ja(end))
    g.place_label(delete)
    emit_removal(g, slot, key)
    g.place_label(end)
    g.pop_temp(kept, R0)


def _emit_string_assign(g: Emitter, target: StringSlot, value: ast.Expr) -> None:
    """To a scalar.  What may fault is evaluated in scratch memory first: a fault leaves the variable as it was."""
    if constant_value(value) == 0:
        emit_null(g, target)
    elif type(value) is ast.StrLit and not target.in_globals:
        g.emit_string(value, target.off)
    else:
        g.copy_slot(locate_nullable_string(g, value), target)


def _emit_string_element_assign(g: Emitter, target: Element, value: ast.Expr) -> None:
    """A NULL value deletes the element, as 0 does."""
    source = locate_nullable_string(g, value)
    size = g.layout.string_size
    if source.size < size:
        whole = StringSlot(False, g.alloc_scratch(size), size)
        g.copy_slot(source, whole)
        source = whole
    delete, end = Label(), Label()
    nullable = may_be_null(g.layout, value)
    key = emit_element_key(g, target)
    if nullable:
        jump_if_null(g, source, delete)
    emit_put(g, target.symbol.placed_slot, key, lambda: g.load_address(R3, source))
    if nullable:
        g.emit(ja(end))
        g.place_label(delete)
        emit_removal(g, target.symbol.placed_slot, key)
        g.place_label(end)


# Node class -> function, for emit.Tables.
VALUES = {ast.Assign: _emit_assign}
