"""The types pass: names and types of a whole program.

- D makes a variable when it is first assigned, so the order counts: a clause's actions are typed
  before its predicate; only if the actions read an undefined variable, the predicate is typed
  first.
- Errors that dtrace finds only in code generation are checked after the whole clause is typed.
"""

from __future__ import annotations

from pydtrace.dlang import ast, float_nodes
from pydtrace.dlang.builtins import prototypes, unsupported
from pydtrace.dlang.code.argument_demand import walk_nodes
from pydtrace.dlang.compile_errors import CompileError, refuse
from pydtrace.program import d_types as t

from . import aggregation_parameters, value_paths
from .action_order import ActionOrder
from .calls import type_call
from .context import TypingContext
from .expressions import RULES
from .operands import are_floats

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from .resolve import ProgramNames

    Statement = ast.ExprStmt | ast.AggStmt

_UNDEFINED = ("D_IDENT_UNDEF", "D_VAR_UNDEF")


def check_unit(unit: ast.Unit, names: ProgramNames) -> ast.Unit:
    """Type all clauses of a program; returns the unit."""
    value_paths.note_variables(names, unit)
    for item in unit.items:
        if type(item) is ast.Clause:
            names.limits.location = item.loc
            value_paths.rewrite_clause(names, item)
            check_clause(TypingContext(names, RULES, item.probes), item)
    return unit


def check_clause(c: TypingContext, clause: ast.Clause) -> None:
    body = clause.body or []
    try:
        type_actions(c, body)
    except CompileError as error:
        if clause.predicate is None or error.tag not in _UNDEFINED:
            raise
        type_predicate(c, clause)
        c.misplaced = []
        type_actions(c, body)
    type_predicate(c, clause)
    order = ActionOrder()
    if c.misplaced:
        refuse_misplaced(c, order, body, c.misplaced)
    for i, statement in enumerate(body):
        body[i] = finish_statement(c, order, statement)


def type_actions(c: TypingContext, body: list[Statement]) -> None:
    with ErrorRegion("action list"):
        for statement in body:
            assert isinstance(statement, ast.ExprStmt)  # finish_statement() makes the others
            statement.expr = type_statement(c, statement.expr)


def type_statement(c: TypingContext, expr: ast.Expr) -> ast.Expr:
    """Type a statement's expression; an action may stand here."""
    if type(expr) is ast.Call:
        return type_call(c, expr, used=True)
    if type(expr) is ast.AggRef:
        return RULES[ast.AggRef](c, expr)
    typed: ast.Expr = c.type_value(expr)
    return typed


def type_predicate(c: TypingContext, clause: ast.Clause) -> None:
    if clause.predicate is None:
        return
    with ErrorRegion("predicate"):
        clause.predicate = predicate = c.type_value(clause.predicate)
        if are_floats(c, predicate.type):
            clause.predicate = predicate = float_nodes.to_truth_value(predicate)
        if not t.is_scalar(predicate.type):
            message = "predicate result must be of scalar type"
            hint = 'compare the string with ""' if predicate.type.is_string else None
            raise CompileError("D_PRED_SCALAR", predicate.loc, message, hint, mark=clause.loc.mark)


# --- what is checked after the clause is typed ----------------------------------------


def refuse_misplaced(
    c: TypingContext, order: ActionOrder, body: list[Statement], misplaced: list[ast.Call]
) -> NoReturn:
    """An action inside an expression is refused, unless a statement before it is worse."""
    first = min(misplaced, key=lambda node: node.loc.start)
    for i, statement in enumerate(body):
        if statement.loc.start > first.loc.start:
            break
        body[i] = finish_statement(c, order, statement)
    kind = prototypes.FUNCTIONS[first.name][0]
    message = (
        f"{kind} {first.name}( ) may not be called from a D expression (D program context required)"
    )
    if kind == unsupported.AGGREGATING:
        hint = f"aggregate into a variable: @name = {first.name}(…)"
    else:
        hint = "an action is a statement of its own"
    refuse("D_CG_EXPR", first.loc, message, hint)


def finish_statement(c: TypingContext, order: ActionOrder, statement: Statement) -> Statement:
    """The statement for code generation."""
    if isinstance(statement, ast.AggStmt):
        return statement
    expr = statement.expr
    if type(expr) is ast.Call:
        kind = prototypes.FUNCTIONS[expr.name][0]
        if kind == unsupported.ACTION:
            expr.row.check_order(order, expr)
            expr.row.check(expr)
        elif kind == unsupported.AGGREGATING:
            refuse_misplaced(c, order, [], [expr])
    elif type(expr) is ast.Assign and type(expr.target) is ast.AggRef:
        return make_aggregation_statement(c, order, statement, expr)
    elif type(expr) is ast.AggRef:
        hint = f"assign it: @{expr.symbol.name} = count();"
        refuse("D_AGG_NULL", expr.loc, f"expression has null effect: @{expr.symbol.name}", hint)
    elif isinstance(expr.type, t.Dynamic):
        hint = "use a member of what is translated, or assign the whole"
        refuse("D_CG_DYN", expr.loc, "expression cannot evaluate to result of dynamic type", hint)
    order_functions(c, order, expr)
    return statement


def order_functions(c: TypingContext, order: ActionOrder, expr: ast.Expr) -> None:
    """Add the destructive functions that an expression calls: what an action may not follow, they may not."""
    for node in walk_nodes(expr) if c.destructive else ():
        if (
            type(node) is ast.Call
            and prototypes.FUNCTIONS[node.name][0] == unsupported.FUNCTION
            and node.row.is_destructive
        ):
            order.add_action(node, True, True)


def make_aggregation_statement(
    c: TypingContext, order: ActionOrder, statement: ast.ExprStmt, assign: ast.Assign
) -> ast.AggStmt:
    call, target = assign.value, assign.target
    assert isinstance(call, ast.Call) and isinstance(
        target, ast.AggRef
    )  # as type_aggregation() has it
    row, args = call.row, call.args
    if args and not t.is_scalar(args[0].type) and not are_floats(c, args[0].type):
        hint = (
            "aggregate a number; a string can be a key: @[s] = count()"
            if args[0].type.is_string
            else None
        )
        refuse("D_AGG_SCALAR", call.loc, f"{call.name}( ) argument #1 must be of scalar type", hint)
    order.add_aggregation(statement)
    order_functions(c, order, assign)
    for key in target.keys:
        if type(key) is ast.Call and key.row.key_row:
            key.row = key.row.key_row(key, c.names.options)
    args = aggregation_parameters.split_arguments(call, target.symbol)
    return ast.AggStmt(statement.loc, target, call.name, row, args)


class ErrorRegion:
    """What dtrace names the place of an error in a command-line clause."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if isinstance(error, CompileError) and error.region is None:
            error.region = self.name
