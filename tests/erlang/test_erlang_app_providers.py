"""Probes that Erlang code makes at run time: what pydtrace and other tools see of them, and what term() shows."""

from __future__ import annotations

import math
import os
import pathlib
import re
import signal
import struct

import pytest

from tests.support import elf_notes, harness


@pytest.fixture
def own(erlang, tmp_path, monkeypatch):
    """own(function, argument …) -> the command line of a node; its objects are in a cache of their own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def node(function: str, *arguments: object, **more) -> list[str]:
        return erlang.node(function, *arguments, module="own", **more)

    return node


def double(bits: str) -> float:
    return struct.unpack(">d", bytes.fromhex(bits.rjust(16, "0")))[0]


def single(bits: str) -> float:
    return struct.unpack(">f", bytes.fromhex(bits.rjust(8, "0")))[0]


def test_values_of_every_type(own, trace):
    """Twelve arguments; D has names for ten, which is all that a script can read."""
    integers = " ".join(f"%d:{i}".split(":")[0] for i in range(8))
    program = (
        f'shop*:::every-type {{ printf("{integers} %x %x\\n", '
        + ", ".join(f"arg{i}" for i in range(10))
        + "); }"
    )
    run = trace(program, own("values"))
    rows = [line.split() for line in run.stdout.splitlines() if line]
    assert [row[:8] for row in rows] == [
        ["-1", "-1", "255", "-1", "65535", "-1", "4294967295", "-1"],
        ["-9223372036854775808", "-128", "0", "-32768", "0", "-2147483648", "0", "-1"],
        ["0"] * 8,
        ["0"] * 8,
        ["1", *["0"] * 7],
    ], run
    assert [double(row[8]) for row in rows[:2]] == [1.5, 2.0] and [
        single(row[9]) for row in rows[:2]
    ] == [0.5, 3.0]
    assert math.isnan(double(rows[2][8])) and math.isnan(single(rows[2][9]))
    assert [row[8:] for row in rows[3:]] == [["0", "0"]] * 2


def test_what_can_not_be(own):
    run = harness.run(own("wrong"))
    assert run.stdout.split() == [
        "[ok,eexist,badarg,badarg,badarg,badarg,badarg,badarg,badarg,badarg,badarg,badarg]"
    ], run


def test_a_probe_that_was_kept_while_the_library_was_loaded_again(own, trace):
    run = trace(
        'shop*:::sold,shop*:::returned { printf("%s %d %s\\n", probename, arg0, term(arg1)); }',
        own("kept"),
    )
    answers, *others = sorted(
        run.stdout.split("\n"), key=lambda line: not line.startswith("{")
    )  # two processes print
    assert re.match(r"\{false,false,\{'EXIT',\{badarg,", answers), run
    assert [line for line in others if line] == [
        "sold 1 first",
        "returned 3 second",
        "sold 4 third",
    ], run


# ---- terms ----


def test_terms_are_shown_as_erlang_shows_them(own, trace, tmp_path):
    printed = tmp_path / "printed"
    run = trace(
        'shop*:::term { printf("%s\\n", term(arg1)); }', own("terms", printed), "-x", "strsize=2000"
    )
    assert run.stdout.splitlines()[:-1] == printed.read_text().splitlines(), run


def test_what_is_cut_is_marked(own, trace):
    run = trace(
        'shop*:::term { printf("%s\\n", term(arg1)); }',
        own("cut"),
        "-x",
        "strsize=4096",
        timeout=120,
    )
    lines = [line for line in run.stdout.splitlines() if line]
    time, whole = (line for line in lines if line.isdigit())
    lines = [line for line in lines if not line.isdigit()]
    assert 4 * int(time) < int(whole), "a quarter of what walks the terms to their ends"
    numbers = [str(n) for n in range(1, 255)]
    text, many, large, binary, deep, mapped, big, bits, lists, between, atom = lines
    assert re.fullmatch(r'"x{1019}"\.\.\.', text)
    assert many.startswith(f"[{','.join(numbers)}") and many.endswith(",...]")
    assert large.startswith(f"{{{','.join(numbers)}") and large.endswith(",...}")
    assert re.fullmatch(r'<<"é{508}"/utf8\.\.\.>>', binary)
    assert deep == "[" * 32 + "..." + "]" * 32
    assert re.fullmatch(r"#\{(\d+ => \d+,)+(\d+ => )?\.\.\.\}", mapped)
    assert [big, bits] == ["...", "..."]
    assert re.fullmatch(r"\[(\[(\[\],)*\.\.\.\],?)+(\.\.\.)?\]", lists)
    assert between == "{before,18446744073709551616,'after'}".replace("18446744073709551616", "...")
    assert re.fullmatch('{a{255},"b{758}",\\.\\.\\.}', atom)


def test_elements(own, trace, tmp_path):
    """By number, by key, in pairs, within each other; what is not there is NULL."""
    paths = [
        '2, 2, "Age"',
        "2, 1, 2",
        "1",
        "2",
        "3",
        '"x"',
        "0",
        "-1",
        "2, 3",
        '2, "name", 2',
        '2, "name", 9',
    ]
    shown = "".join(
        f'printf("%s|", term(arg1, {path}) == NULL ? "NULL" : term(arg1, {path}));'
        for path in paths
    )
    program = f'shop*:::term /term(arg1, 1) == "ok"/ {{ {shown} }} shop*:::term /term(arg1, "a") == "1"/ {{ printf("map"); }}'
    program += (
        ' shop*:::term /term(arg1, 1, 1) != NULL && term(arg1, 2) == "10"/ { printf("never"); }'
    )
    program += (
        ' shop*:::term /term(arg1, 256) == "256"/ { @ = quantize(strtoll(term(arg1, 300))); }'
    )
    run = trace(program, own("terms", tmp_path / "printed"))
    # the map with a => 1 stands before the tuple
    assert run.stdout.split("\n")[0].startswith("map"), run
    assert "|eve|ok|[{name,\"eve\"},{'Age',7}]|NULL|NULL|NULL|NULL|NULL|118|NULL|" in run.stdout, (
        run
    )
    assert re.search(r"\n +256 \|@+ 1 *\n", run.stdout), run


def test_wrong_path_does_not_compile():
    run = harness.run([harness.PYDTRACE, "-Zqn", "shop*:::term { trace(term(arg1, this)); }"])
    assert run.status == 1
    run = harness.run(
        [
            harness.PYDTRACE,
            "-Zqn",
            "struct s { int a; }; struct s v; shop*:::term { trace(term(arg1, v)); }",
        ]
    )
    assert run.status == 1 and "term( ) argument #2 is incompatible with prototype" in run.stderr, (
        run
    )


def test_kernel_engine_says_why_not(own):
    if os.geteuid() != 0:
        pytest.skip("host: not root")
    run = harness.run(
        [
            harness.PYDTRACE,
            "-Zqn",
            "shop*:::term { trace(term(arg1)); }",
            "-x",
            "engine=kernel",
            "-c",
            "true",
        ]
    )
    assert (
        run.status == 1 and "Erlang terms" in run.stderr and "-x engine=embedded" in run.stderr
    ), run


def test_no_term_is_a_fault(own, trace):
    """A string's address, and none at all."""
    run = trace("shop*:::every-type { trace(term(arg0)); }", own("values"))
    told = run.stderr.count("invalid address (0x") + sum(
        int(n) - 1 for n in re.findall(r"(\d+) more of:", run.stderr)
    )
    assert told >= 5 and not run.stdout.strip(), run


# ---- many at once ----


@pytest.mark.parametrize("schedulers", ["1", "2", "3", "4", "5", "6", "7", "8"])
def test_made_and_fired_on_all_schedulers(own, trace, schedulers):
    """By eight processes, while the modules are replaced: each event arrives, of each probe, or is counted as lost, since no
    scheduler waits for long while another makes a ring."""
    node = own("many", 8, 100, options=("+S", f"{schedulers}:{schedulers}"))
    run = trace(
        "shop*:::many-? { @[probename] = count(); @x[term(arg1, 2)] = count(); }", node, "-b", "16m"
    )
    assert run.stdout.split()[0] == "[normal]", run
    counts = {letter: int(count) for letter, count in re.findall(r"many-(\w) +(\d+)", run.stdout)}
    dropped = harness.count_drops(run.stderr)
    assert sorted(counts) == list("abcde") and max(counts.values()) <= 160, run
    assert (
        sum(counts.values())
        == int(re.search(r" x +(\d+)$", run.stdout, re.MULTILINE)[1])
        == 800 - dropped
    ), run


def test_the_flight_recorder_outlives_the_node(own, monkeypatch):
    monkeypatch.setenv("PYUSDT_FLIGHT", "64k")
    rundir = pathlib.Path(os.environ["PYUSDT_RUNDIR"])  # in memory, where a recording has to be
    before = set(rundir.glob("*.flight"))
    run = harness.run(own("killed"))
    assert (run.status, run.stdout) == (-signal.SIGKILL, ""), run
    (flight,) = set(rundir.glob("*.flight")) - before
    program = (
        r'erlang*:::user_trace-i4s4 { printf("%d %s\n", arg2, copyinstr(arg6)); } '
        r'shop*:::sold { printf("%d %s\n", arg0, term(arg1)); }'
    )
    run = harness.run([harness.PYDTRACE, "-qZ", "--replay", str(flight), "-n", program])
    assert run.stdout.split("\n")[:-2] == [
        line for n in range(1, 6) for line in (f"{n} before", f'{n} {{a,"b"}}')
    ], run


def test_a_library_that_can_not_be_written(own, trace, monkeypatch):
    """info/1 tells why; the embedded engine needs none."""
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    run = trace(r'shop*:::sold { printf("sold %d %s\n", arg0, term(arg1)); }', own("uncached"))
    assert 'sold 7 {a,"b"}\n' in run.stdout and "} true\n" in run.stdout, run
    assert (
        'reason => <<"the cache /proc/nowhere/pyusdt: No such file or directory">>' in run.stdout
    ), run


# ---- real USDT ----


def test_the_object_has_a_note(own):
    with harness.running(own("wait", 1)) as node:
        path = node.stdout.readline().strip()
        (note,) = elf_notes.read_notes(path)
        assert (note.provider, note.name) == ("shop", "order__placed") and note.semaphore
        assert [operand.split("@")[0] for operand in note.operands] == ["-8", "8", "8", "8"]
        assert harness.finish(node, 20).status == 0


def test_kernel_engine_sees_it(own):
    if os.geteuid() != 0:
        pytest.skip("host: not root")
    program = 'shop$target:::order-placed { printf("%d %s %x\\n", arg0, copyinstr(arg1), arg2); exit(0); }'
    with harness.running(own("wait", 2000)) as node:
        node.stdout.readline()
        run = harness.run(
            [harness.PYDTRACE, "-q", "-x", "engine=kernel", "-n", program, "-p", str(node.pid)]
        )
    assert run.stdout.split("\n")[0] == "17 apple 4004000000000000", run


def test_bpftrace_sees_it(own, oracle):
    with harness.running(own("wait", 2000)) as node:
        path = node.stdout.readline().strip()
        program = f'usdt:{path}:shop:order__placed {{ printf("%d %s %d\\n", arg0, str(arg1), *(uint8 *)arg3); exit(); }}'
        run = oracle("bpftrace", "-p", str(node.pid), "-e", program)
    assert "17 apple 131" in run.stdout, run  # 131: External Term Format
