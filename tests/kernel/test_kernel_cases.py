"""tests/dlang/cases under the kernel engine: the same output as the real dtrace's, which the interpreter gives too."""

import glob
import os
import re

import pytest

from tests.support.kernel_harness import pydtrace
from tests.support.paths import ROOT

pytestmark = pytest.mark.usefixtures("bpf")
SCRIPTS = sorted(glob.glob(os.path.join(ROOT, "tests", "dlang", "cases", "tst.*.d")))


def test_there_are_cases():
    assert len(SCRIPTS) >= 9


@pytest.mark.parametrize("path", SCRIPTS, ids=[os.path.basename(path) for path in SCRIPTS])
def test_does_what_dtrace_did(path):
    out, err, status = pydtrace("-s", path)
    errors = [
        re.sub("^dtrace: | at BPF pc [0-9]+$", "", line)
        for line in err.splitlines()
        if line.startswith("dtrace: error in")
    ]
    out = re.sub(r"(?m)^ +\d+( +1 +:BEGIN )", r"  0\1", out)  # the CPU is not the script's
    with open(path.removesuffix(".d") + ".r", encoding="utf-8") as file:
        assert "\n".join([f"exit {status}", *errors, "", out]) == file.read(), err
