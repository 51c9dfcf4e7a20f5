"""Every case of cases/*.data through assembler, disassembler, interpreter, and the kernel as judge."""

import pytest

from pydtrace.bpf import insn
from pydtrace.bpf.asm import assemble
from pydtrace.bpf.disasm import disassemble
from tests.support import bytecode_cases
from tests.support.bytecode_cases import CASES
from tests.support.compiler import verifier

BY_ID = pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])


def normal(outcome):
    """A number as hex of its 64 bits, anything else as it is."""
    try:
        return hex(int(outcome, 0) & 0xFFFFFFFFFFFFFFFF)
    except ValueError:
        return outcome


@pytest.fixture(scope="session")
def results(build_driver):
    return {
        case.id: result
        for case, result in zip(CASES, bytecode_cases.run_all(build_driver("driver.c"), CASES))
    }


def test_ids_are_unique():
    assert len({case.id for case in CASES}) == len(CASES)


@BY_ID
def test_interpreter(results, case):
    result = results[case.id]
    assert result.outcome == normal(case.outcome)
    assert result.output == case.output
    if case.after:
        assert result.after == case.after


@BY_ID
def test_round_trip(case):
    text = disassemble(case.insns, case.map_names)
    assert assemble(text, case.map_names) == case.insns
    assert insn.decode(insn.encode(case.insns)) == case.insns


@BY_ID
def test_kernel_agrees(case):
    if verifier.why_not_loadable():
        pytest.skip(f"host: {verifier.why_not_loadable()}")
    if case.kernel == "skip":
        return
    verdict = bytecode_cases.in_kernel(case)
    fails = case.kernel == "refuses" or " at " in case.outcome or case.outcome.startswith("load")
    if fails:
        assert verdict[0] == "refused", verdict
    elif case.kernel == "accepts":
        assert verdict[0] == "accepted", verdict
    else:
        assert verdict[:2] == ("ran", normal(case.outcome)), verdict
        assert not case.after or set(verdict[2]) <= set(case.after)


def test_every_instruction_has_a_case():
    seen = {
        insn.find_opcode(i).name + insn.find_opcode(i).form
        for case in CASES
        if not case.outcome.startswith("load")
        for i in case.insns
        if insn.find_opcode(i)
    }
    assert seen == {row.name + row.form for row in insn.ROWS}
