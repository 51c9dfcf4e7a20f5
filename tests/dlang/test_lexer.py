"""Tokens: constants and their escapes, macro variables, what is skipped."""

import pytest

from pydtrace.dlang.compile_errors import CompileError
from pydtrace.dlang.front.lexer import (
    AGG,
    CLAUSE,
    EOF,
    EXPR,
    IDENT,
    INT,
    PSPEC,
    STRING,
    Lexer,
    unescape,
)
from pydtrace.dlang.front.source_text import Source


def lexer_of(text, mode=EXPR, macros=(), args=(), default_args=False, control=None):
    lexer = Lexer(Source(text), dict(macros), list(args), default_args, control)
    lexer.mode = mode
    return lexer


def tokens(text, **settings):
    """(kind, value) of all tokens, without the end."""
    lexer, found = lexer_of(text, **settings), []
    while True:
        token = lexer.next_token()
        if token.kind == EOF:
            return found
        found.append((token.kind, token.value))


def value(text, **settings):
    (found,) = tokens(text, **settings)
    return found[1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", (0, False, "", "")),
        ("42", (42, True, "", "")),
        ("0x1Fu", (31, False, "u", "")),
        ("017", (15, False, "", "")),
        ("1UL", (1, True, "UL", "")),
        ("1ull", (1, True, "ull", "")),
        ("18446744073709551615", (2**64 - 1, True, "", "")),
        ("'a'", (97, True, "", "")),
        ("'ab'", (0x6162, True, "", "")),
        (r"'\n'", (10, True, "", "")),
        (r"'\''", (0x5C27, True, "", "")),
        (r"'\0'", (0, True, "", "")),
        ("'12345678'", (0x3132333435363738, True, "", "")),
    ],
)
def test_integers(text, expected):
    assert tokens(text) == [(INT, expected)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"a\tb\n", b"a\tb\n"),
        (r"\a\b\f\r\v", b"\a\b\f\r\v"),
        (r"\101\7\1234", b"A\x07S4"),
        (r"\x41", b"A"),
        (r"\x1234", b"4"),
        (r"\"\\", b'"\\'),
        (r"\q", b"\\q"),
        (r"\'", b"\\'"),
        (r"\400", b"\x00"),
        ("é".encode().decode("latin-1"), "é".encode()),
    ],
)
def test_escapes(text, expected):
    assert unescape(text) == expected


def test_words_and_operators_take_the_longest():
    kinds = [kind for kind, _ in tokens("a+++b <<=c>>d && e&f ^^g^h...->.")]
    expected = ["++", "+", "<<=", ">>", "&&", "&", "^^", "^", "...", "->", "."]
    assert [kind for kind in kinds if kind != IDENT] == expected


def test_after_a_member_operator_keywords_are_names():
    lexer = lexer_of("x->int int")
    assert [lexer.next_token().kind, lexer.next_token().kind] == [IDENT, "->"]
    lexer.after_member = True
    assert [lexer.next_token().kind, lexer.next_token().kind] == [IDENT, "int"]


def test_aggregations():
    assert tokens("@ @a @_b1[") == [(AGG, "_"), (AGG, "a"), (AGG, "_b1"), ("[", None)]


def test_probe_descriptions_are_one_token():
    text = "pyusdt$target:::user_trace-n*,tick-1s /"
    expected = [
        (PSPEC, "pyusdt$target:::user_trace-n*"),
        (",", None),
        (PSPEC, "tick-1s"),
        ("/", None),
    ]
    assert tokens(text, mode=CLAUSE) == expected
    assert tokens("integer int int*", mode=CLAUSE) == [
        (PSPEC, "integer"),
        ("int", None),
        (PSPEC, "int*"),
    ]


def test_a_slash_ends_a_predicate_where_nothing_can_be_divided():
    assert [kind for kind, _ in tokens("1 / 2 /\n{")] == [INT, "/", INT, "EPRED", "{"]
    assert [kind for kind, _ in tokens("1 /= 2 /;")] == [INT, "/=", INT, "EPRED", ";"]


def test_comments_lines_and_blanks_are_skipped():
    seen = []
    text = "#!/usr/bin/pydtrace -s\n/* a\n */ x // y\n # pragma D option quiet\n\\\nz"
    found = tokens(
        text, control=lambda words, start, end: seen.append([word[:2] for word in words])
    )
    assert found == [(IDENT, "x"), (IDENT, "z")]
    assert seen == [[("word", "pragma"), ("word", "D"), ("word", "option"), ("word", "quiet")]]


def test_a_hash_within_a_line_is_no_control_line():
    with pytest.raises(CompileError, match='syntax error near "#"'):
        tokens("x # y")


def test_macro_variables():
    assert value("$target", macros={"target": 7}) == (7, True, "", "")
    assert tokens("$$target", macros={"target": 7}) == [(STRING, b"7")]
    assert value("$pid", macros={"pid": -1})[0] == 2**64 - 1


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("12", (INT, (12, True, "", ""))),
        ("-0x1f", (INT, (31, False, "", "-"))),
        ("017u", (INT, (15, False, "u", ""))),
        ("name", (IDENT, "name")),
        ("a b", (STRING, b"a b")),
        ('"12"', (STRING, b"12")),
        ("09", (STRING, b"09")),
        ("", (STRING, b"")),
        ("/a\\tb", (STRING, b"/a\tb")),
    ],
)
def test_arguments(argument, expected):
    assert tokens("$1", args=["script", argument]) == [expected]
    assert tokens("$$1", args=["script", argument])[0][0] == STRING


def test_missing_arguments_have_defaults_only_when_asked():
    assert tokens("$3 $$3", default_args=True) == [(INT, (0, False, "", "")), (STRING, b"")]
    with pytest.raises(CompileError, match=r"macro argument \$3 is not defined"):
        tokens("$3")
