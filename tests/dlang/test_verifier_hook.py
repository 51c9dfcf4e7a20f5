"""The hook of verifier_hook.py: no program made in a test escapes the verifier."""

import pytest

from pydtrace.bpf.insn import exit_
from tests.support.compiler import verifier
from tests.support.compiler.typed_trees import clause, compiled, num, trace
from tests.support.compiler.verifier_hook import refusals


def test_a_refused_program_is_found_however_it_was_made():
    if verifier.why_not_loadable():
        pytest.skip("host: " + verifier.why_not_loadable())
    program = compiled(clause(trace(num(1))))
    assert refusals() == []
    program = compiled(clause(trace(num(1))))
    program.clauses[0].code = [exit_()]  # r0 was never set
    assert len(refusals()) == 1
