"""Compile errors: cases/err/TOPIC/err.TAG.what.d must fail with that tag, and be told as the .r file beside it says
(made by record_errors.py from what the real dtrace says)."""

import ast
import glob
import os
import re

import pytest

import pydtrace
from pydtrace.dlang.compile import compile_program
from pydtrace.dlang.compile_errors import TAGS, CompileError
from pydtrace.dlang.front.probe_descriptions import unmatched_error
from pydtrace.engine.probe_hints import widen_description
from tests.support.compiler.recorded_cases import ERRORS, compile_error, expected, id_of, tag_of

# Raised with arguments of the command line, or by who knows the probes: tested below.
ELSEWHERE = {
    "D_MACRO_UNUSED",
    "D_MACRO_OFLOW",
    "D_PDESC_ZERO",
    "D_PROC_LIB",
    "D_PROC_NAME",
    "D_PROC_BADPID",
    "D_PROC_FUNC",
    "D_PROC_OFF",
    "D_ARGS_NAME",
    "D_ARGS_MULTI",
    "D_PATH_TYPE",  # test_value_paths.py
    "D_PATH_NAME",
    "D_PATH_PROBE",
    "D_PATH_SECRET",
    "D_PATH_WRITE",
    "D_PATH_MANY",
    "D_PATH_REPLAY",
}


def error_of(text, name=None, **settings):
    with pytest.raises(CompileError) as raised:
        compile_program(text, name, macros={"target": 12}, **settings)
    return raised.value


@pytest.mark.parametrize("path", ERRORS, ids=id_of)
def test_is_told_as_dtrace_tells_it(path):
    error = compile_error(path)
    assert error is not None, "it compiles"
    assert error.tag == tag_of(path)
    assert error.render(errtags=True) + "\n" == expected(path)


def test_what_has_no_value_is_not_cast_to_void():
    """The real dtrace says of an aggregation that it is an internal error, and makes nothing of a translation."""
    error = error_of("BEGIN { @a[1] = count(); (void)@a; }")
    assert (
        error.tag == "D_CAST_INVAL"
        and 'invalid cast expression: "aggregation" to "void"' in error.summary()
    )
    translated = "struct o { int a; }; translator struct o <int v> { a = v; }; BEGIN { (void)xlate <struct o> (0); }"
    assert error_of(translated).tag == "D_CAST_INVAL"


def test_the_table_has_every_tag_that_the_source_names():
    """No tag is put together from parts, so that this sees all of them."""
    named = set()
    for path in glob.glob(
        os.path.join(os.path.dirname(pydtrace.__file__), "**", "*.py"), recursive=True
    ):
        with open(path, encoding="utf-8") as file:
            nodes = list(ast.walk(ast.parse(file.read())))
        texts = [
            node.value
            for node in nodes
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
        named.update(text for text in texts if re.fullmatch("D_[A-Z][A-Z0-9_]*", text))
        if path.endswith(os.path.join("dlang", "compile_errors.py")):
            keys = [key.value for node in nodes if isinstance(node, ast.Dict) for key in node.keys]
            assert len(keys) == len(set(keys)) == len(TAGS)
    assert named == set(TAGS)


def test_every_tag_has_a_case():
    assert {tag_of(path) for path in ERRORS} | ELSEWHERE == set(TAGS)


def test_a_clause_of_the_command_line_is_told_by_its_text_and_region():
    error = error_of("BEGIN { x = y; }")
    text = "dtrace: invalid probe specifier BEGIN { x = y; }: "
    assert (
        error.render().splitlines()[0]
        == text + "in action list: failed to resolve y: Unknown variable name"
    )
    assert error.render(errtags=True).startswith(text + "[D_IDENT_UNDEF] in action list: ")
    assert (
        error_of("BEGIN /y/ { }")
        .summary()
        .endswith(": in predicate: failed to resolve y: Unknown variable name")
    )
    assert error_of("BEGIN { 1 + }").summary().endswith(': syntax error near "}"')


def test_the_underline_stands_under_the_culprit():
    error = error_of("BEGIN\n{\n\ttrace(1 + nosuch);\n}\n", "x.d")
    assert error.render().splitlines()[1:4] == [
        "x.d:3:12: [D_IDENT_UNDEF]",
        "    \ttrace(1 + nosuch);",
        "    \t          ^^^^^^",
    ]


def test_the_underline_counts_characters_not_bytes():
    lines = error_of('BEGIN { s = "é" * 1 + x; }').render().splitlines()
    assert lines[3].index("^") == lines[2].index('"é"')
    assert lines[3].count("^") == len('"é" * 1')


def test_line_markers_of_the_preprocessor_name_file_and_line():
    text = '# 1 "/dev/stdin"\n# 20 "include/sub.d" 1\nBEGIN { a = b; }\n# 3 "/dev/stdin" 2\nEND { c = d; }\n'
    error = error_of(text, "main.d")
    expected = 'failed to compile script main.d: "include/sub.d", line 20: failed to resolve b: Unknown variable name'
    assert error.summary() == expected
    assert str(error.loc) == "include/sub.d:20:13"
    error = error_of(text.replace("a = b", "b = 1"), "main.d")
    assert (
        error.summary()
        == "failed to compile script main.d: line 3: failed to resolve d: Unknown variable name"
    )


def test_arguments_must_be_used():
    error = error_of("BEGIN { }", "x.d", arguments=["x.d", "17"])
    assert (error.tag, error.message) == (
        "D_MACRO_UNUSED",
        "extraneous argument '17' ($1 is not referenced)",
    )
    compile_program("BEGIN { trace($1); }", "x.d", arguments=["x.d", "17"])
    compile_program("pyusdt$1:::n0 { }", "x.d", arguments=["x.d", "17"])


def test_an_argument_may_be_too_large():
    error = error_of("BEGIN { trace($1); }", arguments=["dtrace", "18446744073709551616"])
    assert error.tag == "D_MACRO_OFLOW"
    assert error.message.startswith("macro argument $1 constant 18446744073709551616 results in")


def test_a_probe_that_nothing_matches_is_told_with_its_line():
    program = compile_program(
        "BEGIN { }\npyusdt$target::nosuch:\n{ trace(1); }\n", "x.d", macros={"target": 12}
    )
    error = unmatched_error(program.clauses[1].probes[0])
    message = "line 2: probe description pyusdt12::nosuch: does not match any probes"
    assert error.summary(errtags=True) == f"failed to compile script x.d: [D_PDESC_ZERO] {message}"


@pytest.mark.parametrize(
    "description", ["pid12::-:", "pid12::nosuch:", "pid12:libc:ma*:1c", "pid12:a.out:nosuch:entry"]
)
def test_what_is_called_nearly_so_is_not_looked_for_among_all_instructions(description):
    """Of all functions those would be hundreds of thousands, and most of a minute."""
    wanted = compile_program(f"{description} {{ }}").clauses[0].probes[0]
    assert [(each.function, each.name) for each in widen_description(wanted)] == [
        ("", "entry"),
        (wanted.function, ""),
    ]


def test_hints_name_what_was_meant():
    assert error_of("BEGIN { trace(timestmp); }").hint == "did you mean timestamp?"
    assert error_of("BEGIN { pritnf(1); }").hint == "did you mean printf?"
    assert error_of("BEGIN { self->t = 1; trace(t); }").hint == "did you mean self->t?"


@pytest.mark.parametrize(
    "description, tag",
    [
        ("pid12::-:", "D_PROC_NAME"),
        ("pid12::-:10*", "D_PROC_NAME"),
        ("pid12:libc:-:800", "D_PROC_LIB"),
        ("pid12:a.out:-:800", "D_PDESC_ZERO"),
        ("pid12:libc:puts:entry", "D_PDESC_ZERO"),
        ("pid0:::entry", "D_PROC_BADPID"),
        ("pid12:a.out:ma*:nosuch", "D_PDESC_ZERO"),
        ("pid12:a.out:nosuch:entry", "D_PROC_FUNC"),
        ("pid12:a.out:main:beginning", "D_PROC_NAME"),
        ("pid12::_exit:100", "D_PDESC_ZERO"),
    ],
)
def test_a_pid_probe_that_is_not_there_says_what_is_wrong(description, tag):
    program = compile_program(f"{description} {{ }}")
    assert unmatched_error(program.clauses[0].probes[0]).tag == tag


@pytest.mark.parametrize(
    "module, size, tag, told",
    [
        ("a.out", 16, "D_PROC_OFF", "offset 0x10 outside of function 'go'"),
        ("libc.so", 17, "D_PROC_OFF", "no instruction of function 'go'"),
        ("a.out", None, "D_PROC_FUNC", "failed to lookup 'go' in module 'a.out'"),
        ("libc.so", None, "D_PDESC_ZERO", "match any probes"),
    ],
)
def test_an_offset_that_is_none_is_told_by_the_function(module, size, tag, told):
    probe = compile_program(f"pid12:{module}:go:0x10 {{ }}").clauses[0].probes[0]
    error = unmatched_error(probe, None, {probe: size} if size else {})
    assert error.tag == tag and told in error.message
