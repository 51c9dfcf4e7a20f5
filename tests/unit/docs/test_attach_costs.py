"""docs/reference/costs.md: the figures of attaching are those of the run on record."""

from __future__ import annotations

import os

from tests.support.paths import ROOT, TESTS

PAGE = os.path.join(ROOT, "docs", "reference", "costs.md")
RESULTS = os.path.join(TESTS, "results", "2026-11-28-attach.md")
FIRST = "| CPython | median | 99.9 % | longest |"


def rows(path: str) -> list[str]:
    """Of the table that begins with FIRST."""
    with open(path) as file:
        lines = file.read().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(FIRST))
    table = lines[start:]
    return table[: next(i for i, line in enumerate(table) if not line.startswith("|"))]


def test_the_page_has_the_figures_of_the_run():
    assert rows(PAGE) == rows(RESULTS) and len(rows(PAGE)) == 2 + 7
