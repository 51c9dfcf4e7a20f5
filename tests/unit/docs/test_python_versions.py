"""docs/reference/python-versions.md: its columns are what the provider python has, and what dump can read."""

from __future__ import annotations

import os
import re
from pathlib import Path

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


# a row of the table of builds: the test that attaches to such a build, or is refused
BUILDS = {
    "of Debian": "test_again_and_again[threads come and go-Debian]",
    "of pyenv, with a shared library": "test_attach.py",
    "without the GIL": "test_attach.py",
    "debug (`--with-pydebug`)": "test_again_and_again[threads come and go-Debian, debug]",
    "musl (Alpine), by a `pyusdt` that was installed for musl": "test_musl",
    "with `Py_TRACE_REFS`, up to 3.12": "test_a_build_whose_objects_begin_with_more",
    "of PyInstaller, Nuitka, without the functions of Python's C API": "test_a_program_without_the_function",
    "of uv, conda": "",
}


def test_builds():
    """Each has its test."""
    with open(os.path.join(ROOT, "docs", "reference", "python-versions.md")) as file:
        table = file.read().partition("## Builds of CPython")[2].partition("\n\n")[0]
    found = re.findall(r"^\| (.*) \| (run|refused|never run)(?:: .*)? \|$", table, re.MULTILINE)
    assert {build: how == "never run" for build, how in found} == {
        build: not test for build, test in BUILDS.items()
    }
    tests = [
        os.path.join(ROOT, "tests", "integration", f"test_attach{each}.py")
        for each in ("", "_builds")
    ]
    text = "".join(Path(each).read_text() for each in tests)
    for test in BUILDS.values():
        name = test.partition("[")[0]
        assert not name or name == "test_attach.py" or f"def {name}(" in text, test
