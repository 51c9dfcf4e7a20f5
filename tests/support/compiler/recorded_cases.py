"""The D scripts of tests/dlang/cases, and how what they do is written down (in the .r file beside each).

Input: tst/TOPIC/tst.WHAT.d, which do what the real dtrace did with them;
err/TOPIC/err.D_TAG.WHAT.d, which do not compile.
"""

import glob
import os
import re

from pydtrace.dlang.compile import compile_program
from pydtrace.dlang.compile_errors import CompileError
from tests.support.paths import TESTS

CASES = os.path.join(TESTS, "dlang", "cases")


def _scripts(pattern):
    return sorted(glob.glob(os.path.join(CASES, pattern)), key=os.path.basename)


SCRIPTS = _scripts("tst/*/tst.*.d")
ERRORS = _scripts("err/*/err.*.d")


def id_of(path):
    """What names a case in the id of its test: TOPIC/FILE."""
    return "/".join(path.split(os.sep)[-2:])


def expected(path):
    """The text of the .r file beside a script."""
    with open(path.removesuffix(".d") + ".r", encoding="utf-8") as file:
        return file.read()


def expectation(status, errors, output):
    """The text of a .r file of a script that runs."""
    errors = [re.sub(r" at BPF pc \d+$", "", line) for line in errors]
    output = re.sub(r"(?m)^ +\d+( +1 +:BEGIN )", r"  0\1", output)
    return "\n".join([f"exit {status}", *errors, "", output])


def tag_of(path):
    """The tag that a script's name says."""
    return os.path.basename(path).split(".")[1]


def compile_error(path):
    """The CompileError of a script, which is named as it is in its folder; None if it has none."""
    name = os.path.basename(path)
    with open(path, "rb") as file:
        text = file.read()
    try:
        compile_program(text, name, macros={"target": 0, "pid": 1}, arguments=[name])
    except CompileError as error:
        return error
    return None
