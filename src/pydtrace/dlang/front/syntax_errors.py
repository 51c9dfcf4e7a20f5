"""Syntax errors in dtrace's words: the text that it shows near the error, and a hint."""

from __future__ import annotations

from pydtrace.dlang import beginner_hints
from pydtrace.dlang.builtins import prototypes
from pydtrace.dlang.compile_errors import refuse
from pydtrace.untrusted.terminal_escape import decode_source_text

from .lexer import EOF, IDENT, INT, SPACE, STRING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from .lexer import Token
    from .parser import Parser

_BPFTRACE_PREFIXES = (
    "u:/",
    "ur:/",
    "usdt:/",
    "uprobe:/",
    "uretprobe:/",
)  # how descriptions with a path begin
_OPERATOR_PREFIXES = frozenset("-=+*/%&|^<>!")  # operators that are the beginning of others


def refuse_token(parser: Parser, hint: str | None = None) -> NoReturn:
    """Refuse the next token."""
    token = parser.peek_token()
    loc = parser.token_location(token)
    if token.kind == EOF:
        if parser.last_token is not None and parser.last_token.kind in (
            "->",
            ".",
        ):  # dtrace's lexer counts no lines there
            loc.mark = parser.last_token.end
        near = (
            "end-of-input"
            if _needs_lookahead(parser, parser.last_token) or _ends_in_operator(parser)
            else "end of input"
        )
        if hint is None and parser.lexer.opened["{"] > 0:
            hint = "a { is not closed"
    elif _is_after_arrow(parser, token):
        near = "end of input"  # dtrace's lexer looked for a name there
        hint = "-> needs a name behind it"
    else:
        near = f'"{_quote_token(parser, token)}"'
        hint = (
            beginner_hints.hint_for_token(token.kind, token.value)
            or _find_hint(parser, token)
            or hint
        )
    refuse("D_SYNTAX", loc, f"syntax error near {near}", hint)


def _find_hint(parser: Parser, token: Token) -> str | None:
    """A hint that what stands before the token gives."""
    before = parser.source.text[: token.start].split()
    if before and before[-1].startswith(_BPFTRACE_PREFIXES):
        return "a description has no path: write pid$target:libc.so.6:malloc:entry for a function, provider$target:::name for a USDT probe, with -p or -c"
    if token.kind == ";" and parser.items and parser.lexer.opened["{"] == 0:
        return "remove the ; behind the clause"
    if token.kind == "{" and parser.lexer.opened["{"] > 1:  # it is counted already
        return "a clause has one pair of { }"
    last = parser.last_token
    if (
        last is not None
        and last.kind == IDENT
        and last.value in prototypes.FUNCTIONS
        and token.kind in (INT, STRING)
    ):
        return f"call it: {last.value}(…)"
    return None


def _quote_token(parser: Parser, token: Token) -> str:
    """What dtrace shows of a token.  Where its lexer had to look behind the token to tell what
    it is, it shows the rest of the line too, white space turned to blanks."""
    text = parser.source.text
    shown = text[token.start : token.end]
    if shown.startswith(
        "'"
    ):  # of a character dtrace shows what was read when it was known to be one
        return decode_source_text(shown.removesuffix("'").partition("\\")[0])
    if (
        not _needs_lookahead(parser, token)
        or token.kind != IDENT
        and text[token.end : token.end + 1] in SPACE
    ):
        return decode_source_text(shown)
    end = token.end
    while text[end : end + 1] in SPACE and end < len(text):
        end += 1
    gap = text[token.end : end]
    if token.kind == IDENT and "\n" in gap:
        return decode_source_text(shown) + " " * (len(gap) - gap.count("\n"))
    newline = text.find("\n", end)
    rest = text[end : len(text) if newline < 0 else newline]
    return decode_source_text(shown + " " * len(gap) + rest)


def _is_after_arrow(parser: Parser, token: Token) -> bool:
    """Whether a number or a bracket stands where a member's name was to be, or anything where a variable's was."""
    before = parser.source.text[: token.start].rstrip()
    return before.endswith(("self->", "this->")) or (
        token.kind in (INT, "(", "}") and before.endswith("->")
    )


def _ends_in_operator(parser: Parser) -> bool:
    """Whether the text ends in an operator that could have gone on, right behind a name that the lexer had to look behind; a name that
    stands in the text but once is one that nothing has defined."""
    text, last, name = parser.source.text, parser.last_token, parser.token_before_last
    if (
        last is None
        or last.kind not in _OPERATOR_PREFIXES
        or last.end != len(text)
        or name is None
        or name.kind != IDENT
        or name.value is None
    ):
        return False
    if text[: name.start].endswith(("->", "@")) or name.value in parser.parameters:
        return False
    return not parser.names.is_builtin(name.value) and text.count(text[name.start : name.end]) == 1


def _needs_lookahead(parser: Parser, token: Token | None) -> bool:
    """Whether dtrace's lexer had to read on to tell what this token is."""
    if token is None or token.kind not in (IDENT, "/", "EPRED"):
        return False
    return token.value is not None and not (
        token.kind == IDENT
        and (token.value in parser.parameters or parser.names.is_known(token.value))
    )
