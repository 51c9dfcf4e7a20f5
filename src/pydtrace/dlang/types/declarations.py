"""Declarations: types, variables and the other names of a program.

Checks come in dtrace's order, with its messages. Structs, unions and enumerations are entered
while they are read, because a member may point to its own struct.
"""

from __future__ import annotations

from pydtrace.dlang import ast, constants
from pydtrace.dlang.builtins import prototypes
from pydtrace.dlang.compile_errors import refuse, refuse_unsupported
from pydtrace.dlang.variable_table import Inline, Variable, variable_kind
from pydtrace.program import d_types as t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeGuard

    from ..front.source_text import Location
    from .resolve import ProgramNames

_ATTRIBUTES = frozenset(["short", "long", "signed", "unsigned"])
_QUALIFIERS = frozenset(["const", "volatile", "restrict"])
_POSITIVE = "positive integral constant expression"
_INT_MAX = (1 << 31) - 1


def strip_scope(name: str) -> str:
    """The name of a type without the scope of the program's or of C's own ones: D`record is record."""
    return name[2:] if name[1:2] == "`" and name[0] in "CD" else name


# --- types -------------------------------------------------------------------------------
def is_type_name(names: ProgramNames, name: str) -> bool:
    name = strip_scope(name)
    if name in names.mentioned or name in names.scopes["global"] or name in names.inlines:
        return False  # a variable, an inline or an enumerator is meant first
    return (
        name in names.typedefs
        or name in prototypes.OTHER_TYPES
        or names.find_kernel_type(name) is not None
    )


def resolve_type(names: ProgramNames, node: ast.TypeName) -> t.Type:
    """The types.Type of a TypeName.  As in dtrace, all pointers of a declarator come before its arrays."""
    type = resolve_base_type(names, node)
    steps = node.steps
    for kind, *rest in steps:
        if kind == "()":
            check_prototype(names, node, rest[0], rest[0], "function", True, True)
    if any(kind == "()" for kind, *_ in steps):
        for kind, *_ in reversed(steps):
            if kind == "()":
                type = t.FUNCTION
            elif kind == "*":
                type = t.FUNCTION_POINTER if type is t.FUNCTION else t.Pointer(type)
        return type
    for kind, *_ in steps:
        if kind == "*":
            type = t.Pointer(type)
    for step in reversed(steps):
        if step[0] == "[]":
            type = make_array(names, node, type, step[1])
    return type


def make_array(
    names: ProgramNames,
    node: ast.TypeName,
    type: t.Type,
    size: ast.Expr | list[ast.Parameter] | None,
) -> t.Array:
    if isinstance(size, list):
        refuse("D_DECL_DYNOBJ", node.loc, "cannot declare array of associative arrays")
    if type.is_void:
        refuse("D_DECL_VOIDOBJ", node.loc, "cannot declare array of void")
    if size is None:
        return t.Array(type, 0)
    count = fold_constant(names, size)
    if is_positive_constant(count):
        if count.value > 0xFFFFFFFF:
            refuse("D_DECL_ARRBIG", node.loc, "array dimension too big")
        return t.Array(type, count.value)
    message = f"{_POSITIVE} or tuple signature expected as array declaration subscript"
    refuse("D_DECL_ARRSUB", size.loc, message)


def resolve_base_type(names: ProgramNames, node: ast.TypeName) -> t.Type:
    """The type of a TypeName's words, before pointers and arrays."""
    name: Any = None
    attributes: list[str] = []
    for word in node.words:
        if word in _QUALIFIERS:
            continue
        if word in _ATTRIBUTES:
            attributes.append(word)
        elif name is not None:
            refuse(
                "D_DECL_COMBO", node.loc, "invalid type combination", "only one type may be named"
            )
        else:
            name = word
        check_attributes(node.loc, name, attributes)
    if isinstance(name, (ast.StructSpec, ast.EnumSpec)):
        return name.type
    if node.words and name is None and not attributes:
        refuse(
            "D_UNKNOWN",
            node.loc,
            "failed to resolve type : Unknown type name",
            f"the word behind {node.words[-1]} is not a known type",
        )
    return find_named_type(names, node.loc, name, attributes)


def check_specifier(loc: Location, words: list[str], word: str) -> None:
    """Refuse one word more of a declaration's type, as soon as it is read."""
    if word in _QUALIFIERS:
        return
    attributes = [w for w in words if w in _ATTRIBUTES]
    name = next((w for w in words if w not in _ATTRIBUTES and w not in _QUALIFIERS), None)
    if word in _ATTRIBUTES:
        attributes.append(word)
    elif name is not None:
        hint = (
            "a ; is missing after the }" if type(name) is not str else "only one type may be named"
        )
        refuse("D_DECL_COMBO", loc, "invalid type combination", hint)
    check_attributes(loc, name or (word if word not in _ATTRIBUTES else None), attributes)


def check_attributes(loc: Location, name: ast.Node | str | None, attributes: list[str]) -> None:
    """Refuse what can not be short, long, signed or unsigned."""
    if not attributes or name is None or name == "int":
        return
    wide = "long" in attributes or "short" in attributes
    sign = "signed" in attributes or "unsigned" in attributes
    begin = "invalid type declaration: "
    if name == "char" and wide:
        refuse("D_DECL_CHARATTR", loc, begin + "short and long may not be used with char type")
    if name == "void":
        refuse("D_DECL_VOIDATTR", loc, begin + "attributes may not be used with void type")
    if name != "char" and sign:
        message = begin + "signed and unsigned may only be used with integer type"
        refuse("D_DECL_SIGNINT", loc, message)
    if name not in ("char", "float", "double") and "long" in attributes:
        message = begin + "long and long long may only be used with integer or floating-point type"
        refuse("D_DECL_LONGINT", loc, message)


def find_named_type(
    names: ProgramNames, loc: Location, name: str | None, attributes: list[str]
) -> t.Type:
    if name == "string":
        return t.STRING
    if name == "void":
        return t.VOID
    name = name and strip_scope(name)
    if name in names.typedefs:
        return names.typedefs[name]
    if name == "in6_addr_t":
        return find_tagged(names, "struct", "in6_addr")
    if name and (found := names.find_kernel_type(name)):
        return found
    if name in prototypes.OTHER_TYPES:
        hint = "types of the kernel and of D's own library files"
        refuse_unsupported(loc, f"the type {name} is", hint)
    # As dtrace puts the words together, so that a type's name is the one that it prints.
    words = [word for word in ("signed", "unsigned", "short") if word in attributes]
    words += ["long"] * attributes.count("long")
    if not words or name is not None and (words[-1] not in ("short", "long") or name == "double"):
        words.append(name or "int")
    spelled = " ".join(words)
    found = t.BASIC.get(spelled) or t.FLOATS.get(spelled)
    if found is None:
        text = "".join(f"{word} " for word in words)
        refuse("D_UNKNOWN", loc, f"failed to resolve type {text}: Unknown type name")
    return found


def type_size(loc: Location, type: t.Type) -> int:
    """What sizeof says of a type."""
    if type.is_string:
        return t.STRING_EXTENT
    if not type.size:
        refuse("D_SIZEOF_TYPE", loc, "cannot apply sizeof to an operand of unknown size")
    return type.size


def fold_offsetof(names: ProgramNames, loc: Location, type: t.Type, name: str) -> ast.Expr:
    """The IntLit of offsetof(type, name)."""
    if not type.is_record or type.body.fields is None:
        refuse("D_OFFSETOF_TYPE", loc, "offsetof operand must be a struct or union type")
    field = type.body.fields.get(name)
    if field is None:
        message = f"failed to determine offset of {name}: Member name not found."
        refuse("D_UNKNOWN", loc, message, names.suggest_name(name, type.body.fields))
    if field.width is not None:
        refuse("D_OFFSETOF_BITFIELD", loc, f"cannot take offset of a bit-field: {name}")
    return constants.make_integer(loc, (field.offset, True, "", ""))


def fold_constant(names: ProgramNames, node: ast.Expr) -> ast.Expr:
    """The IntLit that a constant expression is, or the node itself."""
    if type(node) is ast.Ident:
        inline = names.find_inline(node.name, node.loc)
        if (
            inline is not None
            and inline.keys is None
            and type(inline.value) is ast.IntLit
            and not t.is_real(inline.type)
        ):
            return constants.make_literal(node.loc, inline.value.value, inline.value.type)
    elif type(node) is ast.Unary:
        return constants.fold_unary(node.loc, node.op, fold_constant(names, node.operand))
    elif type(node) is ast.Binary:
        return constants.fold_binary(
            node.loc, node.op, fold_constant(names, node.left), fold_constant(names, node.right)
        )
    elif type(node) is ast.Cast and node.to and node.to.is_integer:
        operand = fold_constant(names, node.operand)
        if type(operand) is ast.IntLit:
            return constants.fold_cast(node.loc, operand, node.to)
    return node


# --- structs, unions, enumerations -------------------------------------------------------
def find_tagged(names: ProgramNames, kind: str, tag: str) -> t.Type:
    """The type that `struct tag` and its like refer to: made, without members, where it is new."""
    tag = strip_scope(tag)
    name = f"{kind} {tag}"
    found = names.tags.get(name)
    if found is None:
        found = None if kind == "enum" else t.known_record(name)
        if not found and names.kernel:
            found = names.kernel.find_tagged(kind, tag)
        found = found or (t.Enum(tag) if kind == "enum" else t.Record(kind, tag))
        names.tags[name] = found
    return found


def may_replace(names: ProgramNames, loc: Location, name: str) -> bool:
    """Whether a type that is declared here may have the name of another one, and is meant from here on: dtrace has a room of
    its own for the types of included files, and looks there first."""
    return loc.source.is_included(loc.start) and name not in names.included


def note_included(names: ProgramNames, loc: Location, name: str) -> None:
    if loc.source.is_included(loc.start):
        names.included.add(name)


def define_tag(
    names: ProgramNames, loc: Location, kind: str, tag: str | None, nested: bool
) -> t.Type:
    """The type that a definition with { begins.  As in dtrace, the tag of a nested one is not known
    outside."""
    name = f"{kind} {tag or '(anon)'}"
    found = None if tag is None else names.tags.get(name)
    if tag and found is not None and names.kernel and found is names.kernel.find_tagged(kind, tag):
        found = None  # the program has one of its own
    if found is not None and (found.values if kind == "enum" else found.body.fields) is not None:
        if not may_replace(names, loc, name):
            refuse(
                "D_DECL_TYPERED",
                loc,
                f"type redeclared: {name}",
                "choose another name, or leave this one out",
            )
        found = None
    note_included(names, loc, name)
    if found is None:
        found = t.Enum(tag) if kind == "enum" else t.Record(kind, tag)
        if tag is not None and not nested:
            names.tags[name] = found
    return found


def add_member(names: ProgramNames, record: t.Record, node: ast.Member) -> None:
    """Add an ast.Member to a Record whose { has been read."""
    name, loc = node.name, node.loc
    shown = name or "(anon)"
    if (
        node.type_name.steps
        and node.type_name.steps[0][0] == "[]"
        and isinstance(node.type_name.steps[0][1], list)
    ):
        refuse("D_DECL_DYNOBJ", loc, f"cannot have dynamic member: {name}")
    type = resolve_type(names, node.type_name)
    if name is not None and "`" in name:
        refuse("D_DECL_SCOPE", loc, f"D scoping operator may not be used in a member name ({name})")
    require_complete(loc, type, shown)
    if not t.embedded_size(type):
        refuse("D_DECL_VOIDOBJ", loc, f"cannot have void member: {name}")
    width = None
    if node.bits is not None:
        width = check_bit_width(names, node, node.bits, type, shown)
        if width == 0:
            record.end_unit(type)
            return
    if name is not None and record.body.fields and name in record.body.fields:
        message = (
            f"failed to define member '{name}': Duplicate member, enumerator, or variable name."
        )
        refuse("D_UNKNOWN", loc, message)
    record.add_member(name, type, width)


def check_bit_width(
    names: ProgramNames, node: ast.Member, width: ast.Expr, type: t.Type, shown: str
) -> int:
    bits = fold_constant(names, width)
    if node.name is None and isinstance(bits, ast.IntLit) and bits.value == 0:
        return 0
    if not is_positive_constant(bits):
        refuse("D_DECL_BFCONST", node.loc, f"{_POSITIVE} expected as bit-field size")
    if not type.is_integer or type.is_enum:
        refuse("D_DECL_BFTYPE", node.loc, f"invalid type for bit-field: {shown}")
    if bits.value > 8 * type.size:
        refuse("D_DECL_BFSIZE", node.loc, f"bit-field too big for type: {shown}")
    return bits.value


def require_complete(loc: Location, type: t.Type, shown: str) -> None:
    """Refuse an object of a struct, union or enumeration of which only the tag is known."""
    if type.is_record and not type.size or type.is_enum and type.values is None:
        hint = f"define {type} with its members before this line"
        refuse("D_DECL_INCOMPLETE", loc, f"incomplete struct/union/enum {type}: {shown}", hint)


def refuse_unknown_names(names: ProgramNames, node: ast.Node) -> None:
    """Refuse a name in an expression that stands for nothing."""
    if type(node) is ast.Ident and names.find_inline(node.name) is None:
        names.resolve_scalar(node)
    for field in node.fields:
        if isinstance(getattr(node, field), ast.Node):
            refuse_unknown_names(names, getattr(node, field))


def add_enumerator(
    names: ProgramNames, enum: t.Enum, loc: Location, name: str, value: ast.Expr | None
) -> None:
    """value: an Expr, or None for one more than the enumerator before."""
    if "`" in name:
        message = f"D scoping operator may not be used in an enumerator name ({name})"
        refuse("D_DECL_SCOPE", loc, message)
    values = enum.values
    assert values is not None  # its { has been read
    if value is None:
        number = values[next(reversed(values))] + 1 if values else 0
    elif type(value) is ast.Ident and value.name in values:
        number = values[value.name]
    else:
        value = fold_constant(names, value)
        if type(value) is not ast.IntLit:
            refuse_unknown_names(names, value)
            message = f"enumerator '{name}' must be assigned to an integral constant expression"
            refuse("D_DECL_ENCONST", loc, message)
        number = constants.to_signed(value.value)
        if not -_INT_MAX - 1 <= number <= _INT_MAX:
            refuse(
                "D_DECL_ENOFLOW", loc, f"enumerator '{name}' value overflows INT_MAX ({_INT_MAX})"
            )
    values[name] = number
    if name in names.scopes["global"] or name in names.inlines or names.is_builtin(name):
        if loc.source.is_included(loc.start):
            return  # as in dtrace, the name means what it did
        refuse("D_DECL_IDRED", loc, f"identifier redeclared: {name}")
    names.inlines[name] = Inline(
        name, "enumerator", enum, None, constants.make_literal(loc, number, enum), loc
    )


# --- variables and typedefs --------------------------------------------------------------
def check_type_declaration(names: ProgramNames, node: ast.TypeDeclaration) -> None:
    """A declaration without a name: only of structures, unions and enumerations."""
    resolve_base_type(names, node.type_name)
    if all(type(word) is str for word in node.type_name.words):
        refuse("D_DECL_USELESS", node.loc, "useless declaration", "give the variable a name")


def declare_name(names: ProgramNames, node: ast.Declaration) -> None:
    """Enter a declared variable or typedef."""
    name, loc, scope = node.name, node.loc, node.scope
    type = resolve_type(names, node.type_name)
    if "`" in name:
        message = f"D scoping operator may not be used in a declaration name ({name})"
        refuse("D_DECL_SCOPE", loc, message)
    if type is t.FUNCTION and scope in ("global", "static"):
        scope = "extern"
    if scope in ("auto", "register", "static"):
        message = "specified storage class not appropriate in D"
        refuse("D_DECL_BADCLASS", loc, message, "D has global, self and this variables")
    if scope == "extern":
        return
    if scope == "typedef":
        declare_typedef(names, node, type)
        return
    if type.is_array and not type.count and node.keys is None:
        message = f"array declaration requires array dimension or tuple signature: {name}"
        refuse("D_DECL_ARRNULL", loc, message)
    refuse_builtin(names, name, loc, scope)
    if name in names.typedefs or name in names.inlines and names.inlines[name].kind == "enumerator":
        refuse("D_DECL_IDRED", loc, f"typedef identifier redeclared: {name}")
    keys = None
    if node.keys is not None:
        if scope == "this":
            message = f"associative arrays may not be declared as local variables: {name}"
            refuse("D_DECL_LOCASSC", loc, message, "use self-> or a global array")
        keys = resolve_key_types(names, node.keys)
    enter_variable(names, node, type, keys)


def refuse_builtin(names: ProgramNames, name: str, loc: Location, scope: str) -> None:
    if names.is_builtin(name) and scope == "global":
        refuse(
            "D_DECL_IDRED", loc, f"built-in identifier redeclared: {name}", "choose another name"
        )


def declare_typedef(names: ProgramNames, node: ast.Declaration, type: t.Type) -> None:
    name = node.name
    if name in names.scopes["global"] or name in names.inlines or names.is_builtin(name):
        refuse("D_DECL_IDRED", node.loc, f"global variable identifier redeclared: {name}")
    if name in names.typedefs and not may_replace(names, node.loc, name):
        refuse("D_DECL_IDRED", node.loc, f"typedef redeclared: {name}")
    note_included(names, node.loc, name)
    if node.keys is not None:
        refuse_unsupported(node.loc, "typedefs of associative arrays are")
    names.typedefs[name] = t.make_typedef(name, type)


def check_prototype(
    names: ProgramNames,
    node: ast.Node | None,
    parameters: list[ast.Parameter],
    formal: list[ast.Parameter],
    kind: str,
    anonymous: bool = True,
    varargs: bool = False,
    void: bool = True,
) -> list[tuple[str | None, t.Type]]:
    """[(name, type)] of the parameters of a function, a probe or an associative array.  formal: those
    among which the names have to be, where it is another list."""
    found, form = [], parameters is not formal
    named = [p.name for p in formal]
    for number, p in enumerate(parameters, 1):
        if p.type_name is None:
            if not varargs:
                message = f"{kind} prototype may not use a variable-length argument list"
                refuse("D_DECL_PROTO_VARARGS", p.loc, message)
            continue
        steps = p.type_name.steps
        dynamic = bool(steps) and steps[0][0] == "[]" and isinstance(steps[0][1], list)
        type = t.Dynamic("dynamic variable") if dynamic else resolve_type(names, p.type_name)
        if dynamic or type.is_void and not void:
            shown = p.name or "(anonymous)"
            message = f"{kind} prototype may not use parameter of type {type}: {shown}, parameter #{number}"
            refuse("D_DECL_PROTO_TYPE", p.loc, message)
        if type.is_void and p.name is not None:
            refuse("D_DECL_PROTO_NAME", p.loc, f"void parameter may not have a name: {p.name}")
        known = named if form else named[: number - 1]
        if p.name is not None and (p.name in known) != form:
            how = "not" if form else "already"
            message = (
                f"parameter is {how} declared in {kind} prototype: {p.name}, parameter #{number}"
            )
            refuse("D_DECL_PROTO_FORM", p.loc, message)
        if p.name is None and not type.is_void and not anonymous:
            message = f"parameter declaration requires a name: parameter #{number}"
            refuse("D_DECL_PROTO_NAME", p.loc, message)
        found.append((p.name, type))
    if any(type.is_void for _, type in found):
        if len(parameters) > 1:
            place = node or parameters[0]
            refuse("D_DECL_PROTO_VOID", place.loc, "void must be sole parameter")
        return []
    return found


def resolve_key_types(names: ProgramNames, parameters: list[ast.Parameter]) -> list[t.Type]:
    """The key types of an associative array's declaration."""
    return [
        type
        for _, type in check_prototype(names, None, parameters, parameters, "array", void=False)
    ]


def enter_variable(
    names: ProgramNames, node: ast.Declaration, type: t.Type, keys: list[t.Type] | None
) -> None:
    """Make the variable, or check that it is declared again as it was."""
    table, name = names.scopes[node.scope], node.name
    old = table.get(name) or (names.inlines.get(name) if node.scope == "global" else None)
    if old is not None:
        check_redeclared(node, old, type, keys)
        return
    if type.is_void:
        refuse("D_DECL_VOIDOBJ", node.loc, f"cannot have void object: {name}")
    require_complete(node.loc, type, name)
    if type.is_array and type.to.is_string:
        refuse_unsupported(node.loc, f"variables of type {type} are")
    table[name] = symbol = Variable(node.scope, name, node.loc, type, keys)
    symbol.is_known = True


def check_redeclared(
    node: ast.Declaration, old: Variable | Inline, type: t.Type, keys: list[t.Type] | None
) -> None:
    begin = f"identifier redeclared: {node.name}\n"
    kind = variable_kind(keys)
    old_kind = old.kind if isinstance(old, Inline) else variable_kind(old.keys)
    if kind != old_kind or not is_same_type(type, old.type):
        message = f"{begin}\t current: {kind} {type}\n\tprevious: {old_kind} {old.type}"
        refuse("D_DECL_IDRED", node.loc, message)
    old_keys: Sequence[Any] = old.keys or ()
    for number, (new_key, old_key) in enumerate(zip(keys or (), old_keys), 1):
        if not is_same_type(new_key, old_key):
            message = f"{begin}\t current: {kind}, key #{number} of type {new_key}"
            message += f"\n\tprevious: {kind}, key #{number} of type {old_key}"
            refuse("D_DECL_IDRED", node.loc, message)
    if keys is not None and len(keys) != len(old_keys):
        message = f"{begin}\t current: {kind} of {type}, tuple length {len(keys)}"
        message += f"\n\tprevious: {kind} of {old.type}, tuple length {len(old_keys)}"
        refuse("D_DECL_IDRED", node.loc, message)


def is_same_type(left: t.Type | None, right: t.Type | None) -> bool:
    """Whether two types are one, typedefs being types of their own."""
    if left is right:
        return True
    if left is None or right is None or left.name != right.name:
        return False
    if left.is_pointer and right.is_pointer:
        return is_same_type(left.to, right.to)
    if left.is_array and right.is_array:
        return left.count == right.count and is_same_type(left.to, right.to)
    return left.is_record and right.is_record and left.body is right.body


def is_positive_constant(node: ast.Expr | None) -> TypeGuard[ast.IntLit]:
    """True for an integer constant greater than 0."""
    return isinstance(node, ast.IntLit) and (
        0 < node.value < 1 << 63 or bool(node.value >> 63 and not node.type.signed)
    )
