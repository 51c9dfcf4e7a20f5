"""pyusdt dump --locals: the variables of every frame, what is hidden, what is marked, what is refused."""

from __future__ import annotations

import json
import os
import sys

import pytest

from tests.support import stacks_harness as harness

PROGRAM = os.path.join(harness.STACKS, "programs", "variables.py")


def dumped(pid: int, *options: object) -> dict:
    run = harness.pyusdt("dump", "--locals", "--json", *options, pid)
    assert (run.returncode, run.stderr) == (0, ""), run
    return json.loads(run.stdout)


def by_function(found: dict) -> dict[str, dict]:
    """{function: {variable: value}} of this program's functions."""
    listed = [*found["threads"], *found["tasks"]]
    return {
        frame["function"].rpartition(".")[2]: {
            each["name"]: each["value"] for each in frame["variables"]
        }
        for part in listed
        for frame in part["frames"]
        if frame["file"] in (PROGRAM, "<string>")
    }


CART = {
    "type": "Cart",
    "attributes": {
        "items": [1, 2],
        "total": 99.5,
        "owner": {"type": "Cart", "absent": "circular"},
        "api_key": {"absent": "redacted"},
    },
}


@pytest.mark.parametrize("python", harness.INTERPRETERS, ids=harness.name_of)
def test_variables_of_every_frame(python):
    with harness.running(python, "variables.py") as subject:
        found = dumped(subject.pid)
    functions = by_function(found)
    arguments = functions["arguments"]
    assert arguments.pop("inner")["text"].startswith("<function arguments.<locals>.<lambda>")
    assert arguments == {
        "cart": CART,
        "n": 5,
        "text": {"type": "str", "value": "x" * 120, "cut": "characters", "length": 1000},
        "rest": {"type": "tuple", "items": [1, 2]},
        "flag": True,
        "db_password": {"absent": "redacted"},
        "more": {"type": "dict", "items": [["more_things", "größe\x1b[31m"]]},
        "later": {"absent": "unbound"},
        "total": 10,
    }
    assert functions["generates"] == {"cart": CART, "step": 7}
    assert functions["outer"]["captured"] == 7 and functions["reads"] == {"captured": 7}
    body = functions["Body"]
    assert body["name"] == "body" and body["value"] == 7 and "made" not in body
    assert functions["executes"] == {"value": 7}
    assert functions["sleeps"] == {"words": "in a task"}
    assert functions["runs"]["steady"] == ["steady"]


@pytest.mark.parametrize("python", harness.INTERPRETERS, ids=harness.name_of)
def test_names_in_mappings_and_arguments(python):
    """A module has its data, without functions and classes; exec() what it was given; arguments are told from locals."""
    with harness.running(python, "variables.py") as subject:
        found = dumped(subject.pid)
    frames = [frame for thread in found["threads"] for frame in thread["frames"]]
    of_module, of_exec = (
        next(each for each in frames if (each["function"], each["file"]) == ("<module>", file))
        for file in (PROGRAM, "<string>")
    )
    assert [each["name"] for each in of_module["variables"]] == ["module_data"]
    assert {each["name"]: each["value"] for each in of_exec["variables"]} == {
        "given": 7,
        "inside": 3,
    }
    [main] = [each for each in frames if each["function"].endswith("arguments")]
    assert [each["name"] for each in main["variables"] if each["argument"]] == [
        "cart",
        "n",
        "text",
        "flag",
        "db_password",
        "rest",
        "more",
    ]


def test_text_limits_and_escapes():
    with harness.running(sys.executable, "variables.py") as subject:
        run = harness.pyusdt(
            "dump", "--locals", "--depth", 1, "--items", 1, "--characters", 5, subject.pid
        )
    assert (run.returncode, run.stderr) == (0, "")
    lines = [line.strip() for line in run.stdout.splitlines()]
    assert "cart = Cart(items=[… 2], …)" in lines
    assert "text = 'xxxxx'… (1000 characters)" in lines
    assert "rest = (1, … 1 more)" in lines and "db_password = <redacted>" in lines
    assert "more = {'more_'… (11 characters): 'größe'… (10 characters)}" in lines
    assert "\x1b" not in run.stdout and not any(line.startswith("later =") for line in lines)


def test_secrets_and_the_programs_veto():
    """--secrets shows them, --redact hides others; what the program named stays hidden."""
    environment = {**os.environ, "PYUSDT_REDACT": "API_*, total"}
    command = [sys.executable, "-u", PROGRAM]
    with harness.started(command, env=environment) as subject:
        plain, shown = (
            by_function(dumped(subject.pid, *options))["arguments"]
            for options in (("--redact", "te?t", "--redact", "more_*"), ("--secrets",))
        )
    redacted = {"absent": "redacted"}
    assert plain["text"] == plain["db_password"] == redacted
    assert plain["more"]["items"] == [["more_things", redacted]]
    assert shown["db_password"] == "hunter2" and shown["text"] != redacted
    assert (
        shown["cart"]["attributes"]["api_key"] == shown["cart"]["attributes"]["total"] == redacted
    )
    assert plain["cart"]["attributes"]["total"] == redacted


def test_what_the_program_redacts_by_itself():
    code = (
        "import pyusdt, time\npyusdt.redact('sal*', 'größe')\npyusdt.redact('card')\n"
        "def wait(salary, card, plain):\n    größe = 1\n    print('ready', flush=True)\n    time.sleep(60)\n"
        "wait(5, 6, 7)\n"
    )
    with harness.started([sys.executable, "-u", "-c", code]) as subject:
        found = by_function(dumped(subject.pid, "--secrets"))["wait"]
    redacted = {"absent": "redacted"}
    assert found == {"salary": redacted, "card": redacted, "größe": redacted, "plain": 7}


def test_a_veto_of_everything():
    environment = {**os.environ, "PYUSDT_REDACT": "*"}
    with harness.started([sys.executable, "-u", PROGRAM], env=environment) as subject:
        found = dumped(subject.pid, "--secrets")
    values = [
        each["value"]
        for thread in found["threads"]
        for frame in thread["frames"]
        for each in frame["variables"]
    ]
    assert values and all(each == {"absent": "redacted"} for each in values)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--depth", "3"], "--depth needs --locals"),
        (["--secrets"], "--secrets needs --locals"),
        (["--locals", "--depth", "17"], "a number from 1 to 16 is wanted"),
    ],
)
def test_options_that_do_not_fit(options, words):
    run = harness.pyusdt("dump", *options, os.getpid())
    assert run.returncode == 2 and words in run.stderr


def test_with_native_frames():
    with harness.running(sys.executable, "variables.py") as subject:
        found = dumped(subject.pid, "--native")
    frames = [frame for thread in found["threads"] for frame in thread["frames"]]
    assert any("address" in frame and "variables" not in frame for frame in frames)
    assert (
        by_function(
            {"threads": [{"frames": [e for e in frames if "variables" in e]}], "tasks": []}
        )["outer"]["captured"]
        == 7
    )
