"""cases/tst.*.d, compiled and run in the interpreter, against what the real dtrace did with the same
script (cases/*.r, made by record_cases.py)."""

import os

import pytest

from pydtrace.dlang.compile import compile_program
from tests.dlang.record_cases import SCRIPTS, expectation
from tests.support.compiler.bpf_machine import Machine


@pytest.mark.parametrize("path", SCRIPTS, ids=[os.path.basename(path) for path in SCRIPTS])
def test_does_what_dtrace_did(path):
    with open(path, encoding="utf-8") as file:
        machine = Machine(compile_program(file.read(), path))
    status = machine.run_begin()
    output, errors = machine.printed()
    with open(path.removesuffix(".d") + ".r", encoding="utf-8") as file:
        assert expectation(status, errors, output.decode()) == file.read()
