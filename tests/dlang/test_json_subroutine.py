"""json(str, path) in the interpreter: what illumos's json() gives.  Values are from its documentation and RFC 8259."""

import pytest

from pydtrace.bpf.helpers import FIRST_PYUSDT_HELPER
from pydtrace.dlang.compile import compile_program
from tests.support.compiler.bpf_machine import Machine

TEXT = r'{"name": "Ann \"B\" \u00e9", "n": -12.5e+3, "on":true, "no" : null, "a": [1, "two", {"x": [[], 3]}, false], "o":{"k":"v", "": 7}}'


def value(text, path):
    """What json() gives, None for NULL."""
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    program = compile_program(
        f'BEGIN /json("{quoted}", "{path}") == NULL/ {{ trace("NULL"); }} '
        f'BEGIN {{ trace(json("{quoted}", "{path}")); }}'
    )
    assert any(insn.imm >= FIRST_PYUSDT_HELPER for insn in program.clauses[1].code)
    found = [values[0] for _, values in Machine(program).fire() if isinstance(values, list)]
    return None if b"NULL" in found else found[0].decode()


@pytest.mark.parametrize(
    "path, expected",
    [
        ("name", r"Ann \"B\" \u00e9"),
        ("n", "-12.5e+3"),
        ("on", "true"),
        ("no", "null"),
        ("a[0]", "1"),
        ("a[1]", "two"),
        ("a.1", "two"),
        ("a[2].x[1]", "3"),
        ("a[2].x", "[[], 3]"),
        ("a[2]", '{"x": [[], 3]}'),
        ("a[3]", "false"),
        ("o.k", "v"),
        ("o", '{"k":"v", "": 7}'),
        ("missing", None),
        ("a[4]", None),
        ("a[x]", None),
        ("n.x", None),
        ("o.k.x", None),
        ("a[2].x[0].y", None),
        ("", None),
    ],
)
def test_a_path_leads_to_a_value(path, expected):
    assert value(TEXT, path) == expected


@pytest.mark.parametrize(
    "text, path, expected",
    [
        ("[[1, 2], [3]]", "[1][0]", "3"),
        ("[[1, 2], [3]]", "1[0]", "3"),
        ("[1]", "0", "1"),
        ("17", "0", None),
        ('"s"', "0", None),
        ("", "a", None),
        ("{", "a", None),
        ('{"a"', "a", None),
        ('{"a": "x', "a", None),
        ('{"a": [1', "a", None),
        ('{"a": 0x1}', "a", None),
        ('{"a": maybe}', "a", None),
        ('{"a": }}', "a", None),
        ('{"b": }, "a": 1}', "a", None),
        ('{"a": 1 "b": 2}', "b", None),
        ('{"a": [}', "a", None),
    ],
)
def test_what_is_no_json_is_null(text, path, expected):
    assert value(text, path) == expected


def test_a_long_value_is_cut_and_a_fault_is_the_strings():
    text = '{"a": "' + "x" * 300 + '"}'
    program = compile_program(
        'pyusdt*:::n1 { trace(json(copyinstr(arg0), "a")); }'.replace("pyusdt*", "pyusdt")
    )
    [(_, [found])] = Machine(program).fire(args=[text[:200].encode() + b'"}'])
    assert found == b"x" * 193
