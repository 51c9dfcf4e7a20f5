"""`pyusdt watch`: what its options mean, and the script that it makes."""

from __future__ import annotations

import pytest

from pydtrace.cli.commands import main as commands
from pydtrace.cli.commands import watch_erlang
from pydtrace.cli.commands.stack_options import parse_duration
from pydtrace.cli.commands.watch_erlang import parse_watched
from pydtrace.dlang.compile import Compiler
from pydtrace.options import Options
from pydtrace.watch_script import make_script, parse_function


def decided(script: str) -> list[str]:
    compiler = Compiler(Options())
    compiler.compile_text(script)
    return compiler.generate_program().decided_in_target


def run(*words: str) -> int:
    options = commands.make_parser().parse_args(["watch", *words])
    return options.run(options)


@pytest.mark.parametrize(
    ("text", "probe"),
    [
        ("checkout", "python$target::checkout"),
        ("shop.cart:Cart.total", "python$target:shop.cart:Cart.total"),
        ("shop.*:*", "python$target:shop.*:*"),
        (":checkout", None),
        ("a b", None),
        ("a:b:c", None),
        ("f { } BEGIN", None),
        ("", None),
    ],
)
def test_functions(text, probe):
    if probe:
        assert parse_function(text) == probe
    else:
        with pytest.raises(ValueError):
            parse_function(text)


def test_durations():
    assert [parse_duration(each) for each in ("7us", "50ms", "2s")] == [7000, 50000000, 2000000000]
    for wrong in ("3", "ms", "-1s", "1h", "1.5s"):
        with pytest.raises(ValueError):
            parse_duration(wrong)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"where": "local.x > 3"},
        {"where": 'retval["status"] != 200', "slower": 50},
        {"where": 'typename(exception) == "KeyError" || local.x'},
        {"with_stack": True},
        {"only_calls": True, "with_stack": True},
    ],
)
def test_every_script_compiles(options):
    decided(make_script("python$target::f", **options))


@pytest.mark.parametrize(
    ("text", "module", "function", "arity"),
    [
        ("shop:price/2", "shop", "price", "2"),
        ("Shop.Cart.add!/1", "Shop.Cart", "add!", "1"),
        ("Shop.Cart:add!", "Shop.Cart", "add!", None),
        ("shop:*/12", "shop", "*", "12"),
        ("price/2", None, None, None),
        ("a b:c/1", None, None, None),
        ("shop:price/2/3", None, None, None),
    ],
)
def test_functions_of_erlang(text, module, function, arity):
    if module is None:
        with pytest.raises(ValueError):
            parse_watched(text)
    else:
        found = watch_erlang.ErlangFunction(text)
        assert (found.module, found.function, found.arity) == (module, function, arity)
        assert not arity or parse_watched(text) == text


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"where": 'term(arg3, 1) == "tea"'},
        {"where": 'copyinstr(arg4) == "error"', "slower": 50},
        {"where": 'term(arg3, 1) == "tea"', "only_calls": True},
    ],
)
@pytest.mark.parametrize("function", ["shop:price/2", "shop:price"])
def test_every_script_for_erlang_compiles(function, options):
    decided(watch_erlang.make_script(function, **options))


def test_calls_of_erlang_are_decided_in_the_node():
    script = watch_erlang.make_script("shop:price", 'term(arg3, 1) == "tea"', only_calls=True)
    compiler = Compiler(Options())
    compiler.compile_text(script)
    assert compiler.generate_program().term_conditions == [
        ("local-function-entry", "shop", "price", [[((1,), "==", b"tea")]])
    ]


def test_calls_are_decided_in_the_program():
    script = make_script("python$target::f", "local.x > 3", only_calls=True)
    assert decided(script) == ["local.x > 3"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["f"], "which process? Give -p PID or -c COMMAND"),
        (["f", "--calls", "--slower", "3ms"], "it has no --slower yet"),
        (["m:f/1", "--calls", "--slower", "3ms"], "it has no --slower yet"),
        (["m:f/1", "--stack"], "calls of Erlang functions have no stack"),
        (["m:f/1", "--secrets"], "an Erlang node decides that itself"),
        (["f", "--calls", "--where", "retval"], "it has no retval yet"),
        (["f", "--slower", "3"], "'3' is not a duration: 50ms, 2s"),
        (["f g"], "'f g' is not a function"),
    ],
)
def test_what_is_refused(words, message, capfd):
    try:
        status = run(*words)
    except SystemExit as end:
        status = end.code
    assert status == 2 and message in capfd.readouterr().err


def test_the_script_is_printed(capfd):
    assert run("f", "--slower", "50ms", "--print-script") == 0
    printed = capfd.readouterr().out
    assert printed == make_script("python$target::f", slower=50_000_000) and "50000000" in printed
