"""Native frames of ustack() on the embedded engine: a program in C that keeps frame pointers (tests/c/stack_target.c).

- A thread whose chain of frame pointers is broken, in the program itself, is walked to the break
  and goes on.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.support import harness

ROOT = Path(__file__).parents[2]
CALLS = ["innermost", "in_between", "outermost", "run"]
FIRED = "stacked*:::fired"
pytestmark = pytest.mark.own_processes


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    program = tmp_path_factory.mktemp("native") / "stack_target"
    sources = [
        *(ROOT / "c/target").glob("*.c"),
        *(ROOT / "c/shared").glob("*.c"),
        ROOT / "tests/c/stack_target.c",
    ]
    subprocess.run(
        [
            "gcc",
            "-std=gnu11",
            "-O1",
            "-fno-omit-frame-pointer",
            f"-I{ROOT}/include",
            f"-I{ROOT}/c",
            *sources,
            "-o",
            program,
            "-pthread",
            "-ldl",
        ],
        check=True,
    )
    return str(program)


def rows_of(run: harness.Run) -> list[dict]:
    assert run.status == 0, run
    return [
        row
        for row in map(
            json.loads, filter(lambda line: line.startswith("{"), run.stdout.splitlines())
        )
        if row["type"] in ("record", "aggregation")
    ]


def functions(stack: list[str]) -> list[str]:
    return [
        text.partition("`")[2].partition("+")[0]
        for text in stack
        if text.startswith("stack_target`")
    ]


def test_named(target, tmp_path):
    """Live, as keys and records; the same of a recording; jstack() has none of them."""
    kept = str(tmp_path / "kept")
    script = (
        FIRED
        + ' { printf("%k", ustack()); @[ustack(2)] = count(); @u[usym(ucaller)] = count(); @j[jstack()] = count(); }'
    )
    live = harness.run(
        [
            harness.PYDTRACE,
            "-q",
            "-Z",
            "--json",
            "-x",
            "engine=embedded",
            "--record",
            kept,
            "-n",
            script,
            "-c",
            f"{target} 5",
        ]
    )
    again = harness.run([harness.PYDTRACE, "-q", "--json", "--replay", kept, "-n", script])
    for rows in map(rows_of, (live, again)):
        stacks = [functions(row["values"][0]) for row in rows if row["type"] == "record"]
        assert len(stacks) == 10
        assert all(stack[:4] == CALLS for stack in stacks), stacks
        keys = {
            row["name"]: (row["keys"][0], row["value"])
            for row in rows
            if row["type"] == "aggregation"
        }
        assert (functions(keys["_"][0]), keys["_"][1]) == (CALLS[:2], 10)
        assert keys["u"] == ("stack_target`in_between", 10)
        assert keys["j"] == ([], 10)


def test_text(target):
    run = harness.run(
        [
            harness.PYDTRACE,
            "-q",
            "-Z",
            "-x",
            "engine=embedded",
            "-n",
            FIRED + " { ustack(3); }",
            "-c",
            f"{target} 1",
        ]
    )
    shown = [line.strip().partition("+")[0] for line in run.stdout.splitlines() if "`" in line]
    assert shown == [f"stack_target`{name}" for name in CALLS[:3]] * 2, run


def test_flight_recorder(target):
    """Of a program that has ended."""
    environment = {**os.environ, "PYUSDT_FLIGHT": "64k", "PYUSDT_FLIGHT_FRAMES": "10"}
    with subprocess.Popen(
        [target, "0", "broken"], env=environment, stdout=subprocess.DEVNULL
    ) as program:
        assert program.wait(60) == 0
    (kept,) = Path(os.environ["PYUSDT_RUNDIR"]).glob(f"{program.pid}-*.flight")
    run = harness.run(
        [
            harness.PYDTRACE,
            "-q",
            "--json",
            "--replay",
            str(kept),
            "-n",
            FIRED + " { @[ustack(3)] = count(); }",
        ]
    )
    keys = Counter(functions(row["keys"][0])[0] for row in rows_of(run))
    assert set(keys) == {"innermost"}, run


def test_broken_chains(target):
    """Loops, wild pointers, pointers into data, memory that is gone: each firing is there, and so are the frames before the break."""
    script = (
        FIRED
        + " { @fired = count(); } "
        + FIRED
        + " { @[ustack(2)] = count(); } "
        + FIRED
        + " { @deep = max(ustackdepth); }"
    )
    run = harness.run(
        [
            harness.PYDTRACE,
            "-q",
            "-Z",
            "--json",
            "-x",
            "engine=embedded",
            "-x",
            "bufsize=64m",
            "-n",
            script,
            "-c",
            f"{target} 0 broken",
        ]
    )
    rows = {row["name"]: row for row in rows_of(run)}
    assert rows["fired"]["value"] == 2 * 3015
    assert functions(rows["_"]["keys"][0]) == ["innermost", "fire_with_link"]
    assert rows["deep"]["value"] >= 3


def test_odd_stacks(target, tmp_path):
    """Of coroutines, signal handlers, small threads, a forked child: all are there, and each begins where it is."""
    library = tmp_path / "loaded.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", os.devnull, "-o", library], check=True)
    script = (
        FIRED + " { @fired[pid == $target] = count(); } " + FIRED + " { @[ustack(3)] = count(); }"
    )
    run = harness.run(
        [
            harness.PYDTRACE,
            "-q",
            "-Z",
            "--json",
            "-x",
            "engine=embedded",
            "-x",
            "bufsize=64m",
            "-n",
            script,
            "-c",
            f"{target} 0 odd {library}",
        ]
    )
    rows = rows_of(run)
    (fired,) = [row["value"] for row in rows if row["name"] == "fired" and row["keys"] == [1]]
    once = 100 * (10 + 10 + 1) + 100
    assert fired == 2 * once + 20, run
    stacks = {tuple(functions(row["keys"][0])): row["value"] for row in rows if row["name"] == "_"}
    whole = sum(count for stack, count in stacks.items() if stack == tuple(CALLS[:3]))
    assert whole >= 2 * 100 * (10 + 1 + 1) + 20
    assert {stack[:2] for stack in stacks} == {tuple(CALLS[:2]), ("innermost", "fire_with_link")}


def test_deep(target):
    """What is cut is told, of one clause that wants more than there is room for, and of one that wants less."""
    for frames, shown in ((200, 127), (100, 100)):
        run = harness.run(
            [
                harness.PYDTRACE,
                "-q",
                "-Z",
                "--json",
                "-x",
                "engine=embedded",
                "-n",
                FIRED + f" {{ @[ustack({frames})] = count(); }}",
                "-c",
                f"{target} 0 deep",
            ]
        )
        assert [len(row["keys"][0]) for row in rows_of(run)] == [shown], run
        assert "1 stack" in run.stderr, run


@pytest.mark.parametrize("runs", [1, pytest.param(100, marks=pytest.mark.long)])
def test_at_random(target, runs):
    """Each stack beside what the program says of it: 1,000 a run, of two threads, up to 120 frames."""
    script = "stacked*:::path { trace(copyinstr(arg0)); trace(ustack(127)); }"
    for _ in range(runs):
        run = harness.run(
            [
                harness.PYDTRACE,
                "-q",
                "-Z",
                "--json",
                "-x",
                "engine=embedded",
                "-x",
                "bufsize=64m",
                "-n",
                script,
                "-c",
                f"{target} 500 random",
            ]
        )
        rows = rows_of(run)
        assert len(rows) == 1000
        for path, stack in (row["values"] for row in rows):
            expected = [
                "at_random",
                *(name for letter in reversed(path) for name in ("go_on", f"function_{letter}")),
                "run_at_random",
            ]
            assert functions(stack)[: len(expected)] == expected, row_text(path, stack)


def row_text(path: str, stack: list[str]) -> str:
    return f"{path}: {' '.join(stack)}"


def test_beside_python(pydtrace):
    """Native ones stand before Python's, of which none is missing, and jstack() is without."""
    program = "import pyusdt; f = lambda: pyusdt.p(1); f()"
    run = pydtrace(
        "-q",
        "--json",
        "-x",
        "engine=embedded",
        "-n",
        "pyusdt$target:::user_trace-i4s4 { ustack(); jstack(); }",
        "-c",
        f"{harness.sys.executable} -c '{program}'",
    )
    (both, alone) = rows_of(run)[0]["values"]
    assert alone == ["<lambda> (<string>:1)", "<module> (<string>:1)"]
    assert [text for text in both if "`" not in text] == alone
    assert "`" in both[0]
    assert "_core" not in both[0]
