"""Records that are printed where they are made (c/consumer/record_buffer.c): the same text as of records that wait, in the same order."""

import struct

import pytest

from pydtrace.program import formatter_table
from pydtrace.program import program as p
from tests.support.formatter import formatter_process as harness
from tests.support.formatter.formatter_cases import CASES, NAMES, Case, Printf, Trace, header
from tests.support.formatter.formatter_process import ACTION, DONE, FAULT, PROBE

pytestmark = pytest.mark.own_processes


def both(formatter, program, records, names=NAMES, flags=0):
    """What is printed of records that wait, and of those that come one by one."""
    built = formatter_table.build_table(program)
    return [harness.run(formatter, built, records, names, flags, kind) for kind in (b"r", b"o")]


def split(program, data):
    """The records of all clauses, by clause."""
    found = {}
    while data:
        size, clause = struct.unpack_from("=II", data)
        found[clause], data = data[:size], data[size:]
    return [found[clause] for clause in sorted(found)]


@pytest.mark.parametrize(
    "flags", [0, harness.QUIET, harness.TESTING, harness.RAWBYTES, harness.FLOW], ids=str
)
def test_the_text_is_the_same(formatter, flags):
    at_once = 0
    for case in CASES:
        program, data = case.program_and_records()
        waiting, coming = both(formatter, program, data * 3, flags=flags)
        assert coming.text == waiting.text, case.name
        assert [(stop, action) for stop, _, action in coming.stops] == [
            (stop, action) for stop, _, action in waiting.stops
        ]
        at_once += sum(coming.printed)
    assert at_once


PLAIN = Case(
    "plain", [[Printf(b"%d %s\n", ("int", -5), ("string", b"abc"))], [Trace("int", 7)]]
)  # and exit()


def test_what_follows_an_action_of_the_caller_s_waits_with_it(formatter):
    """It may be setopt("quiet")."""
    program, data = PLAIN.program_and_records()
    plain, traced, exits = split(program, data)
    _, coming = both(formatter, program, plain + exits + traced, flags=harness.QUIET)
    assert (coming.text, coming.printed) == (b"-5 abc\n7", [len(b"-5 abc\n")])
    assert [stop for stop, _, _ in coming.stops] == [ACTION, DONE]


def test_a_fault_and_what_follows_it_wait(formatter):
    program, data = PLAIN.program_and_records()
    plain, *_ = split(program, data)
    fault = header(1 | p.RECORD_FAULT, p.FAULT_RECORD_SIZE) + bytes(16)
    _, coming = both(formatter, program, plain * 2 + fault + plain, flags=harness.QUIET)
    assert (coming.text, coming.printed) == (b"-5 abc\n" * 3, [2 * len(b"-5 abc\n")])
    assert [stop for stop, _, _ in coming.stops] == [FAULT, DONE]


def test_a_probe_that_has_no_name_yet_waits_and_nothing_is_printed_of_it(formatter):
    program, data = PLAIN.program_and_records()
    plain, *_ = split(program, data)
    _, coming = both(formatter, program, plain, names={7: ("", "", "", "other")})
    assert (coming.text, coming.printed, coming.stops) == (b"", [0], [(PROBE, 0, 0)])


def test_a_very_wide_column_waits(formatter):
    program, data = Case("wide", [[Printf(b"%60000d", ("int", 1))]]).program_and_records()
    wide, _ = split(program, data)
    waiting, coming = both(formatter, program, wide * 10, flags=harness.QUIET)
    assert (coming.text, coming.printed) == (waiting.text, [0])


@pytest.mark.parametrize("value", [0, 9, 10, -1, -10, 99, 100, 2**31 - 1, -(2**31)])
def test_each_length_of_a_number(formatter, value):
    program, data = Case(
        "number", [[Printf(b"%d|%u", ("int", value), ("unsigned int", value % 2**32))]]
    ).program_and_records()
    for result in both(formatter, program, split(program, data)[0], flags=harness.QUIET):
        assert result.text == b"%d|%d" % (value, value % 2**32)


@pytest.mark.parametrize("digits", range(1, 21))
def test_each_length_of_a_long_number(formatter, digits):
    most = min(10**digits - 1, 2**64 - 1)
    for value in (10 ** (digits - 1), most):
        signed = -min(value, 2**63)
        case = Case(
            "long", [[Printf(b"%d %u", ("long long", signed), ("unsigned long long", value))]]
        )
        program, data = case.program_and_records()
        for result in both(formatter, program, split(program, data)[0], flags=harness.QUIET):
            assert result.text == b"%d %d" % (signed, value)
