"""The types pass: names and types of a whole program.

In: the ast.Unit of the parser, its Names.  Out: the same Unit, as ast.py describes it for code
generation, but for the operators that lower.py takes away.
Always: D makes a variable where it is first assigned, so the order counts: a clause's actions
are typed before its predicate, and only if the actions read a variable that nothing defines,
the predicate is tried first.  What dtrace finds only when it generates a clause's code is
checked after the whole clause is typed.
"""

from ...data import types as t
from .. import ast
from ..builtins import whole_key
from ..errors import CompileError
from . import check_aggregations, prototypes
from .check_actions import ActionChecks, Flow
from .expressions import Typer

_UNDEFINED = ("D_IDENT_UNDEF", "D_VAR_UNDEF")


def check(unit, names):
    """Type all clauses of a program; returns the unit."""
    checker = Checker(names)
    for item in unit.items:
        if type(item) is ast.Clause:
            checker.clause(item)
    return unit


class Checker(ActionChecks, Typer):
    def clause(self, clause):
        self.probes = clause.probes
        self.misplaced, self.flow = [], Flow()
        body = clause.body or []
        try:
            self.actions(body)
        except CompileError as error:
            if clause.predicate is None or error.tag not in _UNDEFINED:
                raise
            self.predicate(clause)
            self.misplaced = []
            self.actions(body)
        self.predicate(clause)
        if self.misplaced:
            self.refuse_misplaced(body)
        for i, statement in enumerate(body):
            body[i] = self.finish(statement)

    def actions(self, body):
        with Region("action list"):
            for statement in body:
                statement.expr = self.statement(statement.expr)

    def statement(self, expr):
        """Type a statement's expression; an action may stand here."""
        if type(expr) is ast.Call:
            return self.call(expr, used=True)
        if type(expr) is ast.AggRef:
            return self.agg_ref(expr)
        return self.value(expr)

    def predicate(self, clause):
        if clause.predicate is None:
            return
        with Region("predicate"):
            clause.predicate = predicate = self.value(clause.predicate)
            if floats := self.floating(predicate.type):
                clause.predicate = predicate = floats.truth(predicate)
            if not t.is_scalar(predicate.type):
                message = "predicate result must be of scalar type"
                hint = 'compare the string with ""' if predicate.type.is_string else None
                mark = clause.loc.mark
                raise CompileError("D_PRED_SCALAR", predicate.loc, message, hint, mark=mark)

    # --- what is checked after the clause is typed ------------------------------------

    def refuse_misplaced(self, body):
        """An action inside an expression is refused, unless a statement before it is worse."""
        first = min(self.misplaced, key=lambda node: node.loc.start)
        for i, statement in enumerate(body):
            if statement.loc.start > first.loc.start:
                break
            body[i] = self.finish(statement)
        kind = prototypes.FUNCTIONS[first.name][0]
        message = f"{kind} {first.name}( ) may not be called from a D expression (D program context required)"
        if kind == prototypes.AGGREGATING:
            hint = f"aggregate into a variable: @name = {first.name}(…)"
        else:
            hint = "an action is a statement of its own"
        self.error("D_CG_EXPR", first.loc, message, hint)

    def finish(self, statement):
        """The statement for code generation."""
        expr = statement.expr
        if type(expr) is ast.Call:
            kind = prototypes.FUNCTIONS[expr.name][0]
            if kind == prototypes.ACTION:
                self.flow.action(expr)
                getattr(self, "check_" + expr.row.kind)(expr)
            elif kind == prototypes.AGGREGATING:
                self.misplaced = [expr]
                self.refuse_misplaced([])
        elif type(expr) is ast.Assign and type(expr.target) is ast.AggRef:
            return self.aggregation_statement(statement, expr)
        elif type(expr) is ast.AggRef:
            hint = f"assign it: @{expr.symbol.name} = count();"
            self.error("D_AGG_NULL", expr.loc, f"expression has null effect: @{expr.symbol.name}", hint)
        return statement

    def aggregation_statement(self, statement, assign):
        call = assign.value
        row, args = call.row, call.args
        if args and not t.is_scalar(args[0].type) and not self.floating(args[0].type):
            hint = "aggregate a number; a string can be a key: @[s] = count()" if args[0].type.is_string else None
            self.error("D_AGG_SCALAR", call.loc, f"{call.name}( ) argument #1 must be of scalar type", hint)
        self.flow.aggregation(statement)
        whole_key.mark(assign.target.keys, self.names.options)
        args = check_aggregations.split(call, assign.target.symbol)
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
