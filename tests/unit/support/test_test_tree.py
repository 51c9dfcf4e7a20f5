"""The tests' tree: one name for one file, and what tests share is in tests/support."""

import ast
from collections import Counter
from pathlib import Path

import pytest

from tests.support.paths import TESTS

pytestmark = pytest.mark.own_processes
FILES = sorted(Path(TESTS).rglob("*.py"))
# The same tests in nodes of other OTPs, and under the sanitizers.
RUN_AGAIN = {
    f"tests.erlang.{name}"
    for name in (
        "conftest",
        "test_erlang_attach",
        "test_erlang_profile",
        "test_erlang_values",
        "test_erlang_vm",
        "test_erlang_vm_refusals",
        "test_erltrace_watch",
    )
}


def test_a_name_is_used_once():
    counts = Counter(path.name for path in FILES if path.name.startswith("test_"))
    assert [name for name, number in counts.items() if number > 1] == []


def imported(path: Path) -> set[str]:
    """The modules of tests that a file imports."""
    nodes = ast.walk(ast.parse(path.read_bytes()))
    found = {
        f"{node.module}.{name.name}" if node.module.count(".") < 2 else node.module
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("tests.")
        for name in node.names
    }
    return {module for module in found if not module.startswith("tests.support.")}


def test_tests_share_by_support():
    found = {module for path in FILES for module in imported(path)}
    assert {name for name in found if ".programs." not in name} <= RUN_AGAIN
