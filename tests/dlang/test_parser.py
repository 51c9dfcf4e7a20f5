"""The parser: trees, probe descriptions, which names are types, and the lines that dtrace would name."""

import pytest

from pydtrace.dlang import ast
from pydtrace.dlang.compile import DeepRecursion, compile_program
from pydtrace.dlang.compile_errors import CompileError
from pydtrace.dlang.front.parser import ELEMENTS_MAX, NESTING_MAX, Parser
from pydtrace.dlang.front.pragmas import ControlLines
from pydtrace.dlang.front.source_text import Source
from pydtrace.dlang.types import declarations
from pydtrace.dlang.types.resolve import ProgramNames


def parse(text, name=None, **settings):
    return Parser(Source(text, name), ProgramNames(), ControlLines({}), **settings).parse()


def expression(text):
    """The tree of an expression, as text with all its parentheses."""
    (clause,) = parse(f"BEGIN {{ {text}; }}").items
    return shown(clause.body[0].expr)


def shown(node):
    if isinstance(node, ast.Binary):
        return f"({shown(node.left)} {node.op} {shown(node.right)})"
    if isinstance(node, ast.Assign):
        return f"({shown(node.target)} {node.op} {shown(node.value)})"
    if isinstance(node, ast.Unary):
        return f"({node.op}{shown(node.operand)})"
    if isinstance(node, ast.IncDec):
        return (
            f"({node.op}{shown(node.operand)})"
            if node.prefix
            else f"({shown(node.operand)}{node.op})"
        )
    if isinstance(node, ast.Ternary):
        return f"({shown(node.cond)} ? {shown(node.then)} : {shown(node.otherwise)})"
    if isinstance(node, ast.Cast):
        return f"(({node.to}){shown(node.operand)})"
    if isinstance(node, ast.Comma):
        return f"({', '.join(map(shown, node.parts))})"
    if isinstance(node, ast.Index):
        return f"{shown(node.base)}[{', '.join(map(shown, node.keys))}]"
    if isinstance(node, ast.Call):
        return f"{shown(node.name)}({', '.join(map(shown, node.args))})"
    if isinstance(node, ast.ScopedName):
        return f"{node.scope}->{node.name}"
    return str(node.name) if isinstance(node, ast.Ident) else str(node.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + b * c", "(a + (b * c))"),
        ("a - b - c", "((a - b) - c)"),
        ("a << b + c", "(a << (b + c))"),
        ("a < b == c > d", "((a < b) == (c > d))"),
        ("a & b == c", "(a & (b == c))"),
        ("a | b ^ c & d", "(a | (b ^ (c & d)))"),
        ("a || b ^^ c && d", "(a || (b ^^ (c && d)))"),
        ("a ? b : c ? d : e", "(a ? b : (c ? d : e))"),
        ("a ? b, c : d", "(a ? (b, c) : d)"),
        ("a = b = c", "(a = (b = c))"),
        ("a += b ? c : d", "(a += (b ? c : d))"),
        ("a, b = c, d", "(a, (b = c), d)"),
        ("-a++", "(-(a++))"),
        ("!--a", "(!(--a))"),
        ("a - -b", "(a - (-b))"),
        ("(int)a * b", "(((int)a) * b)"),
        ("(int)-a", "((int)(-a))"),
        ("(unsigned char)(a + b)", "((unsigned char)(a + b))"),
        ("(a)", "a"),
        ("(a) - b", "(a - b)"),
        ("sum(a, b)[c]", "sum(a, b)[c]"),
        ("self->a[b, c]++", "(self->a[b, c]++)"),
    ],
)
def test_precedence(text, expected):
    assert expression(text) == expected


@pytest.mark.parametrize(
    ("text", "value", "type"),
    [
        ("1 + 2 * 3", 7, "int"),
        ("-1", 2**64 - 1, "int"),
        ("~0u", 2**64 - 1, "unsigned int"),
        ("!5", 0, "int"),
        ("1 ? 2 : x", 2, "int"),
        ("2147483647 + 1", 2147483648, "int"),
        ("4294967296", 4294967296, "long"),
        ("0xffffffff", 4294967295, "unsigned int"),
        ("-7 / 2", 2**64 - 3, "int"),
        ("-7 % 2", 2**64 - 1, "int"),
        ("7u / 2", 3, "unsigned int"),
        ("-1 < 0u", 0, "int"),
        ("-1 < 0", 1, "int"),
        ("(char)300", 44, "char"),
        ("(unsigned char)-1", 255, "unsigned char"),
        ("(long)2147483648", 2147483648, "long"),
        ("1 << 40", 1 << 40, "int"),
        ("sizeof (uint16_t)", 2, "size_t"),
        ('sizeof "abc"', 4, "size_t"),
        ("2 && 0 ^^ 1", 1, "int"),
    ],
)
def test_constants_are_folded_with_dtraces_types(text, value, type):
    (clause,) = parse(f"BEGIN {{ trace({text}); }}").items
    (node,) = clause.body[0].expr.args
    assert isinstance(node, ast.IntLit)
    assert (node.value, str(node.type)) == (value, type)


@pytest.mark.parametrize(
    ("text", "level", "expected"),
    [
        ("BEGIN", "name", ("", "", "", "BEGIN")),
        ("main:start", "name", ("", "", "main", "start")),
        ("lib::start", "name", ("", "lib", "", "start")),
        (":::n0", "name", ("", "", "", "n0")),
        ("a:b:c:d", "name", ("a", "b", "c", "d")),
        ("a:b:c:", "name", ("a", "b", "c", "")),
        ("a:", "name", ("", "", "a", "")),
        ("pyusdt$target:::user_trace-n*", "name", ("pyusdt12", "", "", "user_trace-n*")),
        ("pyusdt$$1", "provider", ("pyusdt99", "", "", "")),
        ("a:b", "module", ("a", "b", "", "")),
        ("f", "function", ("", "", "f", "")),
        ("tick-10ms", "name", ("", "", "", "tick-10ms")),
        ("[ab]?:x!y", "name", ("", "", "[ab]?", "x!y")),
    ],
)
def test_probe_descriptions(text, level, expected):
    (clause,) = parse(text, macros={"target": 12}, args=["", "99"], probe_level=level).items
    probe = clause.probes[0]
    assert (probe.provider, probe.module, probe.function, probe.name) == expected
    assert clause.body is None


def test_clauses_follow_each_other():
    unit = parse("BEGIN, END\n/pid/\n{ trace(1);; }\nint x;\nuint64_t a, b;\ntick-1s { ; }", "x.d")
    kinds = [type(item).__name__ for item in unit.items]
    assert kinds == ["Clause", "Declaration", "Declaration", "Declaration", "Clause"]
    first, last = unit.items[0], unit.items[-1]
    assert [str(probe) for probe in first.probes] == [":::BEGIN", ":::END"]
    assert (len(first.body), last.body) == (1, None)


def test_declared_types_change_what_is_a_cast():
    unit = parse("typedef int size; size x; BEGIN { trace((size) - 1); trace((notype) - 1); }")
    cast, difference = (statement.expr.args[0] for statement in unit.items[2].body)
    assert isinstance(cast, ast.IntLit)
    assert str(cast.type) == "size"
    assert isinstance(difference, ast.Binary)


def test_a_name_that_is_assigned_is_no_type():
    unit = parse("BEGIN { size_t = 1; trace((size_t) + 1); }")
    assert isinstance(unit.items[0].body[1].expr.args[0], ast.Binary)


@pytest.mark.parametrize(
    ("declaration", "steps"),
    [
        ("int *x", ["*"]),
        ("int x[3]", ["[]"]),
        ("int *x[3]", ["[]", "*"]),
        ("int (*x)[3]", ["*", "[]"]),
        ("int (*x[2])(int, char *)", ["[]", "*", "()"]),
    ],
)
def test_declarators_read_from_the_name_outwards(declaration, steps, monkeypatch):
    monkeypatch.setattr(
        declarations, "declare_name", lambda names, node: None
    )  # takes what is not supported
    node, _ = parse(declaration + "; BEGIN { }", None).items
    assert [step[0] for step in node.type_name.steps] == steps


def test_places_are_those_of_the_source():
    unit = parse("BEGIN\n{\n\tx = pid +\n\t    tid;\n}\n", "x.d")
    assign = unit.items[0].body[0].expr
    assert (str(assign.loc), str(assign.value.right.loc)) == ("x.d:3:2", "x.d:4:6")
    text = unit.loc.source.text
    assert text[assign.loc.start : assign.loc.end] == "x = pid +\n\t    tid"


@pytest.mark.parametrize(
    "pattern", ["(", "-", "!", "a[", "printf(", "1 ? ", "x = ", "(int)", "++", "sizeof "]
)
def test_nesting_is_bounded(pattern):
    with DeepRecursion(), pytest.raises(CompileError, match=f"more than {NESTING_MAX} levels"):
        parse("BEGIN { " + pattern * 5000)


@pytest.mark.parametrize("tail", [" + x", "[1]", ", x", "->x"])
def test_long_expressions_end_in_a_tree_or_an_error(tail):
    try:
        with DeepRecursion():
            parse("BEGIN { x" + tail * 3000 + "; }")
    except CompileError as error:
        assert "levels" in error.message


@pytest.mark.parametrize(
    "before, after",
    [
        ("struct { ", "} m;"),
        ("struct { ", "};"),
        ("union { ", "} m;"),
        ("struct s%d { ", "} m;"),
        ("union u%d { struct { ", "}; } m;"),
    ],
)
def test_structs_within_structs_are_bounded(before, after):
    """2,000 deep they were a RecursionError."""
    deep = (
        "".join(before % i if "%" in before else before for i in range(2000))
        + "int x;"
        + after * 2000
    )
    with pytest.raises(CompileError, match=f"more than {NESTING_MAX} levels of nesting") as caught:
        compile_program(f"struct t {{ {deep} }};\nBEGIN {{ }}", "deep.d")
    assert (caught.value.tag, caught.value.loc.line) == ("D_UNSUPPORTED", 1)
    compile_program(
        f"struct t {{ {'struct { ' * 100}int x;{'} m;' * 100} }};\nBEGIN {{ }}", "deep.d"
    )


@pytest.mark.parametrize(
    "text",
    ["BEGIN { x[%s] = 1; }", "BEGIN { @[%s] = count(); }", "int y[%s];", "BEGIN { trace(%s); }"],
)
def test_lists_are_bounded_and_the_rest_is_not_read(text):
    """20,000 keys took many seconds to be refused; what is behind the bound is no D."""
    element = "int" if text.startswith("int") else "pid"
    with pytest.raises(CompileError, match=f"more than {ELEMENTS_MAX} keys or arguments") as caught:
        compile_program(text % (", ".join([element] * (ELEMENTS_MAX + 1)) + ", ]]]"), "long.d")
    assert caught.value.tag == "D_UNSUPPORTED"
