"""The types of expressions: what each operator takes and gives.

In: expressions from the parser.  Out: the same, names replaced by symbols, a type on every
node, conversions made explicit by Cast nodes.
Always: checks come in dtrace's order and with its words, since a program's first error is the
one that is told.  Typing a node twice changes nothing: a clause may be typed again (see
typecheck.py).  Integers are 64-bit registers as in dtrace: operands are not converted to each
other's type; conversions are where dtrace has them, in casts, assignments, keys and arguments.
"""

from . import ast, constants, prototypes
from . import types as t
from .calls import CallTyper

_INTEGER_OPS = frozenset(["&", "|", "^", "<<", ">>", "%"])
_ARITHMETIC_OPS = frozenset(["*", "/"])
_LOGICAL_OPS = frozenset(["&&", "||", "^^"])
_RELATIONS = frozenset(["<", "<=", ">", ">=", "==", "!="])
JOIN_HINT = "strings have no + in D; print the parts, or compare them with =="


class Typer(CallTyper):
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
            ast.Offsetof: self.offsetof,
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
        if type(node) is ast.StrLit:
            node.type = t.STRING
            return node
        return self.dispatch[type(node)](node)

    def need_known(self, node):
        symbol = node.symbol
        if not symbol.known:
            message = f"{symbol} has not yet been declared or assigned"
            hint = f"declare it, or assign it in a clause before this one ({symbol} = …)"
            self.error("D_VAR_UNDEF", node.loc, message, hint)
        node.type = symbol.type

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
        return self.names.scalar(node)

    def scoped_name(self, node):
        found = ast.Var(node.loc, self.names.scoped(node))
        symbol = found.symbol
        if symbol.keys is not None:
            message = f"{symbol.name}[ ] prototype mismatch: 0 keys passed, {len(symbol.keys)} expected"
            self.error("D_PROTO_LEN", node.loc, message, f"give it its keys: {symbol}[…]")
        found.type = symbol.type
        return found

    def index(self, node, read=False):
        """a[keys]; makes the array where it is new.  A read of one that is not known is refused
        before its keys are looked at."""
        base = node.base
        if type(base) is ast.Ident:
            symbol = self.array(node, base)
        elif type(base) is ast.ScopedName:
            symbol = self.scoped_array(node, base)
        elif type(base) is ast.AggRef:
            message = f"improper attempt to reference @{base.symbol} as a multi-dimensional array"
            self.error("D_AGG_MDIM", node.loc, message, "several keys are one tuple: @name[a, b]")
        else:
            self.error_index(node, self.value(base))
        found = ast.AssocRef(node.loc, symbol, node.keys)
        if read:
            self.need_known(found)
        found.keys = self.keys(found, symbol, str(symbol.name))
        found.type = symbol.type
        return found

    def array(self, node, base):
        """The symbol of a global associative array."""
        name, loc = base.name, base.loc
        symbol = self.names.scopes["global"].get(name)
        if symbol is not None:
            if symbol.keys is None:
                self.error_index(node, self.names.scalar(base))
            return symbol
        if name in prototypes.FUNCTIONS:
            kind = prototypes.FUNCTIONS[name][0]
            self.names.bad_reference(loc, kind, name, "associative array")
        if self.names.is_builtin(name):
            self.error_index(node, self.names.scalar(base))
        if "`" in name:
            self.names.refuse_reserved(base)
        symbol = self.names.create("global", name, loc)
        symbol.keys = ()
        return symbol

    def scoped_array(self, node, base):
        symbol = self.names.scoped(base)
        if symbol.keys is not None:
            return symbol
        if symbol.known:
            base.type = symbol.type
            self.error_index(node, base)
        if symbol.scope == "this":
            message = f"local variables may not be used as associative arrays: {symbol.name}"
            self.error("D_ARR_LOCAL", base.loc, message, "use self-> or a global array")
        symbol.keys = ()
        return symbol

    def error_index(self, node, base):
        """Refuse [] after what is no array."""
        if len(node.keys) > 1:
            name = getattr(base, "name", None) or getattr(getattr(base, "symbol", None), "name", None)
            what = f"scalar {name}" if name is not None else "an expression"
            self.error("D_ARR_BADREF", node.loc, f"cannot access {what} as an associative array")
        if base.type is None:
            self.names.bad_reference(node.loc, "scalar", base.symbol.name, "associative array")
        if base.type.is_string:
            self.names.unsupported(node.loc, "indexing a string is")
        message = f'operands have incompatible types: "{base.type}" + "int"'
        if base.type.is_integer:
            message = "cannot dereference non-pointer type"
            self.error("D_DEREF_NONPTR", node.loc, message, "only an associative array can be indexed")
        self.error("D_OP_INCOMPAT", node.loc, message)

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
        if op in "+-" and not kind.is_integer:
            self.error("D_OP_ARITH", node.loc, f"operator {op} requires an operand of arithmetic type")
        if op == "~" and not kind.is_integer:
            self.error("D_OP_INT", node.loc, "operator ~ requires an operand of integral type")
        if op == "!" and not t.is_scalar(kind):
            hint = 'compare a string with "": (s == "")' if kind.is_string else None
            self.error("D_OP_SCALAR", node.loc, "operator ! requires an operand of scalar type", hint)
        if op == "*":
            if kind.is_integer or kind.is_void:
                hint = "copyinstr(address) reads a string of the process"
                self.error("D_DEREF_NONPTR", node.loc, "cannot dereference non-pointer type", hint)
            self.names.unsupported(node.loc, "dereferencing pointers is")
        if op == "&":
            if type(operand) in (ast.Var, ast.AssocRef, ast.AggRef, ast.Builtin):
                self.error("D_ADDROF_VAR", node.loc, "cannot take address of dynamic variable")
            self.error("D_ADDROF_LVAL", node.loc, "unacceptable operand for unary & operator")
        node.type = t.INT if op == "!" else kind
        return node

    def inc_dec(self, node):
        if type(node.operand) is ast.Ident:
            node.operand = self.names.scalar(node.operand, create=True)
        operand = node.operand = self.operand(node.operand)
        if not t.is_scalar(operand.type):
            self.error("D_OP_SCALAR", node.loc, f"operator {node.op} requires operand of scalar type")
        self.need_writable(node, node.op, operand, "as an operand")
        node.type = operand.type
        return node

    def need_writable(self, node, op, target, where):
        if type(target) is ast.Builtin:
            message = f"operator {op} can only be applied to a writable variable"
            self.error("D_OP_WRITE", node.loc, message, f"{target.row.name} belongs to D")
        if type(target) not in (ast.Var, ast.AssocRef):
            self.error("D_OP_LVAL", node.loc, f"operator {op} requires modifiable lvalue {where}")

    def binary(self, node):
        op = node.op
        left = node.left = self.value(node.left)
        right = node.right = self.value(node.right)
        a, b = left.type, right.type
        integers = a.is_integer and b.is_integer
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
            if not integers and not (a.is_string and b.is_string):
                if self.is_null(left, b) or self.is_null(right, a):
                    self.names.unsupported(node.loc, "comparing a string with 0 is", 'compare it with ""')
                self.incompatible(node, a, op, b)
            node.common = t.promote(a, b) if integers else t.STRING
            node.type = t.INT
        else:
            self.additive(node, a, op, b)
        return node

    @staticmethod
    def is_null(node, other):
        return other.is_string and type(node) is ast.IntLit and node.value == 0

    def additive(self, node, a, op, b):
        if not (a.is_integer and b.is_integer):
            either = op == "+" and a.is_integer or op == "-" and a.is_string
            if a.is_string and b.is_integer or either and b.is_string:
                self.names.unsupported(node.loc, "arithmetic with a string's address is", JOIN_HINT)
            self.incompatible(node, a, op, b, JOIN_HINT if op == "+" and a.is_string else None)
        node.common = node.type = t.promote(a, b)

    def incompatible(self, node, a, op, b, hint=None):
        message = f'operands have incompatible types: "{a}" {op} "{b}"'
        if op == "=" and isinstance(a, t.Dynamic):
            kind = "scalar" if type(node.target) is ast.Var else "associative array"
            message = f'operands have incompatible types: "{kind}" = "{b}"'
        if hint is None and a.is_string != b.is_string and (a.is_integer or b.is_integer):
            hint = "copyinstr(arg) makes a string of an argument that is an address"
        self.error("D_OP_INCOMPAT", node.loc, message, hint)

    def assign(self, node):
        op = node.op
        if type(node.target) is ast.AggRef:
            return self.aggregate(node)
        if type(node.target) is ast.Ident:
            node.target = self.names.scalar(node.target, create=True)
        target = node.target = self.place(node.target)
        if op != "=":
            return self.compound(node)
        value = node.value = self.value(node.value)
        if type(target) in (ast.Var, ast.AssocRef):
            symbol = target.symbol
            if not symbol.known:
                if symbol.type is None:
                    symbol.type = value.type
                symbol.known = True
            target.type = symbol.type
        a, b = target.type, value.type
        if not self.fits(a, value) and not self.deletes(target, value):
            self.incompatible(node, a, op, b)
        self.need_writable(node, op, target, "as an operand")
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
            if op in ("+=", "-="):
                if a.is_string or b.is_string:
                    self.incompatible(node, a, op, b)
                message = f"operator {op} requires left-hand scalar operand of known size"
                self.error("D_OP_VFPTR", node.loc, message)
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
        if not t.is_scalar(cond.type):
            self.error("D_OP_SCALAR", node.loc, "operator ?: expression must be of scalar type")
        a, b = then.type, otherwise.type
        if isinstance(a, t.Dynamic) or isinstance(b, t.Dynamic):
            self.error("D_OP_DYN", node.loc, "operator ?: operands cannot be of dynamic type")
        if t.compatible(a, b):
            node.type = a
        elif a.is_integer and b.is_integer:
            node.type = t.promote(a, b)
        else:
            if self.is_null(then, b) or self.is_null(otherwise, a):
                self.names.unsupported(node.loc, "?: between a string and 0 is", 'the empty string is ""')
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
        if to.is_string and source.is_integer:
            self.names.unsupported(node.loc, "casts to string are", "copyinstr(address) reads a string")
        ok = t.compatible(to, source) or to.is_integer and t.is_scalar(source) or to.is_void
        if not ok:
            message = f'invalid cast expression: "{source}" to "{to}"'
            self.error("D_CAST_INVAL", node.loc, message)
        node.type = to
        return node

    def sizeof(self, node):
        operand = self.operand(node.operand)
        size = self.names.sizeof(node.loc, operand.type)
        return constants.literal(node.loc, size, t.SIZE_T)

    # --- what is parsed and not there yet --------------------------------------------

    def stringof(self, node):
        operand = self.operand(node.operand)
        if operand.type.is_string:
            return operand
        hint = "copyinstr(address) reads a string of the process"
        return self.names.unsupported(node.loc, "stringof() of an address is", hint)

    def select(self, node):
        operand = node.base = self.value(node.base)
        if node.op == "->":
            if operand.type.is_integer or operand.type.is_void:
                self.error("D_OP_PTR", node.loc, "operator -> must be applied to a pointer")
        elif t.is_scalar(operand.type) or operand.type.is_string:
            shown = "char [256]" if operand.type.is_string else operand.type
            message = f'operator . cannot be applied to type "{shown}"; must be applied to a struct or union'
            self.error("D_OP_SOU", node.loc, message)
        return self.names.unsupported(node.loc, "structures and unions are")

    def offsetof(self, node):
        return self.names.unsupported(node.loc, "offsetof() is")

    def xlate(self, node):
        return self.names.unsupported(node.loc, "translators are")
