"""What type checkers know of probes that are made at run time, without a file of stubs: mypy, and pyright (as basedpyright, whose
package brings it with what it runs on)."""

import os
import re
import subprocess
import sys
import textwrap

import pytest

import pyusdt
from tests.support import harness, pip_packages

pytestmark = pytest.mark.own_processes

PROGRAM = """
from __future__ import annotations
from typing import Annotated
import pyusdt

shop = pyusdt.Provider("typed")
order = shop.probe("order-placed", int, str)
order(1, "tea")
order(None, None)
order("wrong", "tea")  # wrong
order("wrong", 2, 3)  # wrong
order(1)  # wrong
priced: pyusdt.Probe[float | None, bool | None] = shop.probe("priced", float, bool)
priced(1, True)
priced("1", True)  # wrong
loose = shop.probe("loose", "int32_t", str)
loose("not known", 2)
named = shop.probe("named", route=str, status=int)
named("/", 200)
empty = shop.probe("empty")
empty(1)  # wrong, but not to pyright
twelve = shop.probe("twelve", int, int, int, int, int, int, int, int, int, int, int, str)
twelve(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)  # wrong
shop.probe("no-type", 7)  # wrong

@shop.declare
def sold(number: int, item: str | None, left: Annotated[int, "uint16_t"]) -> None: ...

sold(1, None, 3)
sold("1", None, 3)  # wrong
sold(1)  # wrong

@order.wrap
def work(n: int) -> str:
    return str(n)

work("1")  # wrong
any_probe: pyusdt.Probe = pyusdt.probe("user_trace-n7")
any_probe(1, "x", b"y")
if order:
    order.lazy(lambda: (1, "tea"))

class Till:
    @order.wrap
    @staticmethod
    def count(n: int) -> int:
        return n

Till.count("1")  # wrong

try:
    pyusdt.trace("BEGIN {", all=True)
except pyusdt.CompileError as error:
    number: int = error.loc.line
    error.loc.column.nope  # wrong
"""


def wrong(ends):
    """The numbers of the lines that end so."""
    return [number for number, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith(ends)]


def refused(folder, *command, **environment):
    """The numbers of the lines that a type checker refuses."""
    (folder / "user.py").write_text(PROGRAM)
    checked = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    found = re.findall(r"user.py:(\d+):(?:\d+ -)? error", checked.stdout)
    assert found, checked.stdout + checked.stderr
    return sorted(set(map(int, found)))


def test_mypy_refuses_wrong_calls_and_no_others(tmp_path):
    assert refused(tmp_path, "-m", "mypy", "--strict", "--config-file=", "user.py") == wrong(
        ("# wrong", "pyright")
    )


@pytest.mark.long  # it is 280 MB
def test_pyright_refuses_wrong_calls_and_no_others(tmp_path):
    folder = pip_packages.folder_of(
        os.path.join(harness.INTEGRATION, "type_checkers.txt"), depends=True
    )
    (tmp_path / "pyproject.toml").write_text(
        textwrap.dedent(f"""
        [tool.basedpyright]
        typeCheckingMode = "strict"
        reportUnusedFunction = false
        extraPaths = ["{os.path.dirname(os.path.dirname(pyusdt.__file__))}"]
        pythonVersion = "{sys.version_info[0]}.{sys.version_info[1]}"
    """)
    )
    assert refused(
        tmp_path, "-m", "basedpyright", "--level", "error", "-p", ".", PYTHONPATH=folder
    ) == wrong("# wrong")


def test_it_runs(tmp_path):
    """What the annotations say is there when the program runs, too."""
    wanted = pyusdt.Probe[int, str]
    assert wanted.__origin__ is pyusdt.Probe and wanted.__args__ == (int, str)
    lines = [line for line in PROGRAM.splitlines() if "# wrong" not in line]
    (tmp_path / "user.py").write_text("\n".join(lines))
    got = harness.run([sys.executable, str(tmp_path / "user.py")])
    assert (got.status, got.stderr) == (0, ""), got
