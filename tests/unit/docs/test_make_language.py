"""The pages of docs/make_language.py are what it makes of the tables."""

import os
import runpy

import pytest

from tests.support.paths import ROOT

pytestmark = pytest.mark.own_processes


MADE = runpy.run_path(os.path.join(ROOT, "docs", "make_language.py"))


@pytest.mark.parametrize("row", MADE["PAGES"], ids=lambda row: row[0])
def test_the_page_is_up_to_date(row):
    with open(os.path.join(ROOT, "docs", row[0]), encoding="utf-8") as file:
        assert file.read() == MADE["text"](*row), "run docs/make_language.py"


def test_the_arguments_are_one_row_and_an_extension_names_its_option():
    page = MADE["text"](*MADE["PAGES"][0])
    assert page.count("| the first ten arguments") == 1 and "| `arg1` |" not in page
    rows = [line for line in page.splitlines() if "(needs `-x pyusdt`)" in line]
    assert [row.split("`")[1] for row in rows] == ["percentiles"]


def test_what_is_absent_is_absent():
    from pydtrace.dlang.builtins import ACTIONS, AGGREGATIONS, SUBROUTINES, VARIABLES, unsupported

    there = {*ACTIONS, *AGGREGATIONS, *SUBROUTINES, *VARIABLES}
    assert not there & set(unsupported.UNSUPPORTED)
    assert set(unsupported.ENGINE_NOTES) <= there
