"""Objects in memory -> code: structs, unions, arrays, and the targets of pointers.

A pointer is a number. If its upper half is ADDRESS_STATE or ADDRESS_GLOBALS, it is an offset in
the program's own memory: its this-> variables and alloca()'s memory, or its globals. Any other
number is an address in the target, which can be read but not written. Code that knows the object
needs no number.
"""

from __future__ import annotations

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

from .emitter import StringSlot
from .integer_expressions import constant_value, emit_for_effect, store_field
from .string_expressions import (
    count_truncated_string,
    fault_if_null,
    locate_nullable_string,
    may_be_null,
)
from .variable_storage import emit_element_key, emit_put, emit_removal, is_dynamic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..front.source_text import Location
    from .emitter import Emitter, Temp

OBJECT_NODES = (ast.Deref, ast.MemberRef, ast.ElementRef)


class ObjectAddress:
    """Where an object is.  base: R6, or R0 which holds a pointer that eBPF may use (`address` False) or the
    number of an address (True); off: bytes from there; null: label of where a missing element jumps to."""

    __slots__ = ("base", "off", "address")

    def __init__(self, base: int, off: int, address: bool = False) -> None:
        self.base, self.off, self.address = base, off, address


# --- which object ------------------------------------------------------------------
def locate_object(g: Emitter, expr: ast.Expr, written: bool = False) -> ObjectAddress:
    """The Spot of an object.  written: an element that is not there yet is made; the clause ends where it finds no room."""
    if type(expr) is ast.MemberRef:
        spot = locate_object(g, expr.base, written)
        spot.off += expr.field.offset
        return spot
    if type(expr) is ast.ElementRef:
        return _locate_element(g, expr, written)
    if type(expr) is ast.Deref:
        g.emit_value(expr.operand)
        return ObjectAddress(R0, 0, True)
    if isinstance(expr, (ast.Var, ast.AssocRef)):
        return _locate_variable(g, expr, written)
    if type(expr) is ast.Xlate:
        return _emit_translation(g, expr)
    if type(expr) is ast.Assign:
        emit_for_effect(g, expr)
        return locate_object(g, expr.target)
    if type(expr) is ast.Comma:
        for part in expr.parts[:-1]:
            emit_for_effect(g, part)
        return locate_object(g, expr.parts[-1])
    if type(expr) is ast.Cast:
        return locate_object(g, expr.operand, written)
    place = StringSlot(
        False, g.alloc_scratch(t.embedded_size(expr.type)), t.embedded_size(expr.type)
    )
    g.emit_object(expr, place.off)
    return ObjectAddress(R6, place.off)


def _locate_variable(g: Emitter, expr: ast.Var | ast.AssocRef, written: bool) -> ObjectAddress:
    symbol = expr.symbol
    if not is_dynamic(expr):
        if symbol.scope == "this":
            return ObjectAddress(R6, symbol.placed_slot)
        g.emit(ld_map_value(R0, p.MAP_GLOBALS, symbol.placed_slot))
        return ObjectAddress(R0, 0)
    mark = g.scratch
    found, key = Label(), emit_element_key(g, expr)
    slot = symbol.placed_slot
    g.map_call("map_lookup_elem", slot, key)
    g.emit(jump_imm("jne", R0, 0, found))
    if not written:
        g.load_state_address(R0, g.layout.zeros)
    else:
        emit_put(g, slot, key, lambda: g.load_state_address(R3, g.layout.zeros))
        g.map_call("map_lookup_elem", slot, key)
        g.emit(jump_imm("jne", R0, 0, found))
        g.jump_to(g.end_label)  # another CPU deleted it meanwhile
    g.place_label(found)
    g.scratch = mark
    return ObjectAddress(R0, 0)


def _locate_element(g: Emitter, expr: ast.ElementRef, written: bool) -> ObjectAddress:
    """An element of an array; a number outside of its bounds is a fault."""
    base, count, size = expr.base, _count_elements(g, expr.base), t.embedded_size(expr.type)
    index = constant_value(expr.index)
    if index is not None and 0 <= index < max(count, 1):
        spot = (
            _locate_character(g, base, constant=index)
            if base.type.is_string
            else locate_object(g, base, written)
        )
        spot.off += index * size
        return spot
    g.emit_value(expr.index)
    kept = g.push_r0()
    spot = (
        _locate_character(g, base, kept) if base.type.is_string else locate_object(g, base, written)
    )
    g.load_temp(kept, R1)
    g.mark_location(expr.loc)
    if count or not spot.address:
        g.emit(jump_imm("jge", R1, max(count, 1), g.fault_label(p.FAULT_BADINDEX, kept)))
    g.release_temp(kept)
    if size > 1:
        g.emit(alu_imm("mul", R1, size))
    if spot.base != R0:
        g.emit(mov(R0, spot.base))
    g.emit(alu("add", R0, R1))
    return ObjectAddress(R0, spot.off, spot.address)


def _count_elements(g: Emitter, base: ast.Expr) -> int:
    return g.layout.string_size if base.type.is_string else base.type.count


def _locate_character(
    g: Emitter, base: ast.Expr, kept: Temp | None = None, constant: int = 0
) -> ObjectAddress:
    """The Spot of a string of which a character is read.  kept, or else constant: its index, the illegal address where
    the string is NULL."""
    place = locate_nullable_string(g, base)
    if may_be_null(g.layout, base):
        if kept is None:
            g.emit(mov_imm(R0, constant))
            index = g.push_r0()
            fault_if_null(g, place, index)
            g.release_temp(index)
        else:
            fault_if_null(g, place, kept)
    if place.in_globals:
        g.load_address(R0, place)
        return ObjectAddress(R0, 0)
    return ObjectAddress(R6, place.off)


def _emit_translation(g: Emitter, expr: ast.Xlate) -> ObjectAddress:
    """A whole translated struct, made in the scratch memory."""
    size = (t.embedded_size(expr.type) + 7) & ~7
    place = StringSlot(False, g.alloc_scratch(size), size)
    g.zero_slot(place)
    fields = expr.type.body.fields
    for conversion in expr.conversions:
        mark = g.scratch
        field = fields[conversion.name]
        if field.width is None:
            store_field(
                g, place.off, p.Data(field.type, field.offset, field.size), conversion.value
            )
        else:
            g.emit_value(conversion.value)
            value = g.push_r0()
            _store_bits(g, R6, place.off + field.offset, field, value)
            g.release_temp(value)
        g.scratch = mark
    return ObjectAddress(R6, place.off)


# --- addresses ----------------------------------------------------------------------
def _emit_address_of(g: Emitter, expr: ast.AddressOf) -> None:
    _emit_address(g, expr.operand)


def _emit_address(g: Emitter, expr: ast.Expr) -> None:
    """r0 = the number of the object's address."""
    if type(expr) is ast.Deref:
        g.emit_value(expr.operand)
    elif type(expr) is ast.MemberRef:
        _emit_address(g, expr.base)
        _emit_offset(g, expr.field.offset)
    elif type(expr) is ast.ElementRef:
        _emit_element_address(g, expr)
    elif type(expr) is ast.Var and not is_dynamic(expr):
        kind = p.ADDRESS_STATE if expr.symbol.scope == "this" else p.ADDRESS_GLOBALS
        g.emit(const(R0, kind << 32 | expr.symbol.placed_slot))
    elif isinstance(expr, (ast.Var, ast.AssocRef)):
        raise g.unsupported_error(
            expr.loc,
            "the address of self-> variables and elements is",
            "copy it to a this-> variable",
        )
    else:
        raise g.unsupported_error(
            expr.loc, "the address of this expression is", "assign it to a this-> variable first"
        )


def _emit_offset(g: Emitter, offset: int) -> None:
    if offset:
        g.emit(alu_imm("add", R0, offset))


def _emit_element_address(g: Emitter, expr: ast.ElementRef) -> None:
    if expr.base.type.is_string:
        raise g.unsupported_error(expr.loc, "the address of a string's character is")
    size = t.embedded_size(expr.type)
    index = constant_value(expr.index)
    if index is not None:
        _emit_address(g, expr.base)
        _emit_offset(g, index * size)
        return
    g.emit_value(expr.index)
    g.emit(alu_imm("mul", R0, size))
    kept = g.push_r0()
    _emit_address(g, expr.base)
    g.emit(alu("add", R0, g.in_register(kept, R1)))
    g.release_temp(kept)


def emit_pointer(
    g: Emitter, spot: ObjectAddress, size: int, loc: Location, is_write: bool = False
) -> tuple[int, int]:
    """(base register, offset) of `size` bytes that eBPF may read, or write.  What lies in the traced process is
    copied into the scratch memory, or cannot be written: a fault."""
    if not spot.address:
        return spot.base, spot.off
    _emit_offset(g, spot.off)
    done, own, shared = Label(), Label(), Label()
    kept = g.push_r0()
    g.mark_location(loc)
    g.emit(
        mov(R1, R0),
        alu_imm("rsh", R1, 32),
        jump_imm("jeq", R1, p.ADDRESS_STATE, own),
        jump_imm("jeq", R1, p.ADDRESS_GLOBALS, shared),
    )
    if is_write:
        g.jump_opaquely(g.fault_label(p.FAULT_BADADDR, kept))
    else:
        cell = g.alloc_scratch(size)
        g.emit(mov(R3, R0))
        g.load_state_address(R1, cell)
        g.emit(mov_imm(R2, size))
        g.call_helper("probe_read_user")
        g.emit(jump_imm("jne", R0, 0, g.fault_label(p.FAULT_BADADDR, kept)))
        g.load_state_address(R0, cell)
        g.jump_to(done)
    g.place_label(own)
    _emit_state_check(g, size, kept)
    g.emit(mov(R1, R6), alu("add", R1, R0), mov(R0, R1))
    g.jump_to(done)
    g.place_label(shared)
    _emit_range_check(g, p.DROP_END, g.layout.globals_end() - size, kept)
    g.emit(ld_map_value(R1, p.MAP_GLOBALS, 0), alu("add", R1, R0), mov(R0, R1))
    g.place_label(done)
    g.release_temp(kept)
    return R0, 0


def _emit_state_check(g: Emitter, size: int, kept: Temp) -> None:
    """r0 = the offset of `size` bytes of this-> variables or of memory that alloca() has handed out; else a fault."""
    layout = g.layout
    if not layout.heap:
        _emit_range_check(g, p.STATE_PROGRAM, layout.this_end - size, kept)
        return
    variables, done = Label(), Label()
    g.emit(alu("mov32", R0, R0), jump_imm("jlt", R0, layout.heap, variables))
    g.emit(
        jump_imm(
            "jgt", R0, layout.heap + layout.heap_size - size, g.fault_label(p.FAULT_BADADDR, kept)
        )
    )
    g.emit(load(8, R1, R6, layout.heap_top), mov(R2, R0), alu_imm("add", R2, size))
    g.emit(jump("jgt", R2, R1, g.fault_label(p.FAULT_BADADDR, kept)))
    g.jump_to(done)
    g.place_label(variables)
    _emit_range_check(g, p.STATE_PROGRAM, layout.this_end - size, kept)
    g.place_label(done)


def _emit_range_check(g: Emitter, low: int, high: int, kept: Temp) -> None:
    """r0 = the lower half of the address in r0; a fault where it is not from `low` to `high`."""
    g.emit(alu("mov32", R0, R0))
    if high < low:
        g.jump_opaquely(g.fault_label(p.FAULT_BADADDR, kept))
        return
    g.emit(jump_imm("jlt", R0, low, g.fault_label(p.FAULT_BADADDR, kept)))
    g.emit(jump_imm("jgt", R0, high, g.fault_label(p.FAULT_BADADDR, kept)))


# --- reading -------------------------------------------------------------------------
def _emit_value(g: Emitter, expr: ast.Expr) -> None:
    mark = g.scratch
    field = expr.field if type(expr) is ast.MemberRef else None
    spot = locate_object(g, expr)
    if field is not None and field.width is not None:
        base, off = emit_pointer(g, spot, field.size, expr.loc)
        _load_bits(g, base, off, field)
    elif t.fits_register(expr.type):
        base, off = emit_pointer(g, spot, expr.type.size, expr.loc)
        g.load_typed(R0, base, off, expr.type)
    g.scratch = mark


def _load_bits(g: Emitter, base: int, off: int, field: t.Field) -> None:
    g.emit(load(field.size, R0, base, off))
    assert field.width is not None
    shift = 64 - field.width
    if shift or field.shift:
        g.emit(
            alu_imm("lsh", R0, shift),
            alu_imm("arsh" if field.type.signed else "rsh", R0, shift + field.shift),
        )


def _store_bits(g: Emitter, base: int, off: int, field: t.Field, value: Temp) -> None:
    """The bits of a bit-field are the lower ones of its bytes, or above those of others in a struct of the kernel's."""
    assert field.width is not None
    mask = (1 << field.width - field.shift) - 1
    if field.width == 8 * field.size and not field.shift:
        g.emit(store(field.size, base, off, g.in_register(value, R1)))
        return
    g.load_temp(value, R1)
    g.emit(const(R2, mask), alu("and", R1, R2))
    if field.shift:
        g.emit(alu_imm("lsh", R1, field.shift))
    g.emit(
        load(field.size, R2, base, off),
        const(R3, ~(mask << field.shift) & (1 << 8 * field.size) - 1),
    )
    g.emit(alu("and", R2, R3), alu("or", R2, R1))
    g.emit(store(field.size, base, off, R2))


def _emit_object(g: Emitter, expr: ast.Expr, off: int) -> None:
    """Copy an object into the state block at off."""
    size = t.embedded_size(expr.type)
    base, at = emit_pointer(g, locate_object(g, expr), size, expr.loc)
    g.emit(mov(R3, base), alu_imm("add", R3, at))
    g.copy_from_r3(StringSlot(False, off, size), size)


def _emit_object_ternary(g: Emitter, expr: ast.Ternary, off: int) -> None:
    otherwise, end = Label(), Label()
    g.emit_branch(expr.cond, otherwise, False)
    g.emit_object(expr.then, off)
    g.jump_to(end)
    g.place_label(otherwise)
    g.emit_object(expr.otherwise, off)
    g.place_label(end)


def store_object(g: Emitter, base: int, data: tuple[p.Data, p.Data], expr: ast.Deref) -> None:
    """An address and what lies there into two fields (program.Data) of what begins at `base` in the state block.
    expr: ast.Deref; the address is computed once."""
    address, there = data
    store_field(g, base, address, expr.operand)
    g.emit(load(8, R0, R6, base + address.offset))
    found, at = emit_pointer(g, ObjectAddress(R0, 0, True), there.size, expr.loc)
    g.emit(mov(R3, found), alu_imm("add", R3, at))
    g.copy_from_r3(StringSlot(False, base + there.offset, there.size), there.size)


# --- strings in memory ------------------------------------------------------------------
def _emit_string(g: Emitter, expr: ast.Expr, off: int, size: int) -> None:
    """An object of D's type string."""
    extent = min(t.STRING_EXTENT, size, g.layout.strsize)
    base, at = emit_pointer(g, locate_object(g, expr), extent, expr.loc)
    _emit_string_read(g, base, at, off, size, extent)


def _emit_stringof(g: Emitter, expr: ast.Stringof, off: int, size: int) -> None:
    """An array of char, what an address points to, or a string, which may not be NULL."""
    operand = expr.operand
    if operand.type.is_string:
        g.emit_string(operand, off, size)
        return
    if operand.type.is_array:
        spot, limit = locate_object(g, operand), min(operand.type.count + 1, g.layout.strsize)
    else:
        g.emit_value(operand)
        spot, limit = ObjectAddress(R0, 0, True), g.layout.strsize
    if spot.address:
        _emit_string_at(g, spot, off, size, limit, expr.loc, not operand.type.is_array)
    else:
        _emit_string_read(g, spot.base, spot.off, off, size, limit)


def _emit_string_read(g: Emitter, base: int, at: int, off: int, size: int, limit: int) -> None:
    """The string at a pointer that eBPF may use: `limit` bytes at most, its NUL included."""
    kept = None
    if base != R6:
        kept = g.push_r0()
    g.zero_slot(StringSlot(False, off, size))
    g.load_state_address(R1, off)
    g.emit(mov_imm(R2, limit))
    if kept is not None:
        g.pop_temp(kept, R3)
    else:
        g.emit(mov(R3, R6))
    g.emit(alu_imm("add", R3, at))
    g.call_helper("probe_read_kernel_str")


def _emit_string_at(
    g: Emitter, spot: ObjectAddress, off: int, size: int, limit: int, loc: Location, may_go_on: bool
) -> None:
    """The string at an address that is a number; may_go_on: only strsize bounds it."""
    _emit_offset(g, spot.off)
    kept = g.push_r0()
    done, own, shared, copy = Label(), Label(), Label(), Label()
    g.zero_slot(StringSlot(False, off, size))
    g.load_temp(kept, R0)
    g.mark_location(loc)
    g.emit(
        mov(R1, R0),
        alu_imm("rsh", R1, 32),
        jump_imm("jeq", R1, p.ADDRESS_STATE, own),
        jump_imm("jeq", R1, p.ADDRESS_GLOBALS, shared),
    )
    g.emit(mov(R3, R0))
    g.load_state_address(R1, off)
    g.emit(mov_imm(R2, limit))
    g.call_helper("probe_read_user_str")
    g.emit(jump_imm("jslt", R0, 0, g.fault_label(p.FAULT_BADADDR, kept)))
    if may_go_on:
        count_truncated_string(g, kept)
    g.jump_to(done)
    g.place_label(own)
    high = g.layout.pointer_range[1]
    _emit_state_check(g, 1, kept)
    g.emit(mov_imm(R2, high), alu("sub", R2, R0), mov(R3, R6), alu("add", R3, R0))
    g.jump_to(copy)
    g.place_label(shared)
    high = g.layout.globals_end()
    _emit_range_check(g, p.DROP_END, high - 1, kept)
    g.emit(
        mov_imm(R2, high),
        alu("sub", R2, R0),
        ld_map_value(R3, p.MAP_GLOBALS, 0),
        alu("add", R3, R0),
    )
    g.place_label(copy)
    fits = Label()
    g.emit(jump_imm("jle", R2, limit, fits), mov_imm(R2, limit))
    g.place_label(fits)
    g.load_state_address(R1, off)
    g.call_helper("probe_read_kernel_str")
    g.place_label(done)
    g.release_temp(kept)


# --- writing ----------------------------------------------------------------------------
def emit_object_assign(g: Emitter, expr: ast.Assign) -> None:
    """target = value, where the target is an object in memory or the value a whole struct; a scalar's value is left
    in r0."""
    mark, target, value = g.scratch, expr.target, expr.value
    if target.__class__ in OBJECT_NODES and t.fits_register(target.type):
        g.emit_value(value)
        kept = g.push_r0()
        _store_scalar(g, target, kept)
        g.pop_temp(kept, R0)
    else:
        _assign_bytes(g, target, value)
    g.scratch = mark


def _store_scalar(g: Emitter, target: ast.Expr, kept: Temp) -> None:
    spot = locate_object(g, target, True)
    field = target.field if type(target) is ast.MemberRef else None
    if field is not None and field.width is not None:
        base, off = emit_pointer(g, spot, field.size, target.loc, True)
        _store_bits(g, base, off, field, kept)
    else:
        base, off = emit_pointer(g, spot, target.type.size, target.loc, True)
        g.emit(store(target.type.size, base, off, g.in_register(kept, R1)))


def _assign_bytes(g: Emitter, target: ast.Expr, value: ast.Expr) -> None:
    """A struct, a union, or a string inside of one: made in scratch memory first, then copied."""
    size = t.embedded_size(target.type)
    room = (size + 7) & ~7
    aside = g.alloc_scratch(max(room, g.layout.string_size if target.type.is_string else 0))
    if is_dynamic(target) and constant_value(value) == 0:
        emit_removal(g, target.symbol.placed_slot, emit_element_key(g, target))
        g.emit(mov_imm(R0, 0))
        return
    if target.type.is_string:
        g.emit_string(value, aside)
        size = min(size, g.layout.string_size)
    else:
        g.zero_slot(StringSlot(False, aside, room))
        g.emit_object(value, aside)
    base, off = emit_pointer(g, locate_object(g, target, True), size, target.loc, True)
    g.emit(mov(R1, base), alu_imm("add", R1, off), mov_imm(R2, size))
    g.load_state_address(R3, aside)
    g.call_helper("probe_read_kernel")


def _emit_call(g: Emitter, call: ast.Call, off: int) -> None:
    call.row.emit_object(g, call, off)


# Node class -> function, for emit.Tables.
VALUES = {ast.AddressOf: _emit_address_of, **dict.fromkeys(OBJECT_NODES, _emit_value)}
OBJECTS: dict[type[ast.Expr], Callable[..., None]] = {
    **dict.fromkeys(OBJECT_NODES, _emit_object),
    ast.Var: _emit_object,
    ast.AssocRef: _emit_object,
    ast.Xlate: _emit_object,
    ast.Assign: _emit_object,
    ast.Comma: _emit_object,
    ast.Cast: _emit_object,
    ast.Ternary: _emit_object_ternary,
    ast.Call: _emit_call,
}
STRINGS = {**dict.fromkeys(OBJECT_NODES, _emit_string), ast.Stringof: _emit_stringof}
