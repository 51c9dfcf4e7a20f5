# mypy: ignore-errors
"""The types pass: names and types of a whole program.

In: the ast.Unit of the parser, its Names.  Out: the same Unit, as dlang/ast.py describes it for code
generation, but for the operators that lower.py takes away.
Always: D makes a variable where it is first assigned, so the order counts: a clause's actions
are typed before its predicate, and only if the actions read a variable that nothing defines,
the predicate is tried first.  What dtrace finds only when it generates a clause's code is
checked after the whole clause is typed.
"""

from pydtrace.dlang import ast, float_nodes
from pydtrace.dlang.builtins import prototypes
from pydtrace.dlang.code.argument_demand import walk
from pydtrace.dlang.compile_errors import CompileError, refuse
from pydtrace.program import d_types as t

from . import aggregation_parameters
from .action_order import Flow
from .calls import type_call
from .context import Typing
from .expressions import RULES
from .operands import floating

_UNDEFINED = ("D_IDENT_UNDEF", "D_VAR_UNDEF")


def check(unit, names):
    """Type all clauses of a program; returns the unit."""
    for item in unit.items:
        if type(item) is ast.Clause:
            names.budget.place = item.loc
            check_clause(Typing(names, RULES, item.probes), item)
    return unit


def check_clause(c, clause):
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
    flow = Flow()
    if c.misplaced:
        refuse_misplaced(c, flow, body, c.misplaced)
    for i, statement in enumerate(body):
        body[i] = finished(c, flow, statement)


def type_actions(c, body):
    with Region("action list"):
        for statement in body:
            statement.expr = type_statement(c, statement.expr)


def type_statement(c, expr):
    """Type a statement's expression; an action may stand here."""
    if type(expr) is ast.Call:
        return type_call(c, expr, used=True)
    if type(expr) is ast.AggRef:
        return RULES[ast.AggRef](c, expr)
    return c.value(expr)


def type_predicate(c, clause):
    if clause.predicate is None:
        return
    with Region("predicate"):
        clause.predicate = predicate = c.value(clause.predicate)
        if floating(c, predicate.type):
            clause.predicate = predicate = float_nodes.truth(predicate)
        if not t.is_scalar(predicate.type):
            message = "predicate result must be of scalar type"
            hint = 'compare the string with ""' if predicate.type.is_string else None
            raise CompileError("D_PRED_SCALAR", predicate.loc, message, hint, mark=clause.loc.mark)


# --- what is checked after the clause is typed ----------------------------------------


def refuse_misplaced(c, flow, body, misplaced):
    """An action inside an expression is refused, unless a statement before it is worse."""
    first = min(misplaced, key=lambda node: node.loc.start)
    for i, statement in enumerate(body):
        if statement.loc.start > first.loc.start:
            break
        body[i] = finished(c, flow, statement)
    kind = prototypes.FUNCTIONS[first.name][0]
    message = (
        f"{kind} {first.name}( ) may not be called from a D expression (D program context required)"
    )
    if kind == prototypes.AGGREGATING:
        hint = f"aggregate into a variable: @name = {first.name}(…)"
    else:
        hint = "an action is a statement of its own"
    refuse("D_CG_EXPR", first.loc, message, hint)


def finished(c, flow, statement):
    """The statement for code generation."""
    expr = statement.expr
    if type(expr) is ast.Call:
        kind = prototypes.FUNCTIONS[expr.name][0]
        if kind == prototypes.ACTION:
            expr.row.follow(flow, expr)
            expr.row.check(expr)
        elif kind == prototypes.AGGREGATING:
            refuse_misplaced(c, flow, (), [expr])
    elif type(expr) is ast.Assign and type(expr.target) is ast.AggRef:
        return aggregation_statement(c, flow, statement, expr)
    elif type(expr) is ast.AggRef:
        hint = f"assign it: @{expr.symbol.name} = count();"
        refuse("D_AGG_NULL", expr.loc, f"expression has null effect: @{expr.symbol.name}", hint)
    elif isinstance(expr.type, t.Dynamic):
        hint = "use a member of what is translated, or assign the whole"
        refuse("D_CG_DYN", expr.loc, "expression cannot evaluate to result of dynamic type", hint)
    follow_functions(c, flow, expr)
    return statement


def follow_functions(c, flow, expr):
    """Add the destructive functions that an expression calls: what an action may not follow, they may not."""
    for node in walk(expr) if c.destructive else ():
        if (
            type(node) is ast.Call
            and prototypes.FUNCTIONS[node.name][0] == prototypes.FUNCTION
            and node.row.destructive
        ):
            flow.act(node, True, True)


def aggregation_statement(c, flow, statement, assign):
    call = assign.value
    row, args = call.row, call.args
    if args and not t.is_scalar(args[0].type) and not floating(c, args[0].type):
        hint = (
            "aggregate a number; a string can be a key: @[s] = count()"
            if args[0].type.is_string
            else None
        )
        refuse("D_AGG_SCALAR", call.loc, f"{call.name}( ) argument #1 must be of scalar type", hint)
    flow.aggregation(statement)
    follow_functions(c, flow, assign)
    for key in assign.target.keys:
        if type(key) is ast.Call and key.row.as_key:
            key.row = key.row.as_key(key, c.names.options)
    args = aggregation_parameters.split(call, assign.target.symbol)
    return ast.AggStmt(statement.loc, assign.target, call.name, row, args)


class Region:
    """What dtrace names the place of an error in a command-line clause."""

    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if isinstance(error, CompileError) and error.region is None:
            error.region = self.name
