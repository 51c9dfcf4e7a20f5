"""-x bufsize, bufpolicy, switchrate and --strict, on a program that fires 1 to N."""

import pytest

from tests.support import harness

PRINT = 'pyusdt$target:::user_trace-i4s4 { printf("%d\\n", arg2); }'
RECORD = 40  # bytes of one of its records: the header and an int


def numbers(got: harness.Run) -> list[int]:
    return [int(word) for word in got.stdout.split()]


@pytest.fixture
def fired(pydtrace, tmp_path):
    """fired(COUNT, OPTION …) -> Run of a pydtrace that printed what a program fired."""
    (tmp_path / "gate").touch()

    def run(count, *options, script=PRINT, burst=500):
        return pydtrace(
            "-q",
            *options,
            "-n",
            script,
            "-c",
            harness.program("gated.py", tmp_path / "gate", count, burst),
        )

    return run


def test_ring_keeps_the_last(fired):
    got = fired(3000, "-x", "bufpolicy=ring", "-x", f"bufsize={100 * RECORD}")
    assert numbers(got) == list(range(2901, 3001)), got


def test_ring_prints_at_the_end(fired):
    """What exit() leaves of the ring is printed, what END prints comes last."""
    script = (
        PRINT
        + 'pyusdt$target:::user_trace-i4s4 /arg2 == 500/ { exit(7); } END { printf("-1\\n"); }'
    )
    got = fired(3000, "-x", "bufpolicy=ring", "-b", "1k", script=script)
    assert got.status == 7 and numbers(got)[-1] == -1
    shown = numbers(got)[:-1]
    assert (
        shown[-1] == 500
        and shown == list(range(shown[0], 501))
        and 5 < len(shown) <= 1024 // RECORD
    )


def test_fill_keeps_the_first_and_ends(fired):
    got = fired(
        3000,
        "-x",
        "bufpolicy=fill",
        "-x",
        f"bufsize={100 * RECORD}",
        script=PRINT + 'END { printf("-1\\n"); }',
    )
    assert numbers(got) == [*range(1, 101), -1], got


def test_fill_that_is_never_full(fired):
    assert numbers(fired(200, "-x", "bufpolicy=fill")) == list(range(1, 201))


def test_switchrate_holds_records_back(fired):
    """Two seconds are longer than this takes: all comes at the end, and in order."""
    assert numbers(fired(3000, "-x", "switchrate=2s")) == list(range(1, 3001))


@pytest.mark.parametrize("options", [(), ("-x", "switchrate=2s")], ids=["at once", "held back"])
def test_setopt_changes_what_comes_behind_it_and_nothing_before(fired, options):
    script = (
        PRINT.replace("arg2);", 'arg2); trace((char)65); printf("\\n");')
        + 'pyusdt$target:::user_trace-i4s4 /arg2 == 3/ { setopt("rawbytes"); }'
    )
    got = fired(500, *options, script=script)
    before, after = got.stdout.split("\n4\n")
    assert before.split() == ["1", "65", "2", "65", "3", "65"], got
    assert after.count("0: 41 ") == 497 and "65" not in after.split("\n5\n")[0], got


@pytest.mark.parametrize("option, status", [((), 0), (("--strict",), 3)])
def test_drops(fired, option, status):
    """The smallest rings, and clauses that take many times as long as a firing: what is printed and what is said to be dropped is
    what was fired."""
    slow = (
        "pyusdt$target:::user_trace-i4s4 { @[probefunc, arg2] = quantize(strlen(probefunc)); }" * 20
    )
    got = fired(
        60_000,
        "-b",
        "64k",
        "-x",
        "droptags",
        "-x",
        "aggsize=64m",
        *option,
        script=PRINT + slow + "END { trunc(@); }",
        burst=60_000,
    )
    *dropped, last = [line.split() for line in got.stderr.splitlines()]
    if len(dropped) == 0 or last[1] == "[DTRACEDROP_PRINCIPAL]":  # one line needs no total
        dropped.append(last)
    else:
        total = sum(int(line[2]) for line in dropped)
        assert last[:5] == ["dtrace:", f"{total:,}", "drops", "in", "all:"], got
    assert all(line[:2] == ["dtrace:", "[DTRACEDROP_PRINCIPAL]"] for line in dropped), got
    assert all(line[3] == ("drops" if int(line[2]) > 1 else "drop") for line in dropped)
    shown = numbers(got)
    assert (
        shown == sorted(set(shown)) and len(shown) + sum(int(line[2]) for line in dropped) == 60_000
    )
    assert got.status == status


def test_strict_without_a_loss(fired):
    got = fired(100, "--strict")
    assert got.status == 0 and got.stderr == "" and len(numbers(got)) == 100
