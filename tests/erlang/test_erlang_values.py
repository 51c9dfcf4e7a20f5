"""The arguments and results of functions and BIFs as terms, and the secrets in them."""

from __future__ import annotations

import ast
import pathlib
import re

import pytest

from pydtrace.engine import probe_signatures
from pydtrace.program import secret_names
from tests.support import harness

pytestmark = pytest.mark.xdist_group("erlang/test_erlang_vm")
PROGRAM = """
erlang$target:refusing:login:local-function-entry /term(arg.params, 1, "user") == "ann"/
{ printf("P %s\\nTAX %s\\nSECRET %s\\n", term(arg.params), term(arg3, 2, "tax"), term(arg3, 1, "password")); }
erlang$target:refusing:login:function-return { printf("R %s [%s]\\n", term(arg.retval, 3), arg.exception); }
erlang$target:refusing:fails:function-return { printf("E %s [%s]\\n", term(arg.retval), arg.exception); }
erlang$target:erlang:phash2:bif-entry { printf("B %s\\n", term(arg.params)); }
erlang$target:erlang:phash2:bif-return /strtoll(term(arg.retval)) > 0/ { printf("H [%s]\\n", arg.exception); }
erlang$target:refusing:shown:local-function-entry { printf("A %s\\n", term(arg.params, 1)); }
tick-1500ms { exit(0); }"""


def lines_of(erlang, environment: dict[str, str] | None = None) -> set[str]:
    with harness.running(
        erlang.node("wait", "values", module="refusing"), env=environment
    ) as started:
        assert started.stdout.readline() == "ready\n"
        command = [harness.PYDTRACE, "--strict", "-q", "-x", "engine=embedded", "-x", "strsize=400"]
        run = harness.run([*command, "-p", str(started.pid), "-n", PROGRAM], timeout=60)
        assert (run.status, run.stderr) == (0, ""), run
        return set(run.stdout.split("\n"))


def test_arguments_and_results(erlang):
    lines = lines_of(erlang)
    assert {
        "A {account,ann,<redacted>,1,<redacted>}", "TAX 1.5", "SECRET <redacted>", "R 3 []", "E badarith [error]", "H []", "B [{<<\"ann\">>,secret}]",
    } <= lines, lines  # fmt: skip
    (params,) = [line for line in lines if line.startswith("P ")]
    hidden = re.findall(r"([\w\">< ]+?)(?: => |,)<redacted>", params)
    assert "hunter2" not in params and len(hidden) == 5, params
    assert "author => me" in params and "{tax,1.5}" in params, params


def test_callers(erlang, trace):
    """At entries of functions and BIFs, also of functions whose returns are traced, and of calls that a predicate selects; a tail call
    is one of the caller's."""
    price = "erlang$target:calling:price:local-function-entry"
    for program in (
        f'{price} {{ @[arg.caller, term(arg.params, 1)] = count(); }} erlang$target:erlang:phash2:bif-entry {{ @[arg.caller, "bif"] = count(); }}',
        f"{price} {{ @[copyinstr(arg4), term(arg.params, 1)] = count(); }} erlang$target:calling:price:function-return {{ @n = count(); }}",
        f'{price} /term(arg.params, 1) == "2" || term(arg.params, 1) == "1"/ {{ @[arg.caller, term(arg.params, 1)] = count(); }}',
    ):
        run = trace(program, erlang.node("run", 2, module="calling"))
        rows = {tuple(line.split()[:2]) for line in run.stdout.splitlines() if line.count("  ") > 1}
        assert {("lists:map/2", "1"), ("calling:sell/0", "2")} <= rows, run
        assert (("calling:loop/0", "3") in rows) == ("||" not in program), run
        assert (("calling:loop/0", "bif") in rows) == ("bif-entry" in program), run


def test_a_node_can_show_secrets(erlang, monkeypatch):
    monkeypatch.setenv("SECRETS", "yes")
    lines = lines_of(erlang)
    assert "SECRET hunter2" in lines and not any("redacted" in line for line in lines), lines


def test_names_are_known_before_a_node_runs(erlang):
    program = "erlang*:refusing:login:local-function-entry { @[term(arg.params, 2, 1)] = count(); }"
    run = harness.run([harness.PYDTRACE, "-Zqe", "-x", "engine=embedded", "-n", program])
    assert (run.status, run.stderr) == (0, ""), run
    source = pathlib.Path(harness.ROOT, "erlang_nif/c_src/vm.c").read_text(encoding="utf-8")
    for name, signature in (
        ("entry", probe_signatures._ENTRY),
        ("after", probe_signatures._RETURN),
    ):
        words = re.search(rf"\*const {name}\[\] = (\{{.*?\}})", source, re.DOTALL)[1]
        assert list(ast.literal_eval(words.replace("{", "[").replace("}", "]"))) == [
            each for each, _ in signature
        ]


def test_the_names_of_secrets_are_those_of_python():
    source = pathlib.Path(harness.ROOT, "erlang_nif/c_src/secret_names.c").read_text("utf-8")
    listed, ends, parts, last_words = (
        re.findall(r'"(\w+)"', re.search(rf"const {name}\[\] = (\{{.*?\}})", source, re.DOTALL)[1])
        for name in ("listed", "ends", "parts", "last_words")
    )
    assert listed == sorted(secret_names._SECRETS) and ends == list(secret_names._ENDS)
    assert (parts, last_words) == (list(secret_names._PARTS), list(secret_names._LAST_WORDS))


# ---- predicates that the node decides ----

SHOWN = "erlang$target:refusing:shown:local-function-entry"
PREDICATES = [
    'term(arg.params, 1) == "ann" || strtoll(term(arg3, 1)) > 7',
    'term(arg.params, 1, "user") == "ann" || term(arg.params, 1, 2) == "ann"',
    'strtoll(term(arg.params, 1, "user", 2)) == 9 || term(arg.params, 1, "password") != "ann"',
]


def shown(pid: int, *predicates: str) -> list[set[str]]:
    """The arguments for which each predicate holds. Absent values are errors, which are no matter here."""
    clauses = "".join(
        f"{SHOWN} /{predicate}/ {{ @[{n}, term(arg.params)] = count(); }}"
        for n, predicate in enumerate(predicates)
    )
    command = [harness.PYDTRACE, "-q", "-x", "engine=embedded", "-x", "strsize=200", "-p", str(pid)]
    # until the node has called another function often
    end = "erlang$target:refusing:price:local-function-entry /calls++ > 200/ { exit(0); }"
    run = harness.run([*command, "-n", f"{clauses} {end}"], timeout=60)
    rows = [line.split(None, 1) for line in run.stdout.splitlines() if line.startswith(" ")]
    return [
        {text.rsplit(None, 1)[0] for number, text in rows if int(number) == n}
        for n in range(len(predicates))
    ]


def test_predicates_that_the_node_decides(erlang):
    """They hold for the same arguments as those that the tracer decides."""
    with harness.running(erlang.node("wait", "terms", module="refusing")) as started:
        assert started.stdout.readline() == "ready\n"
        expected = shown(started.pid, *(f"(({each}) ? 1 : 0) + 0" for each in PREDICATES))
        assert all(expected), expected
        for predicate, there in zip(PREDICATES, expected, strict=True):
            assert shown(started.pid, predicate) == [there], predicate


def test_calls_that_do_not_match_are_no_events(erlang):
    """10000 calls at once would be over the rate; the one that matches is the only event."""
    with harness.running(erlang.node("wait", "filtered", module="refusing")) as started:
        assert started.stdout.readline() == "ready\n"
        program = (
            "erlang$target:refusing:price:local-function-entry /strtoll(term(arg.params, 1)) == 9999/"
            "{ @ = count(); seen = 1; } tick-200ms /seen/ { exit(0); } tick-60s { exit(1); }"
        )
        command = [harness.PYDTRACE, "--strict", "-q", "-x", "engine=embedded", "-n", program]
        run = harness.run([*command, "-p", str(started.pid)], timeout=90)
    assert (run.status, run.stdout.split(), run.stderr) == (0, ["1"], ""), run
