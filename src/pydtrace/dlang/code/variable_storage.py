# mypy: ignore-errors
"""Variables: where they are, the keys of their maps, and reading integers.

In: Var and AssocRef nodes whose symbols layout has placed.  Out: code.  Assigning scalars: assignments.py.
Always: this-> variables lie in the state block, global scalars in the globals map; self-> variables
and associative arrays are hash maps, whose missing elements are 0.
"""

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

from .emitter import Place
from .integer_expressions import load_into, store_field
from .layout import dynamic_key_types

_ANY, _NOEXIST, _EXIST = range(3)  # map_update_elem's flags


def is_dynamic(expr):
    """Whether expr is an element of a hash map."""
    return (
        expr.__class__ is ast.AssocRef or expr.__class__ is ast.Var and expr.symbol.scope == "self"
    )


def scalar_place(g, symbol):
    """The Place of a global or this-> string."""
    return Place(
        symbol.scope == "global", symbol.slot, g.layout.string_size, symbol in g.layout.nullable
    )


# --- keys ------------------------------------------------------------------------
def build_key(g, key, exprs, first=0):
    """Evaluate exprs into the fields of `key` from `first` on; returns where the key is."""
    off = g.alloc(key.size)
    for word in key.padded:
        g.zero(Place(False, off + word, 8))
    for data, expr in zip(key.fields[first:], exprs):
        store_field(g, off, data, expr)
    return off


def element_key(g, expr):
    """The offset of the key of expr; the caller gives the scratch back."""
    symbol = expr.symbol
    if expr.__class__ is ast.Var and not symbol.by_host:
        return p.STATE_PID  # pid and tid, as they lie in the state block
    key = g.layout.key(dynamic_key_types(symbol), expr.loc)
    of_thread = symbol.scope == "self"
    off = build_key(
        g, key, expr.keys if expr.__class__ is ast.AssocRef else (), of_thread + symbol.by_host
    )
    if of_thread:
        g.emit(load(8, R1, R6, p.STATE_PID), store(8, R6, off, R1))
    if symbol.by_host:
        g.emit(load(4, R1, R6, p.STATE_HOST), store(8, R6, off + 8 * of_thread, R1))
    return off


def element(g, expr):
    """r0 = the address of the element's value, or 0."""
    mark = g.scratch
    g.map_call("map_lookup_elem", expr.symbol.slot, element_key(g, expr))
    g.scratch = mark


# --- elements -----------------------------------------------------------------------
def put(g, index, key, value):
    """Set an element to what lies at the address that value() puts into r3.  A new one that finds no room is counted as a drop, and
    the clause ends, as in dtrace."""
    done, full = Label(), Label()

    def update(flags):
        value()
        g.emit(mov_imm(R4, flags))
        g.map_call("map_update_elem", index, key)
        g.emit(jump_imm("jeq", R0, 0, done))

    if g.layout.used is None:
        update(_ANY)
    else:
        update(_EXIST)
        _count(g, 1)
        g.emit(jump_imm("jge", R2, g.layout.elements, full))
        update(_NOEXIST)
        g.place(full)
        _count(g, -1)
        update(_EXIST)  # another CPU made it meanwhile
    g.count_drop(p.DROP_DYNAMIC)
    g.jump(g.end)
    g.place(done)


def remove(g, index, key):
    """Delete an element, if it is there."""
    missing = Label()
    g.map_call("map_delete_elem", index, key)
    if g.layout.used is not None:
        g.emit(jump_imm("jne", R0, 0, missing))
        _count(g, -1)
        g.place(missing)


def _count(g, change):
    """Count an element of the room that all share; r2 = how many there were."""
    g.emit(
        ld_map_value(R1, p.MAP_GLOBALS, g.layout.used),
        mov_imm(R2, change),
        atomic("atomic_fetch_add", R1, 0, R2),
    )


# --- reading -------------------------------------------------------------------------
def _read(g, expr):
    if not is_dynamic(expr):
        load_into(g, expr, R0)
        return
    element(g, expr)
    missing = Label()
    g.emit(jump_imm("jeq", R0, 0, missing), load(8, R0, R0, 0))
    g.place(missing)


# Node class -> function, for emit.Tables.
VALUES = {ast.Var: _read, ast.AssocRef: _read}
