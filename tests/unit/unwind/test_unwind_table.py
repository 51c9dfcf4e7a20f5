"""Tables of frames for programs in the kernel: every row of the C library against the rules that it is made of."""

import bisect
import contextlib
import ctypes
import os
import subprocess
import tracemalloc

import pytest

from pydtrace.symbols import elf
from pydtrace.unwind import dwarf_cfi, native_unwinder, unwind_rows, unwind_table

pytestmark = [
    pytest.mark.own_processes,
    pytest.mark.skipif(os.uname().machine != "x86_64", reason="host: the rules are of x86-64"),
]
SP, BP, PC = 7, 6, 16
BEGIN = {BP: 1 << 40, SP: 1 << 32, PC: 0}


def path_of(name):
    with open("/proc/self/maps") as file:
        return next(line.split()[-1] for line in file if name in line)


@pytest.fixture(scope="module", params=["/ld-", pytest.param("/libc.so", marks=pytest.mark.long)])
def file(request):
    ctypes.CDLL(None)
    found = elf.ElfFile(path_of(request.param))
    yield found
    found.close()


@contextlib.contextmanager
def assembled(folder, text, *options):
    """An elf.ElfFile of a library of these lines."""
    source, library = folder / "made.s", folder / "made.so"
    source.write_text(text + '\n.section .note.GNU-stack,"",@progbits\n')
    subprocess.run(
        ["gcc", "-shared", "-nostdlib", *options, "-o", str(library), str(source)], check=True
    )
    with contextlib.closing(elf.ElfFile(str(library))) as file:
        yield file


def word(address):
    """A memory that has another word everywhere."""
    return address * 0x9E3779B97F4A7C15 & (1 << 48) - 1


def stepped(rule, pc):
    """The caller's registers, as the program in the kernel has them; None: by the chain of frame pointers."""
    kind, saved = (
        rule & (1 << unwind_rows.KIND_BITS) - 1,
        rule >> unwind_rows.KIND_BITS & unwind_rows.SAVED_MOST,
    )
    begin = 8 * (rule >> unwind_rows.KIND_BITS + unwind_rows.SAVED_BITS)
    if kind == unwind_rows.POINTER:
        return None
    if kind == unwind_rows.OUTERMOST:
        return {}
    if kind == unwind_rows.SIGNAL:
        return {
            BP: word(BEGIN[SP] + unwind_rows.SIGNAL_BP),
            SP: word(BEGIN[SP] + unwind_rows.SIGNAL_SP),
            PC: word(BEGIN[SP] + unwind_rows.SIGNAL_PC),
        }
    if kind == unwind_rows.JUMP:
        begin = BEGIN[SP] + 8 + 8 * (pc & 15 >= 11)
    else:
        begin += BEGIN[SP if kind == unwind_rows.BY_SP else BP]
    return {BP: word(begin - 8 * saved) if saved else BEGIN[BP], SP: begin, PC: word(begin - 8)}


def wanted(row, pc):
    """The same by the rules; None where they need other registers, {} for the outermost frame."""
    if row is None:
        return None
    if PC in row.rules and row.rules[PC] is None:
        return {}
    try:
        found = native_unwinder._step_by_table({**BEGIN, PC: pc}, row, word)
        return {register: found[register] for register in (BP, SP, PC)}
    except KeyError:
        return None


def test_every_row_of_a_library(file):
    """At the first and the last address of each part that the rules are the same for, and of the gaps between them."""
    found = unwind_table.build_table(file)
    rows = list(unwind_rows.ROW.iter_unpack(found.rows))
    starts = [start + found.base for start, _ in rows]
    tables, parts, left, end = dwarf_cfi.FrameTables(file), 0, 0, found.base
    for function in dwarf_cfi.FrameTables(file).iter_functions():
        for begin, following, row in function:
            for pc in {begin, following - 1, *([end, begin - 1] if end < begin else [])}:
                rule = rows[bisect.bisect_right(starts, pc) - 1][1]
                there = tables.find_row(pc)
                ours, theirs = stepped(rule, pc), wanted(there, pc)
                if (
                    ours is None and theirs is not None
                ):  # the frame is aligned, and has a chain of frame pointers
                    assert (
                        dwarf_cfi.EXPRESSION in there.rules[dwarf_cfi.CFA]
                        or there.rules[dwarf_cfi.CFA][0] == 10
                    ), there.rules
                    left += 1
                else:
                    assert ours == theirs, (hex(pc), rule, there and there.rules)
            parts, end = parts + 1, following
    assert parts > 1000 and left < parts / 100
    assert rows[-1][1] == unwind_rows.POINTER and {rule & 7 for _, rule in rows} >= {
        unwind_rows.POINTER,
        unwind_rows.BY_SP,
        unwind_rows.BY_BP,
        unwind_rows.JUMP,
        unwind_rows.SIGNAL,
    }


def test_what_has_no_room():
    with pytest.raises(ValueError, match="too large"):
        unwind_rows.rule(unwind_rows.BY_SP, unwind_rows.BEGIN_MOST + 1)
    assert (
        unwind_table.encode_rule(
            dwarf_cfi.CfiRow(
                {dwarf_cfi.CFA: (SP, 8 * (unwind_rows.BEGIN_MOST + 1)), PC: (dwarf_cfi.OFFSET, -8)},
                PC,
                False,
                0,
            )
        )
        == unwind_rows.POINTER
    )
    assert (
        unwind_table.encode_rule(
            dwarf_cfi.CfiRow({dwarf_cfi.CFA: (SP, 12), PC: (dwarf_cfi.OFFSET, -8)}, PC, False, 0)
        )
        == unwind_rows.POINTER
    )
    assert (
        unwind_table.encode_rule(
            dwarf_cfi.CfiRow({dwarf_cfi.CFA: (10, 8), PC: (dwarf_cfi.OFFSET, -8)}, PC, False, 0)
        )
        == unwind_rows.POINTER
    )
    assert (
        unwind_table.encode_rule(
            dwarf_cfi.CfiRow({dwarf_cfi.CFA: (SP, 16), PC: (dwarf_cfi.OFFSET, -16)}, PC, False, 0)
        )
        == unwind_rows.POINTER
    )


def test_a_table_has_a_bound(file):
    with pytest.raises(unwind_table.NoTable, match="more than 100 rows"):
        unwind_table.build_table(file, 100)


def test_a_function_whose_rows_have_no_end(tmp_path):
    """Anybody's file may have one of a hundred million rows: it has none, and those beside it have theirs."""
    with assembled(
        tmp_path,
        """
        .globl before, many, behind
        before: .cfi_startproc
        push %rax
        .cfi_adjust_cfa_offset 8
        ret
        .cfi_endproc
        many: .cfi_startproc
        .rept 40000
        nop
        .cfi_adjust_cfa_offset 8
        .endr
        .cfi_endproc
        behind: .cfi_startproc
        push %rax
        .cfi_adjust_cfa_offset 8
        ret
        .cfi_endproc
    """,
    ) as file:
        assert [
            len(list(function)) for function in dwarf_cfi.FrameTables(file).iter_functions()
        ] == [2, 0, 2]
        found = unwind_table.build_table(file)
    assert [rule & 7 for _, rule in unwind_rows.ROW.iter_unpack(found.rows)] == [
        unwind_rows.BY_SP,
        unwind_rows.BY_SP,
        unwind_rows.POINTER,
        unwind_rows.BY_SP,
        unwind_rows.BY_SP,
        unwind_rows.POINTER,
    ]


def test_rows_that_take_room(tmp_path):
    """Anybody's file may have millions of different rows, each with a rule for every register: they are not kept, but for what they make."""
    many = "\n.rept 12000\nnop\n.cfi_adjust_cfa_offset 1\n.endr\n"
    with assembled(
        tmp_path,
        f"""
        .globl one, two
        one: .cfi_startproc
        {"".join(f".cfi_escape 5, {register}, 1; " for register in range(32, 128))}
        {many}
        .cfi_endproc
        two: .cfi_startproc
        .cfi_def_cfa_offset 16001
        {many}
        .cfi_endproc
    """,
    ) as file:
        tracemalloc.start()
        try:
            found = unwind_table.build_table(file)
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert len(found) > 5000 and most < 2 << 20, (len(found), most)


def test_an_index_without_an_end(tmp_path):
    """Whatever is missing, it is a file without tables."""
    for head in (
        "",
        "1, 0x1b, 3",
        "1, 0x1b, 3, 0x3b, 0, 0",
        "1, 0x1b, 3, 0x3b, 0, 0, 0, 0, 1, 0, 0, 0",
    ):
        text = f'.section .eh_frame_hdr,"a"\n.byte {head}\n.section .eh_frame,"a"\n.long 0'
        with (
            assembled(tmp_path, text, "-Wl,--no-eh-frame-hdr") as file,
            pytest.raises(elf.BadFile, match="cut off" if head else "no tables|cut off"),
        ):
            unwind_table.build_table(file)


def test_a_begin_by_an_expression_that_is_taken_back(tmp_path):
    """As in libgcrypt: only the register is said anew, the distance is what it was before the expression; and a distance that is said
    meanwhile does not end it."""
    with assembled(
        tmp_path,
        """
        .globl back
        back: .cfi_startproc
        nop
        .cfi_def_cfa %rbp, 24
        nop
        .cfi_escape 0x0f, 2, 0x77, 0
        nop
        .cfi_escape 0x0e, 32
        nop
        .cfi_def_cfa_register %rsp
        nop
        .cfi_endproc
    """,
    ) as file:
        [function] = map(list, dwarf_cfi.FrameTables(file).iter_functions())
        unwind_table.build_table(file)
    assert [row.rules[dwarf_cfi.CFA] for _, _, row in function] == [
        (7, 8),
        (6, 24),
        (dwarf_cfi.EXPRESSION, b"w\0"),
        (dwarf_cfi.EXPRESSION, b"w\0"),
        (7, 32),
    ]
