"""Storage of variables: their places, the keys of their maps, and reading integers.

this-> variables lie in the state block, global scalars in the globals map; self-> variables and
associative arrays are hash maps, whose missing elements are 0. assignments.py assigns scalars.
"""

from __future__ import annotations

from pydtrace.bpf.insn import (
    R0,
    R1,
    R2,
    R4,
    R6,
    atomic,
    jump_imm,
    ld_map_value,
    load,
    mov_imm,
    store,
)
from pydtrace.bpf.program_builder import Label
from pydtrace.dlang import ast
from pydtrace.program import program as p

from .emitter import StringSlot
from .integer_expressions import load_into, store_field
from .layout import dynamic_key_types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeGuard

    from ..variable_table import Variable
    from .emitter import Emitter
    from .layout import KeyLayout

    Element = ast.Var | ast.AssocRef  # what is in a hash map: see is_dynamic()

_ANY, _NOEXIST, _EXIST = range(3)  # map_update_elem's flags


def is_dynamic(expr: ast.Expr) -> TypeGuard[Element]:
    """Whether expr is an element of a hash map."""
    return type(expr) is ast.AssocRef or type(expr) is ast.Var and expr.symbol.scope == "self"


def scalar_slot(g: Emitter, symbol: Variable) -> StringSlot:
    """The Place of a global or this-> string."""
    return StringSlot(
        symbol.scope == "global",
        symbol.placed_slot,
        g.layout.string_size,
        symbol in g.layout.nullable,
    )


# --- keys ------------------------------------------------------------------------
def emit_key(g: Emitter, key: KeyLayout, exprs: list[ast.Expr], first: int = 0) -> int:
    """Evaluate exprs into the fields of `key` from `first` on; returns where the key is."""
    off = g.alloc_scratch(key.size)
    for word in key.padded:
        g.zero_slot(StringSlot(False, off + word, 8))
    for data, expr in zip(key.fields[first:], exprs):
        store_field(g, off, data, expr)
    return off


def emit_element_key(g: Emitter, expr: Element) -> int:
    """The offset of the key of expr; the caller gives the scratch back."""
    symbol = expr.symbol
    if type(expr) is ast.Var and not symbol.is_per_host:
        return p.STATE_PID  # pid and tid, as they lie in the state block
    key = g.layout.make_key(dynamic_key_types(symbol), expr.loc)
    of_thread = symbol.scope == "self"
    off = emit_key(
        g, key, expr.keys if isinstance(expr, ast.AssocRef) else [], of_thread + symbol.is_per_host
    )
    if of_thread:
        g.emit(load(8, R1, R6, p.STATE_PID), store(8, R6, off, R1))
    if symbol.is_per_host:
        g.emit(load(4, R1, R6, p.STATE_HOST), store(8, R6, off + 8 * of_thread, R1))
    return off


def emit_lookup(g: Emitter, expr: Element) -> None:
    """r0 = the address of the element's value, or 0."""
    mark = g.scratch
    g.map_call("map_lookup_elem", expr.symbol.placed_slot, emit_element_key(g, expr))
    g.scratch = mark


# --- elements -----------------------------------------------------------------------
def emit_put(g: Emitter, index: int, key: int, value: Callable[..., Any]) -> None:
    """Set an element to what lies at the address that value() puts into r3.  A new one that finds no room is counted as a drop, and
    the clause ends, as in dtrace."""
    done, full = Label(), Label()

    def emit_update(flags: int) -> None:
        value()
        g.emit(mov_imm(R4, flags))
        g.map_call("map_update_elem", index, key)
        g.emit(jump_imm("jeq", R0, 0, done))

    if g.layout.used_offset is None:
        emit_update(_ANY)
    else:
        emit_update(_EXIST)
        _emit_count(g, 1)
        g.emit(jump_imm("jge", R2, g.layout.element_limit, full))
        emit_update(_NOEXIST)
        g.place_label(full)
        _emit_count(g, -1)
        emit_update(_EXIST)  # another CPU made it meanwhile
    g.count_drop(p.DROP_DYNAMIC)
    g.jump_to(g.end_label)
    g.place_label(done)


def emit_removal(g: Emitter, index: int, key: int) -> None:
    """Delete an element, if it is there."""
    missing = Label()
    g.map_call("map_delete_elem", index, key)
    if g.layout.used_offset is not None:
        g.emit(jump_imm("jne", R0, 0, missing))
        _emit_count(g, -1)
        g.place_label(missing)


def _emit_count(g: Emitter, change: int) -> None:
    """Count an element of the room that all share; r2 = how many there were."""
    assert g.layout.used_offset is not None
    g.emit(
        ld_map_value(R1, p.MAP_GLOBALS, g.layout.used_offset),
        mov_imm(R2, change),
        atomic("atomic_fetch_add", R1, 0, R2),
    )


# --- reading -------------------------------------------------------------------------
def _emit_read(g: Emitter, expr: ast.Expr) -> None:
    if not is_dynamic(expr):
        load_into(g, expr, R0)
        return
    emit_lookup(g, expr)
    missing = Label()
    g.emit(jump_imm("jeq", R0, 0, missing), load(8, R0, R0, 0))
    g.place_label(missing)


# Node class -> function, for emit.Tables.
VALUES = {ast.Var: _emit_read, ast.AssocRef: _emit_read}
