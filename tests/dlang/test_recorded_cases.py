"""cases/tst/*/tst.*.d, compiled and run in the interpreter, against what the real dtrace did with the same
script (the .r file beside it, made by record_cases.py)."""

import pytest

from pydtrace.dlang.compile import compile_program
from tests.support.compiler.bpf_machine import Machine
from tests.support.compiler.recorded_cases import SCRIPTS, expectation, expected, id_of


@pytest.mark.parametrize("path", SCRIPTS, ids=id_of)
def test_does_what_dtrace_did(path):
    with open(path, encoding="utf-8") as file:
        machine = Machine(compile_program(file.read(), path))
    status = machine.run_begin()
    output, errors = machine.printed()
    assert expectation(status, errors, output.decode()) == expected(path)
