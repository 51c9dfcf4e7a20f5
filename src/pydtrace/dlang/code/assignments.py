# mypy: ignore-errors
"""Assignments -> code.

In: Assign nodes, whose op is always "=" here.  Out: code.
Always: assigning 0 or NULL to a self-> variable or an element deletes it.  A new element that finds no room is
lost, and counted (DROP_DYNAMIC); as in dtrace the clause ends there, without a record.  Where the value is a fault, the variable stays as it was.
"""

from pydtrace.bpf.insn import R0, R1, R3, R6, ja, jump_imm, ld_map_value, mov_imm, store
from pydtrace.bpf.program_builder import Label
from pydtrace.dlang import ast
from pydtrace.program import program as p

from . import memory_objects
from .emitter import Place
from .integer_expressions import constant
from .string_expressions import jump_if_null, locate_or_null, may_be_null, set_null
from .variable_storage import element_key, is_dynamic, put, remove, scalar_place


def _assign(g, expr):
    """Assign; an integer's value is left in r0 as it was before it was cut to the variable's type."""
    target, value = expr.target, expr.value
    if target.__class__ in memory_objects.NODES or target.type.is_record:
        memory_objects.assign(g, expr)
        return
    mark = g.scratch
    if is_dynamic(target):
        if constant(value) == 0:
            remove(g, target.symbol.slot, element_key(g, target))
            g.emit(mov_imm(R0, 0))
        elif target.type.is_string:
            _assign_dynamic_string(g, target, value)
        else:
            _assign_dynamic(g, target, value)
    elif target.type.is_string:
        _assign_string(g, scalar_place(g, target.symbol), value)
    else:
        g.value(value)
        symbol = target.symbol
        if symbol.scope == "this":
            g.emit(store(symbol.type.size, R6, symbol.slot, R0))
        else:
            g.emit(ld_map_value(R1, p.MAP_GLOBALS, symbol.slot), store(symbol.type.size, R1, 0, R0))
    g.scratch = mark


def _assign_dynamic(g, target, value):
    symbol = target.symbol
    delete, end = Label(), Label()
    g.value(value)
    kept = g.push()
    key = element_key(g, target)
    cell = g.alloc(8)
    g.get(kept, R1)
    g.narrow(R1, symbol.type)
    g.emit(jump_imm("jeq", R1, 0, delete), store(8, R6, cell, R1))
    put(g, symbol.slot, key, lambda: g.state_address(R3, cell))
    g.emit(ja(end))
    g.place(delete)
    remove(g, symbol.slot, key)
    g.place(end)
    g.pop(kept, R0)


def _assign_string(g, target, value):
    """To a scalar.  What may fault is evaluated aside first: a fault leaves the variable as it was."""
    if constant(value) == 0:
        set_null(g, target)
    elif value.__class__ is ast.StrLit and not target.map:
        g.string(value, target.off)
    else:
        g.copy(locate_or_null(g, value), target)


def _assign_dynamic_string(g, target, value):
    """A NULL value deletes the element, as 0 does."""
    source = locate_or_null(g, value)
    size = g.layout.string_size
    if source.size < size:
        whole = Place(False, g.alloc(size), size)
        g.copy(source, whole)
        source = whole
    delete, end = Label(), Label()
    nullable = may_be_null(g.layout, value)
    key = element_key(g, target)
    if nullable:
        jump_if_null(g, source, delete)
    put(g, target.symbol.slot, key, lambda: g.address(R3, source))
    if nullable:
        g.emit(ja(end))
        g.place(delete)
        remove(g, target.symbol.slot, key)
        g.place(end)


# Node class -> function, for emit.Tables.
VALUES = {ast.Assign: _assign}
