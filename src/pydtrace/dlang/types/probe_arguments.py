# mypy: ignore-errors
"""The types of args[], and the names of arg.

In: args[i] and arg.name in a clause.  Out: arg<i> with the type that the probe's provider declares, or a translation of it.
Always: what declares a probe is a `provider` of the program, else what is known of the user-trace probes, else what the processes
that have it say (resolve.Names.told); the arguments of a probe of which nothing is known are int64_t.  A string of which a process
says that it is one is "" where it is absent.  `arg` is D's to give away: what the program itself calls so is meant first.
"""

from pydtrace.dlang import ast, constants
from pydtrace.dlang.builtins.builtin_variables import ARGUMENT_ROWS
from pydtrace.dlang.builtins.copyinstr import ARGUMENT
from pydtrace.dlang.compile_errors import refuse, unsupported
from pydtrace.program import d_types as t
from pyusdt.framework_probes import FRAMEWORK_PROBES

from .operands import convert, fits, typed
from .templates import find_translator

_OWN = ("BEGIN", "END", "ERROR", "tick-", "profile-")
_TEXT = t.Pointer(t.CHAR)
_MESSAGE = [("message", _TEXT)]
_TRACE = [("proc", _TEXT), ("user_tag", _TEXT)] + [(f"i{i}", t.INT64) for i in range(1, 5)]
_TRACE += [(f"s{i}", _TEXT) for i in range(1, 5)]
_NAMED = "arg"  # arg.route


class Signature:
    """inputs, outputs: [(name, type)] of a probe, a type None where the probes of a description have different ones; told: whether
    it was not a declaration that said so, but a process."""

    __slots__ = ("inputs", "outputs", "told")

    def __init__(self, inputs, outputs=None, told=False):
        self.inputs, self.outputs, self.told = inputs, inputs if outputs is None else outputs, told


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
        signature = signature_of(c.names, probe)
        count = len(ARGUMENT_ROWS) if signature is None else len(signature.outputs)
        if not 0 <= number < count:
            message = f"index {number} is out of range for {probe} args[ ]"
            hint = f"it has {count} arguments" if count else "it has no arguments"
            refuse("D_ARGS_IDX", node.loc, message, hint)
        found = found or (signature, probe)
        if differ(found[0], signature, number):
            message = f"args[ ] may not be referenced because {found[1]} and {probe} have different arguments {number}"
            refuse("D_ARGS_MULTI", node.loc, message, "write a clause for each of them")
    if found[0] is None:
        return raw_argument(node.loc, number, t.INT64)
    return declared_argument(c, node, number, *found)


def check_raw_argument(c, node, number):
    """Refuse arg<number> if no probe of the clause has so many arguments, as the processes and files that have these probes report it."""
    counts = []
    for probe in c.probes:
        signature = signature_of(c.names, probe)
        if signature is None or not signature.told:
            return
        counts += map(len, c.names.told(probe))
    if counts and number >= max(counts):
        there = (
            f"arg0 to arg{max(counts) - 1}"
            if max(counts) > 1
            else "arg0 only"
            if any(counts)
            else "no arguments"
        )
        refuse(
            "D_ARGS_IDX",
            node.loc,
            f"arg{number} is out of range for {c.probes[0]}",
            f"it has {there}: pydtrace -lv shows their types",
        )


def is_named(c, node):
    """Whether a node is `arg.name`, and D knows no other `arg`."""
    if (
        type(node) is not ast.Select
        or node.op != "."
        or type(node.base) is not ast.Ident
        or node.base.name != _NAMED
    ):
        return False
    return _NAMED not in c.names.scopes["global"] and c.names.inline(_NAMED) is None


def meant(node):
    """A hint for `args.name` and `arg->name`, which are nothing."""
    return (
        f"the argument of that name is arg.{node.name}"
        if type(node.base) is ast.Ident and node.base.name in (_NAMED, "args")
        else None
    )


def named_argument(c, node):
    """arg.name"""
    if not c.probes:
        refuse(
            "D_ARGS_NONE",
            node.loc,
            f"arg.{node.name} may not be referenced outside of a probe clause",
        )
    found = [(*place_of(c, node, probe), probe) for probe in c.probes]
    (signature, number, probe), *others = found
    for other, place, its_probe in others:
        if (place, other.outputs[place]) != (number, signature.outputs[number]):
            message = f"arg.{node.name} is another argument of {its_probe} than of {probe}"
            refuse("D_ARGS_MULTI", node.loc, message, "write a clause for each of them")
    type = signature.outputs[number][1]
    if (
        signature.inputs is signature.outputs
        and type is not None
        and type.is_pointer
        and t.is_char(type.to)
    ):
        return argument_text(node.loc, number)
    return declared_argument(c, node, number, signature, probe)


def place_of(c, node, probe):
    """(signature of a probe, number of the argument that is called so)"""
    signature = signature_of(c.names, probe)
    if signature is None:
        hint = "they are known while a process that tells them runs; else declare them: provider NAME { probe NAME(string route); };"
        frameworks = FRAMEWORK_PROBES.get(
            probe.provider.rstrip("0123456789*"), {}
        )  # known before a program runs
        if probe.name not in frameworks:
            hint = c.names.similar(probe.name, frameworks) or hint
        refuse(
            "D_ARGS_NAME", node.loc, f"the arguments of {probe} have no names that are known", hint
        )
    names = [name for name, _ in signature.outputs]
    if node.name not in names:
        known = ", ".join(filter(None, names))
        hint = c.names.similar(node.name, names) or (
            f"its arguments are {known}" if known else "it has none with a name"
        )
        refuse("D_ARGS_NAME", node.loc, f"{probe} has no argument called {node.name}", hint)
    return signature, names.index(node.name)


def differ(one, other, number):
    """Whether a process says that args[number] is of another type in one probe than in another.  (Of declarations D takes the first.)"""
    types = [t.INT64 if each is None else each.outputs[number][1] for each in (one, other)]
    return any(each is not None and each.told for each in (one, other)) and types[0] is not types[1]


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


def argument_text(loc, number):
    """The string that arg<number> is, or "" where it is absent."""
    return typed(
        ast.Call(loc, ARGUMENT.name, ARGUMENT, [raw_argument(loc, number, t.INT64)]), t.STRING
    )


def declared_argument(c, node, number, signature, probe):
    """args[number] of a probe with this prototype: an output is the input of its name."""
    inputs, outputs = signature.inputs, signature.outputs
    name, type = outputs[number]
    if type is None:
        message = f"args[ ] may not be referenced because probe description {probe} matches an unstable set of probes"
        refuse(
            "D_ARGS_MULTI",
            node.loc,
            message,
            f"the probes that it stands for have different arguments {number}",
        )
    names = [known for known, _ in inputs]
    place = number if outputs is inputs else names.index(name)
    source = inputs[place][1]
    if place >= len(ARGUMENT_ROWS):
        unsupported(node.loc, f"arguments after the {len(ARGUMENT_ROWS)}th are")
    if signature.told and source.is_string:
        return argument_text(node.loc, place)
    if source.is_record or source.is_string:
        source = t.Pointer(t.CHAR if source.is_string else source)
    value = raw_argument(node.loc, place, source)
    if type.is_string or fits(type, value):
        return convert(value, type)
    found = ast.Xlate(node.loc, type, value)
    found.translator = find_translator(
        c.names, value, type
    )  # the provider's declaration was checked
    found.type = t.Dynamic("pointer to translated data" if type.is_pointer else "translated data")
    return found


def signature_of(names, probe):
    """The Signature of a probe, or None where nothing is known of it."""
    name = probe.name
    if name.startswith(_OWN) or probe.provider in ("dtrace", "profile"):
        return Signature([])
    probes = names.providers.get(probe.provider.rstrip("0123456789*"))
    if probes is not None:
        declared = probes.get(name.replace("-", "__"), probes.get(name))
        return declared and Signature(*declared)
    if probe.provider == "rawtp" and names.kernel:
        types = names.kernel.tracepoint(name)
        return types and Signature([("", type) for type in types])
    if (
        probe.provider in ("", "syscall")
        and names.kernel
        and (found := _of_call(names.kernel, probe)) is not None
    ):
        return found
    if name in ("user_trace-s1", "user_trace__s1"):
        return Signature(_MESSAGE)
    if name.startswith(("user_trace-", "user_trace__")):
        return Signature(_TRACE)
    return told_signature(names, probe)


def _of_call(kernel, probe):
    """The Signature of one side of a system call, or None; what a pattern stands for has no types of its own."""
    side = probe.name
    if side == "return" and (probe.provider or kernel.system_call(probe.function) is not None):
        return Signature([("", t.LONG)])
    types = kernel.system_call(probe.function) if side == "entry" else None
    return None if types is None else Signature([("", type) for type in types])


def told_signature(names, probe):
    """What the processes that have the probe say, as far as they all say the same."""
    told = names.told(probe) if names.told is not None else ()
    if not told or None in told:
        return None
    return Signature([common(names, pairs) for pairs in zip(*told)], told=True)


def common(names, pairs):
    """(name, type) of what is one argument of several probes."""
    called, types = {name for name, _ in pairs}, {type for _, type in pairs}
    return called.pop() if len(called) == 1 else "", told_type(names, types.pop()) if len(
        types
    ) == 1 else None


def told_type(names, word):
    """The type of a word of engine/probe_signatures.py.  Terms, and floats without -x pyusdt, are numbers."""
    if word == "string":
        return t.STRING
    if word in t.FLOATS:
        return t.FLOATS[word] if "pyusdt" in names.options else t.INT64
    return t.TYPEDEFS.get(word, t.INT64)
