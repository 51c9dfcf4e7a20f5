"""jstack() and ustack() of events of the embedded engine: the frames that the program itself had at the firing.

Input: programs/own_stacks.py, which says with each event what its stack is.

- What is compared is the program's word and the tracer's, frame by frame; no frame is left out of
  the comparison.
"""

from __future__ import annotations

import json
import os
import sys
import zlib
from collections import Counter

import pytest

from tests.support import harness, python_builds

pytestmark = pytest.mark.own_processes
TOLD = "pyusdt$target:::user_trace-i4s4 { trace(arg2); trace(arg3); jstack(120); }"


def records(run: harness.Run) -> list[list]:
    assert run.status == 0, run
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    return [row["values"] for row in rows if row["type"] == "record"]


def wrong(rows: list[list]) -> list[list]:
    """Those whose stack is not the one that the program had."""
    return [
        row
        for row in rows
        if zlib.crc32("\n".join(row[2]).encode()) != row[0] or len(row[2]) != row[1]
    ]


@pytest.fixture
def traced(pydtrace):
    def run(
        script: str,
        *arguments: object,
        options: tuple[str, ...] = (),
        python: str = sys.executable,
        **more,
    ) -> harness.Run:
        program = harness.program("own_stacks.py", *arguments).replace(sys.executable, python, 1)
        return pydtrace(
            "-q", "-x", "engine=embedded", *options, "-n", script, "-c", program, **more
        )

    return run


def compare(traced, events: int, **more) -> None:
    run = traced(
        TOLD,
        events,
        12,
        options=("--json", "-x", "bufsize=64m"),
        timeout=30 + events // 500,
        **more,
    )
    rows = records(run)
    assert "drop" not in run.stderr, run
    assert len(rows) >= events
    assert wrong(rows) == []


def test_stacks(traced):
    compare(traced, 3000)


@pytest.mark.long
@pytest.mark.parametrize("version", harness.VERSIONS)
def test_many_stacks(version, other, traced):
    compare(
        traced, 100_000, python=other(version), env={**os.environ, "PYTHONPATH": python_builds.ROOM}
    )


def test_python_provider(traced):
    """The function that is entered is its own innermost frame, and who called it stands behind it."""
    run = traced(
        "python$target::recursive:function-entry { @[jstack(2)] = count(); }",
        300,
        4,
        options=("--json",),
    )
    keys = [
        row["keys"][0]
        for row in map(json.loads, run.stdout.splitlines())
        if row["type"] == "aggregation"
    ]
    assert keys
    for inner, outer in keys:
        assert inner.startswith("recursive ("), keys
        assert outer.startswith(("recursive (", "step (")), keys


def test_shown_everywhere(traced, tmp_path):
    """Text, keys, %k, Parquet; a recording that another script reads."""
    from pyarrow import parquet

    kept = str(tmp_path / "kept")
    run = traced(
        'pyusdt$target:::user_trace-i4s4 { printf("%k", ustack(4)); @[jstack(1)] = count(); }',
        40,
        1,
        options=("--record", kept),
    )
    assert run.status == 0, run
    assert run.stdout.count("fire (") >= 20, run
    again = harness.run(
        [harness.PYDTRACE, "-q", "--json", "--replay", kept, "-n", TOLD.replace("$target", "*")]
    )
    rows = records(again)
    assert len(rows) >= 40
    assert all(
        row[2][0].startswith(("fire (", "generator (")) and len(row[2]) <= 4 for row in rows
    ), again

    script = TOLD.replace("$target", "*") + " pyusdt*:::user_trace-i4s4 { @[jstack(1)] = count(); }"
    run = harness.run(
        [
            harness.PYDTRACE,
            "-q",
            "--parquet",
            str(tmp_path / "t.parquet"),
            "--replay",
            kept,
            "-n",
            script,
        ]
    )
    assert run.status == 0, run
    tables = [parquet.read_table(path).to_pylist() for path in sorted(tmp_path.glob("t*.parquet"))]
    (aggregated,) = (table for table in tables if "keys" in table[0])
    (recorded,) = (table for table in tables if "keys" not in table[0])
    assert [json.loads(row["jstack(120)"]) for row in recorded] == [row[2] for row in rows]
    assert {tuple(json.loads(row["keys"][0])): row["value"] for row in aggregated} == Counter(
        tuple(row[2][:1]) for row in rows
    )


def test_flight_recorder(tmp_path):
    """On demand, since its events are there before anybody asks."""
    found = {}
    for frames in ("", "20"):
        environment = {**os.environ, "PYUSDT_FLIGHT": "1m", "PYUSDT_FLIGHT_FRAMES": frames}
        program = "import os, pyusdt; f = lambda: pyusdt.p(1); f(); os.system(f'cp $PYUSDT_RUNDIR/{os.getpid()}-*.flight {sys.argv[1]}')"
        kept = str(tmp_path / f"kept{frames}")
        done = harness.run([sys.executable, "-c", "import sys; " + program, kept], env=environment)
        assert done.status == 0, done
        run = harness.run(
            [
                harness.PYDTRACE,
                "-q",
                "--json",
                "--replay",
                kept,
                "-n",
                "pyusdt*:::user_trace-i4s4 { jstack(); }",
            ]
        )
        found[frames] = records(run)
    assert found[""] == [[[]]]
    assert found["20"] == [[["<lambda> (<string>:1)", "<module> (<string>:1)"]]]


def test_deep(pydtrace, tmp_path):
    """What is left out of a stack that was to be whole is told; who asks for a part gets it without a word."""
    program = tmp_path / "deep.py"
    program.write_text(
        "import sys, threading, pyusdt\n"
        "def deep(n):\n    deep(n - 1) if n else pyusdt.p()\n"
        "sys.setrecursionlimit(20000); threading.stack_size(512 << 20)\n"
        "thread = threading.Thread(target=deep, args=(10000,)); thread.start(); thread.join()\n"
    )

    def run(call):
        return pydtrace(
            "-q",
            "--json",
            "-x",
            "engine=embedded",
            "-n",
            f"pyusdt$target:::user_trace-i4s4 {{ {call}; }}",
            "-c",
            f"{sys.executable} {program}",
        )

    whole, part = run("jstack()"), run("jstack(3)")
    assert records(whole)[0][0][0] == f"deep ({program}:3)"
    assert len(records(whole)[0][0]) == 50
    assert "1 stack had more than 50 frames: the outermost are left out" in whole.stderr, whole
    assert len(records(part)[0][0]) == 3
    assert "more than" not in part.stderr, part
