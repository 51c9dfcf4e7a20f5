"""-x bufsize, dynvarsize: what BEGIN and END record has no more room than in dtrace's buffers, a store without room ends
its clause, and both are counted."""

import csv
import os
import subprocess
import sys

import pytest

from pydtrace.dlang import buffer_limits
from pydtrace.dlang.compile import compile_program
from pydtrace.options import Options
from tests.support.compiler import verifier
from tests.support.paths import TESTS

CASES = os.path.join(TESTS, "unit", "dtrace_output")
with open(os.path.join(CASES, "buffers.tsv"), encoding="utf-8") as table:
    ROWS = list(
        csv.reader(
            (line for line in table if not line.startswith("#")),
            delimiter="\t",
            quoting=csv.QUOTE_NONE,
        )
    )


def pydtrace(script, *options):
    arguments = [each for option in options for each in ("-x", option)]
    return subprocess.run(
        [
            sys.executable,
            "-c",
            "from pydtrace.cli.pydtrace.main import main; main()",
            "-q",
            *arguments,
            "-n",
            script,
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def drops(count):
    return f"dtrace: {count} drop{'s' if count > 1 else ''} on CPU 0\n" if count else ""


@pytest.mark.parametrize("body, clauses, options, shown, lost, status", ROWS)
def test_begin_has_dtrace_s_room(body, clauses, options, shown, lost, status):
    script = f"BEGIN {{ {body} }}\n" * int(clauses) + "BEGIN { exit(3); }"
    done = pydtrace(script, "engine=embedded", *options.split())
    assert (done.stdout.count("Q"), done.stderr, done.returncode) == (
        int(shown),
        drops(int(lost)),
        int(status),
    )


@pytest.mark.parametrize("engine", ["embedded", "kernel"])
def test_end_has_room_of_its_own(engine):
    """dtrace's drp.DTRACEDROP_PRINCIPAL.end.d, in short; BEGIN takes nothing of it."""
    if engine == "kernel" and verifier.why_not_loadable():
        pytest.skip(f"host: {verifier.why_not_loadable()}")
    script = 'BEGIN { trace("B"); exit(0); }' + 'END { trace("Q"); trace("Q"); }' * 16
    done = pydtrace(script, f"engine={engine}", "strsize=2k", "bufsize=64k")
    assert (done.stdout.count("Q"), done.stdout.count("B"), done.returncode) == (30, 1, 0)
    assert done.stderr.startswith("dtrace: 1 drop on CPU ")


def test_faults_and_what_is_speculated_take_room():
    """As of dtrace 2.0.7; the ninth drop is exit()'s."""
    script = (
        'BEGIN { i = speculation(); } BEGIN { speculate(i); printf("S"); } BEGIN { commit(i); } BEGIN { trace(1 / (i - i)); }'
        + 'BEGIN { printf("Q%d%d%d%d%d", 1LL, 1LL, 1LL, 1LL, 1LL); }' * 70
        + "BEGIN { exit(3); }"
    )
    done = pydtrace(script, "engine=embedded", "bufsize=4096")
    assert (done.stdout.count("S"), done.stdout.count("Q"), done.returncode) == (1, 62, 0)
    assert "divide-by-zero" in done.stderr and done.stderr.endswith("dtrace: 9 drops on CPU 0\n")


@pytest.mark.parametrize(
    "clause, strsize, least",
    [
        ("BEGIN { exit(0); }", 256, 64),
        ('BEGIN { printf("%d%d", 1LL, 1); exit(0); }', 256, 64),
        ('BEGIN { trace("x"); exit(0); }', 2048, 2076),
        ('BEGIN { trace("x"); trace(1LL); exit(0); }', 2049, 2092),
    ],
)
def test_the_least_room_that_a_record_needs(clause, strsize, least):
    """Asked of dtrace 2.0.7: a string takes strsize, however long it is; every program has room for a fault."""
    for bufsize, said in ((least, None), (least - 1, "Enabling exceeds size of buffer")):
        assert (
            buffer_limits.find_error(
                compile_program(clause, options=Options({"bufsize": bufsize, "strsize": strsize}))
            )
            == said
        )


@pytest.mark.parametrize("engine", ["embedded", "kernel"])
def test_a_store_without_room_ends_its_clause(engine):
    """As dtrace 2.0.7 prints it: a drop a failed store, and nothing of what such a clause would have printed."""
    if engine == "kernel" and verifier.why_not_loadable():
        pytest.skip(f"host: {verifier.why_not_loadable()}")
    with open(os.path.join(CASES, "no-room.d"), encoding="utf-8") as file:
        done = pydtrace(file.read(), f"engine={engine}")
    assert (done.stdout, done.returncode) == ("2 1 0\n4 7 0\n0 8\n\n", 0)
    assert done.stderr == "dtrace: 2 dynamic variable drops\n"


@pytest.mark.parametrize("engine", ["embedded", "kernel"])
@pytest.mark.parametrize(
    "body, room, printed, lost",
    [
        (
            "self->a = 1; ; self->b = 1; ; self->c = 1; ; self->d = 1; ; trace(self->a + self->b + self->c + self->d);",
            8,
            "2",
            2,
        ),
        (
            "self->a = 1; ; self->b = 1; ; self->c = 1; ; self->d = 1; ; trace(self->a + self->b + self->c + self->d);",
            15,
            "3",
            1,
        ),
        (
            "a[1] = 1; ; a[2] = 1; ; self->x = 1; ; self->x = 0; ; a[3] = 1; ; trace(a[1] + a[2] + a[3]);",
            32,
            "1",
            3,
        ),
        (
            "self->a = 1; ; self->b = 1; ; self->a = 0; ; self->a = 0; ; self->c = 2; ; self->d = 1; ; trace(self->b + self->c);",
            8,
            "3",
            1,
        ),
        (
            'self->a = 1; ; self->a = 5; ; self->b = 1; ; self->a++; ; self->s = (string)"x"; ; trace(self->a + self->b);',
            512,
            "7",
            1,
        ),
    ],
)
def test_all_variables_share_the_room_that_is_asked_for(engine, body, room, printed, lost):
    """As dtrace 2.0.7 prints it; an element that is there is set, one that is deleted gives its room back, once."""
    if engine == "kernel" and verifier.why_not_loadable():
        pytest.skip(f"host: {verifier.why_not_loadable()}")
    done = pydtrace(
        "".join(f"BEGIN {{ {part} }}" for part in body.split(" ; ")) + "BEGIN { exit(0); }",
        f"engine={engine}",
        f"dynvarsize={room}",
    )
    assert (done.stdout.strip(), done.returncode) == (printed, 0)
    assert (
        done.stderr.removesuffix("\n") == f"dtrace: {lost} dynamic variable drop{'s' * (lost > 1)}"
    )


def test_what_nobody_bounded_has_room_of_its_own():
    """Without -x dynvarsize each variable has as much as dtrace gives all of them, and stores cost nothing more."""
    whole = compile_program("BEGIN { self->a = 1; b[1] = 2; }")
    bounded = compile_program(
        "BEGIN { self->a = 1; b[1] = 2; }", options=Options({"dynvarsize": 1 << 20})
    )
    assert {each.entries for each in whole.maps if each.kind == "hash"} == {1 << 16}
    assert {each.entries for each in bounded.maps if each.kind == "hash"} == {(1 << 20) // 20}
    assert len(whole.clauses[0].code) < len(bounded.clauses[0].code)


def test_a_script_may_have_hundreds_of_aggregations():
    script = (
        "BEGIN { "
        + "".join(f"@a{i} = sum({i}); " for i in range(270))
        + 'exit(0); } END { printa("%@d", @a269); }'
    )
    done = pydtrace(script, "engine=embedded")
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("269\n")
