# mypy: ignore-errors
"""The lower pass: a smaller language for code generation.

In: the typed Unit.  Out: the same with ++, --, compound assignments and casts to void
replaced by plain assignments (dlang/ast.py lists what is left).
Always: every expression keeps its type, and every key is still evaluated once, and in order:
the keys of an element that is read and written are first stored in this-> variables of the
compiler's own, unless evaluating them twice changes nothing.
"""

from pydtrace.dlang import ast, constants, float_nodes
from pydtrace.dlang.variable_table import Variable
from pydtrace.program import d_types as t

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


def lower(unit):
    """Lower all clauses; returns the unit."""
    lowerer = Lowerer()
    for item in unit.items:
        if type(item) is ast.Clause:
            item.loc.source.budget.place = item.loc
            if item.predicate is not None:
                item.predicate = lowerer.expr(item.predicate)
            for statement in item.body or ():
                lowerer.statement(statement)
    return unit


class Lowerer:
    def __init__(self):
        self.temporaries = 0

    def statement(self, statement):
        if type(statement) is ast.AggStmt:
            statement.args = self.all(statement.args)
            statement.agg.keys = self.all(statement.agg.keys)
        elif type(statement.expr) is ast.IncDec:
            statement.expr = self.step(statement.expr)
        else:
            statement.expr = self.expr(statement.expr)

    def all(self, nodes):
        return [self.expr(node) for node in nodes]

    def expr(self, node):
        """Lower an expression and all below it."""
        kind = type(node)
        if kind is ast.Binary:
            node.left, node.right = self.expr(node.left), self.expr(node.right)
        elif kind is ast.Unary:
            node.operand = self.expr(node.operand)
        elif kind is ast.Cast:
            node.operand = self.expr(node.operand)
            if node.type.is_void:
                return node.operand
        elif kind is ast.AssocRef:
            node.keys = self.all(node.keys)
        elif kind in (ast.Deref, ast.AddressOf, ast.Stringof):
            node.operand = self.expr(node.operand)
        elif kind is ast.MemberRef:
            node.base = self.expr(node.base)
        elif kind is ast.ElementRef:
            node.base, node.index = self.expr(node.base), self.expr(node.index)
        elif kind is ast.Xlate:
            for conversion in node.conversions:
                conversion.value = self.expr(conversion.value)
        elif kind in (ast.Call, ast.FloatOp):
            node.args = self.all(node.args)
        elif kind is ast.Ternary:
            node.cond = self.expr(node.cond)
            node.then, node.otherwise = self.expr(node.then), self.expr(node.otherwise)
        elif kind is ast.Comma:
            node.parts = self.all(node.parts)
        elif kind is ast.IncDec:
            return self.step(node) if node.prefix else self.step_after(node)
        elif kind is ast.Assign:
            return self.assign(node)
        return node

    def assign(self, node):
        if node.op != "=":
            return self.update(node, node.op[:-1], self.expr(node.value))
        node.target, node.value = self.expr(node.target), self.expr(node.value)
        return node

    def step(self, node):
        """++x and --x, and where the value is not used x++ and x--."""
        return self.update_of(node, node.operand, node.op[0], self.one(node))

    def step_after(self, node):
        """x++ is (x = x + 1) - 1, cut to x's type as x itself is."""
        back = "-" if node.op == "++" else "+"
        after = self.step(node)
        value = self.binary(node, back, after, self.one(node))
        found = ast.Cast(node.loc, value, None)
        found.type = node.type
        return found

    @staticmethod
    def one(node):
        """What ++ adds: to a pointer the size of what it points to."""
        step = t.embedded_size(node.type.to) if node.type.is_pointer else 1
        return constants.literal(node.loc, step, t.INT)

    def update(self, node, op, value):
        return self.update_of(node, node.target, op, value)

    def update_of(self, node, target, op, value):
        """target = target op value"""
        stores = []
        if type(target) is ast.AssocRef:
            target.keys = self.all(target.keys)
            if assigns(value) or not all(pure(key) for key in target.keys):
                target.keys = [self.store(key, stores) for key in target.keys]
        elif type(target) is not ast.Var:
            target = self.expr(target)
            if assigns(value) or not all(pure(below) for below in parts_of(target)):
                self.fix(target, stores)
        found = ast.Assign(node.loc, "=", target, self.binary(node, op, target, value))
        found.type = node.type
        if not stores:
            return found
        comma = ast.Comma(node.loc, [*stores, found])
        comma.type = node.type
        return comma

    @staticmethod
    def binary(node, op, left, right):
        """In the type of the left side, whose sign decides, as in dtrace."""
        if t.is_real(left.type):
            return float_nodes.stored(
                float_nodes.op(node.loc, op, float_nodes.real(left), right), left.type
            )
        found = ast.Binary(node.loc, op, left, right)
        found.type = found.common = left.type
        return found

    def fix(self, target, stores):
        """Store what decides which object `target` is, so that it can be evaluated twice."""
        while type(target) in (ast.MemberRef, ast.ElementRef):
            if type(target) is ast.ElementRef:
                target.index = self.store(target.index, stores)
            target = target.base
        if type(target) is ast.Deref:
            target.operand = self.store(target.operand, stores)
        elif type(target) is ast.AssocRef:
            target.keys = [self.store(key, stores) for key in target.keys]

    def store(self, key, stores):
        """A variable that holds the value of a key; its assignment is added to `stores`."""
        if type(key) in (ast.IntLit, ast.StrLit):
            return key
        self.temporaries += 1
        symbol = Variable("this", f"key#{self.temporaries}", key.loc, key.type)
        first, again = ast.Var(key.loc, symbol), ast.Var(key.loc, symbol)
        assign = ast.Assign(key.loc, "=", first, key)
        first.type = again.type = assign.type = key.type
        stores.append(assign)
        return again


def parts_of(target):
    """The expressions that decide which object in memory `target` is."""
    while type(target) in (ast.MemberRef, ast.ElementRef):
        if type(target) is ast.ElementRef:
            yield target.index
        target = target.base
    if type(target) is ast.Deref:
        yield target.operand
    elif type(target) is ast.AssocRef:
        yield from target.keys


def assigns(node):
    """True if evaluating the node may change a variable."""
    if type(node) is ast.Assign:
        return True
    return any(assigns(below) for below in children(node))


def children(node):
    for field in node.fields:
        value = getattr(node, field)
        if isinstance(value, ast.Node):
            yield value
        elif type(value) is list:
            yield from value


def pure(node):
    """True if evaluating the node a second time gives the same and does nothing else."""
    return type(node) in _PURE and all(pure(below) for below in children(node))
