# mypy: ignore-errors
"""Objects in memory -> code: structs, unions, arrays, and what pointers refer to.

In: typed Deref, AddressOf, MemberRef, ElementRef, Stringof, Xlate nodes, and variables of such types.  Out: code
that reads, writes and copies them.
Always: a pointer is a number.  One whose upper half is ADDRESS_STATE or ADDRESS_GLOBALS is an offset in the
program's own memory: its this-> variables and alloca()'s memory, or its globals.  Every other one is an address in
the traced process, which can be read and not written.  Where code knows the object it needs no number.
"""

from pydtrace.bpf.insn import (
    R0,
    R1,
    R2,
    R3,
    R6,
    alu,
    alu_imm,
    const,
    jump,
    jump_imm,
    ld_map_value,
    load,
    mov,
    mov_imm,
    store,
)
from pydtrace.bpf.program_builder import Label
from pydtrace.dlang import ast
from pydtrace.program import d_types as t
from pydtrace.program import program as p

from .emitter import Place
from .integer_expressions import constant, discard, store_field
from .string_expressions import count_cut_string, fault_if_null, locate_or_null, may_be_null
from .variable_storage import element_key, is_dynamic, put, remove

NODES = (ast.Deref, ast.MemberRef, ast.ElementRef)


class Spot:
    """Where an object is.  base: R6, or R0 which holds a pointer that eBPF may use (`address` False) or the
    number of an address (True); off: bytes from there; null: label of where a missing element jumps to."""

    __slots__ = ("base", "off", "address")

    def __init__(self, base, off, address=False):
        self.base, self.off, self.address = base, off, address


# --- which object ------------------------------------------------------------------
def reach(g, expr, written=False):
    """The Spot of an object.  written: an element that is not there yet is made; the clause ends where it finds no room."""
    cls = expr.__class__
    if cls is ast.MemberRef:
        spot = reach(g, expr.base, written)
        spot.off += expr.field.offset
        return spot
    if cls is ast.ElementRef:
        return _element_of(g, expr, written)
    if cls is ast.Deref:
        g.value(expr.operand)
        return Spot(R0, 0, True)
    if cls in (ast.Var, ast.AssocRef):
        return _variable(g, expr, written)
    if cls is ast.Xlate:
        return _translation(g, expr)
    if cls is ast.Assign:
        discard(g, expr)
        return reach(g, expr.target)
    if cls is ast.Comma:
        for part in expr.parts[:-1]:
            discard(g, part)
        return reach(g, expr.parts[-1])
    if cls is ast.Cast:
        return reach(g, expr.operand, written)
    place = Place(False, g.alloc(t.embedded_size(expr.type)), t.embedded_size(expr.type))
    g.object(expr, place.off)
    return Spot(R6, place.off)


def _variable(g, expr, written):
    symbol = expr.symbol
    if not is_dynamic(expr):
        if symbol.scope == "this":
            return Spot(R6, symbol.slot)
        g.emit(ld_map_value(R0, p.MAP_GLOBALS, symbol.slot))
        return Spot(R0, 0)
    mark = g.scratch
    found, key = Label(), element_key(g, expr)
    g.map_call("map_lookup_elem", symbol.slot, key)
    g.emit(jump_imm("jne", R0, 0, found))
    if not written:
        g.state_address(R0, g.layout.zeros)
    else:
        put(g, symbol.slot, key, lambda: g.state_address(R3, g.layout.zeros))
        g.map_call("map_lookup_elem", symbol.slot, key)
        g.emit(jump_imm("jne", R0, 0, found))
        g.jump(g.end)  # another CPU deleted it meanwhile
    g.place(found)
    g.scratch = mark
    return Spot(R0, 0)


def _element_of(g, expr, written):
    """An element of an array; a number outside of its bounds is a fault."""
    base, count, size = expr.base, _count(g, expr.base), t.embedded_size(expr.type)
    index = constant(expr.index)
    if index is not None and 0 <= index < max(count, 1):
        spot = (
            _reach_character(g, base, constant=index)
            if base.type.is_string
            else reach(g, base, written)
        )
        spot.off += index * size
        return spot
    g.value(expr.index)
    kept = g.push()
    spot = _reach_character(g, base, kept) if base.type.is_string else reach(g, base, written)
    g.get(kept, R1)
    g.mark(expr.loc)
    if count or not spot.address:
        g.emit(jump_imm("jge", R1, max(count, 1), g.fault(p.FAULT_BADINDEX, kept)))
    g.release(kept)
    if size > 1:
        g.emit(alu_imm("mul", R1, size))
    if spot.base != R0:
        g.emit(mov(R0, spot.base))
    g.emit(alu("add", R0, R1))
    return Spot(R0, spot.off, spot.address)


def _count(g, base):
    return g.layout.string_size if base.type.is_string else base.type.count


def _reach_character(g, base, kept=None, constant=0):
    """The Spot of a string of which a character is read.  kept, or else constant: its index, the illegal address where
    the string is NULL."""
    place = locate_or_null(g, base)
    if may_be_null(g.layout, base):
        index = kept
        if kept is None:
            g.emit(mov_imm(R0, constant))
            index = g.push()
        fault_if_null(g, place, index)
        if kept is None:
            g.release(index)
    if place.map:
        g.address(R0, place)
        return Spot(R0, 0)
    return Spot(R6, place.off)


def _translation(g, expr):
    """A whole translated struct, made in the scratch memory."""
    size = (t.embedded_size(expr.type) + 7) & ~7
    place = Place(False, g.alloc(size), size)
    g.zero(place)
    fields = expr.type.body.fields
    for conversion in expr.conversions:
        mark = g.scratch
        field = fields[conversion.name]
        if field.width is None:
            store_field(
                g, place.off, p.Data(field.type, field.offset, field.size), conversion.value
            )
        else:
            g.value(conversion.value)
            value = g.push()
            _store_bits(g, R6, place.off + field.offset, field, value)
            g.release(value)
        g.scratch = mark
    return Spot(R6, place.off)


# --- addresses ----------------------------------------------------------------------
def _address_of(g, expr):
    _address(g, expr.operand)


def _address(g, expr):
    """r0 = the number of the object's address."""
    cls = expr.__class__
    if cls is ast.Deref:
        g.value(expr.operand)
    elif cls is ast.MemberRef:
        _address(g, expr.base)
        _move(g, expr.field.offset)
    elif cls is ast.ElementRef:
        _element_address(g, expr)
    elif cls is ast.Var and not is_dynamic(expr):
        kind = p.ADDRESS_STATE if expr.symbol.scope == "this" else p.ADDRESS_GLOBALS
        g.emit(const(R0, kind << 32 | expr.symbol.slot))
    elif cls in (ast.Var, ast.AssocRef):
        raise g.unsupported(
            expr.loc,
            "the address of self-> variables and elements is",
            "copy it to a this-> variable",
        )
    else:
        raise g.unsupported(
            expr.loc, "the address of this expression is", "assign it to a this-> variable first"
        )


def _move(g, offset):
    if offset:
        g.emit(alu_imm("add", R0, offset))


def _element_address(g, expr):
    if expr.base.type.is_string:
        raise g.unsupported(expr.loc, "the address of a string's character is")
    size = t.embedded_size(expr.type)
    index = constant(expr.index)
    if index is not None:
        _address(g, expr.base)
        _move(g, index * size)
        return
    g.value(expr.index)
    g.emit(alu_imm("mul", R0, size))
    kept = g.push()
    _address(g, expr.base)
    g.emit(alu("add", R0, g.use(kept, R1)))
    g.release(kept)


def pointer(g, spot, size, loc, write=False):
    """(base register, offset) of `size` bytes that eBPF may read, or write.  What lies in the traced process is
    copied into the scratch memory, or cannot be written: a fault."""
    if not spot.address:
        return spot.base, spot.off
    _move(g, spot.off)
    done, own, shared = Label(), Label(), Label()
    kept = g.push()
    g.mark(loc)
    g.emit(
        mov(R1, R0),
        alu_imm("rsh", R1, 32),
        jump_imm("jeq", R1, p.ADDRESS_STATE, own),
        jump_imm("jeq", R1, p.ADDRESS_GLOBALS, shared),
    )
    if write:
        g.jump_surely(g.fault(p.FAULT_BADADDR, kept))
    else:
        cell = g.alloc(size)
        g.emit(mov(R3, R0))
        g.state_address(R1, cell)
        g.emit(mov_imm(R2, size))
        g.helper("probe_read_user")
        g.emit(jump_imm("jne", R0, 0, g.fault(p.FAULT_BADADDR, kept)))
        g.state_address(R0, cell)
        g.jump(done)
    g.place(own)
    _inside_state(g, size, kept)
    g.emit(mov(R1, R6), alu("add", R1, R0), mov(R0, R1))
    g.jump(done)
    g.place(shared)
    _inside(g, p.DROP_END, g.layout.globals_end() - size, kept)
    g.emit(ld_map_value(R1, p.MAP_GLOBALS, 0), alu("add", R1, R0), mov(R0, R1))
    g.place(done)
    g.release(kept)
    return R0, 0


def _inside_state(g, size, kept):
    """r0 = the offset of `size` bytes of this-> variables or of memory that alloca() has handed out; else a fault."""
    layout = g.layout
    if not layout.heap:
        _inside(g, p.STATE_PROGRAM, layout.this_end - size, kept)
        return
    variables, done = Label(), Label()
    g.emit(alu("mov32", R0, R0), jump_imm("jlt", R0, layout.heap, variables))
    g.emit(
        jump_imm("jgt", R0, layout.heap + layout.heap_size - size, g.fault(p.FAULT_BADADDR, kept))
    )
    g.emit(load(8, R1, R6, layout.heap_top), mov(R2, R0), alu_imm("add", R2, size))
    g.emit(jump("jgt", R2, R1, g.fault(p.FAULT_BADADDR, kept)))
    g.jump(done)
    g.place(variables)
    _inside(g, p.STATE_PROGRAM, layout.this_end - size, kept)
    g.place(done)


def _inside(g, low, high, kept):
    """r0 = the lower half of the address in r0; a fault where it is not from `low` to `high`."""
    g.emit(alu("mov32", R0, R0))
    if high < low:
        g.jump_surely(g.fault(p.FAULT_BADADDR, kept))
        return
    g.emit(jump_imm("jlt", R0, low, g.fault(p.FAULT_BADADDR, kept)))
    g.emit(jump_imm("jgt", R0, high, g.fault(p.FAULT_BADADDR, kept)))


# --- reading -------------------------------------------------------------------------
def _value(g, expr):
    mark = g.scratch
    field = expr.field if expr.__class__ is ast.MemberRef else None
    spot = reach(g, expr)
    if field is not None and field.width is not None:
        base, off = pointer(g, spot, field.size, expr.loc)
        _load_bits(g, base, off, field)
    elif t.fits_register(expr.type):
        base, off = pointer(g, spot, expr.type.size, expr.loc)
        g.load_typed(R0, base, off, expr.type)
    g.scratch = mark


def _load_bits(g, base, off, field):
    g.emit(load(field.size, R0, base, off))
    shift = 64 - field.width
    if shift or field.shift:
        g.emit(
            alu_imm("lsh", R0, shift),
            alu_imm("arsh" if field.type.signed else "rsh", R0, shift + field.shift),
        )


def _store_bits(g, base, off, field, value):
    """The bits of a bit-field are the lower ones of its bytes, or above those of others in a struct of the kernel's."""
    mask = (1 << field.width - field.shift) - 1
    if field.width == 8 * field.size and not field.shift:
        g.emit(store(field.size, base, off, g.use(value, R1)))
        return
    g.get(value, R1)
    g.emit(const(R2, mask), alu("and", R1, R2))
    if field.shift:
        g.emit(alu_imm("lsh", R1, field.shift))
    g.emit(
        load(field.size, R2, base, off),
        const(R3, ~(mask << field.shift) & (1 << 8 * field.size) - 1),
    )
    g.emit(alu("and", R2, R3), alu("or", R2, R1))
    g.emit(store(field.size, base, off, R2))


def _object(g, expr, off):
    """Copy an object into the state block at off."""
    size = t.embedded_size(expr.type)
    base, at = pointer(g, reach(g, expr), size, expr.loc)
    g.emit(mov(R3, base), alu_imm("add", R3, at))
    g.copy_from_r3(Place(False, off, size), size)


def _ternary_object(g, expr, off):
    otherwise, end = Label(), Label()
    g.branch(expr.cond, otherwise, False)
    g.object(expr.then, off)
    g.jump(end)
    g.place(otherwise)
    g.object(expr.otherwise, off)
    g.place(end)


def store_object(g, base, data, expr):
    """An address and what lies there into two fields (program.Data) of what begins at `base` in the state block.
    expr: ast.Deref; the address is computed once."""
    address, there = data
    store_field(g, base, address, expr.operand)
    g.emit(load(8, R0, R6, base + address.offset))
    found, at = pointer(g, Spot(R0, 0, True), there.size, expr.loc)
    g.emit(mov(R3, found), alu_imm("add", R3, at))
    g.copy_from_r3(Place(False, base + there.offset, there.size), there.size)


# --- strings in memory ------------------------------------------------------------------
def _string(g, expr, off, size):
    """An object of D's type string."""
    extent = min(t.STRING_EXTENT, size, g.layout.strsize)
    base, at = pointer(g, reach(g, expr), extent, expr.loc)
    _read_string(g, base, at, off, size, extent)


def _stringof(g, expr, off, size):
    """An array of char, what an address points to, or a string, which may not be NULL."""
    operand = expr.operand
    if operand.type.is_string:
        g.string(operand, off, size)
        return
    if operand.type.is_array:
        spot, limit = reach(g, operand), min(operand.type.count + 1, g.layout.strsize)
    else:
        g.value(operand)
        spot, limit = Spot(R0, 0, True), g.layout.strsize
    if spot.address:
        _string_at(g, spot, off, size, limit, expr.loc, not operand.type.is_array)
    else:
        _read_string(g, spot.base, spot.off, off, size, limit)


def _read_string(g, base, at, off, size, limit):
    """The string at a pointer that eBPF may use: `limit` bytes at most, its NUL included."""
    kept = None
    if base != R6:
        kept = g.push()
    g.zero(Place(False, off, size))
    g.state_address(R1, off)
    g.emit(mov_imm(R2, limit))
    if kept is not None:
        g.pop(kept, R3)
    else:
        g.emit(mov(R3, R6))
    g.emit(alu_imm("add", R3, at))
    g.helper("probe_read_kernel_str")


def _string_at(g, spot, off, size, limit, loc, may_go_on):
    """The string at an address that is a number; may_go_on: only strsize bounds it."""
    _move(g, spot.off)
    kept = g.push()
    done, own, shared, copy = Label(), Label(), Label(), Label()
    g.zero(Place(False, off, size))
    g.get(kept, R0)
    g.mark(loc)
    g.emit(
        mov(R1, R0),
        alu_imm("rsh", R1, 32),
        jump_imm("jeq", R1, p.ADDRESS_STATE, own),
        jump_imm("jeq", R1, p.ADDRESS_GLOBALS, shared),
    )
    g.emit(mov(R3, R0))
    g.state_address(R1, off)
    g.emit(mov_imm(R2, limit))
    g.helper("probe_read_user_str")
    g.emit(jump_imm("jslt", R0, 0, g.fault(p.FAULT_BADADDR, kept)))
    if may_go_on:
        count_cut_string(g, kept)
    g.jump(done)
    g.place(own)
    high = g.layout.memory[1]
    _inside_state(g, 1, kept)
    g.emit(mov_imm(R2, high), alu("sub", R2, R0), mov(R3, R6), alu("add", R3, R0))
    g.jump(copy)
    g.place(shared)
    high = g.layout.globals_end()
    _inside(g, p.DROP_END, high - 1, kept)
    g.emit(
        mov_imm(R2, high),
        alu("sub", R2, R0),
        ld_map_value(R3, p.MAP_GLOBALS, 0),
        alu("add", R3, R0),
    )
    g.place(copy)
    fits = Label()
    g.emit(jump_imm("jle", R2, limit, fits), mov_imm(R2, limit))
    g.place(fits)
    g.state_address(R1, off)
    g.helper("probe_read_kernel_str")
    g.place(done)
    g.release(kept)


# --- writing ----------------------------------------------------------------------------
def assign(g, expr):
    """target = value, where the target is an object in memory or the value a whole struct; a scalar's value is left
    in r0."""
    mark, target, value = g.scratch, expr.target, expr.value
    if target.__class__ in NODES and t.fits_register(target.type):
        g.value(value)
        kept = g.push()
        _store_scalar(g, target, kept)
        g.pop(kept, R0)
    else:
        _assign_bytes(g, target, value)
    g.scratch = mark


def _store_scalar(g, target, kept):
    spot = reach(g, target, True)
    field = target.field if target.__class__ is ast.MemberRef else None
    if field is not None and field.width is not None:
        base, off = pointer(g, spot, field.size, target.loc, True)
        _store_bits(g, base, off, field, kept)
    else:
        base, off = pointer(g, spot, target.type.size, target.loc, True)
        g.emit(store(target.type.size, base, off, g.use(kept, R1)))


def _assign_bytes(g, target, value):
    """A struct, a union, or a string inside of one: made aside first, then copied."""
    size = t.embedded_size(target.type)
    room = (size + 7) & ~7
    aside = g.alloc(max(room, g.layout.string_size if target.type.is_string else 0))
    if is_dynamic(target) and constant(value) == 0:
        remove(g, target.symbol.slot, element_key(g, target))
        g.emit(mov_imm(R0, 0))
        return
    if target.type.is_string:
        g.string(value, aside)
        size = min(size, g.layout.string_size)
    else:
        g.zero(Place(False, aside, room))
        g.object(value, aside)
    base, off = pointer(g, reach(g, target, True), size, target.loc, True)
    g.emit(mov(R1, base), alu_imm("add", R1, off), mov_imm(R2, size))
    g.state_address(R3, aside)
    g.helper("probe_read_kernel")


def _call(g, call, off):
    call.row.emit_object(g, call, off)


# Node class -> function, for emit.Tables.
VALUES = {ast.AddressOf: _address_of, **dict.fromkeys(NODES, _value)}
OBJECTS = {
    **dict.fromkeys(NODES, _object),
    ast.Var: _object,
    ast.AssocRef: _object,
    ast.Xlate: _object,
    ast.Assign: _object,
    ast.Comma: _object,
    ast.Cast: _object,
    ast.Ternary: _ternary_object,
    ast.Call: _call,
}
STRINGS = {**dict.fromkeys(NODES, _string), ast.Stringof: _stringof}
