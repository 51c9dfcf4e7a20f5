"""What a D script that an agent sends may contain.

- Only options that change what is shown, or bound it: no option that writes a file, connects, or
  allows destructive actions. pydtrace refuses these actions without -w, which is never given.
- No preprocessor runs, so a script reads no file.
"""

from __future__ import annotations

from typing import Any

from pydtrace.dlang import ast
from pydtrace.dlang.code.argument_demand import walk_nodes
from pydtrace.dlang.compile import Compiler, default_macros
from pydtrace.dlang.compile_errors import CompileError
from pydtrace.dlang.types.value_paths import is_value_root
from pydtrace.options import Options

MAX_SCRIPT = 65536  # bytes
_ALLOWED_PRAGMAS = frozenset(
    [
        "aggsize",
        "aggsortkey",
        "aggsortkeypos",
        "aggsortpos",
        "aggsortrev",
        "agghist",
        "aggpack",
        "aggzoom",
        "bufsize",
        "dynvarsize",
        "jstackframes",
        "nspec",
        "pyusdt",
        "quiet",
        "specsize",
        "stackframes",
        "strsize",
        "switchrate",
        "ustackframes",
    ]
)
_REFUSED_CALLS = frozenset(
    ("setopt", "system", "freopen", "ftruncate", "copyout", "copyoutstr", "raise", "stop", "chill", "panic", "breakpoint")
)  # fmt: skip


class Refused(Exception):
    """The request is not answered; the message is for the one who asked."""


def check_script(text: str, target: int = 0) -> list[str]:
    """The probe descriptions of a script.  Refused: it may not be run, or is no D."""
    items = _parse_script(text, target)
    for item in items:
        _check_item(item)
    clauses = [item for item in items if isinstance(item, ast.Clause)]
    if not clauses:
        raise Refused("the script has no clause: PROBE { ACTION; }")
    return [str(probe) for clause in clauses for probe in clause.probes]


def refuse_values(text: str) -> None:
    """Refused: the script reads values of the traced program, or is no D."""
    for item in _parse_script(text):
        for node in walk_nodes(item):
            if is_value_root(node):
                raise Refused(
                    f"{node.name} shows values of the program, which has to be allowed by the "
                    "person who started this: --allow values"
                )


def _parse_script(text: str, target: int = 0) -> list[Any]:
    if len(text.encode("utf-8", "replace")) > MAX_SCRIPT:
        raise Refused(f"the script is longer than {MAX_SCRIPT} bytes")
    try:
        return (
            Compiler(Options({"zdefs": True}), default_macros(target))
            .compile_text(text, upto="parse")
            .items
        )
    except CompileError as error:
        raise Refused(f"the script is no D: {error.render(True, 'dtrace', None)}") from None


def _check_item(item: Any) -> None:
    if isinstance(item, ast.Pragma):
        words = [str(value) for _, value in item.words]
        name = words[0].partition("=")[0] if words else ""
        if item.kind != "option" or name not in _ALLOWED_PRAGMAS:
            raise Refused(f"#pragma D {item.kind} {' '.join(words)} is not allowed here")
    for node in walk_nodes(item):
        if isinstance(node, ast.Ident) and node.name in _REFUSED_CALLS:
            raise Refused(f"{node.name}() is not allowed here: nothing may be changed")
