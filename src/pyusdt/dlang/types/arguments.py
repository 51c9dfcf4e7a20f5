"""The types of args[].

In: args[i] in a clause.  Out: arg<i> with the type that the probe's provider declares, or a translation of it.
Always: what declares a probe is a `provider` of the program, else what is known of the user-trace probes; the
arguments of a probe of which nothing is known are int64_t.
"""

from ...data import types as t
from .. import ast, constants
from ..builtins.variables import ARGUMENT_ROWS
from ..errors import refuse, unsupported
from .operands import convert, fits
from .templates import find_translator

_OWN = ("BEGIN", "END", "ERROR", "tick-", "profile-")
_TEXT = t.Pointer(t.CHAR)
_MESSAGE = [("message", _TEXT)]
_TRACE = [("proc", _TEXT), ("user_tag", _TEXT)] + [(f"i{i}", t.INT64) for i in range(1, 5)]
_TRACE += [(f"s{i}", _TEXT) for i in range(1, 5)]


def probe_argument(c, node):
    """args[i]"""
    keys = [c.value(key) for key in node.keys]
    if len(keys) != 1:
        message = f"args[ ] prototype mismatch: {len(keys)} args passed, 1 expected"
        refuse("D_PROTO_LEN", node.loc, message)
    if type(keys[0]) is not ast.IntLit:
        message = "args[ ] argument #1 is incompatible with prototype:\n"
        message += f"\tprototype: integer constant\n\t argument: {keys[0].type}"
        refuse("D_PROTO_ARG", node.loc, message)
    if not c.probes:
        refuse("D_ARGS_NONE", node.loc, "args[ ] may not be referenced outside of a probe clause")
    number = constants.signed(keys[0].value)
    found = None
    for probe in c.probes:
        signature = signature_of(c, probe)
        count = len(ARGUMENT_ROWS) if signature is None else len(signature[1])
        if not 0 <= number < count:
            message = f"index {number} is out of range for {probe} args[ ]"
            hint = f"it has {count} arguments" if count else "it has no arguments"
            refuse("D_ARGS_IDX", node.loc, message, hint)
        found = found or (signature, probe)
    if found[0] is None:
        return raw_argument(node.loc, number, t.INT64)
    return declared_argument(c, node, number, *found[0])


def raw_argument(loc, number, type):
    """arg<number> as a value of the type."""
    row = ARGUMENT_ROWS[number]
    found = ast.Builtin(loc, row)
    found.type = row.type
    if type is row.type:
        return found
    cast = ast.Cast(loc, found, None)
    cast.type = t.Pointer(type.to) if type.is_array else type
    return cast


def declared_argument(c, node, number, inputs, outputs):
    """args[number] of a probe with this prototype: an output is the input of its name."""
    name, type = outputs[number]
    names = [known for known, _ in inputs]
    place = number if outputs is inputs else names.index(name)
    source = inputs[place][1]
    if place >= len(ARGUMENT_ROWS):
        unsupported(node.loc, f"arguments after the {len(ARGUMENT_ROWS)}th are")
    if source.is_record or source.is_string:
        source = t.Pointer(t.CHAR if source.is_string else source)
    value = raw_argument(node.loc, place, source)
    if type.is_string or fits(type, value):
        return convert(value, type)
    found = ast.Xlate(node.loc, type, value)
    found.translator = find_translator(c.names, value, type)  # the provider's declaration was checked
    found.type = t.Dynamic("pointer to translated data" if type.is_pointer else "translated data")
    return found


def signature_of(c, probe):
    """([(name, type)] of a probe's inputs, of its outputs), or None where nothing is known of it."""
    name = probe.name
    if name.startswith(_OWN) or probe.provider in ("dtrace", "profile"):
        return [], []
    probes = c.names.providers.get(probe.provider.rstrip("0123456789*"))
    if probes is not None:
        return probes.get(name.replace("-", "__"), probes.get(name))
    if name in ("user_trace-s1", "user_trace__s1"):
        return _MESSAGE, _MESSAGE
    if name.startswith(("user_trace-", "user_trace__")):
        return _TRACE, _TRACE
    return None
