"""Names: what a word of a D program stands for.

In: declarations as the parser meets them, and names as the types pass meets them.  Out:
types, symbols.Variable, symbols.Aggregation, rows of builtins.
Always: D makes variables when they are first assigned, in the order of the program, so the
same Names serves the parser and then the types pass; messages are dtrace's.
"""

from . import ast, prototypes
from . import types as t
from .builtins import VARIABLES
from .errors import CompileError
from .symbols import Aggregation, Variable

STRSIZE = 256  # what sizeof says of a string, whatever the strsize option is; as in dtrace
_ATTRIBUTES = frozenset(["short", "long", "signed", "unsigned"])
_KEEP = 3  # how unlike a name may be, of those that a hint offers


class Names:
    SIZE_T = t.SIZE_T

    def __init__(self):
        self.typedefs = dict(t.TYPEDEFS)
        self.scopes = {"global": {}, "self": {}, "this": {}}
        self.aggregations = {}
        self.mentioned = set()  # names that stood where only a variable can

    @staticmethod
    def error(tag, loc, message, hint=None):
        raise CompileError(tag, loc, message, hint)

    def unsupported(self, loc, what, hint=None):
        """Refuse a part of D; `what` ends in its verb."""
        self.error("D_UNSUPPORTED", loc, f"{what} not supported yet", hint)

    # --- types ------------------------------------------------------------------

    def is_type(self, name):
        return (name in self.typedefs or name in prototypes.OTHER_TYPES) and name not in self.mentioned and name not in self.scopes["global"]

    def mention(self, name):
        self.mentioned.add(name)

    def is_known(self, name):
        """True if a word can only be a variable or a function."""
        return self.is_builtin(name) or name in self.scopes["global"] or name in self.mentioned

    def resolve_type(self, node):
        """The types.Type of a TypeName."""
        base = self.base_type(node)
        if node.steps:
            kind = node.steps[-1][0]
            what = {"*": "pointers are", "[]": "arrays are", "()": "function types are"}[kind]
            self.unsupported(node.loc, what)
        return base

    def base_type(self, node):
        """The type of a TypeName's words, before pointers and arrays."""
        name, attributes = None, []
        for word in node.words:
            if type(word) is not str:
                what = "enumerations are" if type(word) is ast.EnumSpec else "structures and unions are"
                self.unsupported(word.loc, what)
            if word in ("const", "volatile", "restrict"):
                continue
            if word in _ATTRIBUTES:
                attributes.append(word)
            elif name is not None:
                self.error("D_DECL_COMBO", node.loc, "invalid type combination", "only one type may be named")
            else:
                name = word
            self.check_words(node.loc, name, attributes)
        return self.named_type(node.loc, name, attributes)

    def check_words(self, loc, name, attributes):
        """Refuse what can not be short, long, signed or unsigned."""
        if not attributes or name in (None, "int"):
            return
        wide = "long" in attributes or "short" in attributes
        sign = "signed" in attributes or "unsigned" in attributes
        begin = "invalid type declaration: "
        if name == "char" and wide:
            self.error("D_DECL_CHARATTR", loc, begin + "short and long may not be used with char type")
        if name == "void":
            self.error("D_DECL_VOIDATTR", loc, begin + "attributes may not be used with void type")
        if name != "char" and sign:
            message = begin + "signed and unsigned may only be used with integer type"
            self.error("D_DECL_SIGNINT", loc, message)
        if name not in ("char", "float", "double") and "long" in attributes:
            message = begin + "long and long long may only be used with integer or floating-point type"
            self.error("D_DECL_LONGINT", loc, message)

    def named_type(self, loc, name, attributes):
        if name == "string":
            return t.STRING
        if name == "void":
            return t.VOID
        if name in ("float", "double"):
            self.unsupported(loc, "floating-point types are")
        if name in self.typedefs:
            return self.typedefs[name]
        if name in prototypes.OTHER_TYPES:
            self.unsupported(loc, f"the type {name} is")
        # As dtrace puts the words together, so that a type's name is the one that it prints.
        words = [word for word in ("signed", "unsigned", "short") if word in attributes]
        words += ["long"] * attributes.count("long")
        if not words or name is not None and words[-1] not in ("short", "long"):
            words.append(name or "int")
        found = t.BASIC.get(" ".join(words))
        if found is None:
            text = "".join(f"{word} " for word in words)
            self.error("D_UNKNOWN", loc, f"failed to resolve type {text}: Unknown type name")
        return found

    def sizeof(self, loc, type):
        """What sizeof says of a type."""
        if type.is_string:
            return STRSIZE
        if not type.size:
            self.error("D_SIZEOF_TYPE", loc, "cannot apply sizeof to an operand of unknown size")
        return type.size

    # --- declarations -----------------------------------------------------------

    def declare_type(self, node):
        """A declaration without a name: only of structures, unions and enumerations."""
        self.base_type(node.type_name)
        self.error("D_DECL_USELESS", node.loc, "useless declaration", "give the variable a name")

    def declare(self, node):
        """Enter a declared variable or typedef."""
        name, loc, scope = node.name, node.loc, node.scope
        if "`" in name:
            message = f"D scoping operator may not be used in a declaration name ({name})"
            self.error("D_DECL_SCOPE", loc, message)
        if scope in ("auto", "register", "static"):
            message = "specified storage class not appropriate in D"
            self.error("D_DECL_BADCLASS", loc, message, "D has global, self and this variables")
        if scope == "extern":
            self.unsupported(loc, "external declarations are")
        type = self.resolve_type(node.type_name) if node.keys is not None else self.declared_type(node)
        if scope == "typedef":
            self.declare_typedef(node, type)
            return
        if self.is_builtin(name) and scope == "global":
            self.error("D_DECL_IDRED", loc, f"built-in identifier redeclared: {name}", "choose another name")
        if name in self.typedefs:
            self.error("D_DECL_IDRED", loc, f"typedef identifier redeclared: {name}")
        keys = None
        if node.keys is not None:
            if scope == "this":
                message = f"associative arrays may not be declared as local variables: {name}"
                self.error("D_DECL_LOCASSC", loc, message, "use self-> or a global array")
            keys = self.declared_keys(node.keys)
        self.enter(node, type, keys)

    def declared_type(self, node):
        """The type of a declaration without keys; [] without a dimension is its own error."""
        for step in node.type_name.steps[:1]:
            if step[0] == "[]" and step[1] is None:
                message = f"array declaration requires array dimension or tuple signature: {node.name}"
                self.error("D_DECL_ARRNULL", node.loc, message)
            if step[0] == "[]" and not (type(step[1]) is ast.IntLit and 0 < step[1].value < 1 << 63):
                message = "positive integral constant expression or tuple signature expected as array declaration subscript"
                self.error("D_DECL_ARRSUB", step[1].loc, message)
        return self.resolve_type(node.type_name)

    def declare_typedef(self, node, type):
        name = node.name
        if name in self.scopes["global"] or self.is_builtin(name):
            self.error("D_DECL_IDRED", node.loc, f"global variable identifier redeclared: {name}")
        if name in self.typedefs:
            self.error("D_DECL_IDRED", node.loc, f"typedef redeclared: {name}")
        if not type.is_integer or node.keys is not None:
            self.unsupported(node.loc, f"typedefs of {type} are")
        self.typedefs[name] = t.typedef(name, type)

    def declared_keys(self, parameters):
        """The key types of an associative array's declaration."""
        types = []
        for number, parameter in enumerate(parameters, 1):
            if parameter.type_name is None:
                message = "array prototype may not use a variable-length argument list"
                self.error("D_DECL_PROTO_VARARGS", parameter.loc, message)
            type = self.resolve_type(parameter.type_name)
            if type.is_void:
                shown = parameter.name or "(anonymous)"
                message = f"array prototype may not use parameter of type void: {shown}, parameter #{number}"
                self.error("D_DECL_PROTO_TYPE", parameter.loc, message)
            types.append(type)
        return types

    def enter(self, node, type, keys):
        """Make the variable, or check that it is declared again as it was."""
        table, name = self.scopes[node.scope], node.name
        old = table.get(name)
        if old is not None:
            self.check_redeclared(node, old, type, keys)
            return
        if type.is_void:
            self.error("D_DECL_VOIDOBJ", node.loc, f"cannot have void object: {name}")
        table[name] = symbol = Variable(node.scope, name, node.loc, type, keys)
        symbol.known = True

    def check_redeclared(self, node, old, type, keys):
        begin = f"identifier redeclared: {node.name}\n"
        kind, old_kind = kind_of(keys), kind_of(old.keys)
        if kind != old_kind or type is not old.type:
            message = f"{begin}\t current: {kind} {type}\n\tprevious: {old_kind} {old.type}"
            self.error("D_DECL_IDRED", node.loc, message)
        for number, (new_key, old_key) in enumerate(zip(keys or (), old.keys or ()), 1):
            if new_key is not old_key:
                message = f"{begin}\t current: {kind}, key #{number} of type {new_key}"
                message += f"\n\tprevious: {kind}, key #{number} of type {old_key}"
                self.error("D_DECL_IDRED", node.loc, message)
        if keys is not None and len(keys) != len(old.keys):
            message = f"{begin}\t current: {kind} of {type}, tuple length {len(keys)}"
            message += f"\n\tprevious: {kind} of {old.type}, tuple length {len(old.keys)}"
            self.error("D_DECL_IDRED", node.loc, message)

    # --- names in clauses ---------------------------------------------------------

    @staticmethod
    def is_builtin(name):
        return (
            name in VARIABLES
            or name in prototypes.FUNCTIONS
            or name in prototypes.OTHER_VARIABLES
            or name in prototypes.OTHER_ARRAYS
            or name in ("self", "this")
        )

    def scalar(self, node, create=False):
        """The Var or Builtin that an Ident stands for, as a scalar."""
        name, loc = node.name, node.loc
        row = VARIABLES.get(name)
        if row is not None:
            found = ast.Builtin(loc, row)
            found.type = row.type
            return found
        symbol = self.scopes["global"].get(name)
        if symbol is not None and symbol.keys is not None:
            self.bad_reference(loc, "associative array", name, "scalar")
        if symbol is None:
            self.refuse_reserved(node)
            if not create:
                message = f"failed to resolve {name}: Unknown variable name"
                self.error("D_IDENT_UNDEF", loc, message, self.similar(name))
            symbol = self.create("global", name, loc)
        found = ast.Var(loc, symbol)
        found.type = symbol.type
        return found

    def refuse_reserved(self, node):
        """Refuse a name that is D's, but not a variable that pyusdt has."""
        name, loc = node.name, node.loc
        if "`" in name:
            self.unsupported(loc, "kernel and user symbols (module`name) are")
        if name in ("self", "this"):
            self.bad_reference(loc, "pointer", name, "scalar", f"{name}->name is a variable")
        if name in prototypes.FUNCTIONS:
            kind = prototypes.FUNCTIONS[name][0]
            self.bad_reference(loc, kind, name, "scalar", f"call it: {name}(…)")
        if name in prototypes.OTHER_ARRAYS:
            self.unsupported(loc, f"{name}[] is", "arg0 … arg9 are the probe's arguments")
        if name in prototypes.OTHER_VARIABLES:
            self.unsupported(loc, f"the variable {name} is")

    def bad_reference(self, loc, kind, name, wanted, hint=None):
        message = f"{kind} '{name}' may not be referenced as {wanted}"
        self.error("D_IDENT_BADREF", loc, message, hint)

    def create(self, scope, name, loc):
        symbol = self.scopes[scope][name] = Variable(scope, name, loc)
        return symbol

    def scoped(self, node):
        """The symbol of self->x or this->x, made where it is first mentioned."""
        if "`" in node.name:
            self.unsupported(node.loc, "kernel and user symbols (module`name) are")
        return self.scopes[node.scope].get(node.name) or self.create(node.scope, node.name, node.loc)

    def aggregation(self, name, loc, create=False):
        found = self.aggregations.get(name)
        if found is None:
            if not create:
                message = f"failed to resolve @{name}: Unknown variable name"
                self.error("D_IDENT_UNDEF", loc, message, f"assign it first: @{name} = count();")
            found = self.aggregations[name] = Aggregation(name, len(self.aggregations) + 1, loc)
        return found

    def need_function(self, loc, callee):
        """Check that what is called is a function of D."""
        if type(callee) is not ast.Ident:
            self.error("D_FUNC_IDENT", loc, "function designator is not of function type")
        name = callee.name
        if name in prototypes.FUNCTIONS:
            return
        symbol = self.scopes["global"].get(name)
        if symbol is not None or self.is_builtin(name):
            kind = "scalar" if symbol is None else kind_of(symbol.keys)
            message = f"{kind} '{name}' may not be referenced as a function"
            self.error("D_FUNC_IDKIND", loc, message)
        hint = self.similar(name, prototypes.FUNCTIONS)
        self.error("D_FUNC_UNDEF", loc, f"undefined function name: {name}", hint)

    def similar(self, name, among=None):
        """A hint that names the nearest known name."""
        if among is None:
            among = [*self.scopes["global"], *VARIABLES, *(f"self->{n}" for n in self.scopes["self"])]
            among += [f"this->{n}" for n in self.scopes["this"]]
        best, least = None, min(_KEEP, len(name) // 2 + 1)
        for known in among:
            if known.rpartition(">")[2] == name:
                return f"did you mean {known}?"
            away = distance(name, known, least)
            if away < least:
                best, least = known, away
        return f"did you mean {best}?" if best else None


def kind_of(keys):
    return "scalar" if keys is None else "associative array"


def distance(a, b, limit):
    """The number of letters to change, or of neighbours to swap, that make `a` into `b`; `limit`
    where it is not less."""
    if abs(len(a) - len(b)) >= limit or len(a) > 64:
        return limit
    before, above = None, list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            best = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                best = min(best, before[j - 2] + 1)
            row.append(best)
        before, above = above, row
    return above[-1]
