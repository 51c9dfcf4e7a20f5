"""`pyusdt example`: the list, a file's text, names that do not exist."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pydtrace.cli.commands import examples
from tests.support.harness import ROOT

PYUSDT = os.path.join(os.path.dirname(sys.executable), "pyusdt")


def run(*words):
    return subprocess.run(
        [PYUSDT, "example", *words], capture_output=True, text=True, timeout=30, check=False
    )


def test_list_has_a_line_for_each():
    shown = run()
    heading, *rows = shown.stdout.splitlines()
    assert shown.returncode == 0 and heading.split()[0] == "EXAMPLE"
    assert [row.split()[0] for row in rows] == examples.installed_names()
    assert [row for row in rows if len(row.split()) < 4] == []
    assert [row for row in rows if len(row) > 136] == []


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("hello.py", "hello.py"),
        ("hello", "hello.py"),
        ("examples/hello.py", "hello.py"),
        ("two_languages/store.erl", "two_languages/store.erl"),
    ],
)
def test_text_of_one(name, file):
    assert run(name).stdout == Path(ROOT, "examples", file).read_text()


@pytest.mark.parametrize(
    "name",
    ["metrics/errors.map", "metrics/grafana.json", "metrics/rules.yml", "systemd/pyusdt.service"],
)
def test_text_of_a_configuration_file(name):
    assert run(name).stdout == Path(ROOT, "scripts", name).read_text()


def test_each_mapping_is_of_an_installed_script():
    mappings = [name for name in examples.configuration_names() if name.endswith(".map")]
    assert len(mappings) >= 8
    for name in mappings:
        assert Path(ROOT, "scripts", f"{Path(name).stem}.d").is_file()


def test_misspelt_name():
    failed = run("helo.py")
    assert failed.returncode == 2 and failed.stdout == ""
    assert failed.stderr == (
        "pyusdt example: error: no example is called 'helo.py': pyusdt example lists them\n"
        "hint: did you mean hello.py?\n"
    )


@pytest.mark.parametrize("name", ["../pyproject.toml", "demo.py", "/etc/passwd", ""])
def test_nothing_else_is_printed(name):
    assert run(name).returncode == 2


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('#!/usr/bin/env python3\n"""Sells tea. More."""\n', "Sells tea"),
        ('"""Sells tea, and\nmore.\n\nRun it."""', "Sells tea, and more"),
        ("/*\n * Sells tea.\n *\n * More\n */", "Sells tea"),
        ("/* Sells tea. */\nprovider x {};", "Sells tea"),
        ("#!/usr/bin/env escript\n%%! -pa x\n%% Sells tea\n%% now.\nmain(_) ->", "Sells tea now"),
    ],
)
def test_first_sentence(text, sentence):
    assert examples.first_sentence(text) == sentence
