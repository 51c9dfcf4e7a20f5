"""The parser's part for types and declarations: functions over a parser.Parser."""

from __future__ import annotations

from pydtrace.dlang import ast
from pydtrace.dlang.types import declarations, definitions
from pydtrace.program import d_types as t

from .lexer import EOF, IDENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .lexer import Token
    from .parser import Parser

    Steps = list[tuple[Any, ...]]  # ast.TypeName.steps

CLASSES = frozenset(["auto", "register", "static", "extern", "typedef", "self", "this"])
QUALIFIERS = frozenset(["const", "restrict", "volatile"])
TYPE_WORDS = frozenset(
    ["void", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "string"]
)
_ATTRIBUTES = frozenset(["short", "long", "signed", "unsigned"])
_SPECIFIERS = TYPE_WORDS | QUALIFIERS | {"struct", "union", "enum"}


def parse_plain_name(parser: Parser) -> str:
    """Take a name that dtrace's lexer knows without looking behind it: a tag, a type's, an enumerator's."""
    token = parser.expect(IDENT)
    name: str = token.value
    token.value = None
    return name


def starts_type(parser: Parser) -> bool:
    """True if the next token begins a type."""
    kind = parser.peek()
    if kind != IDENT:
        return kind in _SPECIFIERS
    token = parser.peek_token()
    return declarations.is_type_name(parser.names, token.value) and not parser.is_used_as_variable(
        token, comma=False
    )


# --- specifiers ---------------------------------------------------------------
def parse_specifiers(
    parser: Parser, classes: frozenset[str] | tuple[Any, ...] = ()
) -> tuple[str | None, list[ast.Node | str]]:
    """(storage class or None, words) of a declaration; at least one is there."""
    storage: str | None = None
    words: list[Any] = []
    named = False
    while True:
        token = parser.peek_token()
        kind = token.kind
        if kind in classes:
            if storage is not None:
                message = "only one storage class allowed in a declaration"
                parser.raise_error("D_DECL_CLASS", parser.token_location(token), message)
            storage = kind
            parser.next_token()
        elif kind in ("struct", "union", "enum"):
            words.append(
                parse_enum_spec(parser, words)
                if kind == "enum"
                else parse_struct_spec(parser, words)
            )
        elif kind in TYPE_WORDS or kind in QUALIFIERS:
            declarations.check_specifier(parser.token_location(token), words, kind)
            words.append(kind)
            parser.next_token()
        elif (
            kind == IDENT
            and not named
            and not _has_type(words)
            and declarations.is_type_name(parser.names, token.value)
            and not (any(word in _ATTRIBUTES for word in words) and is_declared_name(parser, token))
        ):
            words.append(parse_plain_name(parser))
            named = True
        else:
            break
    if storage is None and not words:
        parser.raise_syntax_error()
    return storage, words


def is_declared_name(parser: Parser, token: Token) -> bool:
    """Whether what follows a name tells that it is the one declared, as in `typedef unsigned long size_t;`."""
    return parser.source.text[token.end :].lstrip()[:1] in (";", ",", "[", "=")


def _has_type(words: list[ast.Node | str]) -> bool:
    return any(type(w) is not str or w not in QUALIFIERS and w not in _ATTRIBUTES for w in words)


def parse_struct_spec(parser: Parser, words: list[Any]) -> ast.StructSpec:
    """words: those of the declaration so far."""
    token = parser.next_token()
    names, kind = parser.names, token.kind
    tag = parse_plain_name(parser) if parser.peek() == IDENT else None
    parser.peek()
    declarations.check_specifier(parser.token_location(token), words, kind)
    if parser.peek() != "{":
        if tag is None:
            parser.raise_syntax_error()
        return ast.StructSpec(
            parser.location_from(token.start), declarations.find_tagged(names, kind, tag)
        )
    parser.enter_level()
    record = declarations.define_tag(
        names, parser.location_from(token.start), kind, tag, parser.record_depth > 0
    )
    assert isinstance(record, t.Record)
    parser.next_token()
    record.body.fields = {}
    parser.record_depth += 1
    while True:
        for member in parse_members(parser):
            declarations.add_member(names, record, member)
        if parser.accept("}"):
            break
    parser.record_depth -= 1
    parser.depth -= 1
    return ast.StructSpec(parser.location_from(token.start), record)


def parse_members(parser: Parser) -> Iterator[ast.Member]:
    """One line of a struct: `type a, *b, c : 3;`"""
    _, words = parse_specifiers(parser)
    while True:
        start = parser.next_start()
        name: str | None = None
        steps: Steps = []
        bits: ast.Expr | None = None
        if parser.peek() == ";":
            parser.raise_syntax_error("a member needs a name")
        if parser.peek() != ":":
            name, steps = parse_declarator(parser)
        if parser.accept(":"):
            bits, _ = parse_conditional(parser)
        parser.peek()
        loc = parser.location_from(start)
        keys = steps and steps[0][0] == "[]" and isinstance(steps[0][1], list)
        steps = steps[:1] if keys else steps
        yield ast.Member(loc, ast.TypeName(loc, words, steps), name, bits)
        if not parser.accept(","):
            break
    parser.expect(";")


def parse_conditional(parser: Parser) -> tuple[ast.Expr, bool]:
    parser.peek()
    return parser.parse_conditional()


def parse_enum_spec(parser: Parser, words: list[Any]) -> ast.EnumSpec:
    token = parser.next_token()
    names = parser.names
    tag = parse_plain_name(parser) if parser.peek() == IDENT else None
    parser.peek()
    declarations.check_specifier(parser.token_location(token), words, "enum")
    if parser.peek() != "{":
        if tag is None:
            parser.raise_syntax_error()
        return ast.EnumSpec(
            parser.location_from(token.start), declarations.find_tagged(names, "enum", tag)
        )
    enum = declarations.define_tag(
        names, parser.location_from(token.start), "enum", tag, parser.record_depth > 0
    )
    assert isinstance(enum, t.Enum)
    parser.next_token()
    enum.values = {}
    while True:
        start = parser.next_start()
        name = parse_plain_name(parser)
        value = parser.parse_assignment() if parser.accept("=") else None
        parser.peek()
        declarations.add_enumerator(names, enum, parser.location_from(start), name, value)
        if not parser.accept(",") or parser.peek() == "}":
            break
    parser.expect("}")
    return ast.EnumSpec(parser.location_from(token.start), enum)


# --- declarators ----------------------------------------------------------------
def parse_declarator(parser: Parser, abstract: bool = False) -> tuple[Any, Steps]:
    """(name, steps); an abstract one, of a cast or a parameter, may have no name."""
    parser.enter_level()
    pointers = parse_stars(parser)
    name: str | None = None
    steps: Steps = []
    if parser.peek() == IDENT:
        name = parser.next_token().value
    elif parser.peek() == "(" and (not abstract or _is_nested_declarator(parser)):
        parser.next_token()
        name, steps = parse_declarator(parser, abstract)
        parser.expect(")")
    elif not abstract:
        parser.raise_syntax_error("expected a name to declare")
    steps = steps + parse_suffixes(parser)
    parser.depth -= 1
    return name, steps + [("*",)] * pointers


def parse_stars(parser: Parser) -> int:
    count = 0
    while parser.accept("*"):
        count += 1
        _check_levels(parser, count)
        while parser.peek() in QUALIFIERS:
            parser.next_token()
    return count


def _is_nested_declarator(parser: Parser) -> bool:
    """In an abstract declarator, whether the coming ( groups rather than begins parameters."""
    text, pos = parser.source.text, parser.peek_token().end
    while text[pos : pos + 1].isspace():
        pos += 1
    return text[pos : pos + 1] in ("*", "(", "[")


def _check_levels(parser: Parser, levels: int) -> None:
    if levels > 64:
        parser.raise_syntax_error("a declaration of more than 64 levels is not supported")


def parse_suffixes(parser: Parser) -> Steps:
    steps: Steps = []
    size: ast.Expr | list[ast.Parameter] | None
    while True:
        if parser.accept("["):
            if parser.peek() == "]":
                size = None
            elif starts_type(parser) or parser.peek() == "..." or parser.peek() in CLASSES:
                size = parse_parameters(parser)
            else:
                size, _ = parser.parse_conditional()
            parser.expect("]")
            steps.append(("[]", size))
        elif parser.peek() == "(":
            parser.next_token()
            parameters = parse_parameters(parser) if parser.peek() != ")" else []
            parser.expect(")")
            steps.append(("()", parameters))
        else:
            return steps
        _check_levels(parser, len(steps))


def parse_parameters(parser: Parser) -> list[ast.Parameter]:
    found = []
    while True:
        start = parser.next_start()
        if parser.accept("..."):
            found.append(ast.Parameter(parser.location_from(start), None, None))
            return found
        storage, words = parse_specifiers(parser, CLASSES)
        if storage not in (None, "register"):
            message = "inappropriate storage class for function or associative array parameter"
            parser.raise_error("D_DECL_PARMCLASS", parser.location_from(start), message)
        name, steps = parse_declarator(parser, abstract=True)
        loc = parser.location_from(start)
        type_name = ast.TypeName(loc, words, steps)
        found.append(ast.Parameter(loc, type_name, name))
        declarations.resolve_base_type(
            parser.names, type_name
        )  # as in dtrace, it is looked at before what follows
        parser.check_count(found)
        if not parser.accept(","):
            return found


def parse_type_name(parser: Parser) -> ast.TypeName:
    """A type without a name, as in a cast."""
    start = parser.next_start()
    _, words = parse_specifiers(parser)
    name, steps = parse_declarator(parser, abstract=True)
    if name is not None:
        parser.raise_syntax_error()
    return ast.TypeName(parser.location_from(start), words, steps)


# --- what stands outside clauses --------------------------------------------------
def parse_declaration(parser: Parser) -> list[ast.Node]:
    """`[class] type name, *name[keys], …;`"""
    start = parser.next_start()
    storage, words = parse_specifiers(parser, CLASSES)
    if parser.accept(";"):
        loc = parser.location_from(start)
        alone = ast.TypeDeclaration(loc, ast.TypeName(loc, words, []))
        declarations.check_type_declaration(parser.names, alone)
        return [alone]
    found: list[ast.Node] = []
    while True:
        name, steps = parse_declarator(parser)
        parser.peek()
        loc = parser.location_from(start)
        keys = None
        if steps and steps[0][0] == "[]" and type(steps[0][1]) is list:
            keys, steps = steps[0][1], steps[1:]
        if parser.peek() == EOF:
            parser.raise_syntax_error()
        node = ast.Declaration(
            loc, storage or "global", ast.TypeName(loc, words, steps), name, keys
        )
        declarations.declare_name(
            parser.names, node
        )  # as in dtrace, it is looked at before what follows
        if parser.peek() not in (",", ";"):
            parser.raise_syntax_error(
                "a variable gets its value in a clause, such as BEGIN"
                if parser.peek() == "="
                else None
            )
        found.append(node)
        if parser.next_token().kind == ";":
            return found


def parse_inline(parser: Parser) -> ast.Inline:
    start = parser.next_token().start
    storage, words = parse_specifiers(parser, CLASSES)
    name, steps = parse_declarator(parser)
    keys = None
    if steps and steps[0][0] == "[]" and type(steps[0][1]) is list:
        keys, steps = steps[0][1], steps[1:]
    parser.expect("=")
    parser.parameters = {each.name for each in keys or ()}
    value = parser.parse_assignment()
    parser.peek()
    loc = parser.location_from(start)
    parser.expect(";")
    parser.parameters = set()
    if storage is not None:
        parser.raise_error(
            "D_DECL_BADCLASS", loc, "specified storage class not appropriate for inline declaration"
        )
    node = ast.Inline(loc, ast.TypeName(loc, words, steps), name, keys, value)
    definitions.define_inline(parser.names, node)
    return node


def parse_translator(parser: Parser) -> ast.Translator:
    start = parser.next_token().start
    to = parse_type_name(parser)
    parser.expect("<")
    source_start = parser.next_start()
    _, words = parse_specifiers(parser)
    name, steps = parse_declarator(parser)
    source = ast.TypeName(parser.location_from(source_start), words, steps)
    parser.expect(">")
    parser.expect("{")
    parser.parameters = {name}
    members = []
    while not parser.accept("}"):
        member_start = parser.next_start()
        member = parser.expect(IDENT).value
        parser.last_token = None  # dtrace's lexer does not look behind it
        parser.expect("=")
        value = parser.parse_assignment()
        members.append(ast.Conversion(parser.location_from(member_start), member, value))
        parser.expect(";")
    parser.peek()
    loc = parser.location_from(start)
    node = ast.Translator(loc, to, source, name, members)
    definitions.define_translator(parser.names, node)
    parser.expect(";")
    parser.parameters = set()
    return node


def parse_provider(parser: Parser) -> ast.Provider:
    start = parser.next_token().start
    name = parser.expect(IDENT).value
    parser.expect("{")
    probes = []
    while not parser.accept("}"):
        probes.append(parse_provider_probe(parser))
    parser.peek()
    node = ast.Provider(parser.location_from(start), name, probes)
    definitions.define_provider(parser.names, node)
    parser.expect(";")
    return node


def parse_provider_probe(parser: Parser) -> ast.ProviderProbe:
    if parser.peek() == EOF:
        parser.raise_syntax_error()
    start = parser.next_start()
    parser.expect("probe")
    name = parser.expect(IDENT).value
    inputs = parse_probe_prototype(parser)
    outputs = parse_probe_prototype(parser) if parser.accept(":") else None
    parser.peek()
    loc = parser.location_from(start)
    parser.expect(";")
    return ast.ProviderProbe(loc, name, inputs, outputs)


def parse_probe_prototype(parser: Parser) -> list[ast.Parameter]:
    parser.expect("(")
    parameters = parse_parameters(parser) if parser.peek() != ")" else []
    parser.expect(")")
    return parameters
