"""Probe descriptions: `provider:module:function:name`, as dtrace reads them.

The parts count from the right: `a` is a name, `a:b` a function and a name. A missing part is ""
and matches everything. A function of C++ or Rust may contain ::, if provider and module are
given.
"""

from __future__ import annotations

from pydtrace.dlang import ast
from pydtrace.dlang.compile_errors import CompileError

from .lexer import MissingMacro

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .lexer import Lexer
    from .source_text import Location

LEVELS = ("provider", "module", "function", "name")
# The probes with the ids 1 to 3.
FIXED_PROBES: list[tuple[str, str, str, str]] = [
    ("dtrace", "", "", name) for name in ("BEGIN", "END", "ERROR")
]


def parse_description(text: str, loc: Location, lexer: Lexer, level: str = "name") -> ast.ProbeDesc:
    """The ProbeDesc of a text; `lexer` knows the macros; `level` is what the last part is."""
    last = LEVELS.index(level)
    parts = text.split(":")
    if len(parts) > 1 and parts[0] == "":
        # As dtrace reads from the right, it never sees an empty first part.
        parts = parts[1:]
    if (
        len(parts) > last + 1 and last == 3 and "" in parts[3:-1] and any(parts[2:-1])
    ):  # C++, Rust: a::b
        parts = [*parts[:2], ":".join(parts[2:-1]), parts[-1]]
    if len(parts) > last + 1:
        hint = "a probe description has at most four parts, provider:module:function:name"
        raise invalid_error(text, loc, "Overspecified probe description", hint)
    fields = [""] * 4
    for place, part in zip(range(last - len(parts) + 1, last + 1), parts):
        expanded = expand_macro(part, text, loc, lexer)
        fields[place] = (
            expanded
            if expanded.isascii()
            else expanded.encode("latin-1", "replace").decode("utf-8", "replace")
        )
    return ast.ProbeDesc(loc, *fields)


def find_by_id(
    number: int, loc: Location, list_probes: Callable[[], list[Any]] | None, level: str
) -> ast.ProbeDesc:
    """The ProbeDesc of the probe with this id.  known: a function that gives the (provider, module, function,
    name) of all probes, the first of which has the id 1."""
    if number > 0xFFFFFFFF:
        raise CompileError("D_PDESC_INVAL", loc, f"identifier {number} exceeds maximum probe id")
    if level != "name":
        raise CompileError(
            "D_PDESC_INVAL",
            loc,
            f"probe identifier {number} not permitted when specifying {level}s",
        )
    probes = FIXED_PROBES
    if number > len(FIXED_PROBES) and list_probes is not None:
        probes = list_probes()
    if not 0 < number <= len(probes):
        message = f"invalid probe identifier {number}: Unknown probe identifier"
        raise CompileError(
            "D_PDESC_INVAL", loc, message, "pydtrace -l shows the ids that there are"
        )
    return ast.ProbeDesc(loc, *probes[number - 1])


def expand_macro(part: str, text: str, loc: Location, lexer: Lexer) -> str:
    """Replace the macro variable of one part, as in pyusdt$target."""
    begin = part.find("$")
    if begin < 0:
        return part
    name = part[begin + 1 :]
    if name.startswith("$") and len(name) > 1:
        name = name[1:]
    rest = ""
    if name[:1].isdigit() and name.isascii():
        digits = name[: len(name) - len(name.lstrip("0123456789"))]
        name, rest = digits, name[len(digits) :]
        number = int(digits[:9])
        if number < len(lexer.args):
            lexer.used_args.add(number)
            return part[:begin] + lexer.args[number] + rest
    value = lexer.macros.get(name)
    if value is not None and not isinstance(value, MissingMacro):
        return f"{part[:begin]}{value}"
    hint = value.hint if value else None
    raise invalid_error(text, loc, "Undefined macro variable in probe description", hint)


def _hint_for_target(probe: ast.ProbeDesc) -> str | None:
    """The hint for $target where no process is named: it is 0 then; None for all else."""
    if (
        "$target" in probe.loc.text
        and probe.provider[len(probe.provider.rstrip("0123456789")) :] == "0"
    ):
        return "$target is the process of -p PID or -c COMMAND, and there is neither"
    return None


def unmatched_error(
    probe: ast.ProbeDesc, hint: str | None = None, sizes: dict[Any, Any] | None = None
) -> CompileError:
    """The error for a ProbeDesc that no probe matches; who knows the probes raises it.  sizes: {ProbeDesc: bytes of the function that it
    names}, None where nobody looked for functions."""
    hint = _hint_for_target(probe) or hint
    if probe.provider.startswith("pid") and probe.provider[3:].isdigit():
        found = _explain_no_match(probe, sizes)
        if found is not None:
            tag, message, its_hint = found
            return CompileError(tag, probe.loc, message, its_hint)
        if probe.module and not probe.function:
            probe = ast.ProbeDesc(
                probe.loc, probe.provider, probe.module, "*", probe.name
            )  # as dtrace says it
    message = f"probe description {probe} does not match any probes"
    return CompileError("D_PDESC_ZERO", probe.loc, message, hint)


def _explain_no_match(
    probe: ast.ProbeDesc, sizes: dict[Any, Any] | None
) -> tuple[str, str, str | None] | None:
    """(tag, message[, hint]) of what is wrong with a description of the pid provider, or None where nothing more can be said."""
    function, name = probe.function, probe.name
    is_address = all(char in "0123456789abcdefABCDEFxX" for char in name or "-")
    if function == "-":  # the pid provider's name for an address of the module
        if not is_address:
            message = "with the function - the name is one address in hexadecimal"
            return "D_PROC_NAME", message, None
        if probe.module not in ("", "a.out"):
            message = "the function - means an address, only of the module a.out"
            return "D_PROC_LIB", message, None
        return None
    if probe.provider == "pid0":
        return "D_PROC_BADPID", "no process has the id 0", _hint_for_target(probe)
    if any(char in "*?[" for char in function + name) or not function:
        return None
    if is_address and sizes is None:
        return None
    if sizes and is_address and probe in sizes:
        place = int(name, 16)
        if place >= sizes[probe]:
            return "D_PROC_OFF", f"offset 0x{place:x} outside of function '{function}'", None
        message = f"no instruction of function '{function}' begins at offset {name}"
        return "D_PROC_OFF", message, None
    if not is_address and name not in ("", "entry", "return"):
        return (
            "D_PROC_NAME",
            f"'{name}' is an invalid probe name",
            "a function's probes are entry, return and offsets in hexadecimal",
        )
    if probe.module == "a.out":
        return (
            "D_PROC_FUNC",
            f"failed to lookup '{function}' in module 'a.out'",
            "nm lists the functions that a program has",
        )
    return None


def invalid_error(text: str, loc: Location, why: str, hint: str | None = None) -> CompileError:
    return CompileError("D_PDESC_INVAL", loc, f'invalid probe description "{text}": {why}', hint)
