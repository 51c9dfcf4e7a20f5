"""The table of probes in docs/reference/python-vm.md is what this CPython has; and what is told of a command line of Python's."""

from __future__ import annotations

import os
import re
import sys

import pytest

from pyusdt import vm
from pyusdt._core import vm_probes
from pyusdt.vm.inject_env import make_environment
from pyusdt.vm.target_python import find_interpreter_line, find_isolating_option
from tests.support.paths import ROOT

PAGE = os.path.join(ROOT, "docs", "reference", "python-vm.md")


def rows() -> dict[str, tuple[int, int]]:
    """{probe: the version of CPython that it is there from}"""
    with open(PAGE) as file:
        found = re.findall(r"^\| `([\w-]+)` \| [^|]+ \| 3\.(\d+)", file.read(), re.MULTILINE)
    return {name: (3, int(minor)) for name, minor in found}


def test_the_page_has_every_probe():
    assert rows() == {name: (3, since) for name, since, _places in vm_probes()}
    assert {name for name, version in rows().items() if sys.version_info >= version} == set(
        vm.probes()
    )


def test_whose_command_line_it_is(tmp_path, monkeypatch):
    """The interpreter's own, or that of a script's first line."""
    monkeypatch.setenv("PATH", str(tmp_path))
    for name, first in [
        ("own", b"#!/usr/bin/python3 -s"),
        ("by-env", b"#!/usr/bin/env -S python3 -E"),
        ("shell", b"#!/bin/sh"),
        ("none", b""),
    ]:
        (tmp_path / name).write_bytes(first + b"\nx")
        (tmp_path / name).chmod(0o755)
    assert find_interpreter_line(["python3", "a.py"]) == ["python3", "a.py"]
    assert find_interpreter_line(["own", "a"]) == [
        "/usr/bin/python3",
        "-s",
        str(tmp_path / "own"),
        "a",
    ]
    assert find_interpreter_line(["by-env"]) == ["python3", "-E", str(tmp_path / "by-env")]
    assert [find_interpreter_line([name]) for name in ("shell", "none", "not-there")] == [None] * 3


@pytest.mark.parametrize(
    ("line", "option"),
    [
        ("python app.py -I", None),
        ("python -I app.py", "-I"),
        ("/usr/bin/python3.11 -bE app.py", "-E"),
        ("python3 -W error -S x", "-S"),
        ("python -Werror -X dev x", None),
        ("python -c 'x' -I", None),
        ("python -mS x", None),
        ("python3.13t -sI", "-I"),
        ("python - -I", None),
        ("gunicorn -E x", None),
        ("python --version -I", None),
        ("python", None),
        ("python -W", None),
    ],
)
def test_a_python_that_hears_nothing(line, option):
    assert find_isolating_option(line.split()) == option


def test_the_environment_can_be_put_back(monkeypatch):
    monkeypatch.delenv("PYTHONPATH", raising=False)
    assert set(make_environment(7)) == {"PYUSDT_VM_INTO", "PYTHONPATH"}
    monkeypatch.setenv("PYTHONPATH", "/a:/b")
    made = make_environment(7, audit=True)
    assert (
        made["PYTHONPATH"].endswith(":/a:/b")
        and made["PYUSDT_VM_PYTHONPATH"] == "/a:/b"
        and made["PYUSDT_VM_INTO"] == "7 audit"
    )
