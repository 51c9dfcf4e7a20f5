"""The types of expressions: what each operator takes and gives.

In: expressions from the parser.  Out: the same, names replaced by symbols, a type on every
node, conversions made explicit by Cast nodes.
Always: checks come in dtrace's order and with its words, since a program's first error is the
one that is told.  Typing a node twice changes nothing: a clause may be typed again (see
typecheck.py).  Integers are 64-bit registers as in dtrace: operands are not converted to each
other's type; conversions are where dtrace has them, in casts, assignments, keys and arguments.
"""

from ...data import types as t
from .. import ast, hints
from . import constants, prelude, prototypes
from .arguments import ArgumentTyper
from .calls import CallTyper
from .pointers import PointerTyper, has_size, pointers_fit, referenced
from .tasks import TaskTyper
from .templates import TemplateTyper

_INTEGER_OPS = frozenset(["&", "|", "^", "<<", ">>", "%"])
_ARITHMETIC_OPS = frozenset(["*", "/"])
_LITERALS = {ast.StrLit: t.STRING, ast.FloatLit: t.FLOATS["double"]}
_LOGICAL_OPS = frozenset(["&&", "||", "^^"])
_RELATIONS = frozenset(["<", "<=", ">", ">=", "==", "!="])
JOIN_HINT = "strjoin(a, b) joins two strings"


class Typer(CallTyper, PointerTyper, TemplateTyper, ArgumentTyper, TaskTyper):
    """names: resolve.Names; misplaced: calls of actions and aggregating functions that were met
    inside expressions; they are errors, but only after the whole clause is typed."""

    def __init__(self, names):
        self.names = names
        self.misplaced = []
        self.dispatch = {
            ast.Ident: self.ident,
            ast.ScopedName: self.scoped_name,
            ast.Index: self.index,
            ast.AggRef: self.agg_ref,
            ast.Unary: self.unary,
            ast.IncDec: self.inc_dec,
            ast.Binary: self.binary,
            ast.Assign: self.assign,
            ast.Ternary: self.ternary,
            ast.Cast: self.cast,
            ast.Comma: self.comma,
            ast.Sizeof: self.sizeof,
            ast.Call: self.call,
            ast.Stringof: self.stringof,
            ast.Select: self.select,
            ast.Xlate: self.xlate,
        }

    def value(self, node):
        """Type an expression that is read."""
        if type(node) is ast.Index:
            return self.index(node, read=True)
        node = self.place(node)
        if type(node) in (ast.Var, ast.AssocRef):
            self.need_known(node)
        return node

    def place(self, node):
        """Type an expression that is written, or whose variable may not be known yet."""
        if node.type is not None or type(node) in (ast.Var, ast.AssocRef):
            return node
        if type(node) in _LITERALS:
            node.type = _LITERALS[type(node)]
            return node
        return self.dispatch[type(node)](node)

    def need_known(self, node):
        symbol = node.symbol
        if not symbol.known:
            message = f"{symbol} has not yet been declared or assigned"
            hint = f"declare it, or assign it in a clause before this one ({symbol} = …)"
            self.error("D_VAR_UNDEF", node.loc, message, hint)
        node.type = symbol.type
        if isinstance(symbol.type, t.Float) and not (self.floats or self.floating(symbol.type)):
            self.names.unsupported(node.loc, f"values of type {symbol.type} are")

    def operand(self, node):
        """The operand of a unary operator, which makes an unknown variable an int64_t."""
        node = self.place(node)
        if type(node) in (ast.Var, ast.AssocRef):
            symbol = node.symbol
            if symbol.type is None:
                symbol.type = t.INT64
            symbol.known = True
            node.type = symbol.type
        return node

    # --- names --------------------------------------------------------------------

    def ident(self, node):
        inline = self.names.inline(node.name, node.loc)
        if inline is None:
            return self.names.scalar(node)
        if inline.keys is not None:
            self.names.bad_reference(node.loc, "associative array", node.name, "scalar")
        return self.expand(node.loc, inline)

    def created(self, node):
        """What an Ident stands for that is written: a variable, made where it is new."""
        if self.names.inline(node.name) is not None:
            return self.ident(node)
        return self.names.scalar(node, create=True)

    def scoped_name(self, node):
        found = ast.Var(node.loc, self.names.scoped(node))
        symbol = found.symbol
        if symbol.keys is not None:
            message = f"{symbol.name}[ ] prototype mismatch: 0 keys passed, {len(symbol.keys)} expected"
            self.error("D_PROTO_LEN", node.loc, message, f"give it its keys: {symbol}[…]")
        found.type = symbol.type
        return found

    def index(self, node, read=False):
        """a[keys]; makes the associative array where it is new.  A read of one that is not known is refused
        before its keys are looked at."""
        base = node.base
        if type(base) is ast.Ident:
            inline = self.names.inline(base.name)
            if inline is not None and inline.keys is not None:
                return self.inline_call(node, inline)
            if base.name == "args" and "args" not in self.names.scopes["global"]:
                return self.probe_argument(node)
            if base.name == "uregs":
                return self.register(node)
            symbol = None if inline is not None else self.array(base)
        elif type(base) is ast.ScopedName:
            symbol = self.scoped_array(base)
        elif self.is_task(base):
            return self.task_variable(base, node.keys, read)
        elif type(base) is ast.AggRef:
            message = f"improper attempt to reference @{base.symbol} as a multi-dimensional array"
            self.error("D_AGG_MDIM", node.loc, message, "several keys are one tuple: @name[a, b]")
        else:
            symbol = None
        if symbol is None:
            return self.subscript(node, self.value(base))
        found = ast.AssocRef(node.loc, symbol, node.keys)
        if read:
            self.need_known(found)
        found.keys = self.keys(found, symbol, str(symbol.name))
        found.type = symbol.type
        return found

    def register(self, node):
        """uregs[i]: checked, and refused."""
        keys = [self.value(key) for key in node.keys]
        self.check_arguments(node, "uregs[ ]", "argument", [t.INT], keys, 1, False)
        if type(keys[0]) is not ast.IntLit:
            message = "uregs[ ] argument #1 is incompatible with prototype:\n\tprototype: integer constant\n"
            self.error("D_PROTO_ARG", node.loc, message + f"\t argument: {keys[0].type}")
        if not 0 <= keys[0].value < len(prelude.registers()):
            self.error("D_UNKNOWN", node.loc, f"uregs[]: index out of bounds ({keys[0].value})")
        return self.names.absent(node.loc, "uregs", "uregs[]")

    def inline_call(self, node, inline):
        """name[arguments] of an inline array."""
        keys = [self.value(key) for key in node.keys]
        types = [key.type for key in inline.keys]
        self.check_arguments(node, f"{inline.name}[ ]", "key", types, keys, len(types), False)
        return self.expand(node.loc, inline, [self.convert(key, to) for key, to in zip(keys, types)])

    def array(self, base):
        """The symbol of a global associative array; None where the name is something else that has a value."""
        name, loc = base.name, base.loc
        symbol = self.names.scopes["global"].get(name)
        if symbol is not None:
            return symbol if symbol.keys is not None else None
        if name in prototypes.FUNCTIONS:
            kind = prototypes.FUNCTIONS[name][0]
            self.names.bad_reference(loc, kind, name, "associative array")
        if self.names.is_builtin(name) or "`" in name:
            return None
        symbol = self.names.create("global", name, loc)
        symbol.keys = ()
        return symbol

    def scoped_array(self, base):
        symbol = self.names.scoped(base)
        if symbol.keys is not None:
            return symbol
        if symbol.known:
            return None
        if symbol.scope == "this":
            message = f"local variables may not be used as associative arrays: {symbol.name}"
            self.error("D_ARR_LOCAL", base.loc, message, "use self-> or a global array")
        symbol.keys = ()
        return symbol

    def agg_ref(self, node):
        """An aggregation as an operand: it must exist."""
        node.symbol = self.names.aggregation(node.symbol, node.loc, create=bool(node.keys))
        node.type = t.AGGREGATION
        return node

    # --- operators ----------------------------------------------------------------

    def unary(self, node):
        op = node.op
        operand = node.operand = self.operand(node.operand)
        kind = operand.type
        if (floats := self.floating(kind)) and (found := floats.unary(node, operand)):
            return found
        if op in "+-" and not kind.is_integer:
            self.error("D_OP_ARITH", node.loc, f"operator {op} requires an operand of arithmetic type")
        if op == "~" and not kind.is_integer:
            self.error("D_OP_INT", node.loc, "operator ~ requires an operand of integral type")
        if op == "!" and not t.is_scalar(kind):
            hint = 'compare a string with "": (s == "")' if kind.is_string else None
            self.error("D_OP_SCALAR", node.loc, "operator ! requires an operand of scalar type", hint)
        if op == "*":
            return self.dereference(node, operand)
        if op == "&":
            return self.address_of(node, operand)
        node.type = t.INT if op == "!" else kind
        return node

    def inc_dec(self, node):
        if type(node.operand) is ast.Ident:
            node.operand = self.created(node.operand)
        operand = node.operand = self.operand(node.operand)
        if not t.is_scalar(operand.type):
            hint = "@name = count() counts" if type(operand) is ast.AggRef else None
            self.error("D_OP_SCALAR", node.loc, f"operator {node.op} requires operand of scalar type", hint)
        if operand.type.is_pointer and not has_size(operand.type.to):
            self.error("D_OP_VFPTR", node.loc, f"operator {node.op} requires an operand of known size")
        self.need_writable(node, node.op, operand, "as an operand")
        node.type = operand.type
        return node

    def need_writable(self, node, op, target, where):
        if type(target) is ast.Builtin:
            message = f"operator {op} can only be applied to a writable variable"
            hint = f"{target.row.name} belongs to D"
            self.error("D_OP_WRITE", node.loc, message, f"== compares; {hint}" if op == "=" else hint)
        if type(target) not in (ast.Var, ast.AssocRef) and not self.is_object(target):
            self.error("D_OP_LVAL", node.loc, f"operator {op} requires modifiable lvalue {where}")

    def binary(self, node):
        op = node.op
        left = node.left = self.value(node.left)
        right = node.right = self.value(node.right)
        a, b = left.type, right.type
        integers = a.is_integer and b.is_integer
        if not integers and (floats := self.floating(a, b)) and (found := floats.binary(node, left, right)):
            return found
        if op in _INTEGER_OPS:
            if not integers:
                self.error("D_OP_INT", node.loc, f"operator {op} requires operands of integral type")
            node.common = node.type = a if op in ("<<", ">>") else t.promote(a, b)
        elif op in _ARITHMETIC_OPS:
            if not integers:
                self.error("D_OP_ARITH", node.loc, f"operator {op} requires operands of arithmetic type")
            node.common = node.type = t.promote(a, b)
        elif op in _LOGICAL_OPS:
            if not (t.is_scalar(a) and t.is_scalar(b)):
                self.error("D_OP_SCALAR", node.loc, f"operator {op} requires operands of scalar type")
            node.type = t.INT
        elif op in _RELATIONS:
            node.left, node.right, node.common = self.compared(node, left, right)
            node.type = t.INT
        else:
            return self.additive(node)
        return node

    def compared(self, node, left, right):
        """The operands of a comparison and the type in which they are compared."""
        a, b = left.type, right.type
        if a.is_integer and b.is_integer:
            return left, right, t.promote(a, b)
        if (a.is_string or b.is_string) and t.is_text(a) and t.is_text(b):
            return self.convert(left, t.STRING), self.convert(right, t.STRING), t.STRING
        if a.is_string and self.is_null(right, a) or b.is_string and self.is_null(left, b):
            return left, right, t.STRING
        if not pointers_fit(left, right) or a.is_record:
            self.incompatible(node, a, node.op, b)
        if a.is_string or b.is_string:
            self.names.unsupported(node.loc, "comparing a string with a void pointer is")
        left, right = self.decay(left), self.decay(right)
        return left, right, left.type if left.type.is_pointer else right.type

    @staticmethod
    def is_null(node, other):
        return other.is_string and type(node) is ast.IntLit and node.value == 0

    def additive(self, node):
        a, op, b = node.left.type, node.op, node.right.type
        if a.is_integer and b.is_integer:
            node.common = node.type = t.promote(a, b)
            return node
        found = self.add_pointers(node, node.left, node.right)
        if found is None:
            self.incompatible(node, a, op, b, JOIN_HINT if a.is_string and b.is_string else None)
        return found

    def incompatible(self, node, a, op, b, hint=None):
        message = f'operands have incompatible types: "{a}" {op} "{b}"'
        if op == "=" and isinstance(a, t.Dynamic):
            kind = "scalar" if type(node.target) is ast.Var else "associative array"
            message = f'operands have incompatible types: "{kind}" = "{b}"'
            if b is t.AGGREGATING:
                hint = "an aggregation's name begins with @: @name = count()"
        if hint is None and type(node) in (ast.Assign, ast.Binary):
            hint = hints.incompatible(*((node.target, node.value) if type(node) is ast.Assign else (node.left, node.right)))
        self.error("D_OP_INCOMPAT", node.loc, message, hint)

    def assign(self, node):
        op = node.op
        if type(node.target) is ast.AggRef:
            return self.aggregate(node)
        if type(node.target) is ast.Ident:
            node.target = self.created(node.target)
        target = node.target = self.place(node.target)
        if op != "=":
            return self.compound(node)
        value = node.value = self.whole(self.value(node.value))
        if type(target) in (ast.Var, ast.AssocRef):
            symbol = target.symbol
            if not symbol.known:
                if symbol.type is None:
                    symbol.type = value.type
                symbol.known = True
            target.type = symbol.type
        a, b = target.type, value.type
        if a.is_array or a.is_function:
            hint = "assign its elements" if a.is_array else None
            self.error("D_OP_ARRFUN", node.loc, f'operator = may not be applied to operand of type "{a}"', hint)
        if a.is_pointer and value.type.is_string:
            self.names.unsupported(node.loc, "pointers to D's own strings are", "declare it as a string")
        if floats := self.floating(a, b):
            return floats.assign(self, node, value)
        if not self.fits(a, value) and not self.deletes(target, value):
            self.incompatible(node, a, op, b)
        self.need_writable(node, op, target, "as an operand")
        if type(target) in (ast.Var, ast.AssocRef):
            self.check_allocated(node, target.symbol, value)
        node.value = self.convert(value, a)
        node.type = a
        return node

    @staticmethod
    def deletes(target, value):
        """True for = 0, which deletes an element or a self-> variable of any type."""
        dynamic = type(target) is ast.AssocRef or type(target) is ast.Var and target.symbol.scope == "self"
        return dynamic and type(value) is ast.IntLit and value.value == 0

    def compound(self, node):
        """target op= value"""
        op, target = node.op, node.target
        if type(target) in (ast.Var, ast.AssocRef):
            self.need_known(target)
        value = node.value = self.value(node.value)
        a, b = target.type, value.type
        if not (a.is_integer and b.is_integer):
            if (floats := self.floating(a, b)) and (found := floats.compound(self, node, value)):
                return found
            if op in ("+=", "-="):
                if a.is_string or b.is_string:
                    self.incompatible(node, a, op, b)
                if referenced(a) is None or not has_size(referenced(a)):
                    message = f"operator {op} requires left-hand scalar operand of known size"
                    self.error("D_OP_VFPTR", node.loc, message)
                if not b.is_integer:
                    self.incompatible(node, a, op, b)
                self.need_writable(node, op, target, "as an operand")
                node.value, node.type = self.scaled(value, referenced(a)), a
                return node
            if op in ("*=", "/="):
                self.error("D_OP_ARITH", node.loc, f"operator {op} requires operands of arithmetic type")
            self.error("D_OP_INT", node.loc, f"operator {op} requires operands of integral type")
        self.need_writable(node, op, target, "as an operand")
        node.type = a
        return node

    def ternary(self, node):
        cond = node.cond = self.value(node.cond)
        then = node.then = self.value(node.then)
        otherwise = node.otherwise = self.value(node.otherwise)
        floats = self.floating(cond.type) or self.floating(then.type, otherwise.type)
        if floats and (found := floats.ternary(self, node)):
            return found
        cond = node.cond
        if not t.is_scalar(cond.type):
            self.error("D_OP_SCALAR", node.loc, "operator ?: expression must be of scalar type")
        a, b = then.type, otherwise.type
        if isinstance(a, t.Dynamic) or isinstance(b, t.Dynamic):
            self.error("D_OP_DYN", node.loc, "operator ?: operands cannot be of dynamic type")
        if t.compatible(a, b):
            node.type = a
        elif a.is_integer and b.is_integer:
            node.type = t.promote(a, b)
        elif (a.is_string or b.is_string) and t.is_text(a) and t.is_text(b):
            node.then, node.otherwise = self.convert(then, t.STRING), self.convert(otherwise, t.STRING)
            node.type = t.STRING
        elif self.is_null(then, b) or self.is_null(otherwise, a):
            node.type = t.STRING
        elif pointers_fit(then, otherwise):
            node.then, node.otherwise = self.decay(then), self.decay(otherwise)
            node.type = (node.then if self.points(a) else node.otherwise).type
        else:
            self.error("D_OP_INCOMPAT", node.loc, "operator ?: operands must have compatible types")
        if self.is_action(then) or self.is_action(otherwise):
            hint = "put the condition into the clause's predicate"
            self.error("D_OP_ACT", node.loc, "action cannot be used in a conditional context", hint)
        if a.is_void:
            self.names.unsupported(node.loc, "?: of void expressions is")
        return node

    def comma(self, node):
        parts = node.parts
        for i in range(len(parts)):
            parts[i] = self.value(parts[i])
            if i == 0:
                continue
            for part in (parts[i - 1], parts[i]):
                if isinstance(part.type, t.Dynamic):
                    self.error("D_OP_DYN", node.loc, "operator , operands cannot be of dynamic type")
            if self.is_action(parts[i - 1]) or self.is_action(parts[i]):
                message = "operator , operands cannot be actions"
                self.error("D_OP_ACT", node.loc, message, "separate actions by ;")
        node.type = parts[-1].type
        return node

    def cast(self, node):
        operand = node.operand = self.value(node.operand)
        to, source = node.to, operand.type
        if floats := self.floating(to, source):
            return floats.cast(node, operand)
        ok = t.compatible(to, source) or t.is_scalar(to) and t.is_scalar(source) or to.is_void
        ok = ok or to.is_pointer and source.is_array
        ok = ok or to.is_string and (t.is_scalar(source) or source.is_array)
        if isinstance(source, t.Dynamic) and not to.is_void or not ok:
            message = f'invalid cast expression: "{source}" to "{to}"'
            self.error("D_CAST_INVAL", node.loc, message)
        if to.is_string and not source.is_string:
            return self.text(node.loc, operand)
        if to.is_record:
            return operand
        if to.is_pointer:
            node.operand = self.decay(operand)
        node.type = to
        return node

    def sizeof(self, node):
        operand = self.operand(node.operand)
        if type(operand) is ast.MemberRef and operand.field.width is not None:
            self.error("D_SIZEOF_BITFIELD", node.loc, "cannot apply sizeof to a bit-field")
        size = self.names.sizeof(node.loc, operand.type)
        return constants.literal(node.loc, size, t.SIZE_T)
