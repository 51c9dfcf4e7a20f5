"""Variables: where they are, the keys of their maps, and reading integers.

In: Var and AssocRef nodes whose symbols layout has placed.  Out: code.  Assigning: assign.py.
Always: this-> variables lie in the state block, global scalars in the globals map; self-> variables
and associative arrays are hash maps, whose missing elements are 0.
"""

from ...bpf.code import Label
from ...bpf.insn import R0, R1, R6, jump_imm, load, store
from ...data import program as p
from .. import ast
from .emit import Place
from .integers import load_into, store_field
from .layout import dynamic_key_types


def is_dynamic(expr):
    """Whether expr is an element of a hash map."""
    return expr.__class__ is ast.AssocRef or expr.__class__ is ast.Var and expr.symbol.scope == "self"


def scalar_place(g, symbol):
    """The Place of a global or this-> string."""
    return Place(symbol.scope == "global", symbol.slot, g.layout.string_size, symbol in g.layout.nullable)


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
    off = build_key(g, key, expr.keys if expr.__class__ is ast.AssocRef else (), of_thread + symbol.by_host)
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
