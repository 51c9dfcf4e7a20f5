"""The lower pass: a smaller language for code generation.

- ++, --, compound assignments and casts to void become plain assignments (ast.py lists what is
  left).
- Every expression keeps its type, and every key is still evaluated once and in order: the keys
  of an element that is read and written are first stored in this-> variables of the compiler,
  unless evaluating them twice changes nothing.
"""

from __future__ import annotations

from pydtrace.dlang import ast, constants, float_nodes
from pydtrace.dlang.variable_table import Variable
from pydtrace.program import d_types as t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# Nodes that may be evaluated twice, if all below them may.
_PURE = frozenset(
    (
        ast.IntLit,
        ast.StrLit,
        ast.Var,
        ast.Builtin,
        ast.Unary,
        ast.Binary,
        ast.Cast,
        ast.Ternary,
        ast.AddressOf,
        ast.FloatLit,
        ast.FloatOp,
    )
)


def lower_unit(unit: ast.Unit) -> ast.Unit:
    """Lower all clauses; returns the unit."""
    lowerer = Lowerer()
    for item in unit.items:
        if type(item) is ast.Clause:
            item.loc.source.limits.location = item.loc
            if item.predicate is not None:
                item.predicate = lowerer.lower_expr(item.predicate)
            for statement in item.body or ():
                lowerer.lower_statement(statement)
    return unit


class Lowerer:
    def __init__(self) -> None:
        self.temporaries = 0

    def lower_statement(self, statement: ast.AggStmt | ast.ExprStmt) -> None:
        if isinstance(statement, ast.AggStmt):
            statement.args = self.lower_all(statement.args)
            statement.agg.keys = self.lower_all(statement.agg.keys)
        elif isinstance(statement.expr, ast.IncDec):
            statement.expr = self.lower_step(statement.expr)
        else:
            statement.expr = self.lower_expr(statement.expr)

    def lower_all(self, nodes: list[ast.Expr]) -> list[ast.Expr]:
        return [self.lower_expr(node) for node in nodes]

    def lower_expr(self, node: ast.Expr) -> ast.Expr:
        """Lower an expression and all below it."""
        if type(node) is ast.Binary:
            node.left, node.right = self.lower_expr(node.left), self.lower_expr(node.right)
        elif type(node) is ast.Unary:
            node.operand = self.lower_expr(node.operand)
        elif type(node) is ast.Cast:
            node.operand = self.lower_expr(node.operand)
            if node.type.is_void:
                return node.operand
        elif type(node) is ast.AssocRef:
            node.keys = self.lower_all(node.keys)
        elif isinstance(node, (ast.Deref, ast.AddressOf, ast.Stringof)):
            node.operand = self.lower_expr(node.operand)
        elif type(node) is ast.MemberRef:
            node.base = self.lower_expr(node.base)
        elif type(node) is ast.ElementRef:
            node.base, node.index = self.lower_expr(node.base), self.lower_expr(node.index)
        elif type(node) is ast.Xlate:
            for conversion in node.conversions:
                conversion.value = self.lower_expr(conversion.value)
        elif isinstance(node, (ast.Call, ast.FloatOp)):
            node.args = self.lower_all(node.args)
        elif type(node) is ast.Ternary:
            node.cond = self.lower_expr(node.cond)
            node.then, node.otherwise = self.lower_expr(node.then), self.lower_expr(node.otherwise)
        elif type(node) is ast.Comma:
            node.parts = self.lower_all(node.parts)
        elif type(node) is ast.IncDec:
            return self.lower_step(node) if node.prefix else self.lower_postfix(node)
        elif type(node) is ast.Assign:
            return self.lower_assign(node)
        return node

    def lower_assign(self, node: ast.Assign) -> ast.Expr:
        if node.op != "=":
            return self.lower_compound(node, node.op[:-1], self.lower_expr(node.value))
        node.target, node.value = self.lower_expr(node.target), self.lower_expr(node.value)
        return node

    def lower_step(self, node: ast.IncDec) -> ast.Expr:
        """++x and --x, and where the value is not used x++ and x--."""
        return self.make_update(node, node.operand, node.op[0], self.make_step(node))

    def lower_postfix(self, node: ast.IncDec) -> ast.Cast:
        """x++ is (x = x + 1) - 1, cut to x's type as x itself is."""
        back = "-" if node.op == "++" else "+"
        after = self.lower_step(node)
        value = self.make_binary(node, back, after, self.make_step(node))
        found = ast.Cast(node.loc, value, None)
        found.type = node.type
        return found

    @staticmethod
    def make_step(node: ast.IncDec) -> ast.IntLit:
        """What ++ adds: to a pointer the size of what it points to."""
        step = t.embedded_size(node.type.to) if node.type.is_pointer else 1
        return constants.make_literal(node.loc, step, t.INT)

    def lower_compound(self, node: ast.Assign, op: str, value: ast.Expr) -> ast.Expr:
        return self.make_update(node, node.target, op, value)

    def make_update(self, node: ast.Expr, target: ast.Expr, op: str, value: ast.Expr) -> ast.Expr:
        """target = target op value"""
        stores: list[ast.Expr] = []
        if type(target) is ast.AssocRef:
            target.keys = self.lower_all(target.keys)
            if has_assignment(value) or not all(is_pure(key) for key in target.keys):
                target.keys = [self.store_key(key, stores) for key in target.keys]
        elif type(target) is not ast.Var:
            target = self.lower_expr(target)
            if has_assignment(value) or not all(
                is_pure(below) for below in iter_deciding_parts(target)
            ):
                self.fix_target(target, stores)
        found = ast.Assign(node.loc, "=", target, self.make_binary(node, op, target, value))
        found.type = node.type
        if not stores:
            return found
        comma = ast.Comma(node.loc, [*stores, found])
        comma.type = node.type
        return comma

    @staticmethod
    def make_binary(node: ast.Expr, op: str, left: ast.Expr, right: ast.Expr) -> ast.Expr:
        """In the type of the left side, whose sign decides, as in dtrace."""
        if t.is_real(left.type):
            return float_nodes.to_stored(
                float_nodes.make_float_op(node.loc, op, float_nodes.to_double(left), right),
                left.type,
            )
        found = ast.Binary(node.loc, op, left, right)
        found.type = found.common = left.type
        return found

    def fix_target(self, target: ast.Expr, stores: list[ast.Expr]) -> None:
        """Store what decides which object `target` is, so that it can be evaluated twice."""
        while isinstance(target, (ast.MemberRef, ast.ElementRef)):
            if type(target) is ast.ElementRef:
                target.index = self.store_key(target.index, stores)
            target = target.base
        if type(target) is ast.Deref:
            target.operand = self.store_key(target.operand, stores)
        elif type(target) is ast.AssocRef:
            target.keys = [self.store_key(key, stores) for key in target.keys]

    def store_key(self, key: ast.Expr, stores: list[ast.Expr]) -> ast.Expr:
        """A variable that holds the value of a key; its assignment is added to `stores`."""
        if isinstance(key, (ast.IntLit, ast.StrLit)):
            return key
        self.temporaries += 1
        symbol = Variable("this", f"key#{self.temporaries}", key.loc, key.type)
        first, again = ast.Var(key.loc, symbol), ast.Var(key.loc, symbol)
        assign = ast.Assign(key.loc, "=", first, key)
        first.type = again.type = assign.type = key.type
        stores.append(assign)
        return again


def iter_deciding_parts(target: ast.Expr) -> Iterator[ast.Expr]:
    """The expressions that decide which object in memory `target` is."""
    while isinstance(target, (ast.MemberRef, ast.ElementRef)):
        if type(target) is ast.ElementRef:
            yield target.index
        target = target.base
    if type(target) is ast.Deref:
        yield target.operand
    elif type(target) is ast.AssocRef:
        yield from target.keys


def has_assignment(node: ast.Node) -> bool:
    """True if evaluating the node may change a variable."""
    if type(node) is ast.Assign:
        return True
    return any(has_assignment(below) for below in child_nodes(node))


def child_nodes(node: ast.Node) -> Iterator[Any]:
    for field in node.fields:
        value = getattr(node, field)
        if isinstance(value, ast.Node):
            yield value
        elif type(value) is list:
            yield from value


def is_pure(node: ast.Expr) -> bool:
    """True if evaluating the node a second time gives the same and does nothing else."""
    return type(node) in _PURE and all(is_pure(below) for below in child_nodes(node))
