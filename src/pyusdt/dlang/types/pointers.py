"""The types of what lies in memory: pointers, arrays, members; a base class of expressions.Typer.

In: Unary * and &, Select, Index and Stringof nodes.  Out: Deref, AddressOf, MemberRef, ElementRef, Stringof.
Always: `a->b` is `(*a).b`; an array becomes a pointer (AddressOf) where a pointer is wanted; the scale of
pointer arithmetic is explicit.
"""

from ...data import types as t
from .. import ast
from ..builtins import SUBROUTINES
from . import constants


def referenced(type):
    """What a pointer or an array refers to, else None."""
    if type.is_string:
        return t.CHAR
    return type.to if type.is_pointer or type.is_array else None


def is_zero(node):
    return type(node) is ast.IntLit and node.value == 0


def pointers_fit(a, b, left=None):
    """Whether two nodes are pointers to one type, one of which may be void, or a pointer and 0.  left: the
    type to take for the first one, which is not a node then."""
    left = left or a.type
    right = b.type
    if left.is_integer or right.is_integer:
        if left.is_integer and (a is None or not is_zero(a)) or right.is_integer and not is_zero(b):
            return False
        other = right if left.is_integer else left
        return not other.is_integer and referenced(other) is not None
    x, y = referenced(left), referenced(right)
    return x is not None and y is not None and (x.is_void or y.is_void or t.compatible(x, y))


def has_size(type):
    """Whether a pointer to the type can be moved."""
    return not type.is_void and not type.is_function


class PointerTyper:
    def is_object(self, node):
        """Whether a node is something in memory, of which & could be taken."""
        kind = type(node)
        if kind in (ast.Deref, ast.ElementRef):
            return True
        if kind is ast.MemberRef:
            return kind is ast.MemberRef and self.is_object(node.base)
        return kind in (ast.Var, ast.AssocRef) and not (node.type.is_string or node.type.is_integer)

    # --- & and * ----------------------------------------------------------------------

    def dereference(self, node, operand):
        """*operand"""
        to = referenced(operand.type)
        if isinstance(operand.type, t.Dynamic) and type(operand) is ast.Xlate:
            return self.translated(node.loc, operand)
        if to is None:
            hint = "copyinstr(address) reads a string of the process"
            self.error("D_DEREF_NONPTR", node.loc, "cannot dereference non-pointer type", hint)
        if to.is_void:
            hint = "cast it to a pointer to what is there, such as (int *)"
            self.error("D_DEREF_VOID", node.loc, "cannot dereference pointer to void", hint)
        if to.is_function:
            self.error("D_DEREF_FUNC", node.loc, "cannot dereference pointer to function")
        if operand.type.is_array or operand.type.is_string:
            return self.element(node.loc, operand, constants.literal(node.loc, 0, t.INT))
        return self.typed(ast.Deref(node.loc, operand), to)

    @staticmethod
    def typed(node, type):
        node.type = type
        return node

    def address_of(self, node, operand):
        """&operand"""
        kind = type(operand)
        if kind in (ast.Var, ast.AssocRef, ast.AggRef, ast.Builtin):
            self.error("D_ADDROF_VAR", node.loc, "cannot take address of dynamic variable")
        if isinstance(operand.type, t.Dynamic):
            self.error("D_ADDROF_VAR", node.loc, "cannot take address of dynamic object")
        if not self.is_object(operand) or operand.type.is_array:
            self.error("D_ADDROF_LVAL", node.loc, "unacceptable operand for unary & operator")
        if kind is ast.MemberRef and operand.field.width is not None:
            self.error("D_ADDROF_BITFIELD", node.loc, "cannot take address of bit-field")
        return self.typed(ast.AddressOf(node.loc, operand), t.Pointer(operand.type))

    def decay(self, node):
        """The node, or a pointer to its first element where it is an array."""
        if not node.type.is_array:
            return node
        return self.typed(ast.AddressOf(node.loc, node), t.Pointer(node.type.to))

    # --- arithmetic -------------------------------------------------------------------

    def add_pointers(self, node, left, right):
        """The types of + and - where an operand is a pointer; None where they do not go together."""
        a, b, op = left.type, right.type, node.op
        a_points, b_points = self.points(a), self.points(b)
        if a_points and b.is_integer:
            self.check_bounds(node, left, right)
            node.left, node.right = self.decay(left), self.scaled(right, referenced(a))
            node.type = node.common = node.left.type
        elif a.is_integer and b_points and op == "+":
            node.left, node.right = self.scaled(left, referenced(b)), self.decay(right)
            node.type = node.common = node.right.type
        elif a_points and b_points and op == "-" and pointers_fit(left, right):
            node.left, node.right = self.decay(left), self.decay(right)
            return self.difference(node, t.extent(referenced(a)))
        else:
            return None
        if a.is_string or b.is_string:
            return self.string_behind(node, *((left, right) if a.is_string else (right, left)))
        return node

    def string_behind(self, node, string, move):
        """A string from a character on: substr() of it."""
        if node.op == "-":
            self.names.unsupported(node.loc, "moving back in a string is", "substr() takes a part of a string")
        found = ast.Call(node.loc, "substr", SUBROUTINES["substr"], [string, self.convert(move, t.INT)])
        return self.typed(found, t.STRING)

    @staticmethod
    def points(type):
        to = referenced(type)
        return to is not None and has_size(to)

    def scaled(self, node, to):
        """An integer, multiplied by the size of what a pointer refers to."""
        size = t.extent(to)
        if not size:
            self.error("D_OP_VFPTR", node.loc, f"pointer to incomplete type {to}")
        if size == 1:
            return node
        if type(node) is ast.IntLit:
            return constants.literal(node.loc, node.value * size, t.LONG)
        found = ast.Binary(node.loc, "*", node, constants.literal(node.loc, size, t.LONG))
        found.type = found.common = t.LONG
        return found

    def difference(self, node, size):
        node.type = node.common = t.TYPEDEFS["ptrdiff_t"]
        found = ast.Binary(node.loc, "/", node, constants.literal(node.loc, size, t.LONG))
        found.type = found.common = node.type
        return found

    def check_bounds(self, node, array, index):
        """Refuse a constant index outside a declared array."""
        if not array.type.is_array or type(array) is ast.AssocRef or type(index) is not ast.IntLit:
            return
        count = array.type.count
        if count > 1 and index.value >= count:
            hint = f"the last element is [{count - 1}]"
            self.error("D_ARR_BOUNDS", node.loc, f"index outside array bounds: {index.value}, max is {count}", hint)

    # --- [] . and -> --------------------------------------------------------------------

    def subscript(self, node, base):
        """base[key], base being no associative array."""
        if len(node.keys) > 1:
            name = getattr(getattr(base, "symbol", None), "name", None)
            what = f"{'scalar' if name else 'operator'} {name or self.operator_of(base)}"
            self.error("D_ARR_BADREF", node.loc, f"cannot access {what} as an associative array")
        index = self.value(node.keys[0])
        a, b = base.type, index.type
        if isinstance(a, t.Dynamic) or not self.points(a) and not a.is_integer:
            self.error("D_OP_INCOMPAT", node.loc, f'operands have incompatible types: "{a}" + "{b}"')
        if a.is_integer:
            if not b.is_integer:
                self.error("D_OP_INCOMPAT", node.loc, f'operands have incompatible types: "{a}" + "{b}"')
            hint = "only an array, a pointer or an associative array can be indexed"
            self.error("D_DEREF_NONPTR", node.loc, "cannot dereference non-pointer type", hint)
        if not b.is_integer:
            self.error("D_OP_INCOMPAT", node.loc, f'operands have incompatible types: "{a}" + "{b}"')
        if a.is_array or a.is_string:
            self.check_bounds(node, base, index)
            return self.element(node.loc, base, index)
        move = ast.Binary(node.loc, "+", base, index)
        return self.dereference(node, self.add_pointers(move, base, index))

    @staticmethod
    def operator_of(node):
        names = {ast.Deref: "*", ast.ElementRef: "*", ast.AddressOf: "&", ast.MemberRef: "."}
        return names.get(type(node)) or getattr(node, "op", "()")

    def element(self, loc, base, index):
        return self.typed(ast.ElementRef(loc, base, index), referenced(base.type))

    def select(self, node):
        """base.name and base->name"""
        if self.is_task(node):
            return self.task_variable(node)
        base = node.base = self.value(node.base)
        if type(base) is ast.Xlate:
            return self.translated_member(node, base)
        if node.op == "->":
            record = self.pointed_record(node, base.type)
        else:
            record = base.type
            if not record.is_record:
                shown = "char [256]" if record.is_string else record
                message = f'operator . cannot be applied to type "{shown}"; must be applied to a struct or union'
                hint = "-> takes a member of what a pointer points to" if record.is_pointer else None
                self.error("D_OP_SOU", node.loc, message, hint)
        fields = record.body.fields
        if fields is None:
            message = f"operator {node.op} cannot be applied to a forward declaration: no {record} definition is available"
            self.error("D_OP_INCOMPLETE", node.loc, message, f"define {record} with its members")
        field = fields.get(node.name)
        if field is None:
            hint = self.names.similar(node.name, fields)
            self.error("D_TYPE_MEMBER", node.loc, f"{node.name} is not a member of {record}", hint)
        if node.op == "->":
            base = self.typed(ast.Deref(node.loc, base), record)
        return self.typed(ast.MemberRef(node.loc, base, field), field.value_type)

    def pointed_record(self, node, type):
        if not type.is_pointer:
            hint = "cast the address to a pointer: ((struct name *)arg0)->member" if type.is_integer else None
            hint = "use . for a struct that is no pointer" if type.is_record else hint
            self.error("D_OP_PTR", node.loc, "operator -> must be applied to a pointer", hint)
        if not type.to.is_record:
            message = f'operator -> cannot be applied to pointer to type "{type.to}"; '
            self.error("D_OP_SOU", node.loc, message + "must be applied to a struct or union pointer")
        return type.to

    # --- memory of alloca() ---------------------------------------------------------------

    def allocated(self, node):
        """Whether a pointer leads into memory of alloca() or copyin(), {True, False} for either, empty where its
        origin is not told: NULL, a variable that was not assigned yet, an array."""
        kind = type(node)
        if not node.type.is_pointer:
            return set() if is_zero(node) or not node.type.is_integer else {False}
        if kind is ast.Call:
            return {node.name in ("alloca", "copyin")}
        if kind in (ast.Var, ast.AssocRef):
            return {node.symbol.allocated} - {None}
        if kind is ast.Ternary:
            return self.allocated(node.then) | self.allocated(node.otherwise)
        if kind is ast.Binary:
            return self.allocated(node.left if node.left.type.is_pointer else node.right)
        if kind in (ast.Cast, ast.IncDec):
            return self.allocated(node.operand)
        return self.allocated(node.value) if kind is ast.Assign else set()

    def check_allocated(self, node, symbol, value):
        """Refuse a variable that is given pointers into memory of alloca() and other ones."""
        origins = self.allocated(value) if value.type.is_pointer else ()
        if len(origins) > 1:
            message = "ternary conditional with alloca and non-alloca branches cannot be assigned to a variable"
            self.error("D_ALLOCA_INCOMPAT", node.loc, message, "use two variables")
        for origin in origins:
            if symbol.allocated not in (None, origin):
                message = f"{symbol.name}: cannot reuse the same identifier for both alloca and non-alloca allocations"
                self.error("D_ALLOCA_INCOMPAT", node.loc, message, "use two variables")
            symbol.allocated = origin

    # --- stringof -----------------------------------------------------------------------

    def stringof(self, node):
        operand = self.operand(node.operand)
        kind = operand.type
        if kind.is_string:
            return operand
        if not (t.is_scalar(kind) or kind.is_array):
            self.error("D_STRINGOF_TYPE", node.loc, f"cannot apply stringof to a value of type {kind}")
        return self.text(node.loc, operand)

    def text(self, loc, operand):
        """A string that begins at an address or is an array of char."""
        if operand.type.is_array and not t.is_char(operand.type.to):
            operand = self.decay(operand)
        return self.typed(ast.Stringof(loc, operand), t.STRING)
