"""Floating-point operations -> code that leaves a double's 64 bits, a float's 32 or an integer
in r0.

Operations on bits (sign, order, truth) are a few instructions, which every engine runs.
Arithmetic calls the helper float_compute, which only the embedded engine has.
"""

from __future__ import annotations

from pydtrace.bpf.insn import R0, R1, R2, R3, alu, alu_imm, const, jump, jump_imm, mov, mov_imm
from pydtrace.bpf.program_builder import Label
from pydtrace.dlang import ast
from pydtrace.program import program as p

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .emitter import Emitter

_COMPUTED = {
    "+": p.FLOAT_ADD,
    "-": p.FLOAT_SUB,
    "*": p.FLOAT_MUL,
    "/": p.FLOAT_DIV,
    "signed": p.FLOAT_FROM_SIGNED,
    "unsigned": p.FLOAT_FROM_UNSIGNED,
    "whole": p.FLOAT_TO_SIGNED,
    "widen": p.FLOAT_WIDEN,
    "narrow": p.FLOAT_NARROW,
}
_SIGN = 1 << 63
_INFINITY = 0x7FF0 << 48


def _emit_literal(g: Emitter, expr: ast.FloatLit) -> None:
    g.emit(const(R0, expr.bits))


def _emit_operation(g: Emitter, expr: ast.FloatOp) -> None:
    g.emit_value(expr.args[0])
    if expr.op == "magnitude":
        g.emit(alu_imm("lsh", R0, 1))
    elif expr.op == "order":
        _emit_order(g)
    elif expr.op == "-" and len(expr.args) == 1:
        g.emit(const(R1, _SIGN), alu("xor", R0, R1))
    else:
        _emit_compute(g, expr)


def _emit_compute(g: Emitter, expr: ast.FloatOp) -> None:
    if len(expr.args) == 2:
        left = g.push_r0()
        g.emit_value(expr.args[1])
        g.emit(mov(R3, R0))
        g.pop_temp(left, R2)
    else:
        g.emit(mov(R2, R0), mov_imm(R3, 0))
    g.emit(mov_imm(R1, _COMPUTED[expr.op]))
    g.call_helper("float_compute")


def _emit_order(g: Emitter) -> None:
    """r0 = an integer that sorts as the double in r0: the bits of a negative one are inverted but for the sign; the
    smallest integer for what is no number, 0 for both zeros."""
    number, unlike_zero, end = Label(), Label(), Label()
    g.emit(mov(R1, R0), alu_imm("lsh", R1, 1), jump_imm("jne", R1, 0, unlike_zero), mov_imm(R0, 0))
    g.place_label(unlike_zero)
    g.emit(const(R2, _INFINITY << 1), jump("jle", R1, R2, number), const(R0, _SIGN))
    g.jump_to(end)
    g.place_label(number)
    g.emit(mov(R1, R0), alu_imm("arsh", R1, 63), alu_imm("rsh", R1, 1), alu("xor", R0, R1))
    g.place_label(end)


# Node class -> function, for emit.Tables.
VALUES = {ast.FloatLit: _emit_literal, ast.FloatOp: _emit_operation}
