"""The lexer: D text -> tokens, one at a time.

- The meaning of a character depends on the parser's position: outside clauses (mode CLAUSE) a
  probe description is one token, inside (mode EXPR) tokens are C's.
- `pos` is how far the text has been read, as far as dtrace's own lexer would have read it,
  because that decides the line that its messages name.
"""

from __future__ import annotations

from pydtrace.dlang.compile_errors import CompileError
from pydtrace.untrusted.terminal_escape import decode_source_text

from .source_text import Location

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, NoReturn

    from .source_text import Source

CLAUSE, EXPR = 0, 1

# Kinds of tokens; keywords and punctuation are their own text.
IDENT, INT, FLOAT, STRING, AGG, PSPEC, EOF = (
    "IDENT",
    "INT",
    "FLOAT",
    "STRING",
    "AGG",
    "PSPEC",
    "EOF",
)

KEYWORDS = frozenset(
    [
        "auto",
        "break",
        "case",
        "char",
        "const",
        "continue",
        "counter",
        "default",
        "do",
        "double",
        "else",
        "enum",
        "extern",
        "float",
        "for",
        "goto",
        "if",
        "import",
        "inline",
        "int",
        "long",
        "offsetof",
        "probe",
        "provider",
        "register",
        "restrict",
        "self",
        "short",
        "signed",
        "sizeof",
        "static",
        "string",
        "stringof",
        "struct",
        "switch",
        "this",
        "translator",
        "typedef",
        "union",
        "unsigned",
        "void",
        "volatile",
        "while",
        "xlate",
    ]
)
# What may begin a declaration outside clauses.  Other keywords are probe names there.
CLAUSE_KEYWORDS = frozenset(
    [
        "auto",
        "char",
        "const",
        "counter",
        "double",
        "enum",
        "extern",
        "float",
        "import",
        "inline",
        "int",
        "long",
        "provider",
        "register",
        "restrict",
        "self",
        "short",
        "signed",
        "static",
        "string",
        "struct",
        "this",
        "translator",
        "typedef",
        "union",
        "unsigned",
        "void",
        "volatile",
    ]
)

_letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
_digits = "0123456789"
SPACE = frozenset("\f\n\r\t\v ")
DIGITS = frozenset(_digits)
HEX = frozenset(_digits + "abcdefABCDEF")
IDENT_FIRST = frozenset(_letters + "`")
IDENT_REST = frozenset(_letters + _digits + "`")
NAME_REST = frozenset(_letters + _digits)
_beyond_ascii = "".join(map(chr, range(0x80, 0x100)))  # bytes of names in UTF-8
PSPEC_FIRST = frozenset(_letters + "-$:.?*\\[]!" + _beyond_ascii)
PSPEC_REST = frozenset(_letters + _digits + "-$:.?*\\[]!`" + _beyond_ascii)
PATH_END = SPACE | frozenset(':{},"')

PUNCTUATION = (
    "...", "<<=", ">>=",
    "&&", "^^", "||", "==", "!=", "<=", ">=", "<<", ">>", "+=", "-=", "*=", "/=", "%=", "&=", "^=", "|=",
    "++", "--", "->",
)  # fmt: skip
_by_first: dict[str, list[str]] = {}
for _p in PUNCTUATION:
    _by_first.setdefault(_p[0], []).append(_p)
SINGLE = frozenset("(){}[]|^&<>+-*%~!?:.=,;")
ESCAPES = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, '"': 34, "\\": 92}
_OPENS = {")": "(", "]": "[", "}": "{"}


QUALIFIERS = (" const", " volatile", " &&", " &")  # behind the parameters of a function of C++
OPERATORS = frozenset("=!+-*/%&|^<>~")
_CLOSES = {"(": ")", "<": ">", "{": "}"}


class Token:
    """kind; value: the name, the bytes of a string, (value, decimal, suffix, sign) of an
    integer, "/" for a division or a predicate's end, else None; start, end: offsets."""

    __slots__ = ("kind", "value", "start", "end")

    def __init__(self, kind: str, value: Any, start: int, end: int) -> None:
        self.kind, self.value, self.start, self.end = kind, value, start, end


class MacroVariable:
    """A macro that has its value when the script runs.  name: of a variable, which no script can write; glob: what it is in a probe
    description."""

    def __init__(self, name: str, glob: str) -> None:
        self.name, self.glob = name, glob

    def __str__(self) -> str:
        return self.glob


class MissingMacro:
    """A macro that has no value in this tracing.  hint: why, and what to write instead."""

    def __init__(self, hint: str) -> None:
        self.hint = hint


def _find_closing(text: str, pos: int) -> int:
    """Behind the bracket that closes the one at a place, on its line; -1: there is none."""
    opened = []
    for at in range(pos, len(text)):
        c = text[at]
        if c == "\n":
            break
        if c in _CLOSES:
            opened.append(_CLOSES[c])
        elif c == opened[-1] and not (c == ">" and text[at - 1] == "-"):
            opened.pop()
            if not opened:
                return at + 1
    return -1


class Lexer:
    """macros: {name: int, or a Variable} of $target and its like; args: values of $0, $1 … as str;
    default_args: missing arguments are 0 and "" (-x defaultargs); on_control_line(words, start, end):
    called for each control line, with its words."""

    def __init__(
        self,
        source: Source,
        macros: Mapping[str, int | MacroVariable | MissingMacro],
        args: Sequence[str],
        default_args: bool,
        on_control_line: Callable[..., Any],
    ) -> None:
        self.source, self.text = source, source.text
        self.macros, self.args, self.default_args = macros, args, default_args
        self.on_control_line = on_control_line
        # whether floating-point constants are allowed where the lexer is
        self.allows_floats: Callable[[], bool] = lambda: False
        self.used_args: set[int] = set()
        self.pos = 0
        self.mode = CLAUSE
        self.after_member = False  # after . and -> every word is a name
        self.opened = {"(": 0, "[": 0, "{": 0}  # how many of each are open

    def raise_error(
        self, tag: str, message: str, start: int, hint: str | None = None, end: int | None = None
    ) -> NoReturn:
        end = self.pos if end is None else end
        loc = Location(self.source, start, max(end, start + 1), self.pos)
        raise CompileError(tag, loc, message, hint)

    # --- what may stand between tokens -------------------------------------------

    def skip_space(self) -> None:
        """Skip space, comments, #! lines and control lines."""
        text, size = self.text, len(self.text)
        pos = self.pos
        while pos < size:
            c = text[pos]
            if c in SPACE:
                pos += 1
            elif c == "/" and text.startswith("/*", pos):
                pos = self.skip_comment(pos)
            elif c == "/" and text.startswith("//", pos):
                end = text.find("\n", pos)
                pos = size if end < 0 else end
            elif c == "#" and self.is_line_start(pos):
                self.pos = pos
                pos = self.read_control_line(pos)
            elif c == "\\" and self.mode == EXPR and text.startswith("\\\n", pos):
                pos += 2
            else:
                break
        self.pos = pos

    def skip_comment(self, start: int) -> int:
        text = self.text
        close = text.find("*/", start + 2)
        nested = text.find("/*", start + 2)
        if 0 <= nested and (close < 0 or nested < close):
            self.pos = nested + 2
            self.raise_error(
                "D_SYNTAX", "/* encountered inside a comment", nested, "comments do not nest"
            )
        if close < 0:
            self.pos = len(text)
            self.raise_error(
                "D_SYNTAX",
                "end-of-file encountered before matching */",
                start,
                "this comment is not closed",
                start + 2,
            )
        return close + 2

    def is_line_start(self, pos: int) -> bool:
        """True if only blanks stand before `pos` on its line."""
        start = self.text.rfind("\n", 0, pos) + 1
        return not self.text[start:pos].strip("\f\t\v ")

    def read_control_line(self, start: int) -> int:
        """Read a line that begins with #; returns the offset after it."""
        text = self.text
        end = text.find("\n", start)
        if text.startswith("#!", start):
            return len(text) if end < 0 else end
        if end < 0:
            self.pos = len(text)
            self.raise_error(
                "D_SYNTAX", "end-of-file encountered before end of control line", start
            )
        words: list[tuple[str, str | bytes, int, int]] = []
        pos = start + 1
        while pos < end:
            c = text[pos]
            if c in "\f\t\v ":
                pos += 1
                continue
            begin = pos
            if c == '"':
                value, pos = self.read_string(pos)
                words.append(("string", value, begin, pos))
                continue
            while pos < end and text[pos] not in '\f\t\v "':
                pos += 1
            word = text[begin:pos].rstrip("\r")
            kind = "int" if word.isdigit() and word.isascii() else "word"
            if word:
                words.append((kind, word, begin, pos))
        self.pos = end + 1
        self.on_control_line(words, start, end)
        return end + 1

    # --- tokens -----------------------------------------------------------------

    def next_token(self) -> Token:
        """The next token."""
        self.skip_space()
        if self.pos >= len(self.text):
            return Token(EOF, None, self.pos, self.pos)
        if self.mode == CLAUSE:
            return self.read_clause_token()
        return self.read_expr_token()

    def read_clause_token(self) -> Token:
        text, start = self.text, self.pos
        c = text[start]
        if c in PSPEC_FIRST or c == "`":
            pos, size = start + 1, len(text)
            while pos < size and text[pos] in PSPEC_REST:
                pos += 1
                if text[pos - 1] == ":" and text.find(":", start) == pos - 1:
                    pos = find_module_path_end(text, pos)
            self.pos = pos = self.find_description_end(start, pos)
            word = text[start:pos]
            if word in CLAUSE_KEYWORDS:
                return Token(word, None, start, pos)
            return Token(PSPEC, word, start, pos)
        if c in DIGITS:
            return self.read_number(start)
        self.pos = start + 1
        if c == "{":
            self.opened["{"] += 1
            return Token(c, None, start, self.pos)
        if c in "/,":
            return Token(c, None, start, self.pos)
        hint = "remove the ; behind the clause" if c == ";" else None
        self.raise_error("D_SYNTAX", f'syntax error near "{decode_source_text(c)}"', start, hint)

    def find_description_end(self, start: int, pos: int) -> int:
        """Where a probe description ends whose function is written as in C++, Rust or Go, with brackets: they stand behind provider and module,
        and a name stands behind them.  start: where it begins; pos: where ends what every description may have."""
        text, size, first, end = self.text, len(self.text), pos, -1
        if text.count(":", start, pos) < 2:
            return pos
        while pos < size:
            c = text[pos]
            if (
                text.endswith("operator", start, pos)
                and c in OPERATORS
                or text.startswith("operator()", pos - 8)
            ):
                pos += 2 if c == "(" else 1
                while text[pos : pos + 1] in OPERATORS:
                    pos += 1
            elif c in "(<":
                pos = end = _find_closing(text, pos)
                if end < 0:
                    return first
            elif c in PSPEC_REST or c == "~":
                pos += 1
            elif pos == end and (
                word := next((each for each in QUALIFIERS if text.startswith(each, pos)), None)
            ):
                pos = end = pos + len(word)
            else:
                break
        return pos if ":" in text[max(end, first) : pos] else first

    def read_expr_token(self) -> Token:
        text, start = self.text, self.pos
        c = text[start]
        if c in IDENT_FIRST:
            return self.read_word(start)
        if c in DIGITS:
            return self.read_number(start)
        if c == '"':
            value, self.pos = self.read_string(start)
            return Token(STRING, value, start, self.pos)
        if c == "/":
            return self.read_slash(start)
        if c in "()[]{}":
            return self.read_bracket(c, start)
        for p in _by_first.get(c, ()):
            if text.startswith(p, start):
                self.pos = start + len(p)
                return Token(p, None, start, self.pos)
        if c == "." and text[start + 1 : start + 2] in DIGITS:
            return self.read_number(start)
        if c in SINGLE:
            self.pos = start + 1
            return Token(c, None, start, self.pos)
        if c == "@":
            return self.read_aggregation(start)
        if c == "'":
            return self.read_character(start)
        if c == "$":
            return self.read_macro(start)
        self.pos = start + 1
        if c == "\0":
            self.raise_error("D_SYNTAX", "syntax error near end-of-input", start)
        hint = "a control line needs a line of its own" if c == "#" else None
        self.raise_error("D_SYNTAX", f'syntax error near "{decode_source_text(c)}"', start, hint)

    def read_word(self, start: int) -> Token:
        text, size = self.text, len(self.text)
        pos = start + 1
        while pos < size and text[pos] in IDENT_REST:
            pos += 1
        self.pos = pos
        word = text[start:pos]
        if word in KEYWORDS and not self.after_member:
            return Token(word, None, start, pos)
        self.after_member = False
        return Token(IDENT, word, start, pos)

    def read_bracket(self, c: str, start: int) -> Token:
        self.pos = start + 1
        if c in self.opened:
            self.opened[c] += 1
        elif self.opened[_OPENS[c]]:
            self.opened[_OPENS[c]] -= 1
        else:
            self.raise_error("D_SYNTAX", f"extra {c} in input stream", start)
        return Token(c, None, start, self.pos)

    def read_slash(self, start: int) -> Token:
        """A / divides, or ends a predicate: that one is followed by { or ; or / or the end."""
        text, size = self.text, len(self.text)
        if text.startswith("/=", start):
            self.pos = start + 2
            return Token("/=", None, start, self.pos)
        pos = start + 1
        while pos < size and text[pos] in SPACE:
            pos += 1
        self.pos = pos
        if pos < size and text[pos] not in ";{/":
            return Token("/", "/", start, start + 1)
        for count, close in ((self.opened["("], ")"), (self.opened["["], "]")):
            if count:
                self.raise_error(
                    "D_SYNTAX",
                    f"closing {close} expected in predicate before /",
                    start,
                    end=start + 1,
                )
        return Token("EPRED", "/", start, start + 1)

    def read_aggregation(self, start: int) -> Token:
        text, size = self.text, len(self.text)
        pos = start + 1
        if pos < size and text[pos] in NAME_REST and text[pos] not in DIGITS:
            while pos < size and text[pos] in NAME_REST:
                pos += 1
        self.pos = pos
        return Token(AGG, text[start + 1 : pos] or "_", start, pos)

    def read_number(self, start: int) -> Token:
        text, size = self.text, len(self.text)
        pos = start
        if (
            text[pos : pos + 2] in ("0x", "0X")
            and text[pos + 2 : pos + 3] in HEX
            and pos + 2 < size
        ):
            pos += 2
            while pos < size and text[pos] in HEX:
                pos += 1
        else:
            while pos < size and text[pos] in DIGITS:
                pos += 1
            if end := self.find_float_end(pos):
                return self.read_float(start, end)
        digits = text[start:pos]
        begin = pos
        for letters in ("uU", "lL", "lL"):
            if pos < size and text[pos] in letters:
                pos += 1
        suffix = text[begin:pos]
        self.pos = pos
        if (
            self.mode == EXPR
            and pos < size
            and text[pos] in IDENT_REST
            and self.skip_scoped_number(pos)
        ):
            return Token(IDENT, text[start : self.pos], start, self.pos)
        return Token(INT, self.parse_integer(digits, suffix, start), start, pos)

    def skip_scoped_number(self, pos: int) -> bool:
        """True for 123abc`name, where a module's name begins with a digit; moves over it."""
        text, size = self.text, len(self.text)
        while pos < size and text[pos] in NAME_REST:
            pos += 1
        if pos >= size or text[pos] != "`":
            return False
        while pos < size and text[pos] in IDENT_REST:
            pos += 1
        self.pos = pos
        return True

    def find_float_end(self, pos: int) -> int | None:
        """Where a floating-point constant ends, which is longer than the integer before `pos`; None: it is an integer."""
        text, size = self.text, len(self.text)
        if self.mode != EXPR:
            return None
        end = pos
        if end < size and text[end] == ".":
            end += 1
            while end < size and text[end] in DIGITS:
                end += 1
        if end < size and text[end] in "eE":
            digits = end + 1 + (text[end + 1 : end + 2] in ("+", "-"))
            if digits < size and text[digits] in DIGITS:
                while digits < size and text[digits] in DIGITS:
                    digits += 1
                end = digits
        return end if end != pos or end < size and text[end] in "fF" else None

    def read_float(self, start: int, end: int) -> Token:
        """The token of a floating-point constant, a double."""
        self.pos = end
        if self.allows_floats():
            import struct

            self.pos += self.text[end : end + 1] in ("f", "F", "l", "L")
            return Token(
                FLOAT,
                struct.unpack("=Q", struct.pack("=d", float(self.text[start:end])))[0],
                start,
                self.pos,
            )
        self.raise_error(
            "D_SYNTAX",
            "floating-point constants are not permitted",
            start,
            "D calculates with integers; -x pyusdt adds doubles",
        )

    def parse_integer(self, digits: str, suffix: str, start: int) -> tuple[int, bool, str, str]:
        """(value, decimal, suffix, sign) of an integer constant's text."""
        try:
            if digits[:2] in ("0x", "0X"):
                value = int(digits, 16)
            elif digits[0] == "0":
                value = int(digits, 8)
            else:
                value = int(digits) if len(digits) < 32 else 1 << 64
        except ValueError:
            bad = next(c for c in digits if c in "89")
            text = f"constant {digits + suffix} contains invalid digit {bad}"
            self.raise_error("D_INT_DIGIT", text, start, "a constant that begins with 0 is octal")
        if value >= 1 << 64:
            text = f"constant {self.text[start : self.pos]} results in integer overflow"
            self.raise_error(
                "D_INT_OFLOW", text, start, "the largest integer is 18446744073709551615"
            )
        return value, digits[0] != "0", suffix, ""

    def read_string(self, start: int) -> tuple[bytes, int]:
        """The bytes of a string constant and the offset after it."""
        text = self.text
        pos = start + 1
        while True:
            quote, newline = text.find('"', pos), text.find("\n", pos)
            if quote < 0 or 0 <= newline < quote:
                if newline < 0:
                    self.pos = start + 1
                    self.raise_error(
                        "D_SYNTAX", 'syntax error near """', start, 'this string has no closing "'
                    )
                self.pos = newline + 1
                if text[newline - 1] == "\\":
                    self.pos = start + 1
                    self.raise_error(
                        "D_SYNTAX",
                        'syntax error near """',
                        start,
                        "a string cannot go over two lines",
                    )
                hint = "close the string on its line; \\n is the newline inside one"
                self.raise_error(
                    "D_STR_NL", "newline encountered in string literal", start, hint, newline
                )
            backslash = text.find("\\", pos, quote)
            if backslash < 0:
                return unescape(text[start + 1 : quote]), quote + 1
            pos = backslash + 2

    def read_character(self, start: int) -> Token:
        text, size = self.text, len(self.text)
        pos = start + 1
        while pos < size and text[pos] not in "'\n":
            pos += 2 if text[pos] == "\\" and text[pos + 1 : pos + 2] not in ("", "\n") else 1
        if pos >= size:
            self.pos = start + 1
            self.raise_error(
                "D_SYNTAX",
                'syntax error near "\'"',
                start,
                "this character constant has no closing '",
            )
        self.pos = pos + 1
        if text[pos] == "\n":
            self.raise_error(
                "D_CHR_NL", "newline encountered in character constant", start, None, pos
            )
        if pos == start + 1:
            self.raise_error("D_CHR_NULL", "empty character constant", start)
        data = unescape(text[start + 1 : pos])
        if len(data) > 8:
            self.raise_error(
                "D_CHR_OFLOW",
                "character constant is too long",
                start,
                'a string has double quotes: "…"',
            )
        return Token(INT, (int.from_bytes(data, "big"), True, "", ""), start, self.pos)

    # --- macro variables ----------------------------------------------------------

    def read_macro(self, start: int) -> Token:
        text, size = self.text, len(self.text)
        quoted = text.startswith("$$", start)
        pos = begin = start + 1 + quoted
        first = text[pos] if pos < size else ""
        rest = DIGITS if first in DIGITS and first else IDENT_REST
        while pos < size and text[pos] in rest:
            pos += 1
        name = text[begin:pos]
        self.pos = pos
        if not name:
            self.pos = start + 1
            self.raise_error("D_SYNTAX", 'syntax error near "$"', start)
        if rest is DIGITS:
            return self.read_argument(int(name[:9]), quoted, start)
        value = self.macros.get(name)
        if value is None or isinstance(value, MissingMacro):
            hint = value.hint if value else self.list_macros()
            self.raise_error(
                "D_MACRO_UNDEF", f"macro variable {text[start:pos]} is not defined", start, hint
            )
        if isinstance(value, MacroVariable):
            if quoted:
                self.raise_error(
                    "D_UNSUPPORTED",
                    f"{text[start:pos]} is not known when the script is compiled",
                    start,
                )
            return Token(IDENT, value.name, start, pos)
        if quoted:
            return Token(STRING, str(value).encode(), start, pos)
        return Token(INT, (value & 0xFFFFFFFFFFFFFFFF, True, "", ""), start, pos)

    def list_macros(self) -> str | None:
        """The hint for a macro that does not exist."""
        names = ", ".join(
            f"${name}"
            for name, value in sorted(self.macros.items())
            if not isinstance(value, MissingMacro)
        )
        return f"the macro variables are {names}" if names else None

    def read_argument(self, number: int, quoted: bool, start: int) -> Token:
        """$1 stands for an integer, a name or a string, as its text is; $$1 for a string."""
        shown = self.text[start : self.pos]
        if number < len(self.args):
            value = self.args[number]
            self.used_args.add(number)
        elif self.default_args:
            value = "" if quoted else "0"
        else:
            hint = "arguments follow the script's name on the command line; -x defaultargs makes missing ones 0"
            self.raise_error("D_MACRO_UNDEF", f"macro argument {shown} is not defined", start, hint)
        value = value.encode("utf-8", "surrogateescape").decode("latin-1")
        if quoted:
            return Token(STRING, unescape(value), start, self.pos)
        parsed = self.parse_argument_integer(value, shown, start)
        if parsed is not None:
            return Token(INT, parsed, start, self.pos)
        if value and value[0] in IDENT_FIRST and all(c in IDENT_REST for c in value):
            return Token(IDENT, value, start, self.pos)
        if len(value) > 1 and value[0] == value[-1] == '"':
            value = value[1:-1]
        return Token(STRING, unescape(value), start, self.pos)

    def parse_argument_integer(
        self, value: str, shown: str, start: int
    ) -> tuple[int, bool, str, str] | None:
        sign = value[0] if value[:1] in ("+", "-") and value else ""
        body = value[len(sign) :]
        digits = body.rstrip("uUlL")
        suffix = body[len(digits) :]
        if (
            not digits
            or digits[0] not in DIGITS
            or suffix.lower() not in ("", "u", "l", "ul", "ll", "ull")
        ):
            return None
        octal = digits[0] == "0" and digits[:2] not in ("0x", "0X")
        allowed, number = (HEX, digits[2:]) if digits[:2] in ("0x", "0X") else (DIGITS, digits)
        if (
            not number
            or not all(c in allowed for c in number)
            or octal
            and ("8" in number or "9" in number)
        ):
            return None
        parsed = (
            int(number, 16 if allowed is HEX else 8 if octal else 10)
            if len(number) < 32
            else 1 << 64
        )
        if parsed >= 1 << 64:
            text = f"macro argument {shown} constant {body} results in integer overflow"
            self.raise_error("D_MACRO_OFLOW", text, start)
        return parsed, digits[0] != "0", suffix, sign


def find_module_path_end(text: str, pos: int) -> int:
    """Where a file's path ends that stands as a module behind a provider's colon: two more parts follow.  pos itself: there is none."""
    if not text.startswith("/", pos):
        return pos
    end = _find_part_end(text, pos)
    function_end = _find_part_end(text, end + 1)
    is_module = (
        text.startswith(":", end)
        and text.startswith(":", function_end)
        and "/" not in text[end + 1 : function_end]
    )
    return end if is_module else pos


def _find_part_end(text: str, pos: int) -> int:
    while pos < len(text) and text[pos] not in PATH_END:
        pos += 1
    return pos


def unescape(text: str) -> bytes:
    """The bytes of a string's or character's text, C's escapes replaced."""
    if "\\" not in text:
        return text.encode("latin-1")
    out = bytearray()
    pos, size = 0, len(text)
    while pos < size:
        c = text[pos]
        pos += 1
        if c != "\\" or pos >= size:
            if c != "\\":
                out.append(ord(c))
            continue
        c = text[pos]
        pos += 1
        if c in "01234567":
            end = pos
            while end < size and end < pos + 2 and text[end] in "01234567":
                end += 1
            out.append(int(text[pos - 1 : end], 8) & 0xFF)
            pos = end
        elif c == "x":
            end = pos
            while end < size and text[end] in HEX:
                end += 1
            out.append(int(text[pos:end] or "0", 16) & 0xFF)
            pos = end
        elif c in ESCAPES:
            out.append(ESCAPES[c])
        else:
            out += b"\\" + c.encode("latin-1")
    return bytes(out)
