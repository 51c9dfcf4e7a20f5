"""What the consumer prints, against what the real dtrace printed for the same script (tests/unit/dtrace_output/*.r)."""

import os

import pytest

from tests.support.formatter import formatter_process as harness
from tests.support.formatter.formatter_cases import CASES, NAMES
from tests.support.paths import TESTS

FOLDER = os.path.join(TESTS, "unit", "dtrace_output")


def read(name):
    with open(os.path.join(FOLDER, name), "rb") as file:
        return file.read()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_prints_what_dtrace_printed(case, formatter):
    assert read(case.script + ".d").decode() == case.source(), (
        "the recorded script is another: record it again"
    )
    assert harness.print_case(formatter, case, NAMES) == read(case.name + ".r")
