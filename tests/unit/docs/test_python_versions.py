"""docs/reference/python-versions.md: its columns are what the provider python has, and what dump can read."""

from __future__ import annotations

import os
import re

from pydtrace.attach.run_statement import OLDEST
from pyusdt._core import vm_probes
from tests.support.paths import ROOT


def rows() -> dict[int, list[str]]:
    """{minor version: the cells behind it}"""
    with open(os.path.join(ROOT, "docs", "reference", "python-versions.md")) as file:
        found = re.findall(r"^\| 3\.(\d+) \| (.*) \|$", file.read(), re.MULTILINE)
    return {int(minor): cells.split(" | ") for minor, cells in found}


def test_probes_by_version():
    since = {name: minor for name, minor, _places in vm_probes()}
    table = rows()
    assert min(table) == 9 and len(table) > 5
    for minor, (pyusdt, provider, alloc, free, attach, _stacks) in table.items():
        assert (pyusdt == "yes") is (minor >= 10)
        assert provider.startswith("yes") is (minor >= since["function-entry"])
        assert (alloc == "yes") is (minor >= since["alloc"])
        assert (free == "yes") is (minor >= since["free"])
        assert (attach == "yes") is (minor >= OLDEST)


def test_stacks_by_version():
    """The same range as the help of `pyusdt dump`."""
    with open(os.path.join(ROOT, "src", "pydtrace", "cli", "commands", "stack_options.py")) as file:
        first, last = map(int, re.findall(r"CPython 3\.(\d+) to 3\.(\d+)", file.read())[0])
    assert {minor for minor, cells in rows().items() if cells[-1] == "yes"} == {
        *range(first, last + 1)
    }
