"""The hook of verifying.py: no program made in a test escapes the verifier."""

import pytest
from trees import clause, compiled, num, trace
from verifying import refusals

from pydtrace.bpf import verifier
from pydtrace.bpf.insn import exit_


def test_a_refused_program_is_found_however_it_was_made():
    if verifier.why_not_loadable():
        pytest.skip("host: " + verifier.why_not_loadable())
    program = compiled(clause(trace(num(1))))
    assert refusals() == []
    program = compiled(clause(trace(num(1))))
    program.clauses[0].code = [exit_()]  # r0 was never set
    assert len(refusals()) == 1
