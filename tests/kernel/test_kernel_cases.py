"""tests/dlang/cases under the kernel engine: the same output as the real dtrace's, which the interpreter gives too."""

import re

import pytest

from tests.support.compiler.recorded_cases import SCRIPTS, expected, id_of
from tests.support.kernel_harness import pydtrace

pytestmark = pytest.mark.usefixtures("bpf")


def test_there_are_cases():
    assert len(SCRIPTS) >= 9


@pytest.mark.parametrize("path", SCRIPTS, ids=id_of)
def test_does_what_dtrace_did(path):
    out, err, status = pydtrace("-s", path)
    errors = [
        re.sub("^dtrace: | at BPF pc [0-9]+$", "", line)
        for line in err.splitlines()
        if line.startswith("dtrace: error in")
    ]
    out = re.sub(r"(?m)^ +\d+( +1 +:BEGIN )", r"  0\1", out)  # the CPU is not the script's
    assert "\n".join([f"exit {status}", *errors, "", out]) == expected(path), err
