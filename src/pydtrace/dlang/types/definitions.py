"""Inline definitions, translators and provider declarations.

Each becomes a typed expression (a template), which templates.py copies. A template is typed at
its definition, so it can use only earlier definitions.
"""

from __future__ import annotations

from pydtrace.dlang import ast
from pydtrace.dlang.builtins import prototypes
from pydtrace.dlang.compile_errors import refuse
from pydtrace.dlang.variable_table import Inline, Translator, variable_kind
from pydtrace.program import d_types as t

from .context import TypingContext
from .declarations import check_prototype, is_same_type, require_complete, resolve_type
from .expressions import RULES
from .operands import is_assignable
from .templates import find_translator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..front.source_text import Location
    from .resolve import ProgramNames


def type_template(names: ProgramNames, parameters: dict[str, Inline], expr: ast.Expr) -> ast.Expr:
    """Type an expression in which the names of `parameters` ({name: symbols.Variable}) stand for arguments."""
    names.parameters = parameters
    try:
        typed: ast.Expr = TypingContext(names, RULES).type_value(expr)
        return typed
    finally:
        names.parameters = {}


def make_parameter(name: str | None, type: t.Type, loc: Location) -> Inline:
    return Inline(name, "scalar", type, None, None, loc)


# --- inline ------------------------------------------------------------------------------
def define_inline(names: ProgramNames, node: ast.Inline) -> None:
    name, loc = node.name, node.loc
    type = resolve_type(names, node.type_name)
    check_inline(names, node, type)
    keys: list[Inline] | None = None
    parameters: dict[str, Inline] = {}
    if node.keys is not None:
        keys = []
        for key in node.keys:
            assert key.type_name  # `...` is refused by the parser
            key_type = resolve_type(names, key.type_name)
            keys.append(make_parameter(key.name, key_type, key.loc))
            if key.name is not None:
                parameters[key.name] = keys[-1]
    value = type_template(names, parameters, node.value)
    check_inline_value(node, type, value)
    names.inlines[name] = Inline(name, variable_kind(keys), type, keys, value, loc)


def check_inline(names: ProgramNames, node: ast.Inline, type: t.Type) -> None:
    name, loc = node.name, node.loc
    previous = find_kind_in_use(names, name)
    if previous is not None:
        message = (
            f"identifier redefined: {name}\n\t current: inline definition\n\tprevious: {previous}"
        )
        refuse("D_DECL_IDRED", loc, message, "choose another name")
    if type.is_array and node.keys is None:
        message = f"inline declaration cannot be of scalar array type: {name}"
        refuse("D_DECL_ARRNULL", loc, message)
    if type.is_void:
        refuse("D_DECL_VOIDOBJ", loc, f"cannot declare void inline: {name}")
    require_complete(loc, type, name)


def find_kind_in_use(names: ProgramNames, name: str) -> str | None:
    """What a name of the global variables' kind is already, as dtrace calls it, or None."""
    if name in names.inlines:
        return f"{names.inlines[name].kind} inline"
    if name in names.scopes["global"]:
        return f"{variable_kind(names.scopes['global'][name].keys)} "
    if names.is_function(name):
        return f"{prototypes.FUNCTIONS[name][0]} "
    if name in prototypes.OTHER_ARRAYS:
        return "associative array "
    return "scalar " if names.is_builtin(name) else None


def check_inline_value(node: ast.Inline, type: t.Type, value: ast.Expr) -> None:
    begin = f"inline {node.name} definition uses incompatible types: "
    if isinstance(value, ast.Xlate):
        assert value.translator
        to = type.to if type.is_pointer else type
        made = value.translator.to
        if not t.are_compatible(to, made):
            refuse("D_OP_INCOMPAT", node.loc, f'{begin}"{to}" = "{made}"')
    elif not is_assignable(type, value):
        refuse("D_OP_INCOMPAT", node.loc, f'{begin}"{type}" = "{value.type}"')


# --- translators -------------------------------------------------------------------------
def define_translator(names: ProgramNames, node: ast.Translator) -> None:
    to, source = resolve_type(names, node.to), resolve_type(names, node.source)
    for known in names.translators:
        if is_same_type(known.to, to) and is_same_type(known.source, source):
            message = f"translator from {source} to {to} has already been declared"
            refuse("D_XLATE_REDECL", node.loc, message)
    if to.is_record and to.body.fields is None:
        refuse("D_XLATE_SOU", node.loc, f"incomplete struct/union/enum {to}")
    if not to.is_record:
        refuse("D_XLATE_SOU", node.loc, "translator output type must be a struct or union")
    symbol = make_parameter(node.name, source, node.loc)
    found = Translator(to, source, symbol, node.loc)
    names.translators.append(found)  # its members may use it
    for member in node.members:
        define_conversion(names, found, member, node.loc)


def define_conversion(
    names: ProgramNames, translator: Translator, member: ast.Conversion, loc: Location
) -> None:
    fields = translator.to.body.fields or {}
    field = fields.get(member.name)
    if field is None:
        message = f"translator member {member.name} is not a member of {translator.to}"
        hint = names.suggest_name(member.name, fields)
        refuse("D_XLATE_MEMB", loc, message, hint)
    parameter = translator.symbol
    value = type_template(names, {parameter.name or "": parameter}, member.value)
    if not is_assignable(field.type, value):
        message = f"translator member {member.name} definition uses incompatible types: "
        refuse("D_XLATE_INCOMPAT", loc, f'{message}"{field.type}" = "{value.type}"')
    translator.members[member.name] = value


# --- providers ---------------------------------------------------------------------------
def define_provider(names: ProgramNames, node: ast.Provider) -> None:
    """Enter `provider name { probe p(…) : (…); };`"""
    name, loc = node.name, node.loc
    if "`" in name:
        refuse("D_PROV_BADNAME", loc, f"provider name may not contain scoping operator: {name}")
    if len(name) > 63:
        refuse("D_PROV_BADNAME", loc, f"provider name may not exceed 63 characters: {name}")
    if name[-1].isdigit():
        refuse("D_PROV_BADNAME", loc, f"provider name may not end with a digit: {name}")
    probes = names.providers.setdefault(name, {})
    for probe in node.probes:
        shown = f"::{probe.name.replace('__', '-')}"
        if "`" in probe.name:
            refuse(
                "D_PROV_BADNAME", probe.loc, f"probe name may not contain scoping operator: {shown}"
            )
        if len(shown) - 2 >= 64:
            refuse("D_PROV_BADNAME", probe.loc, f"probe name may not exceed 63 characters: {shown}")
        if probe.name in probes:
            refuse("D_PROV_PRDUP", probe.loc, f"probe redeclared: {name}:{shown}")
        inputs = check_prototype(names, probe, probe.inputs, probe.inputs, "probe input")
        outputs = inputs
        if probe.outputs is not None:
            outputs = check_prototype(
                names, probe, probe.outputs, probe.inputs, "probe output", anonymous=False
            )
        check_outputs(names, probe, f"{name}:{shown}", inputs, outputs)
        probes[probe.name] = (inputs, outputs)


def check_outputs(
    names: ProgramNames,
    probe: ast.ProviderProbe,
    shown: str,
    inputs: list[tuple[str | None, t.Type]],
    outputs: list[tuple[str | None, t.Type]],
) -> None:
    """Refuse an output into whose type its input can not be turned."""
    for which, parameters in (("input", inputs), ("output", outputs)):
        if len(parameters) > 255:
            message = f"probe {shown.partition(':')[2]} {which} prototype exceeds 255 parameters: "
            refuse("D_PROV_PRARGLEN", probe.loc, f"{message}{len(parameters)} params used")
    types = dict(inputs)
    for number, (name, to) in enumerate(outputs if outputs is not inputs else (), 1):
        value = ast.Ident(probe.loc, name)
        value.type = types[name]
        if not is_assignable(to, value) and find_translator(names, value, to) is None:
            message = f"translator for {shown} output argument #{number} from {value.type} to {to} is not defined"
            refuse("D_PROV_PRXLATOR", probe.loc, message)
