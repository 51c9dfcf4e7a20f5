"""Assembler, program building, the library: what the cases do not show."""

import os

import pytest

from pydtrace.bpf import insn, lib
from pydtrace.bpf.asm import AsmError, assemble
from pydtrace.bpf.disasm import disassemble
from pydtrace.bpf.helpers import BY_NUMBER, HELPERS, ROWS
from pydtrace.bpf.program_builder import CodeBuilder, CodeError, Label, link_library
from pydtrace.program import program
from pydtrace.program.program import MapDef
from tests.support.compiler import verifier


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mov r1, 1\nfrob r1", "line 2: frob r1: unknown mnemonic"),
        ("mov r1", "line 1: mov r1: mov takes 2 operands"),
        ("mov r11, 1", "line 1: mov r11, 1: r11 is not a register"),
        (
            "mov r1, 0x100000000",
            "line 1: mov r1, 0x100000000: 0x100000000 does not fit into 32 bits",
        ),
        ("ldxw r1, [r2+40000]", "line 1: ldxw r1, [r2+40000]: 40000 does not fit into 16 bits"),
        ("ldxw r1, r2", "line 1: ldxw r1, r2: r2 is not [register+offset]"),
        ("a:\na:", "line 2: a:: label a placed twice"),
    ],
)
def test_errors_name_the_line(text, message):
    with pytest.raises(AsmError) as error:
        assemble(text)
    assert str(error.value) == message


def test_a_label_that_is_nowhere():
    with pytest.raises(CodeError, match="label out is used but was never placed"):
        assemble("ja out")


def test_a_jump_that_is_too_far():
    code, far = CodeBuilder(), Label()
    code.emit(insn.ja(far), *[insn.mov_imm(0, 0)] * 0x8000)
    code.place_label(far)
    with pytest.raises(CodeError, match="too far"):
        code.finish()


def test_linking_appends_each_function_once():
    functions = {
        "twice": lambda: assemble("callsub once\ncallsub once\nexit"),
        "once": lambda: assemble("mov r0, 7\nexit"),
    }
    code = link_library(
        assemble("callsub twice\ncallsub once\nexit"), lambda name: functions[name]()
    )
    assert disassemble(code) == disassemble(
        assemble("""
        callsub twice
        callsub once
        exit
    twice:
        callsub once
        callsub once
        exit
    once:
        mov r0, 7
        exit
    """)
    )


def test_wide_constants():
    for value in (
        0,
        -1,
        0x7FFFFFFF,
        0x80000000,
        -0x80000000,
        -0x80000001,
        1 << 63,
        0xFFFFFFFFFFFFFFFF,
    ):
        code = insn.const(1, value)
        wide = (
            code[0].imm & 0xFFFFFFFF | (code[1].imm & 0xFFFFFFFF) << 32
            if len(code) == 2
            else code[0].imm
        )
        assert (wide - value) % (1 << 64) == 0
        assert (len(code) == 1) == (code[0].opcode == insn.mov_imm(0, 0).opcode)


def test_comments_and_numbers_survive_assembly():
    code = assemble("mov r0, 1\nexit")
    code[0].comment = "arg0"
    text = disassemble(code, numbers=True)
    assert "; 0 arg0" in text
    assert assemble(text) == code


def test_the_tables_are_consistent():
    assert len({row.ident for row in insn.ROWS}) == len(insn.ROWS)
    assert len({(row.opcode, row.sub) for row in insn.ROWS}) == len(insn.ROWS)
    assert len(HELPERS) == len(BY_NUMBER) == len(ROWS)


@pytest.mark.parametrize("name", lib.function_names())
def test_library_functions(name):
    """Each assembles, alone and twice over, and keeps the assembler's round trip."""
    code = lib.load_function(name)
    code[0].imm = 12345
    code = lib.load_function(name)
    assert code == assemble(disassemble(code)) and code[0].imm != 12345
    linked = link_library(assemble(f"callsub {name}\nexit"), lib.load_function)[2:][: len(code)]
    calls = {
        i for i, each in enumerate(code) if isinstance(each.imm, str)
    }  # linking gives these their places
    assert [each for i, each in enumerate(linked) if i not in calls] == [
        each for i, each in enumerate(code) if i not in calls
    ]


class TestVerifier:
    def test_accepts(self):
        assert (
            verifier.why_not_loadable()
            or verifier.verify(assemble("mov r0, 0\nexit")).status == verifier.OK
        )

    def test_refuses_with_the_log(self):
        if not verifier.why_not_loadable():
            verdict = verifier.verify(assemble("mov r0, r5\nexit"))
            assert verdict.status == verifier.REFUSED and "R5 !read_ok" in verdict.log

    def test_tells_no_privilege_from_a_refusal(self, unprivileged):
        def verify():
            verifier._not_loadable = None  # what is remembered was found out as root
            return verifier.verify(assemble("mov r0, r5\nexit"))

        verdict = unprivileged(verify)
        assert (
            verdict.startswith(f"Verdict({verifier.CANNOT}, ")
            and "Operation not permitted" in verdict
        )

    def test_gives_everything_back(self):
        maps = [MapDef("a", "array", 4, 8, 1), MapDef("h", "hash", 8, 8, 4)]
        before = os.listdir("/proc/self/fd")
        verifier.verify(assemble("mov r0, 0\nexit"), maps)
        verifier.verify(assemble("mov r0, r5\nexit"), maps)
        assert os.listdir("/proc/self/fd") == before


@pytest.mark.parametrize(
    "name, size",
    [
        ("report_fault", program.FAULT_RECORD_SIZE),
        ("settle_speculation", program.SETTLED_RECORD_SIZE),
    ],
)
def test_the_librarys_records_are_where_the_program_has_room_for_them(name, size):
    """They are assembly and know no names: what program.py says of a record, they have as numbers."""
    fault, code = program.STATE_FAULT, lib.load_function(name)
    stores = {
        i.off: i
        for i in code
        if i.dst == insn.R1
        and i.opcode
        in {insn.store(n, 1, 0, 0).opcode for n in (4, 8)}
        | {insn.store_imm(n, 1, 0, 0).opcode for n in (4, 8)}
    }
    assert (
        stores[fault].imm == size
        and min(stores) == fault
        and max(stores) < fault + size <= program.STATE_PROGRAM
    )
    assert insn.alu_imm("add", insn.R2, fault) in code
    assert {
        fault + program.RECORD_CLAUSE,
        fault + program.RECORD_PROBE,
        fault + program.RECORD_TIME,
        fault + program.RECORD_PID,
    } <= set(stores)
