"""Statements -> code: actions into the clause's record, aggregating functions, expressions.

- A firing of a clause emits at most one record, with the data of all its actions at fixed
  offsets, and none if it ends in a fault.
- A clause without a body (the default action) emits a record without data; one that only
  computes emits none.
"""

from __future__ import annotations

from pydtrace.bpf.insn import R0, R1, R3, R4, R6, alu_imm, exit_, jump_imm, mov, mov_imm, store
from pydtrace.bpf.program_builder import Label
from pydtrace.dlang import ast
from pydtrace.program import d_types as t
from pydtrace.program import program as p

from .argument_demand import walk_nodes
from .integer_expressions import emit_for_effect
from .layout import round_up
from .string_expressions import natural_size
from .variable_storage import emit_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .emitter import Emitter, Temp
    from .layout import KeyLayout


def emit_body(g: Emitter, clause: ast.Clause) -> None:
    """All of a clause's body (ast.Clause.body, None for the default action)."""
    out = g.clause
    calls = [find_action(statement) for statement in clause.body or ()]
    speculates = any(call is not None and call.row.speculates for call in calls)
    end = p.RECORD_DATA + 8 * speculates  # RECORD_SPECULATION
    for call in calls:
        if call is not None and call.row.has_record:
            action, end = _lay_out_action(g, call, end)
            out.actions.append(action)
    if out.actions or speculates or clause.body is None:
        out.record_size = round_up(end)
    record = g.alloc_scratch(out.record_size)
    strings = [data for action in out.actions for data in action.data if data.type.is_string]
    g.length_offsets = [g.alloc_scratch(8) for _ in strings]
    actions = iter(out.actions)
    for statement, call in zip(clause.body or (), calls):
        g.mark_location(statement.loc)
        _emit_statement(g, statement, call, record, actions)
    if out.record_size:
        g.mark_location(clause.loc)
        g.emit_header(record, out.record_size, p.RECORD_SPECULATIVE if speculates else 0)
        first = len(g.code.insns)
        g.emit_output(record, out.record_size)
        out.emits = first, len(g.code.insns), record
        if any(
            action.row.ends_tracing for action in out.actions
        ):  # r0 = 1 informs the kernel engine
            g.emit(jump_imm("jne", R0, 0, g.end_label), mov_imm(R0, 1), exit_())


def find_action(statement: ast.Node) -> ast.Call | None:
    """The Call of an action, or None."""
    if type(statement) is not ast.ExprStmt or type(statement.expr) is not ast.Call:
        return None
    return statement.expr if statement.expr.row.is_action else None


def _lay_out_action(g: Emitter, call: ast.Call, end: int) -> tuple[p.Action, int]:
    """(program.Action of a call, end of the record with it)."""
    row, data = call.row, []
    for expr in row.recorded_values(call):
        type = row.record_type or expr.type
        size = natural_size(g, expr) if type.is_string else type.size
        if row.in_memory:
            size = t.embedded_size(type)
        offset = round_up(end, 8 if type.is_string or row.in_memory else type.align)
        data.append(p.Data(type, offset, size))
        end = offset + size
    operands = [arg.symbol for arg in call.args if isinstance(arg, ast.AggRef)]
    return p.Action(row, data, call.format, operands, call.loc), end


def _emit_statement(
    g: Emitter,
    statement: ast.AggStmt | ast.ExprStmt,
    call: ast.Call | None,
    record: int,
    actions: Iterator[Any],
) -> None:
    """call: of the action that the statement is, or None."""
    mark = g.scratch
    if isinstance(statement, ast.AggStmt):
        _emit_aggregation(g, statement)
    elif call is None:
        emit_for_effect(g, statement.expr)
    else:
        call.row.emit_record(g, call, record, next(actions) if call.row.has_record else None)
    g.scratch = mark


def _emit_aggregation(g: Emitter, statement: ast.AggStmt) -> None:
    """Find the value of the key, or make it from zeros, and update it."""
    symbol, row = statement.agg.symbol, statement.row
    computed = row.prepare and _has_calls(statement.agg.keys or ())
    temps = []
    for number, arg in enumerate(statement.args):
        g.emit_value(arg)
        if number == 0 and row.prepare:
            row.prepare(g, symbol.params)
        temps.append(g.push_opaque() if computed else g.push_r0())
    done = Label()
    if key := g.layout.aggregation_key(symbol):
        _emit_find_or_create(g, statement.agg, key, temps[0] if row.is_split else None, done)
    else:
        g.lookup_single(symbol.map)
        g.emit(jump_imm("jeq", R0, 0, done))
    row.emit(g, symbol.params, *temps, *[None] * (2 - len(temps)))
    g.place_label(done)
    for temp in reversed(temps):
        g.release_temp(temp)


def _has_calls(keys: list[ast.Expr] | tuple[Any, ...]) -> bool:
    """Whether functions of strings, which are loops, make the keys; copyinstr() is a helper's."""
    return any(
        type(node) is ast.Call and not node.row.knows_length
        for key in keys
        for node in walk_nodes(key)
    )


def _emit_find_or_create(
    g: Emitter, agg: ast.AggRef, layout: KeyLayout, value: Temp | None, full: Label
) -> None:
    """r0 = the address of the value; jumps to `lost` where there is no room for it.  layout: of the key; value: None, or the Temp
    whose sign says the half."""
    symbol = agg.symbol
    key = emit_key(g, layout, agg.keys)
    if value is not None:
        g.load_temp(value, R1)
        g.emit(alu_imm("rsh", R1, 63), store(8, R6, key + layout.fields[-1].offset, R1))
    found, made = Label(), Label()
    g.map_call("map_lookup_elem", symbol.map, key)
    g.emit(
        jump_imm("jne", R0, 0, found),
        mov(R3, R6),
        alu_imm("add", R3, g.layout.zeros),
        mov_imm(R4, 0),
    )
    g.map_call("map_update_elem", symbol.map, key)
    g.map_call("map_lookup_elem", symbol.map, key)
    g.emit(jump_imm("jne", R0, 0, made))
    g.count_drop(p.DROP_AGGREGATION)
    g.jump_to(full)
    g.place_label(made)
    g.place_label(found)
