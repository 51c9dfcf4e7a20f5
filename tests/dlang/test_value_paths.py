"""Paths to values of Python programs in D: what they compile to, their types by use, and what is refused, where."""

from __future__ import annotations

import struct

import pytest

from pydtrace.dlang.compile import Compiler
from pydtrace.dlang.compile_errors import CompileError
from pydtrace.dlang.types.recorded_paths import describe_path, split_paths
from pydtrace.options import Options
from pydtrace.remote_python.module_functions import ModuleFunction
from tests.support.compiler.value_scripts import ENTRY, RETURN, compiled

INT, DOUBLE, STRING, PRESENT, TYPENAME, LENGTH = 1, 2, 3, 4, 5, 6


def decode(path: bytes) -> tuple:
    """(root, name, steps, result) of a program, as c reads it."""
    size, version, root, count, result, at, length, most = struct.unpack_from("=IBBBBHHI", path)
    assert (size, version, most) == (len(path), 1, 1023)
    names = path[16 + 16 * count :]
    steps = []
    for i in range(count):
        op, name, chars, number = struct.unpack_from("=B3xHHq", path, 16 + 16 * i)
        steps.append((op, names[name : name + chars].decode() if op in (1, 3) else number))
    return root, names[at : at + length].decode(), steps, result


def paths(body: str, probe: str = ENTRY, **options: object) -> list[tuple]:
    return [decode(each) for each in compiled(f"{probe} {body}", **options).paths]


def compile_for(text: str, **functions: list[str]) -> None:
    """With a running program that has functions of the module shop, each with these variables."""
    compiler = Compiler(Options(), {"target": 7})
    compiler.names.find_functions = lambda probe: [
        (7, ModuleFunction("shop", name, "shop.py", 1, variables, []))
        for name, variables in functions.items()
        if name == probe.function
    ]
    compiler.compile_text(text)


def test_a_variable_that_no_named_function_has():
    probes = "python$target:shop:pay:function-entry, python$target:shop:buy:function-entry"
    with pytest.raises(CompileError) as caught:
        compile_for(f"{probes} /local.ammount > 1/ {{ }}", pay=["amount"], buy=["what"])
    assert caught.value.tag == "D_PATH_NAME"
    assert caught.value.message.endswith("no variable ammount in shop:pay, shop:buy")
    assert caught.value.hint == "did you mean amount? there are amount, what"
    compile_for(f"{probes} /local.amount > 1/ {{ }}", pay=["amount"], buy=["what"])
    # one of them is not loaded yet, or a pattern
    compile_for(f"{probes} /local.ammount > 1/ {{ }}", pay=["amount"])
    pattern = "python$target:shop:pa*:function-entry"
    compile_for(f"{pattern} /local.ammount > 1/ {{ }}", **{"pa*": ["amount"]})


def test_the_steps_of_a_path():
    found = paths('/local.cart.items[-1].größe["key"][2] == 3/ { }'.replace("größe", "size"))
    assert found == [(1, "cart", [(1, "items"), (2, -1), (1, "size"), (3, "key"), (2, 2)], DOUBLE)]
    assert paths("/global.LIMIT > 5/ { }") == [(2, "LIMIT", [], DOUBLE)]
    assert paths("/retval.status == 5/ { }", RETURN) == [(3, "", [(1, "status")], DOUBLE)]
    probe = "python$target:::exception-raise"
    assert paths('/exception.code == "x"/ { }', probe) == [(6, "", [(1, "code")], STRING)]


@pytest.mark.parametrize(
    ("index", "step"),
    [
        ("2 * 3 - 1", (2, 5)),
        ("-(1)", (2, -1)),
        ("N - 1", (2, 2)),
        ("K", (3, "key")),
        ("-N", (2, -3)),
    ],
)
def test_a_constant_expression_is_an_index(index, step):
    text = f'inline int N = 3; inline string K = "key"; {ENTRY} /present(local.x[{index}])/ {{ }}'
    assert [decode(each)[2] for each in compiled(text).paths] == [[step]]


@pytest.mark.parametrize("index", ["n", "arg2", "local.i", "1.5", '"a" + 1', "3 + n", "strlen(K)"])
def test_another_index_is_refused_where_it_is(index):
    with pytest.raises(CompileError) as error:
        compiled(f'inline string K = "key"; {ENTRY} /present(local.x[{index}])/ {{ }}')
    assert error.value.tag == "D_UNSUPPORTED" and "only constants are indexes" in str(error.value)
    assert "before the clause runs" in error.value.hint


@pytest.mark.parametrize(
    ("body", "result"),
    [
        ("/local.x/ { }", DOUBLE),
        ("/!local.x/ { }", DOUBLE),
        ("/local.x > 100/ { }", DOUBLE),
        ("/local.x > 2.5/ { }", DOUBLE),
        ("/local.x >= -2.5/ { }", DOUBLE),
        ("/local.x > 9007199254740992/ { }", INT),
        ("/local.x > arg2/ { }", INT),
        ("/local.x * 1.5 > local.x/ { }", DOUBLE),
        ("{ y = (double)local.x; }", DOUBLE),
        ("{ @ = avg(local.x * 2.0); }", DOUBLE),
        ("{ @ = avg(local.x); }", INT),
        ('{ printf("%.2f", local.x); }', DOUBLE),
        ('/local.x == "a"/ { }', STRING),
        ('/"a" != local.x/ { }', STRING),
        ("/local.x == execname/ { }", STRING),
        ("/local.x == (string)arg1/ { }", STRING),
        ("/arg2 == 1 && local.x/ { }", DOUBLE),
        ("{ y = local.x + 1; }", INT),
        ("{ y = 0; y += local.x; }", INT),
        ("{ y = (string)local.x; }", STRING),
        ("{ y = stringof(local.x); }", STRING),
        ("{ y = (int64_t)local.x; }", INT),
        ("{ y = strlen(local.x); }", INT - INT + STRING),
        ("{ y = strjoin(local.x, local.x); }", STRING),
        ('{ printf("%d", local.x); }', INT),
        ('{ printf("%*d %s", 3, 4, local.x); }', STRING),
        ('{ printf("%%%x", local.x); }', INT),
        ("{ @ = sum(local.x); }", INT),
        ("{ @ = quantize(local.x); }", INT),
        ("{ @[(string)local.x] = count(); }", STRING),
        ('{ @[arg2 == 1 ? (string)local.x : "b"] = count(); }', STRING),
        ("/present(local.x)/ { }", PRESENT),
        ("{ @[length(local.x)] = count(); }", LENGTH),
        ("{ @[typename(local.x)] = count(); }", TYPENAME),
        ('/typename(local.x) == "int"/ { }', TYPENAME),
    ],
)
def test_the_type_comes_from_the_use(body, result):
    assert paths(body) == [(1, "x", [], result)]


def test_the_type_of_a_declared_variable():
    for word, result in (("double", DOUBLE), ("string", STRING), ("int64_t", INT)):
        made = compiled(f"{word} y; {ENTRY} {{ y = local.x; }}")
        assert [decode(each)[3] for each in made.paths] == [result]


@pytest.mark.parametrize("text", ["BEGIN { x = 1.5; }", "BEGIN { local = 1; y = 1.5; }"])
def test_a_script_without_values_has_no_floats(text):
    with pytest.raises(CompileError) as error:
        compiled(text)
    assert error.value.tag == "D_SYNTAX"
    compiled(text, pyusdt=None)


def test_a_path_is_read_once_for_each_type():
    found = compiled(
        f'{ENTRY} /local.n + 1 > 2/ {{ printf("%d %s %d", local.n, local.n, local.m); }} {RETURN} /local.m + 1 > 2/ {{ }}'
    )
    assert [decode(each)[1::2] for each in found.paths] == [("n", INT), ("n", STRING), ("m", INT)]
    assert [sorted(clause.demand) for clause in found.clauses] == [[6, 7, 8], [8]]
    assert found.clauses[0].demand[7] > 0 == found.clauses[0].demand[6]


@pytest.mark.parametrize(
    ("text", "tag", "words"),
    [
        (
            f"{ENTRY} {{ @[local.x] = count(); }}",
            "D_PATH_TYPE",
            "(string)local.x, (int64_t)local.x or (double)local.x",
        ),
        (f"{ENTRY} {{ self->x = local.x; }}", "D_PATH_TYPE", "not known from its use"),
        (f"{ENTRY} {{ trace(local.x.y[0]); }}", "D_PATH_TYPE", "the type of local.x.y[0]"),
        ("syscall:::entry /local.x/ { }", "D_PATH_PROBE", "syscall:::entry has no values"),
        ("python$target:::gc-start /local.x/ { }", "D_PATH_PROBE", "gc-start has no values"),
        ("BEGIN /local.x/ { }", "D_PATH_PROBE", "BEGIN has no values"),
        (f"{ENTRY} /retval/ {{ }}", "D_PATH_PROBE", "it is at function-return"),
        (f"{ENTRY} /exception/ {{ }}", "D_PATH_PROBE", "has no exception"),
        (f"{ENTRY} /local.db_password/ {{ }}", "D_PATH_SECRET", "-x secrets"),
        (f'{ENTRY} /local.x["api_key"]/ {{ }}', "D_PATH_SECRET", 'local.x["api_key"]'),
        (f"{ENTRY} /present(local.x.token)/ {{ }}", "D_PATH_SECRET", "local.x.token"),
        (f"{ENTRY} /local[0]/ {{ }}", "D_SYNTAX", "local.NAME"),
        (f"{ENTRY} /local/ {{ }}", "D_SYNTAX", "local.NAME"),
        (f"{ENTRY} /local.x[arg2]/ {{ }}", "D_UNSUPPORTED", "only constants are indexes"),
        (f"{ENTRY} /local.x{'.y' * 9}/ {{ }}", "D_UNSUPPORTED", "more than 8 steps"),
        (
            f"{ENTRY} /{'+'.join(f'local.x{i}' for i in range(7))}/ {{ }}",
            "D_PATH_MANY",
            "at most 6",
        ),
        (f"{ENTRY} /present(arg0)/ {{ }}", "D_FUNC_UNDEF", "present(local.x)"),
        ("BEGIN { x = length(1); }", "D_FUNC_UNDEF", "undefined function name: length"),
        ("BEGIN { typename(); }", "D_FUNC_UNDEF", "typename"),
        (f"{ENTRY} {{ local.x = 1; }}", "D_PATH_WRITE", "local.x cannot be written"),
        (f"{ENTRY} {{ local.x++; }}", "D_PATH_WRITE", "local.x cannot be written"),
        (f"{ENTRY} /&local.x == 0/ {{ }}", "D_PATH_WRITE", "has no address"),
    ],
)
def test_what_is_refused(text, tag, words):
    with pytest.raises(CompileError) as error:
        compiled(text)
    shown = f"{error.value}"
    assert error.value.tag == tag and words in shown and "^" in shown, shown


def test_secrets_are_read_if_they_are_asked_for():
    assert paths("/local.db_password == 1/ { }", secrets=None) == [(1, "db_password", [], DOUBLE)]


def test_names_of_the_program_take_precedence():
    for name in ("local", "global", "retval", "exception"):
        found = compiled(f"BEGIN {{ {name} = 1; }} {ENTRY} /{name} == 1/ {{ }}")
        assert found.paths == []
    struct_text = "struct s { int x; }; struct s local; BEGIN { local.x = 1; }"
    assert compiled(struct_text).paths == []


def test_whole_values():
    """repr() of a path and of all variables, print() of both; -x secrets goes along, and so does strsize."""

    def programs(body: str, **options: object) -> list[tuple]:
        made = compiled(f"{ENTRY} {{ {body} }}", **options).paths
        return [(each[5], each[7], struct.unpack_from("=I", each, 12)[0]) for each in made]

    assert programs("trace(repr(local.x));") == [(1, 7, 255)]
    assert programs("print(local.x.y);") == programs('printf("%s", repr(local.x.y));')
    assert programs("print(local); @[repr(local)] = count();") == [(5, 7, 255)]
    assert programs("print(local);", secrets=None) == [(5, 8, 255)]
    assert programs("print(local);", strsize="4096") == [(5, 7, 1023)]
    assert compiled(f"{ENTRY} {{ local = 3; trace(local); }}").paths == []
    with pytest.raises(CompileError, match="has the name of a secret"):
        compiled(f"{ENTRY} {{ print(local.password); }}")


def test_paths_of_a_recording():
    """In any order, each with its type; what is there is shown as a script has it."""
    script = f"""{ENTRY} {{ trace(present(local.cart.items[-1].size["key"][2])); print(local); print(global.N); }}
        {ENTRY} /local.n > 1/ {{ trace((string)local.n); trace(length(local.n)); }}"""
    recorded = compiled(script).paths
    shown = [
        'present(local.cart.items[-1].size["key"][2])',
        "repr(local)",
        "repr(global.N)",
        "(double)local.n",
        "(string)local.n",
        "length(local.n)",
    ]
    assert [describe_path(each) for each in split_paths(b"".join(recorded))] == shown
    compiler = Compiler(Options(), {"target": 7})
    compiler.use_recording(b"".join(recorded))
    compiler.compile_text(f"{ENTRY} {{ trace((string)local.n); print(global.N); }}")
    program = compiler.generate_program()
    assert (program.paths, program.conditions) == ([], b"")
    assert {*program.clauses[0].demand} >= {6 + 2, 6 + 4}
    with pytest.raises(CompileError) as caught:
        compiler.compile_text(f"{ENTRY} {{ trace((int64_t)local.n); }}")
    assert caught.value.tag == "D_PATH_REPLAY"
    assert caught.value.message.endswith("the recording does not have (int64_t)local.n")
    assert caught.value.hint == "it has " + ", ".join(shown)


def test_bytes_that_are_no_paths_of_a_recording():
    [path] = compiled(f"{ENTRY} {{ print(local.n); }}").paths
    assert split_paths(b"") == split_paths(path[:-1]) == split_paths(path + b"\1") == []
    assert split_paths(7 * path) == [] and len(split_paths(6 * path)) == 6
    for at in range(5, len(path)):
        for byte in (0, 1, 9, 27, 128, 255):
            shown = describe_path(path[:at] + bytes([byte]) + path[at + 1 :])
            assert shown is None or shown.isprintable(), (at, byte)
