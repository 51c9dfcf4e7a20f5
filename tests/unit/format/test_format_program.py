"""The formatter on its own: places it stops at, and records and tables that are not well-formed."""

import random
import re
import struct

import pytest

from pydtrace.program import formatter_table
from pydtrace.program import program as p
from tests.support.formatter import formatter_process as harness
from tests.support.formatter.formatter_cases import CASES, NAMES, Case, Printf, Trace, header
from tests.support.formatter.formatter_process import ACTION, DONE, FAULT, FULL, PROBE

pytestmark = pytest.mark.own_processes
EINVAL = -22
CASE = Case("places", [[Trace("int", 5)], [Printf(b"<%s>", ("string", b"abc"))]])


def records_of(case):
    """(program, list of its records)."""
    program, data = case.program_and_records()
    records = []
    while data:
        size = struct.unpack_from("=I", data)[0]
        records.append(data[:size])
        data = data[size:]
    return program, records


def test_stops_at_the_caller_s_actions_and_goes_on_behind_them(formatter):
    program, (first, second, exits) = records_of(CASE)
    result = harness.run(
        formatter,
        formatter_table.build_table(program),
        first + exits + second,
        NAMES,
        harness.QUIET,
    )
    assert result.text == b"5<abc>"
    assert result.stops == [(ACTION, len(first), 0), (DONE, len(first + exits + second), 0)]


def test_a_record_with_an_action_of_the_caller_s_has_one_line(formatter):
    program, (first, _, exits) = records_of(CASE)
    result = harness.run(formatter, formatter_table.build_table(program), exits + first, NAMES)
    assert result.text.splitlines()[1:] == [
        b"  0      1                           :BEGIN ",
        b"  0      1                           :BEGIN           5",
    ]


def test_stops_at_a_probe_it_does_not_know_before_it_prints_anything(formatter):
    program, (first, *_) = records_of(CASE)
    result = harness.run(
        formatter, formatter_table.build_table(program), first, {7: ("", "", "", "other")}
    )
    assert (result.text, result.stops) == (b"", [(PROBE, 0, 0)])


def test_quiet_needs_no_names(formatter):
    program, (first, *_) = records_of(CASE)
    assert (
        harness.run(formatter, formatter_table.build_table(program), first, {}, harness.QUIET).text
        == b"5"
    )


def test_stops_at_faults(formatter):
    program, (first, *_) = records_of(CASE)
    fault = header(1 | p.RECORD_FAULT, p.FAULT_RECORD_SIZE) + bytes(16)
    result = harness.run(
        formatter, formatter_table.build_table(program), first + fault + first, NAMES, harness.QUIET
    )
    assert (result.text, result.stops[0]) == (b"55", (FAULT, len(first), 0))


def test_stops_when_the_text_is_long(formatter):
    program, (first, *_) = records_of(Case("wide", [[Printf(b"%60000d", ("int", 1))]]))
    result = harness.run(
        formatter, formatter_table.build_table(program), first * 10, NAMES, harness.QUIET
    )
    assert len(result.text) == 600000
    assert [stop for stop, _, _ in result.stops] == [FULL, DONE]


def test_the_heading_is_printed_once_over_several_buffers(formatter):
    program, (first, *_) = records_of(CASE)
    assert (
        harness.run(
            formatter, formatter_table.build_table(program), [first, first], NAMES
        ).text.count(b"FUNCTION:NAME")
        == 1
    )


def test_testing_mode_has_no_columns_that_change(formatter):
    program, (first, *_) = records_of(CASE)
    text = harness.run(
        formatter, formatter_table.build_table(program), first, NAMES, harness.TESTING
    ).text
    assert text == b"%32s\n%32s           5\n" % (b"FUNCTION:NAME", b":BEGIN")


def damaged(record, **fields):
    places = {"size": p.RECORD_SIZE, "clause": p.RECORD_CLAUSE, "probe": p.RECORD_PROBE}
    record = bytearray(record)
    for name, value in fields.items():
        struct.pack_into("=I", record, places[name], value)
    return bytes(record)


@pytest.mark.parametrize(
    "fields",
    [{"size": 0}, {"size": 31}, {"size": 32}, {"size": 1 << 31}, {"clause": 3}, {"clause": 1}, {"probe": 1 << 31},
     {"clause": p.RECORD_FAULT}],
    ids=str,
)  # fmt: skip
def test_a_damaged_record_is_refused(formatter, fields):
    program, (first, *_) = records_of(CASE)
    result = harness.run(
        formatter,
        formatter_table.build_table(program),
        first + damaged(first, **fields),
        NAMES,
        harness.QUIET,
    )
    assert (result.text, result.stops[-1]) == (b"5", (EINVAL, len(first), 0))


def test_a_record_cut_short_is_refused(formatter):
    program, (first, *_) = records_of(CASE)
    for size in range(1, len(first)):
        assert harness.run(
            formatter, formatter_table.build_table(program), first[:size], NAMES
        ).stops == [(EINVAL, 0, 0)]


def test_a_string_without_its_nul_ends_with_its_storage(formatter):
    program, (record, *_) = records_of(
        Case("full", [[Printf(b"[%s|%S]", *2 * [("string", b"abc")])]])
    )
    filled = record[: p.RECORD_DATA] + b"x" * (len(record) - p.RECORD_DATA)
    size = program.clauses[0].actions[0].data[0].size
    result = harness.run(
        formatter, formatter_table.build_table(program), filled, NAMES, harness.QUIET
    )
    assert result.text == b"[" + b"x" * size + b"|" + b"x" * size + b"]"


def test_widths_from_records_are_bounded(formatter):
    case = Case("stars", [[Printf(b"%*.*d", ("int", 2**31 - 1), ("int", 2**31 - 1), ("int", 1)),
                           Printf(b"%*d", ("int", -(2**31)), ("int", 1))]])  # fmt: skip
    program, (record, *_) = records_of(case)
    result = harness.run(
        formatter, formatter_table.build_table(program), record, NAMES, harness.QUIET
    )
    assert result.text == b"0" * 65534 + b"1" + b"1" + b" " * 65534


def test_random_damage_to_records_is_never_followed(formatter):
    """Whatever the bytes, the formatter reads nothing that it was not given (the sanitizers watch)."""
    rng = random.Random(20)
    for case in CASES[:8]:
        program, data = case.program_and_records()
        if not data:
            continue
        buffers = []
        for _ in range(40):
            changed = bytearray(data)
            for _ in range(rng.randrange(1, 20)):
                changed[rng.randrange(len(changed))] = rng.choice(
                    [0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)]
                )
            buffers.append(bytes(changed[: rng.randrange(1, len(changed) + 1)]))
        result = harness.run(
            formatter,
            formatter_table.build_table(program),
            buffers,
            NAMES,
            harness.flags_of(case.options),
        )
        assert result.returncode == 0, result.errors[-2000:]


def test_random_damage_to_tables_is_refused_or_harmless(formatter):
    rng = random.Random(21)
    refused = 0
    program, data = CASES[6].program_and_records()
    good = formatter_table.build_table(program)
    for _ in range(150):
        changed = bytearray(good)
        for _ in range(rng.randrange(1, 4)):
            changed[rng.randrange(len(changed) - 40)] = rng.randrange(256)
        result = harness.run(formatter, bytes(changed), data, NAMES)
        assert result.returncode in (0, 1), result.errors[-2000:]
        refused += "not well-formed" in result.errors or "does not fit" in result.errors
    assert refused


@pytest.mark.parametrize("size", [0, 31, 32, 100])
def test_a_table_cut_short_is_refused(formatter, size):
    program, _ = CASE.program_and_records()
    result = harness.run(formatter, formatter_table.build_table(program)[:size], b"", NAMES)
    assert result.returncode == 1
    assert result.errors.startswith("table: format table:")


FLOW_NAMES = {1: ("dtrace", "", "", "BEGIN"), 2: ("pid1", "a", "main", "entry"), 3: ("pid1", "a", "main", "return"),
              4: ("syscall", "k", "write", "entry"), 5: ("syscall", "k", "write", "return"), 6: ("x", "m", "f", "gentry"),
              7: ("x", "m", "f", "method-entry"), 8: ("x", "m", "f", "method-return")}  # fmt: skip


def flow(formatter, steps, flags=0):
    """The lines for firings; steps: (probe, tid), or (probe, tid, clause)."""
    program, (first, *_) = records_of(CASE)
    program.clauses.append(program.clauses[0])
    records = []
    for probe, tid, *clause in steps:
        record = bytearray(damaged(first, probe=probe, clause=clause[0] * 3 if clause else 0))
        struct.pack_into("=I", record, p.RECORD_TID, tid)
        records.append(bytes(record))
    result = harness.run(
        formatter,
        formatter_table.build_table(program),
        b"".join(records),
        FLOW_NAMES,
        harness.FLOW | flags,
    )
    assert result.stops[-1][0] == DONE, result.errors
    return result.text.decode()


def test_flow_indents_what_is_called_and_marks_how(formatter):
    assert flow(
        formatter, [(1, 9), (2, 9), (4, 9), (5, 9), (6, 9), (7, 9), (8, 9), (3, 9), (3, 9)]
    ).splitlines() == [
        "CPU FUNCTION                                 ",
        "  0 | :BEGIN                                            5",
        "  0  -> main                                            5",
        "  0    => write                                         5",
        "  0    <= write                                         5",
        "  0   | f:gentry                                        5",
        "  0    -> f                                             5",
        "  0    <- f                                             5",
        "  0  <- main                                            5",
        "  0  <- main                                            5",
    ]


def test_flow_takes_a_further_clause_for_the_same_call_and_the_same_clause_for_a_recursion(
    formatter,
):
    text = flow(formatter, [(2, 9), (2, 9, 1), (2, 9, 1), (3, 9)])
    assert [line[4:20].rstrip() for line in text.splitlines()[1:]] == [
        " -> main",
        "  | main:entry",
        "   -> main",
        "   <- main",
    ]


def test_flow_is_a_threads_own_and_stands_with_quiet_as_well(formatter):
    text = flow(
        formatter,
        [(2, 9), (2, 9 + 4096), (7, 9), (7, 9 + 4096), (8, 9), (3, 9), (8, 9 + 4096)],
        harness.QUIET,
    )
    line, *rest = text.splitlines()
    shown = [part.rstrip() for part in re.findall(r"  0( .{41})", rest[0])]
    assert (line, shown) == (
        "CPU FUNCTION                                 ",
        ["  -> main", "  -> main", "    -> f", "    -> f", "    <- f", "  <- main", "    <- f"],
    )


def test_flow_takes_a_bounded_depth(formatter):
    lines = flow(formatter, [(2, 9)] * 2200).splitlines()
    assert len(lines[-1]) == len(lines[-100]) and len(lines[2200]) > 4096
