"""docs/reference/language.md is what docs/make_language.py makes of the tables."""

import os
import runpy

import pytest

from tests.support.paths import ROOT

pytestmark = pytest.mark.own_processes


def test_the_table_is_up_to_date():
    made = runpy.run_path(os.path.join(ROOT, "docs", "make_language.py"))
    with open(made["PATH"], encoding="utf-8") as file:
        assert file.read() == made["text"](), "run docs/make_language.py"


def test_what_is_absent_is_absent():
    from pydtrace.dlang.builtins import ACTIONS, AGGREGATIONS, SUBROUTINES, VARIABLES, unsupported

    there = {*ACTIONS, *AGGREGATIONS, *SUBROUTINES, *VARIABLES}
    assert not there & set(unsupported.UNSUPPORTED)
    assert set(unsupported.ENGINE_NOTES) <= there
