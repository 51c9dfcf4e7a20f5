"""The page of the API: as the code has it now, and each public name once."""

from __future__ import annotations

import os
import runpy

import pytest

import pyusdt
from tests.support.harness import ROOT

MADE = runpy.run_path(os.path.join(ROOT, "docs", "make_api.py"))


def test_the_page_is_what_the_code_says():
    with open(MADE["PAGE"], encoding="utf-8") as file:
        assert file.read() == MADE["page"](), "run .venv/bin/python docs/make_api.py"


def test_each_public_name_is_on_it_once_with_a_docstring():
    names = [name for group in MADE["GROUPS"].values() for name in group]
    assert sorted(names) == sorted(pyusdt.__all__)
    assert [name for name in names if not getattr(pyusdt, name).__doc__] == []


@pytest.mark.parametrize(
    ("name", "signature"),
    [
        ("p", "(*args: object) -> bool"),  # of the stub
        ("Probe.wrap", "(function: _Function, /) -> _Function"),
        (
            "spread_tag",
            "(on: bool) -> tuple[bool, bytes | None]",
        ),  # of the code, whose types are text
    ],
)
def test_signatures(name, signature):
    value = pyusdt
    for part in name.split("."):
        value = getattr(value, part)
    assert MADE["signature"](name, value) == signature


def test_defaults_keep_their_quotes():
    assert "engine: str = 'auto'" in MADE["signature"]("trace", pyusdt.trace)


def test_docstrings_are_markdown():
    text = "A `b c`.\n\n- d\n  e\n- f\n\n    provider x {\n    };\n\nend"
    assert MADE["_plain"](text) == "A `b c`.\n\n- d e\n- f\n\n```d\nprovider x {\n};\n```\n\nend"
