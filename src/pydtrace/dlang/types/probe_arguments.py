"""The types of args[], and the names of arg.

- args[i] and arg.name become arg<i> with the type that the probe's provider declares, or a
  translation.
- A probe is declared by a `provider` of the program, else by what is known of user-trace probes,
  else by the processes that have it (ProgramNames.reported_arguments). Arguments of unknown
  probes are int64_t.
- A string argument is "" if it is absent and a process reported its type.
- `arg` is not reserved: a name `arg` of the program takes precedence.
"""

from __future__ import annotations

from pydtrace.dlang import ast, constants
from pydtrace.dlang.builtins.builtin_variables import ARGUMENT_ROWS
from pydtrace.dlang.builtins.copyinstr import ARGUMENT
from pydtrace.dlang.compile_errors import refuse, refuse_unsupported
from pydtrace.program import d_types as t
from pyusdt.framework_probes import FRAMEWORK_PROBES

from .operands import convert_node, is_assignable, with_type
from .templates import find_translator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..front.source_text import Location
    from .context import TypingContext
    from .kernel_btf import KernelTypeResolver
    from .resolve import ProgramNames

    Arguments = Sequence[tuple[str | None, t.Type | None]]  # (name, type)

_BUILTIN_PROBES = ("BEGIN", "END", "ERROR", "tick-", "profile-")
_TEXT = t.Pointer(t.CHAR)
_MESSAGE = [("message", _TEXT)]
_TRACE: list[tuple[str, t.Type]] = [("proc", _TEXT), ("user_tag", _TEXT)]
_TRACE += [(f"i{i}", t.INT64) for i in range(1, 5)]
_TRACE += [(f"s{i}", _TEXT) for i in range(1, 5)]
_ARG = "arg"  # arg.route


class ProbeSignature:
    """inputs, outputs: [(name, type)] of a probe, a type None where the probes of a description have different ones; is_reported: whether
    it was not a declaration that said so, but a process."""

    __slots__ = ("inputs", "outputs", "is_reported")

    def __init__(
        self,
        inputs: Arguments,
        outputs: Arguments | None = None,
        is_reported: bool = False,
    ) -> None:
        self.inputs, self.outputs, self.is_reported = (
            inputs,
            inputs if outputs is None else outputs,
            is_reported,
        )


def type_args_element(c: TypingContext, node: ast.Index) -> ast.Expr:
    """args[i]"""
    keys = [c.type_value(key) for key in node.keys]
    if len(keys) != 1:
        message = f"args[ ] prototype mismatch: {len(keys)} args passed, 1 expected"
        refuse("D_PROTO_LEN", node.loc, message)
    if type(keys[0]) is not ast.IntLit:
        message = "args[ ] argument #1 is incompatible with prototype:\n"
        message += f"\tprototype: integer constant\n\t argument: {keys[0].type}"
        refuse("D_PROTO_ARG", node.loc, message)
    if not c.probes:
        refuse("D_ARGS_NONE", node.loc, "args[ ] may not be referenced outside of a probe clause")
    number = constants.to_signed(keys[0].value)
    found: tuple[ProbeSignature | None, ast.ProbeDesc] | None = None
    for probe in c.probes:
        signature = find_signature(c.names, probe)
        count = len(ARGUMENT_ROWS) if signature is None else len(signature.outputs)
        if not 0 <= number < count:
            message = f"index {number} is out of range for {probe} args[ ]"
            hint = f"it has {count} arguments" if count else "it has no arguments"
            refuse("D_ARGS_IDX", node.loc, message, hint)
        found = found or (signature, probe)
        if do_arguments_differ(found[0], signature, number):
            message = f"args[ ] may not be referenced because {found[1]} and {probe} have different arguments {number}"
            refuse("D_ARGS_MULTI", node.loc, message, "write a clause for each of them")
    assert found  # a clause has a probe
    if found[0] is None:
        return make_raw_argument(node.loc, number, t.INT64)
    return make_declared_argument(c, node, number, found[0], found[1])


def check_raw_argument(c: TypingContext, node: ast.Ident, number: int) -> None:
    """Refuse arg<number> if no probe of the clause has so many arguments, as the processes and files that have these probes report it."""
    counts: list[int] = []
    for probe in c.probes:
        signature = find_signature(c.names, probe)
        if signature is None or not signature.is_reported or not c.names.reported_arguments:
            return
        counts += map(len, c.names.reported_arguments(probe))
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


def is_named_argument(c: TypingContext, node: ast.Select) -> bool:
    """Whether a node is `arg.name`, and D knows no other `arg`."""
    if (
        type(node) is not ast.Select
        or node.op != "."
        or type(node.base) is not ast.Ident
        or node.base.name != _ARG
    ):
        return False
    return _ARG not in c.names.scopes["global"] and c.names.find_inline(_ARG) is None


def hint_for_argument(node: ast.Select) -> str | None:
    """A hint for `args.name` and `arg->name`, which are nothing."""
    return (
        f"the argument of that name is arg.{node.name}"
        if type(node.base) is ast.Ident and node.base.name in (_ARG, "args")
        else None
    )


def type_named_argument(c: TypingContext, node: ast.Select) -> ast.Expr:
    """arg.name"""
    if not c.probes:
        refuse(
            "D_ARGS_NONE",
            node.loc,
            f"arg.{node.name} may not be referenced outside of a probe clause",
        )
    found = [(*find_argument(c, node, probe), probe) for probe in c.probes]
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
        return make_string_argument(node.loc, number)
    return make_declared_argument(c, node, number, signature, probe)


def find_argument(
    c: TypingContext, node: ast.Select, probe: ast.ProbeDesc
) -> tuple[ProbeSignature, int]:
    """(signature of a probe, number of the argument that is called so)"""
    signature = find_signature(c.names, probe)
    if signature is None:
        hint = "they are known while a process that tells them runs; else declare them: provider NAME { probe NAME(string route); };"
        frameworks = FRAMEWORK_PROBES.get(
            probe.provider.rstrip("0123456789*"), {}
        )  # known before a program runs
        if probe.name not in frameworks:
            hint = c.names.suggest_name(probe.name, frameworks) or hint
        refuse(
            "D_ARGS_NAME", node.loc, f"the arguments of {probe} have no names that are known", hint
        )
    names = [name for name, _ in signature.outputs]
    if node.name not in names:
        known = ", ".join(filter(None, names))
        hint = c.names.suggest_name(node.name, filter(None, names)) or (
            f"its arguments are {known}" if known else "it has none with a name"
        )
        refuse("D_ARGS_NAME", node.loc, f"{probe} has no argument called {node.name}", hint)
    return signature, names.index(node.name)


def do_arguments_differ(
    one: ProbeSignature | None, other: ProbeSignature | None, number: int
) -> bool:
    """Whether a process says that args[number] is of another type in one probe than in another.  (Of declarations D takes the first.)"""
    types = [t.INT64 if each is None else each.outputs[number][1] for each in (one, other)]
    return (
        any(each is not None and each.is_reported for each in (one, other))
        and types[0] is not types[1]
    )


def make_raw_argument(loc: Location, number: int, type: t.Type) -> ast.Expr:
    """arg<number> as a value of the type."""
    row = ARGUMENT_ROWS[number]
    found = ast.Builtin(loc, row)
    found.type = row.type
    if type is row.type:
        return found
    cast = ast.Cast(loc, found, None)
    cast.type = t.Pointer(type.to) if type.is_array else type
    return cast


def make_string_argument(loc: Location, number: int) -> ast.Expr:
    """The string that arg<number> is, or "" where it is absent."""
    return with_type(
        ast.Call(loc, ARGUMENT.name, ARGUMENT, [make_raw_argument(loc, number, t.INT64)]), t.STRING
    )


def make_declared_argument(
    c: TypingContext, node: ast.Expr, number: int, signature: ProbeSignature, probe: ast.ProbeDesc
) -> ast.Expr:
    """args[number] of a probe with this prototype: an output is the input of its name."""
    inputs, outputs = signature.inputs, signature.outputs
    name, type = outputs[number]
    if type is None:
        message = f"args[ ] may not be referenced because probe description {probe} matches an unstable set of probes"
        refuse(
            "D_ARGS_MULTI",
            node.loc,
            message,
            f"its probes have different arguments {number}",
        )
    names = [known for known, _ in inputs]
    place = number if outputs is inputs else names.index(name)
    source = inputs[place][1]
    assert source  # only outputs of several probes differ
    if place >= len(ARGUMENT_ROWS):
        refuse_unsupported(node.loc, f"arguments after the {len(ARGUMENT_ROWS)}th are")
    if signature.is_reported and source.is_string:
        return make_string_argument(node.loc, place)
    if source.is_record or source.is_string:
        source = t.Pointer(t.CHAR if source.is_string else source)
    value = make_raw_argument(node.loc, place, source)
    if type.is_string or is_assignable(type, value):
        return convert_node(value, type)
    found = ast.Xlate(node.loc, type, value)
    found.translator = find_translator(
        c.names, value, type
    )  # the provider's declaration was checked
    found.type = t.Dynamic("pointer to translated data" if type.is_pointer else "translated data")
    return found


def find_signature(names: ProgramNames, probe: ast.ProbeDesc) -> ProbeSignature | None:
    """The Signature of a probe, or None where nothing is known of it."""
    name = probe.name
    if name.startswith(_BUILTIN_PROBES) or probe.provider in ("dtrace", "profile"):
        return ProbeSignature([])
    probes = names.providers.get(probe.provider.rstrip("0123456789*"))
    if probes is not None:
        declared = probes.get(name.replace("-", "__"), probes.get(name))
        return declared and ProbeSignature(*declared)
    if probe.provider == "rawtp" and names.kernel:
        types = names.kernel.tracepoint_types(name)
        return ProbeSignature([("", type) for type in types]) if types else None
    if (
        probe.provider in ("", "syscall")
        and names.kernel
        and (found := _syscall_signature(names.kernel, probe)) is not None
    ):
        return found
    if name in ("user_trace-s1", "user_trace__s1"):
        return ProbeSignature(_MESSAGE)
    if name.startswith(("user_trace-", "user_trace__")):
        return ProbeSignature(_TRACE)
    return reported_signature(names, probe)


def _syscall_signature(kernel: KernelTypeResolver, probe: ast.ProbeDesc) -> ProbeSignature | None:
    """The Signature of one side of a system call, or None; what a pattern stands for has no types of its own."""
    side = probe.name
    if side == "return" and (probe.provider or kernel.syscall_types(probe.function) is not None):
        return ProbeSignature([("", t.LONG)])
    types = kernel.syscall_types(probe.function) if side == "entry" else None
    return None if types is None else ProbeSignature([("", type) for type in types])


def reported_signature(names: ProgramNames, probe: ast.ProbeDesc) -> ProbeSignature | None:
    """What the processes that have the probe say, as far as they all say the same."""
    reported = names.reported_arguments(probe) if names.reported_arguments is not None else ()
    if not reported or None in reported:
        return None
    return ProbeSignature(
        [merge_argument(names, pairs) for pairs in zip(*reported)], is_reported=True
    )


def merge_argument(
    names: ProgramNames, pairs: tuple[tuple[str, str], ...]
) -> tuple[str, t.Type | None]:
    """(name, type) of what is one argument of several probes."""
    called, types = {name for name, _ in pairs}, {type for _, type in pairs}
    return called.pop() if len(called) == 1 else "", reported_type(names, types.pop()) if len(
        types
    ) == 1 else None


def reported_type(names: ProgramNames, word: str) -> t.Type:
    """The type of a word of engine/probe_signatures.py.  Terms, and floats without -x pyusdt, are numbers."""
    if word == "string":
        return t.STRING
    if word in t.FLOATS:
        return t.FLOATS[word] if "pyusdt" in names.options else t.INT64
    return t.TYPEDEFS.get(word, t.INT64)
