"""Inline definitions, translators and provider declarations: what a program names to be put in elsewhere.

In: their definitions, as the parser meets them.  Out: typed expressions (templates), and copies of them in
which the arguments stand for the parameters.  A base class of resolve.Names.
Always: a template is typed where it is defined, so that it can use only what is defined before it.
"""

from ...data import types as t
from .. import ast
from . import constants
from .declarations import kind_of, same
from .symbols import Inline, Translator


def copied(node, arguments):
    """A copy of a typed expression with `arguments` ({Parameter symbol: node}) for its parameters."""
    if node.__class__ is ast.ParamRef and node.symbol in arguments:
        return copied(arguments[node.symbol], {})
    found = object.__new__(node.__class__)
    for cls in node.__class__.__mro__:
        for slot in cls.__dict__.get("__slots__", ()):
            value = getattr(node, slot, None)
            if isinstance(value, ast.Node):
                value = copied(value, arguments)
            elif value.__class__ is list:
                value = [copied(item, arguments) if isinstance(item, ast.Node) else item for item in value]
            setattr(found, slot, value)
    return found


class Templates:
    def typed_template(self, parameters, expr):
        """Type an expression in which the names of `parameters` ({name: symbols.Variable}) stand for arguments."""
        from .expressions import Typer

        self.parameters = parameters
        try:
            return Typer(self).value(expr)
        finally:
            self.parameters = {}

    @staticmethod
    def parameter_symbol(name, type, loc):
        return Inline(name, "scalar", type, None, None, loc)

    # --- inline ------------------------------------------------------------------------

    def define_inline(self, node):
        name, loc = node.name, node.loc
        type = self.resolve_type(node.type_name)
        self.check_inline(node, type)
        keys, parameters = None, {}
        if node.keys is not None:
            keys = []
            for key in node.keys:
                key_type = self.resolve_type(key.type_name)
                keys.append(self.parameter_symbol(key.name, key_type, key.loc))
                if key.name is not None:
                    parameters[key.name] = keys[-1]
        value = self.typed_template(parameters, node.value)
        self.check_inline_value(node, type, value)
        self.inlines[name] = Inline(name, kind_of(keys), type, keys, value, loc)

    def check_inline(self, node, type):
        name, loc = node.name, node.loc
        previous = self.kind_in_use(name)
        if previous is not None:
            message = f"identifier redefined: {name}\n\t current: inline definition\n\tprevious: {previous}"
            self.error("D_DECL_IDRED", loc, message, "choose another name")
        if type.is_array and node.keys is None:
            message = f"inline declaration cannot be of scalar array type: {name}"
            self.error("D_DECL_ARRNULL", loc, message)
        if type.is_void:
            self.error("D_DECL_VOIDOBJ", loc, f"cannot declare void inline: {name}")
        self.need_complete(loc, type, name)

    def kind_in_use(self, name):
        """What a name of the global variables' kind is already, as dtrace calls it, or None."""
        from . import prototypes

        if name in self.inlines:
            return f"{self.inlines[name].kind} inline"
        if name in self.scopes["global"]:
            return f"{kind_of(self.scopes['global'][name].keys)} "
        if name in prototypes.FUNCTIONS:
            return f"{prototypes.FUNCTIONS[name][0]} "
        if name in prototypes.OTHER_ARRAYS:
            return "associative array "
        return "scalar " if self.is_builtin(name) else None

    def check_inline_value(self, node, type, value):
        from .calls import CallTyper

        begin = f"inline {node.name} definition uses incompatible types: "
        if value.__class__ is ast.Xlate:
            to = type.to if type.is_pointer else type
            made = value.translator.to
            if not t.compatible(to, made):
                self.error("D_OP_INCOMPAT", node.loc, f'{begin}"{to}" = "{made}"')
        elif not CallTyper.fits(type, value):
            self.error("D_OP_INCOMPAT", node.loc, f'{begin}"{type}" = "{value.type}"')

    # --- translators -------------------------------------------------------------------

    def define_translator(self, node):
        to, source = self.resolve_type(node.to), self.resolve_type(node.source)
        for known in self.translators:
            if same(known.to, to) and same(known.source, source):
                message = f"translator from {source} to {to} has already been declared"
                self.error("D_XLATE_REDECL", node.loc, message)
        if to.is_record and to.body.fields is None:
            self.error("D_XLATE_SOU", node.loc, f"incomplete struct/union/enum {to}")
        if not to.is_record:
            self.error("D_XLATE_SOU", node.loc, "translator output type must be a struct or union")
        symbol = self.parameter_symbol(node.name, source, node.loc)
        found = Translator(to, source, symbol, node.loc)
        self.translators.append(found)  # its members may use it
        for member in node.members:
            self.define_conversion(found, member, node.loc)

    def define_conversion(self, translator, member, loc):
        from .calls import CallTyper

        field = translator.to.body.fields.get(member.name)
        if field is None:
            message = f"translator member {member.name} is not a member of {translator.to}"
            hint = self.similar(member.name, translator.to.body.fields)
            self.error("D_XLATE_MEMB", loc, message, hint)
        value = self.typed_template({translator.symbol.name: translator.symbol}, member.value)
        if not CallTyper.fits(field.type, value):
            message = f"translator member {member.name} definition uses incompatible types: "
            self.error("D_XLATE_INCOMPAT", loc, f'{message}"{field.type}" = "{value.type}"')
        translator.members[member.name] = value

    def find_translator(self, operand, to):
        """The Translator for a typed operand to a type or a pointer to it, else None."""
        from .calls import CallTyper

        if to.is_pointer:
            to = to.to
        known = [x for x in self.translators if t.compatible(x.to, to)]
        for test in (lambda x: t.compatible(x.source, operand.type), lambda x: CallTyper.fits(x.source, operand)):
            for translator in known:
                if test(translator):
                    return translator
        return None

    # --- providers -----------------------------------------------------------------------

    def define_provider(self, node):
        """Enter `provider name { probe p(…) : (…); };`"""
        name, loc = node.name, node.loc
        if "`" in name:
            self.error("D_PROV_BADNAME", loc, f"provider name may not contain scoping operator: {name}")
        if len(name) >= 58:
            self.error("D_PROV_BADNAME", loc, f"provider name may not exceed 57 characters: {name}")
        if name[-1].isdigit():
            self.error("D_PROV_BADNAME", loc, f"provider name may not end with a digit: {name}")
        probes = self.providers.setdefault(name, {})
        for probe in node.probes:
            shown = f"::{probe.name.replace('__', '-')}"
            if "`" in probe.name:
                self.error("D_PROV_BADNAME", probe.loc, f"probe name may not contain scoping operator: {shown}")
            if len(shown) - 2 >= 64:
                self.error("D_PROV_BADNAME", probe.loc, f"probe name may not exceed 63 characters: {shown}")
            if probe.name in probes:
                self.error("D_PROV_PRDUP", probe.loc, f"probe redeclared: {name}:{shown}")
            inputs = self.prototype(probe, probe.inputs, probe.inputs, "probe input")
            outputs = inputs
            if probe.outputs is not None:
                outputs = self.prototype(probe, probe.outputs, probe.inputs, "probe output", anonymous=False)
            self.check_outputs(probe, f"{name}:{shown}", inputs, outputs)
            probes[probe.name] = (inputs, outputs)

    def check_outputs(self, probe, shown, inputs, outputs):
        """Refuse an output into whose type its input can not be turned."""
        from .calls import CallTyper

        for which, parameters in (("input", inputs), ("output", outputs)):
            if len(parameters) > 255:
                message = f"probe {shown.partition(':')[2]} {which} prototype exceeds 255 parameters: "
                self.error("D_PROV_PRARGLEN", probe.loc, f"{message}{len(parameters)} params used")
        types = dict(inputs)
        for number, (name, to) in enumerate(outputs if outputs is not inputs else (), 1):
            value = ast.Ident(probe.loc, name)
            value.type = types[name]
            if not CallTyper.fits(to, value) and self.find_translator(value, to) is None:
                message = f"translator for {shown} output argument #{number} from {value.type} to {to} is not defined"
                self.error("D_PROV_PRXLATOR", probe.loc, message)


class TemplateTyper:
    """The uses of templates; a base class of expressions.Typer."""

    def expand(self, loc, inline, keys=()):
        """An inline's value for these arguments."""
        from .pointers import referenced

        value = inline.value
        if value is None:  # a parameter, within its own template
            found = ast.ParamRef(loc, inline)
            found.type = inline.type
            return found
        if value.__class__ is ast.IntLit and inline.type.is_integer:
            return constants.literal(loc, constants.convert(value.value, value.type, inline.type), inline.type)
        found = copied(value, dict(zip(inline.keys or (), keys)))
        found.loc = loc
        if found.type.is_string != inline.type.is_string and referenced(inline.type) is None:
            found = self.convert(found, inline.type)
        elif inline.type.is_integer or found.type.is_integer or found.type.is_array:
            cast = ast.Cast(loc, self.decay(found), None)
            cast.type = inline.type
            found = cast if not inline.type.is_record else found
        return found

    def xlate(self, node):
        operand = node.operand = self.value(node.operand)
        translator = self.names.find_translator(operand, node.to)
        if translator is None:
            message = f'cannot translate from "{operand.type}" to "{node.to}"'
            sources = [f'"{x.source}"' for x in self.names.translators if t.compatible(x.to, node.to)]
            hint = f"it is translated from {', '.join(sources)}" if sources else "no translator has this output type"
            self.error("D_XLATE_NONE", node.loc, message, hint)
        node.translator = translator
        if node.to.is_pointer:
            node.type = t.Dynamic("pointer to translated data")
        else:
            node.type = t.Dynamic("translated data")
        return node

    def translated(self, loc, node):
        """*xlate<t *>(x)"""
        found = ast.Xlate(loc, node.to.to if node.to.is_pointer else node.to, node.operand)
        found.translator, found.conversions = node.translator, []
        found.type = t.Dynamic("translated data")
        return found

    def conversion(self, node, xlate, name):
        """The expression of one member of a translation, or None."""
        translator = xlate.translator
        value = translator.members.get(name)
        if value is None:
            return None
        found = copied(value, {translator.symbol: xlate.operand})
        found.loc = node.loc
        return self.convert(found, translator.to.body.fields[name].type)

    def translated_member(self, node, xlate):
        """xlate<t>(x).name, xlate<t *>(x)->name"""
        if (node.op == "->") != xlate.to.is_pointer and node.op == "->":
            self.error("D_OP_PTR", node.loc, "operator -> must be applied to a pointer")
        found = self.conversion(node, xlate, node.name)
        if found is None:
            message = f"translator does not define conversion for member: {node.name}"
            hint = self.names.similar(node.name, xlate.translator.members)
            self.error("D_XLATE_NOCONV", node.loc, message, hint)
        return found

    def whole(self, node):
        """A translation as a struct that is assigned."""
        if type(node) is not ast.Xlate or node.to.is_pointer:
            return node
        node.conversions = [
            ast.Conversion(node.loc, name, self.conversion(node, node, name)) for name in node.translator.members
        ]
        node.type = node.to
        return node
