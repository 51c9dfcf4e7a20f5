"""The table of probes in docs/guide/python-vm.md is what this CPython has; and what is told of a command line of Python's."""

from __future__ import annotations

import os
import re
import sys

import pytest

from pyusdt import vm
from pyusdt.vm.into import deaf, environment

PAGE = os.path.join(os.path.dirname(__file__), os.pardir, os.pardir, "docs", "guide", "python-vm.md")


def rows() -> dict[str, tuple[int, int]]:
    """{probe: the version of CPython that it is there from}"""
    with open(PAGE) as file:
        found = re.findall(r"^\| `([\w-]+)` \| [^|]+ \| 3\.(\d+)", file.read(), re.MULTILINE)
    return {name: (3, int(minor)) for name, minor in found}


def test_the_page_has_every_probe():
    assert len(rows()) >= 14
    assert {name for name, version in rows().items() if sys.version_info >= version} == set(vm.probes())


@pytest.mark.parametrize(("line", "option"), [
    ("python app.py -I", None), ("python -I app.py", "-I"), ("/usr/bin/python3.11 -bE app.py", "-E"), ("python3 -W error -S x", "-S"),
    ("python -Werror -X dev x", None), ("python -c 'x' -I", None), ("python -mS x", None), ("python3.13t -sI", "-I"), ("python - -I", None),
    ("gunicorn -E x", None), ("python --version -I", None), ("python", None), ("python -W", None)])
def test_a_python_that_hears_nothing(line, option):
    assert deaf(line.split()) == option


def test_the_environment_can_be_put_back(monkeypatch):
    monkeypatch.delenv("PYTHONPATH", raising=False)
    assert set(environment(7)) == {"PYUSDT_VM_INTO", "PYTHONPATH"}
    monkeypatch.setenv("PYTHONPATH", "/a:/b")
    made = environment(7, audit=True)
    assert made["PYTHONPATH"].endswith(":/a:/b") and made["PYUSDT_VM_PYTHONPATH"] == "/a:/b" and made["PYUSDT_VM_INTO"] == "7 audit"
