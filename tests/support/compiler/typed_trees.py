"""Typed trees by hand, for tests of code generation alone: short names for ast's nodes."""

from pydtrace.dlang import ast, builtins
from pydtrace.dlang.code.codegen import generate_program
from pydtrace.dlang.front.source_text import Location, Source
from pydtrace.dlang.variable_table import Aggregation, Variable
from pydtrace.program import d_types as t

SOURCE = Source("(made by a test)", "test.d")
LOC = Location(SOURCE, 0, 1, 0)


def typed(node, type):
    node.type = type
    return node


def num(value, type=t.INT):
    return typed(ast.IntLit(LOC, value, str(value)), type)


def text(value):
    return typed(ast.StrLit(LOC, value), t.STRING)


def unary(op, operand, type=None):
    return typed(ast.Unary(LOC, op, operand), type or operand.type)


def binary(op, left, right):
    """With the types that the types pass would give."""
    node = ast.Binary(LOC, op, left, right)
    node.common = (
        t.STRING
        if left.type.is_string
        else left.type
        if op in ("<<", ">>")
        else t.promote_types(left.type, right.type)
    )
    node.type = node.common if op in ("+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>") else t.INT
    return node


def cast(operand, type):
    return typed(ast.Cast(LOC, operand, None), type)


def variable(scope, name, type, keys=None):
    return Variable(scope, name, LOC, type, keys)


def var(symbol, *keys):
    node = ast.AssocRef(LOC, symbol, list(keys)) if keys else ast.Var(LOC, symbol)
    return typed(node, symbol.type)


def builtin(name):
    row = builtins.VARIABLES[name]
    return typed(ast.Builtin(LOC, row), row.type)


def assign(target, value):
    return typed(ast.Assign(LOC, "=", target, value), target.type)


def ternary(cond, then, otherwise):
    return typed(ast.Ternary(LOC, cond, then, otherwise), then.type)


def copyinstr(*args):
    return typed(
        ast.Call(LOC, "copyinstr", builtins.SUBROUTINES["copyinstr"], list(args)), t.STRING
    )


def do(expr):
    return ast.ExprStmt(LOC, expr)


def trace(*exprs):
    """One statement, a trace() each."""
    return [
        do(typed(ast.Call(LOC, "trace", builtins.ACTIONS["trace"], [e]), t.VOID)) for e in exprs
    ]


def aggregation(name, function, keys=()):
    agg = Aggregation(name, 1, LOC)
    agg.row, agg.keys = builtins.AGGREGATIONS[function], list(keys)
    return agg


def aggregate(symbol, keys=(), args=()):
    return ast.AggStmt(
        LOC, ast.AggRef(LOC, symbol, list(keys)), symbol.row.name, symbol.row, list(args)
    )


def clause(body, predicate=None):
    flat = []
    for item in body:
        flat += item if isinstance(item, list) else [item]
    return ast.Clause(LOC, [ast.ProbeDesc(LOC, "", "", "", "BEGIN")], predicate, flat or None)


def compiled(*clauses, **options):
    return generate_program(ast.Unit(LOC, list(clauses)), options)
