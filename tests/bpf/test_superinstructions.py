"""Sequences of instructions that the interpreter runs as one operation (c/bpf/superinstructions.h): the same as one by one, and found."""

import collections

import pytest

from pydtrace.bpf import insn, lib
from pydtrace.bpf.asm import assemble
from pydtrace.bpf.program_builder import link_library
from pydtrace.dlang.compile import Compiler
from tests.support import bytecode_cases
from tests.support.bytecode_cases import CASES

VALUES = sorted(
    {sign * (1 << bits) + step for bits in range(64) for sign in (1, -1) for step in (-1, 0, 1)}
    | {0, 1 - (1 << 63)}
)
EXACT = len(lib.load_function("quantize_bucket"))  # what a call costs of the step limit


@pytest.fixture(scope="session")
def driver(build_driver):
    return build_driver("driver.c")


def both(driver, cases):
    """[(result as the program is loaded, result of each instruction by itself)]"""
    return list(
        zip(bytecode_cases.run_all(driver, cases), bytecode_cases.run_all(driver, cases, "plain"))
    )


def seen(result):
    """All that is not an address of this process."""
    return (
        result.load,
        result.run and (*result.run[:3], result.run[4]),
        result.output,
        result.after,
    )


def bucket_of(value):
    return 63 + min(value.bit_length(), 63) * (1 if value >= 0 else -1)


def quantize(value, wrapped=0, **sections):
    """A call of quantize_bucket, inside of so many other functions."""
    text = (
        "".join(f"callsub f{i}\nexit\nf{i}:\n" for i in range(wrapped))
        + "callsub quantize_bucket\nexit"
    )
    load = insn.ld_imm64(1, value & (1 << 64) - 1)
    return bytecode_cases.Made(
        link_library([*load, *assemble(text)], lib.load_function), **sections
    )


def test_the_cases_run_as_one_by_one(driver):
    found = collections.Counter()
    for case, (fused, plain) in zip(CASES, both(driver, CASES)):
        assert seen(fused) == seen(plain), case.id
        assert plain.fused == {}
        if case.id.startswith("fused: "):
            found.update(fused.fused)
    assert set(found) == {
        "STATE",
        "LOOKUP",
        "ELEMENT",
        "COPY",
        "READ_STRING",
        "STRING",
        "STRING_KEY",
        "INCREMENT",
        "SUM",
        "BUMP",
        "BUCKET",
        "GLOBAL",
        "LOST",
    }


@pytest.mark.parametrize(
    ("id", "fused"),
    [
        ("fused: the prologue, with a state block", {"STATE": 1}),
        ("fused: no prologue: another element of the state", {"ELEMENT": 1}),
        ("fused: no prologue: another map", {"ELEMENT": 1}),
        ("fused: a copy on the stack", {"COPY": 1}),
        ("fused: a string to an address in the size's register", {"READ_STRING": 1}),
        ("fused: an increment: 1 | 8 | 23", {"INCREMENT": 1}),
        ("fused: an increment: 1 | 0 | 22", {}),
    ],
)  # it reads one word and writes another
def test_a_sequence_is_found(driver, id, fused):
    [case] = [case for case in CASES if case.id == id]
    assert bytecode_cases.run_all(driver, [case])[0].fused == fused


def test_quantize_bucket_of_every_size(driver):
    for value, (fused, plain) in zip(VALUES, both(driver, [quantize(value) for value in VALUES])):
        assert fused.fused == {"QUANTIZE_BUCKET": 1}
        assert (
            fused.outcome
            == plain.outcome
            == hex(bucket_of((value + (1 << 63)) % (1 << 64) - (1 << 63)))
        ), value


@pytest.mark.parametrize(
    ("wrapped", "steps", "outcome"),
    [(0, EXACT, hex(64)), (0, EXACT - 1, "ELOOP at 2"), (6, 0, hex(64)), (7, 0, "ELOOP at 16")],
)  # eight frames, the first one's and the callee's among them
def test_quantize_bucket_at_the_limits_of_calls(driver, wrapped, steps, outcome):
    [(fused, plain)] = both(driver, [quantize(1, wrapped, steps=steps)])
    assert fused.fused == {"QUANTIZE_BUCKET": 1}
    assert seen(fused) == seen(plain)
    assert fused.outcome == outcome


def test_another_function_is_called(driver):
    case = quantize(1)
    case.insns[-2].imm += 1
    [(fused, plain)] = both(driver, [case])
    assert fused.fused == {}
    assert fused.outcome == plain.outcome == hex(65)


def compiled(clause):
    """(program, its one clause)"""
    compiler = Compiler()
    compiler.compile_text("pyusdt$target:::user_trace-i4s4 { " + clause + " }")
    program = compiler.generate_program()
    [made] = program.clauses
    return program, made


@pytest.mark.parametrize(
    ("clause", "fused"),
    [
        ("@ = count();", {"STATE": 1, "ELEMENT": 1, "INCREMENT": 1}),
        (
            "@[copyinstr(arg6)] = quantize(arg2);",
            {
                "STATE": 1,
                "LOOKUP": 1,
                "STRING_KEY": 1,
                "INCREMENT": 1,
                "QUANTIZE_BUCKET": 1,
                "LOST": 3,
                "BUCKET": 1,
            },
        ),
        (
            'printf("%d %d %s\\n", arg2, arg3, copyinstr(arg6));',
            {"STATE": 1, "STRING": 1, "LOST": 3},
        ),
        ("fired++;", {"STATE": 1, "GLOBAL": 1}),
    ],
)
def test_what_the_compiler_makes_is_fused(driver, clause, fused):
    program, made = compiled(clause)
    result = bytecode_cases.run_all(driver, [bytecode_cases.Made(made.code, maps=program.maps)])[0]
    assert result.load[0] == 0
    assert result.fused == fused


@pytest.mark.parametrize(
    ("clause", "blind"),
    [
        ("@ = count();", True),
        ("@ = count(); fired++;", True),
        ("@ = sum(2);", True),
        ("@ = quantize(5); @a = count();", True),
        ("fired++;", True),
        ("@ = sum(arg2);", False),
        ("@ = count(); last = timestamp;", False),
        ("@ = count(); this->a = 1;", False),
        ("@[1] = count();", False),
        ("@ = count(); trace(1);", False),
        ("@ = count(); seen[pid] = 1;", False),
    ],
)
def test_who_does_not_look_at_the_event(driver, clause, blind):
    """The engine leaves the state block of an event as it is for clauses that do the same whatever it holds."""
    program, made = compiled(clause)
    size = program.maps[0].value_size
    states = [bytes(size), b"\xff" * size]
    ran = bytecode_cases.run_all(
        driver, [bytecode_cases.Made(made.code, maps=program.maps, state=state) for state in states]
    )
    assert [result.blind for result in ran] == [blind] * 2
    if blind:
        first, second = (
            [line for line in result.after if not line.startswith("array 0 ")] for result in ran
        )
        assert first == second and any(line.strip("0") for line in first)
