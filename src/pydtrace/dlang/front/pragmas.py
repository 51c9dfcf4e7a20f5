"""Control lines: `#pragma D option`, `#error`, the preprocessor's line markers.

Options take effect while the text is read, before anything is typed.
"""

from __future__ import annotations

from pydtrace.dlang import ast
from pydtrace.dlang.compile_errors import CompileError
from pydtrace.options import are_attributes
from pydtrace.untrusted.terminal_escape import decode_source_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from ...options import Options
    from ..types.resolve import ProgramNames
    from .source_text import Location

    Words = list[tuple[str, Any, int, int]]  # (kind, value, start, end), as the lexer has them

DIRECTIVE, PRAGMA, D_PRAGMA = range(
    3
)  # where a directive may stand: after # alone, after #pragma, only after #pragma D


class ControlLines:
    """options: has set(name, text); see options.  names: resolve.ProgramNames; library: path of the library that is
    read, None for a program."""

    def __init__(
        self, options: Options, names: ProgramNames | None = None, library: str | None = None
    ) -> None:
        self.options, self.names, self.library = options, names, library

    @property
    def may_be_empty(self) -> bool:
        return self.library is not None or "empty" in self.options

    def __call__(self, words: Words, loc: Location, items: list[ast.Node]) -> None:
        """One control line; `words` are (kind, value, start, end) as the lexer has them."""
        level = DIRECTIVE
        for i, (kind, value, _, _) in enumerate(words):
            if kind == "int":
                self.mark_line(loc, words[i:], 0)
                return
            if kind != "word":
                self.refuse("D_PRAGCTL_INVAL", loc, "invalid control directive", after_line=True)
            if level == DIRECTIVE and value == "pragma":
                level = PRAGMA
            elif level == PRAGMA and value == "D":
                level = D_PRAGMA
            else:
                rest = words[i + 1 :]
                items_before = len(items)
                self.run_directive(level, value, rest, loc)
                if value != "line" and len(items) == items_before and level != PRAGMA:
                    items.append(ast.Pragma(loc, value, [(k, v) for k, v, _, _ in rest]))
                return

    @staticmethod
    def refuse(
        tag: str, loc: Location, message: str, hint: str | None = None, after_line: bool = False
    ) -> NoReturn:
        """after: dtrace has counted the line's end already."""
        raise CompileError(tag, loc, message, hint, mark=loc.end + 1 if after_line else loc.start)

    def run_directive(self, level: int, name: str, rest: Words, loc: Location) -> None:
        least, act = _DIRECTIVES.get(name, (D_PRAGMA + 1, None))
        if act and least <= level:
            act(self, loc, rest)
        elif level == DIRECTIVE:
            hint = None
            if name in (
                "define",
                "include",
                "if",
                "ifdef",
                "ifndef",
                "else",
                "elif",
                "endif",
                "undef",
            ):
                hint = "this is for the C preprocessor: run with -C"
            elif name not in ("include_next", "warning"):
                hint = "a comment is /* … */ or // …"
            self.refuse("D_PRAGCTL_INVAL", loc, f"invalid control directive: #{name}", hint)
        elif level == D_PRAGMA:
            self.refuse(
                "D_PRAGMA_INVAL",
                loc,
                f"invalid D pragma: {name}",
                "the most used one is #pragma D option",
            )

    def mark_line(self, loc: Location, words: Words, more: int = 1) -> None:
        """# 12 "file" flags…: the next line is line 12 of that file; but after #line 12, it is 13."""
        kinds = [kind for kind, _, _, _ in words]
        if (
            kinds[:1] != ["int"]
            or kinds[1:2] not in ([], ["string"])
            or any(kind != "int" for kind in kinds[2:])
        ):
            self.refuse(
                "D_PRAGMA_MALFORM",
                loc,
                'malformed #line <line> [ ["file"] state ]',
                after_line=not more,
            )
        source = loc.source
        file = source.find_position(loc.start)[0]
        if len(words) > 1:
            name = words[1][1].decode("utf-8", "replace")
            file = None if name == "/dev/stdin" else name
        flags = [word[1] for word in words[2:]]
        source.mark_line(
            loc.start, int(words[0][1][:9]) + more, file, ("1" in flags) - ("2" in flags)
        )

    def ignore_ident(self, loc: Location, words: Words) -> None:
        """#ident says nothing to a compiler."""

    def raise_user_error(self, loc: Location, words: Words) -> None:
        text = "".join(f"{to_text(value)} " for kind, value, _, _ in words if kind != "int")
        self.refuse("D_PRAGERR", loc, f"#error: {text}")

    def read_option(self, loc: Location, words: Words) -> None:
        if not words or words[0][0] != "word":
            message = "malformed #pragma option <option>=<val>"
            self.refuse("D_PRAGMA_MALFORM", loc, message, "as in: #pragma D option quiet")
        if len(words) > 1:
            hint = "one option a line, without spaces around ="
            self.refuse(
                "D_PRAGMA_MALFORM", loc, "superfluous arguments specified for #pragma option", hint
            )
        name, equals, text = words[0][1].partition("=")
        value = text if equals else None
        problem = self.set_option(name, value)
        if problem is not None:
            from pydtrace.options import PARSERS
            from pydtrace.suggestions import did_you_mean

            to = "" if value is None else f" to '{value}'"
            self.refuse(
                "D_PRAGMA_OPTSET",
                loc,
                f"failed to set option '{name}'{to}: {problem}",
                did_you_mean(name, PARSERS),
            )

    def set_option(self, name: str, value: str | None) -> str | None:
        """What is wrong with an option, or None."""
        from pydtrace.options import COMMAND_LINE, OptionError

        if name in COMMAND_LINE:
            return "Option cannot be used from within a D program"
        try:
            self.options.set(name, value)
        except OptionError as error:
            return str(error)
        return None

    def read_metric(self, loc: Location, words: Words) -> None:
        """#pragma D metric NAME WORD=VALUE…: what an aggregation is as a metric (docs/howto/metrics.md); who exports it reads it."""
        if not words:
            hint = "as in: #pragma D metric calls name=shop_requests labels=route"
            self.refuse(
                "D_PRAGMA_MALFORM",
                loc,
                "malformed #pragma metric <aggregation> <word>=<value> …",
                hint,
            )
        self.options.set("metric", decode_source_text(loc.source.text[words[0][2] : words[-1][3]]))

    def read_attributes(self, loc: Location, words: Words) -> None:
        """#pragma D attributes Name/Data/Class name: they are checked, and nothing depends on them."""
        kinds = [kind for kind, *_ in words]
        if kinds[:2] != ["word", "word"]:
            self.refuse(
                "D_PRAGMA_MALFORM", loc, "malformed #pragma attributes <attributes> <ident>"
            )
        if not are_attributes(words[0][1].lower().split("/")):
            hint = "such as Evolving/Evolving/Common"
            self.refuse(
                "D_PRAGMA_INVAL", loc, "invalid attributes specified by #pragma attributes", hint
            )
        if words[1][1] != "provider":
            self.note_pragma("attributes", loc, words[1][1])

    def read_binding(self, loc: Location, words: Words) -> None:
        """#pragma D binding "1.0" name"""
        kinds = [kind for kind, *_ in words]
        if kinds[:2] != ["string", "word"]:
            self.refuse("D_PRAGMA_MALFORM", loc, 'malformed #pragma binding "version" <ident>')
        parts = to_text(words[0][1]).split(".")
        if not 2 <= len(parts) <= 3 or not all(part.isdigit() for part in parts):
            self.refuse(
                "D_PRAGMA_INVAL", loc, "invalid version string specified by #pragma binding"
            )
        self.note_pragma("binding", loc, words[1][1])

    def note_pragma(self, pragma: str, loc: Location, name: str) -> None:
        """A pragma about a name: one that the program defines, now or later."""
        names = self.names
        assert names  # only order_libraries() reads a text without
        if name in names.scopes["global"] or name in names.inlines:
            return
        if names.is_builtin(name):
            message = f"#pragma {pragma} cannot modify entity defined outside program scope"
            self.refuse("D_PRAGMA_SCOPE", loc, message)
        names.pragmas.append((pragma, name, loc))

    def check_dependency(self, loc: Location, words: Words) -> None:
        """#pragma D depends_on class name.  What libraries depend on has been read before (libraries.py)."""
        if [kind for kind, *_ in words[:2]] != ["word", "word"]:
            self.refuse("D_PRAGMA_MALFORM", loc, "malformed #pragma depends_on <class> <name>")
        kind, name = words[0][1], words[1][1]
        if kind == "library":
            if self.library is None:
                message = "main program may not explicitly depend on a library"
                self.refuse("D_PRAGMA_DEPEND", loc, message, "-L names a folder of libraries")
        elif kind not in ("provider", "module"):
            self.refuse(
                "D_PRAGMA_INVAL", loc, f"invalid class {kind} specified by #pragma depends_on"
            )
        elif kind == "module" or name not in ("dtrace", "profile", "pyusdt"):
            self.refuse("D_PRAGMA_DEPEND", loc, f"program requires {kind} {name}")


# name: (where it may stand, what reads it)
_DIRECTIVES: dict[str, tuple[int, Callable[[ControlLines, Location, Words], None]]] = {
    "attributes": (D_PRAGMA, ControlLines.read_attributes),
    "binding": (D_PRAGMA, ControlLines.read_binding),
    "depends_on": (D_PRAGMA, ControlLines.check_dependency),
    "error": (DIRECTIVE, ControlLines.raise_user_error),
    "ident": (DIRECTIVE, ControlLines.ignore_ident),
    "line": (DIRECTIVE, ControlLines.mark_line),
    "metric": (D_PRAGMA, ControlLines.read_metric),
    "option": (D_PRAGMA, ControlLines.read_option),
}


def to_text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value
