"""The uses of inline definitions and translators: copies of their typed expressions with
arguments for parameters.
"""

from __future__ import annotations

from pydtrace.dlang import ast, constants
from pydtrace.dlang.compile_errors import refuse
from pydtrace.program import d_types as t

from .operands import convert_node, decay_array, is_assignable, referenced_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..front.source_text import Location
    from ..variable_table import Inline, Translator
    from .context import TypingContext
    from .resolve import ProgramNames


def copy_template(
    node: ast.Node, arguments: dict[Inline, ast.Expr], loc: Location, level: int = 0
) -> Any:
    """A copy of a typed expression with `arguments` ({Parameter symbol: node}) for its parameters.  loc: where it is used."""
    if type(node) is ast.ParamRef and node.symbol in arguments:
        return copy_template(arguments[node.symbol], {}, loc, level)
    loc.source.limits.count_copy(loc, level)
    found = object.__new__(node.__class__)
    for cls in node.__class__.__mro__:
        for slot in cls.__dict__.get("__slots__", ()):
            value = getattr(node, slot, None)
            if isinstance(value, ast.Node):
                value = copy_template(value, arguments, loc, level + 1)
            elif isinstance(value, list):
                value = [
                    copy_template(item, arguments, loc, level + 1)
                    if isinstance(item, ast.Node)
                    else item
                    for item in value
                ]
            setattr(found, slot, value)
    return found


def expand_inline(
    loc: Location, inline: Inline, keys: list[ast.Expr] | tuple[Any, ...] = ()
) -> ast.Expr:
    """An inline's value for these arguments."""
    value = inline.value
    if value is None:  # a parameter, within its own template
        parameter = ast.ParamRef(loc, inline)
        parameter.type = inline.type
        return parameter
    if type(value) is ast.IntLit and not t.is_real(inline.type):
        return constants.make_literal(
            loc, value.value, value.type
        )  # as written, whatever the inline's type is; as in dtrace
    found: ast.Expr = copy_template(value, dict(zip(inline.keys or (), keys)), loc)
    found.loc = loc
    if found.type.is_string != inline.type.is_string and referenced_type(inline.type) is None:
        found = convert_node(found, inline.type)
    elif inline.type.is_integer or found.type.is_integer or found.type.is_array:
        cast = ast.Cast(loc, decay_array(found), None)
        cast.type = inline.type
        found = cast if not inline.type.is_record else found
    return found


def type_xlate(c: TypingContext, node: ast.Xlate) -> ast.Xlate:
    operand = node.operand = c.type_value(node.operand)
    translator = find_translator(c.names, operand, node.to)
    if translator is None:
        message = f'cannot translate from "{operand.type}" to "{node.to}"'
        sources = [f'"{x.source}"' for x in c.names.translators if t.are_compatible(x.to, node.to)]
        hint = (
            f"it is translated from {', '.join(sources)}"
            if sources
            else "no translator has this output type"
        )
        refuse("D_XLATE_NONE", node.loc, message, hint)
    node.translator = translator
    if node.to.is_pointer:
        node.type = t.Dynamic("pointer to translated data")
    else:
        node.type = t.Dynamic("translated data")
    return node


def make_translated(loc: Location, node: ast.Xlate) -> ast.Xlate:
    """*xlate<t *>(x)"""
    found = ast.Xlate(loc, node.to.to if node.to.is_pointer else node.to, node.operand)
    found.translator, found.conversions = node.translator, []
    found.type = t.Dynamic("translated data")
    return found


def make_conversion(node: ast.Expr, xlate: ast.Xlate, name: str) -> ast.Expr | None:
    """The expression of one member of a translation, or None."""
    translator = xlate.translator
    assert translator  # found by type_xlate()
    value = translator.members.get(name)
    if value is None:
        return None
    found: ast.Expr = copy_template(value, {translator.symbol: xlate.operand}, node.loc)
    found.loc = node.loc
    fields = translator.to.body.fields
    assert fields is not None
    return _convert_to_member(convert_node(found, fields[name].type), fields[name].type)


def _convert_to_member(value: ast.Expr, type: t.Type) -> ast.Expr:
    """An integer has the member's type, whatever it was made of: `long l = i * 3` is not cut to an int where it is printed."""
    if not (type.is_integer and value.type.is_integer) or value.type.size == type.size:
        return value
    found = ast.Cast(value.loc, value, None)
    found.type = type
    return found


def type_translated_member(c: TypingContext, node: ast.Select, xlate: ast.Xlate) -> ast.Expr:
    """xlate<t>(x).name, xlate<t *>(x)->name"""
    if (node.op == "->") != xlate.to.is_pointer and node.op == "->":
        refuse("D_OP_PTR", node.loc, "operator -> must be applied to a pointer")
    found = make_conversion(node, xlate, node.name)
    if found is None:
        assert xlate.translator
        message = f"translator does not define conversion for member: {node.name}"
        hint = c.names.suggest_name(node.name, xlate.translator.members)
        refuse("D_XLATE_NOCONV", node.loc, message, hint)
    return found


def expand_translation(node: ast.Expr) -> ast.Expr:
    """A translation as a struct that is assigned."""
    if type(node) is not ast.Xlate or node.to.is_pointer:
        return node
    translator = node.translator
    assert translator
    node.conversions = [
        ast.Conversion(node.loc, name, make_conversion(node, node, name))
        for name in translator.members
    ]
    node.type = node.to
    return node


def find_translator(names: ProgramNames, operand: ast.Expr, to: t.Type) -> Translator | None:
    """The Translator for a typed operand to a type or a pointer to it, else None."""
    if to.is_pointer:
        to = to.to
    known = [x for x in names.translators if t.are_compatible(x.to, to)]
    tests: tuple[Callable[[Translator], bool], ...] = (
        lambda x: t.are_compatible(x.source, operand.type),
        lambda x: is_assignable(x.source, operand),
    )
    for test in tests:
        for translator in known:
            if test(translator):
                return translator
    return None
