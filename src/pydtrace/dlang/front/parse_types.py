# mypy: ignore-errors
"""The parser's part for types and declarations: functions over a parser.Parser.

In: tokens.  Out: TypeName nodes, and the items that are not clauses.
"""

from pydtrace.dlang import ast
from pydtrace.dlang.types import declarations, definitions

from .lexer import EOF, IDENT

CLASSES = frozenset(["auto", "register", "static", "extern", "typedef", "self", "this"])
QUALIFIERS = frozenset(["const", "restrict", "volatile"])
TYPE_WORDS = frozenset(
    ["void", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "string"]
)
_ATTRIBUTES = frozenset(["short", "long", "signed", "unsigned"])
_SPECIFIERS = TYPE_WORDS | QUALIFIERS | {"struct", "union", "enum"}


def name_alone(parser):
    """Take a name that dtrace's lexer knows without looking behind it: a tag, a type's, an enumerator's."""
    token = parser.expect(IDENT)
    name, token.value = token.value, None
    return name


def starts_type(parser):
    """True if the next token begins a type."""
    kind = parser.peek()
    if kind != IDENT:
        return kind in _SPECIFIERS
    return declarations.is_type(parser.names, parser.token.value) and not parser.assigned(
        parser.token, comma=False
    )


# --- specifiers ---------------------------------------------------------------
def specifiers(parser, classes=()):
    """(storage class or None, words) of a declaration; at least one is there."""
    storage, words, named = None, [], False
    while True:
        kind = parser.peek()
        token = parser.token
        if kind in classes:
            if storage is not None:
                message = "only one storage class allowed in a declaration"
                parser.error("D_DECL_CLASS", parser.at(token), message)
            storage = kind
            parser.take()
        elif kind in ("struct", "union", "enum"):
            words.append(enum_spec(parser, words) if kind == "enum" else struct_spec(parser, words))
        elif kind in TYPE_WORDS or kind in QUALIFIERS:
            declarations.check_specifier(parser.at(token), words, kind)
            words.append(kind)
            parser.take()
        elif (
            kind == IDENT
            and not named
            and not _has_type(words)
            and declarations.is_type(parser.names, token.value)
            and not (any(word in _ATTRIBUTES for word in words) and ends_declarator(parser, token))
        ):
            words.append(name_alone(parser))
            named = True
        else:
            break
    if storage is None and not words:
        parser.syntax_error()
    return storage, words


def ends_declarator(parser, token):
    """Whether what follows a name tells that it is the one declared, as in `typedef unsigned long size_t;`."""
    return parser.source.text[token.end :].lstrip()[:1] in (";", ",", "[", "=")


def _has_type(words):
    return any(type(w) is not str or w not in QUALIFIERS and w not in _ATTRIBUTES for w in words)


def struct_spec(parser, words):
    """words: those of the declaration so far."""
    token = parser.take()
    names, kind = parser.names, token.kind
    tag = name_alone(parser) if parser.peek() == IDENT else None
    parser.peek()
    declarations.check_specifier(parser.at(token), words, kind)
    if parser.peek() != "{":
        if tag is None:
            parser.syntax_error()
        return ast.StructSpec(parser.loc(token.start), declarations.tagged(names, kind, tag))
    parser.enter()
    record = declarations.define_tag(names, parser.loc(token.start), kind, tag, parser.nesting > 0)
    parser.take()
    record.body.fields = {}
    parser.nesting += 1
    while True:
        for member in members(parser):
            declarations.add_member(names, record, member)
        if parser.accept("}"):
            break
    parser.nesting -= 1
    parser.depth -= 1
    return ast.StructSpec(parser.loc(token.start), record)


def members(parser):
    """One line of a struct: `type a, *b, c : 3;`"""
    _, words = specifiers(parser)
    while True:
        start = parser.here()
        name, steps, bits = None, [], None
        if parser.peek() == ";":
            parser.syntax_error("a member needs a name")
        if parser.peek() != ":":
            name, steps = declarator(parser)
        if parser.accept(":"):
            bits, _ = conditional_expression(parser)
        parser.peek()
        loc = parser.loc(start)
        keys = steps and steps[0][0] == "[]" and isinstance(steps[0][1], list)
        steps = steps[:1] if keys else steps
        yield ast.Member(loc, ast.TypeName(loc, words, steps), name, bits)
        if not parser.accept(","):
            break
    parser.expect(";")


def conditional_expression(parser):
    parser.peek()
    return parser.conditional()


def enum_spec(parser, words):
    token = parser.take()
    names = parser.names
    tag = name_alone(parser) if parser.peek() == IDENT else None
    parser.peek()
    declarations.check_specifier(parser.at(token), words, "enum")
    if parser.peek() != "{":
        if tag is None:
            parser.syntax_error()
        return ast.EnumSpec(parser.loc(token.start), declarations.tagged(names, "enum", tag))
    enum = declarations.define_tag(names, parser.loc(token.start), "enum", tag, parser.nesting > 0)
    parser.take()
    enum.values = {}
    while True:
        start = parser.here()
        name = name_alone(parser)
        value = parser.assignment() if parser.accept("=") else None
        parser.peek()
        declarations.add_enumerator(names, enum, parser.loc(start), name, value)
        if not parser.accept(",") or parser.peek() == "}":
            break
    parser.expect("}")
    return ast.EnumSpec(parser.loc(token.start), enum)


# --- declarators ----------------------------------------------------------------
def declarator(parser, abstract=False):
    """(name, steps); an abstract one, of a cast or a parameter, may have no name."""
    parser.enter()
    pointers = stars(parser)
    name, steps = None, []
    if parser.peek() == IDENT:
        name = parser.take().value
    elif parser.peek() == "(" and (not abstract or _nested(parser)):
        parser.take()
        name, steps = declarator(parser, abstract)
        parser.expect(")")
    elif not abstract:
        parser.syntax_error("expected a name to declare")
    steps = steps + suffixes(parser)
    parser.depth -= 1
    return name, steps + [("*",)] * pointers


def stars(parser):
    count = 0
    while parser.accept("*"):
        count += 1
        _bound_levels(parser, count)
        while parser.peek() in QUALIFIERS:
            parser.take()
    return count


def _nested(parser):
    """In an abstract declarator, whether the coming ( groups rather than begins parameters."""
    text, pos = parser.source.text, parser.token.end
    while text[pos : pos + 1].isspace():
        pos += 1
    return text[pos : pos + 1] in ("*", "(", "[")


def _bound_levels(parser, levels):
    if levels > 64:
        parser.syntax_error("a declaration of more than 64 levels is not supported")


def suffixes(parser):
    steps = []
    while True:
        if parser.accept("["):
            if parser.peek() == "]":
                size = None
            elif starts_type(parser) or parser.peek() == "..." or parser.peek() in CLASSES:
                size = parameter_list(parser)
            else:
                size, _ = parser.conditional()
            parser.expect("]")
            steps.append(("[]", size))
        elif parser.peek() == "(":
            parser.take()
            parameters = parameter_list(parser) if parser.peek() != ")" else []
            parser.expect(")")
            steps.append(("()", parameters))
        else:
            return steps
        _bound_levels(parser, len(steps))


def parameter_list(parser):
    found = []
    while True:
        start = parser.here()
        if parser.accept("..."):
            found.append(ast.Parameter(parser.loc(start), None, None))
            return found
        storage, words = specifiers(parser, CLASSES)
        if storage not in (None, "register"):
            message = "inappropriate storage class for function or associative array parameter"
            parser.error("D_DECL_PARMCLASS", parser.loc(start), message)
        name, steps = declarator(parser, abstract=True)
        loc = parser.loc(start)
        found.append(ast.Parameter(loc, ast.TypeName(loc, words, steps), name))
        declarations.base_type(
            parser.names, found[-1].type_name
        )  # as in dtrace, it is looked at before what follows
        parser.bound(found)
        if not parser.accept(","):
            return found


def type_name(parser):
    """A type without a name, as in a cast."""
    start = parser.here()
    _, words = specifiers(parser)
    name, steps = declarator(parser, abstract=True)
    if name is not None:
        parser.syntax_error()
    return ast.TypeName(parser.loc(start), words, steps)


# --- what stands outside clauses --------------------------------------------------
def declaration(parser):
    """`[class] type name, *name[keys], …;`"""
    start = parser.here()
    storage, words = specifiers(parser, CLASSES)
    if parser.accept(";"):
        loc = parser.loc(start)
        node = ast.TypeDeclaration(loc, ast.TypeName(loc, words, []))
        declarations.declare_type(parser.names, node)
        return [node]
    found = []
    while True:
        name, steps = declarator(parser)
        parser.peek()
        loc = parser.loc(start)
        keys = None
        if steps and steps[0][0] == "[]" and type(steps[0][1]) is list:
            keys, steps = steps[0][1], steps[1:]
        if parser.peek() == EOF:
            parser.syntax_error()
        node = ast.Declaration(
            loc, storage or "global", ast.TypeName(loc, words, steps), name, keys
        )
        declarations.declare(
            parser.names, node
        )  # as in dtrace, it is looked at before what follows
        if parser.peek() not in (",", ";"):
            parser.syntax_error(
                "a variable gets its value in a clause, such as BEGIN"
                if parser.peek() == "="
                else None
            )
        found.append(node)
        if parser.take().kind == ";":
            return found


def inline(parser):
    start = parser.take().start
    storage, words = specifiers(parser, CLASSES)
    name, steps = declarator(parser)
    keys = None
    if steps and steps[0][0] == "[]" and type(steps[0][1]) is list:
        keys, steps = steps[0][1], steps[1:]
    parser.expect("=")
    parser.parameters = {each.name for each in keys or ()}
    value = parser.assignment()
    parser.peek()
    loc = parser.loc(start)
    parser.expect(";")
    parser.parameters = ()
    if storage is not None:
        parser.error(
            "D_DECL_BADCLASS", loc, "specified storage class not appropriate for inline declaration"
        )
    node = ast.Inline(loc, ast.TypeName(loc, words, steps), name, keys, value)
    definitions.define_inline(parser.names, node)
    return node


def translator(parser):
    start = parser.take().start
    to = type_name(parser)
    parser.expect("<")
    source_start = parser.here()
    _, words = specifiers(parser)
    name, steps = declarator(parser)
    source = ast.TypeName(parser.loc(source_start), words, steps)
    parser.expect(">")
    parser.expect("{")
    parser.parameters = {name}
    members = []
    while not parser.accept("}"):
        member_start = parser.here()
        member = parser.expect(IDENT).value
        parser.last = None  # dtrace's lexer does not look behind it
        parser.expect("=")
        value = parser.assignment()
        members.append(ast.Conversion(parser.loc(member_start), member, value))
        parser.expect(";")
    parser.peek()
    loc = parser.loc(start)
    node = ast.Translator(loc, to, source, name, members)
    definitions.define_translator(parser.names, node)
    parser.expect(";")
    parser.parameters = ()
    return node


def provider(parser):
    start = parser.take().start
    name = parser.expect(IDENT).value
    parser.expect("{")
    probes = []
    while not parser.accept("}"):
        probes.append(provider_probe(parser))
    parser.peek()
    node = ast.Provider(parser.loc(start), name, probes)
    definitions.define_provider(parser.names, node)
    parser.expect(";")
    return node


def provider_probe(parser):
    if parser.peek() == EOF:
        parser.syntax_error()
    start = parser.here()
    parser.expect("probe")
    name = parser.expect(IDENT).value
    inputs = probe_prototype(parser)
    outputs = probe_prototype(parser) if parser.accept(":") else None
    parser.peek()
    loc = parser.loc(start)
    parser.expect(";")
    return ast.ProviderProbe(loc, name, inputs, outputs)


def probe_prototype(parser):
    parser.expect("(")
    parameters = parameter_list(parser) if parser.peek() != ")" else []
    parser.expect(")")
    return parameters
