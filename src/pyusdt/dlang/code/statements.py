"""Statements -> code: actions into the clause's record, aggregating functions, expressions.

In: a clause's typed body.  Out: code and the Clause's `actions` and `record_size`.
Always: a firing of a clause emits at most one record, with the data of all its actions at fixed
offsets; nothing is emitted if the firing ends in a fault.  A clause without a body (the default
action) emits a record without data; one that only computes emits none.
"""

from ...bpf.code import Label
from ...bpf.insn import R0, R3, R4, R6, alu_imm, exit_, jump_imm, mov, mov_imm
from ...data import program as p
from ...data import types as t
from .. import ast
from ..builtins import ACTIONS
from . import speculations
from .integers import discard, store_field
from .layout import round_up
from .memory import store_object
from .strings import natural_size
from .variables import build_key


def clause_body(g, clause):
    """All of a clause's body (ast.Clause.body, None for the default action)."""
    out = g.clause
    calls = [action_of(statement) for statement in clause.body or ()]
    speculates = any(call is not None and call.row.kind == "speculate" for call in calls)
    end = p.RECORD_DATA + 8 * speculates  # RECORD_SPECULATION
    for call in calls:
        if call is not None and call.row.records:
            action, end = _lay_out(g, call, end)
            out.actions.append(action)
    if out.actions or speculates or clause.body is None:
        out.record_size = round_up(end)
    record = g.alloc(out.record_size)
    strings = [data for action in out.actions for data in action.data if data.type.is_string]
    g.lengths = [g.alloc(8) for _ in strings]
    actions = iter(out.actions)
    for statement, call in zip(clause.body or (), calls):
        g.mark(statement.loc)
        _statement(g, statement, call, record, actions)
    if out.record_size:
        g.mark(clause.loc)
        g.header(record, out.record_size, p.RECORD_SPECULATIVE if speculates else 0)
        first = len(g.code.insns)
        g.output(record, out.record_size)
        out.emits = first, len(g.code.insns), record
        if any(action.row.kind == "exit" for action in out.actions):  # the kernel engine is told by r0 = 1
            g.emit(jump_imm("jne", R0, 0, g.end), mov_imm(R0, 1), exit_())


def action_of(statement):
    """The Call of an action, or None."""
    if statement.__class__ is not ast.ExprStmt or statement.expr.__class__ is not ast.Call:
        return None
    return statement.expr if statement.expr.name in ACTIONS else None


def _data_of(call):
    """The arguments of an action that are data of the record, or its own value."""
    if call.row.first is None:
        return [call]
    if call.row.kind == "print":
        return [call.args[0].operand, call.args[0]]
    return [arg for arg in call.args[call.row.first :] if arg.__class__ is not ast.AggRef and not _is_format(call, arg)]


def _is_format(call, arg):
    return call.row.kind == "printa" and arg.__class__ is ast.StrLit


def _lay_out(g, call, end):
    """(program.Action of a call, end of the record with it)."""
    row, data = call.row, []
    for expr in _data_of(call):
        type = row.type or expr.type
        size = natural_size(g, expr) if type.is_string else type.size
        if row.kind == "print":  # as it lies in memory, a string as well
            size = t.extent(type)
        offset = round_up(end, 8 if type.is_string or row.kind == "print" else type.align)
        data.append(p.Data(type, offset, size))
        end = offset + size
    operands = [arg.symbol for arg in call.args if arg.__class__ is ast.AggRef]
    return p.Action(row, data, call.format, operands, call.loc), end


def _statement(g, statement, call, record, actions):
    """call: of the action that the statement is, or None."""
    mark = g.scratch
    if statement.__class__ is ast.AggStmt:
        _aggregate(g, statement)
    elif call is None:
        discard(g, statement.expr)
    elif call.row.kind == "speculate":
        speculations.speculate(g, call, record)
    elif call.row.kind in ("commit", "discard"):
        speculations.settle(g, call, call.row.kind == "commit")
    elif call.row.kind == "print":
        store_object(g, record, next(actions).data, call.args[0])
    else:
        for data, expr in zip(next(actions).data, _data_of(call)):
            g.fields = {record + data.offset: data} if getattr(expr, "name", "") == "copyinstr" else {}
            store_field(g, record, data, expr)
            g.fields, g.scratch = {}, mark
    g.scratch = mark


def _aggregate(g, statement):
    """Find the value of the key, or make it from zeros, and update it."""
    symbol, row = statement.agg.symbol, statement.row
    temps = []
    for number, arg in enumerate(statement.args):
        g.value(arg)
        if number == 0 and row.prepare:
            row.prepare(g, symbol.params)
        temps.append(g.push())
    done = Label()
    if symbol.keys:
        _find_or_make(g, statement.agg, done)
    else:
        g.lookup_only(symbol.map)
        g.emit(jump_imm("jeq", R0, 0, done))
    row.emit(g, symbol.params, *temps, *[None] * (2 - len(temps)))
    g.place(done)
    for temp in reversed(temps):
        g.release(temp)


def _find_or_make(g, agg, lost):
    """r0 = the address of the value; jumps to `lost` where there is no room for it."""
    symbol = agg.symbol
    key = build_key(g, g.layout.key(symbol.keys, agg.loc), agg.keys)
    found, made = Label(), Label()
    g.map_call("map_lookup_elem", symbol.map, key)
    g.emit(jump_imm("jne", R0, 0, found), mov(R3, R6), alu_imm("add", R3, g.layout.zeros), mov_imm(R4, 0))
    g.map_call("map_update_elem", symbol.map, key)
    g.map_call("map_lookup_elem", symbol.map, key)
    g.emit(jump_imm("jne", R0, 0, made))
    g.count_drop(p.DROP_AGGREGATION)
    g.jump(lost)
    g.place(made)
    g.place(found)
