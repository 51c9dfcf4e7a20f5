"""Which processes a session traces, and several sessions at once on one process."""

import contextlib
import os
import sys

import pytest

from tests.support import harness

PRINT = '{ printf("%d %d\\n", pid == $target, arg2); }'


def rows(got: harness.Run) -> list[str]:
    assert got.status == 0 and got.stderr == "", got
    return got.stdout.split("\n")[:-2]


@pytest.mark.parametrize(
    "provider, want", [("pyusdt$target", ["1 1", "1 3"]), ("pyusdt*", ["1 1", "0 2", "1 3"])]
)
def test_forked_children_of_a_command(pydtrace, provider, want):
    """The probe description says who is traced: $target alone, or its children as well."""
    got = pydtrace(
        "-q", "-n", f"{provider}:::user_trace-i4s4 {PRINT}", "-c", harness.program("forks.py")
    )
    assert rows(got) == want


@pytest.fixture
def gated(tmp_path):
    """gated(COUNT[, BURST]) -> (process, gate): a program that fires once gate.touch() lets it."""
    with contextlib.ExitStack() as stack:

        def start(count, *burst):
            gate = tmp_path / f"gate{count}"
            return stack.enter_context(
                harness.running(harness.program("gated.py", gate, count, *burst))
            ), gate

        yield start


@contextlib.contextmanager
def tracing(processes: int, *arguments: str):
    """A pydtrace that has seen a first event of so many processes."""
    seen = f"""
        pyusdt*:::user_trace-n1 /!seen[pid]/ {{ seen[pid] = 1; n++; }}
        pyusdt*:::user_trace-n1 /n == {processes} && !said/ {{ said = 1; printf("ready\\n"); }}"""
    with harness.running([harness.PYDTRACE, "-Zq", "-n", seen, *arguments]) as tracer:
        assert tracer.stdout.readline() == "ready\n", harness.finish(tracer, 5)
        yield tracer


COUNTS = "pyusdt*:::user_trace-i4s4 { @[arg2 % 3] = count(); @all = sum(arg2); }"


def test_several_processes_by_pid(gated):
    """Tracing ends with the last of them."""
    (first, gate1), (second, gate2) = gated(500), gated(1000)
    with tracing(
        2,
        "-n",
        "pyusdt*:::user_trace-i4s4 { @[pid] = count(); }",
        "-p",
        str(first.pid),
        "-p",
        str(second.pid),
    ) as tracer:
        gate1.touch()
        first.wait()
        gate2.touch()
        got = harness.finish(tracer, 30)
    assert sorted(got.stdout.split()) == sorted(map(str, [first.pid, 500, second.pid, 1000])), got


def test_all_processes_now_and_later(gated):
    """With neither -c nor -p: one that runs, and one that starts later."""
    first, gate1 = gated(300)
    end = "pyusdt*:::user_trace-n2 { exit(0); }"
    with tracing(1, "-n", "pyusdt*:::user_trace-i4s4 { @ = count(); }", "-n", end) as tracer:
        second, gate2 = gated(400)
        gate2.touch()
        gate1.touch()
        assert first.wait() == second.wait() == 0
        with harness.running([sys.executable, "-c", "import pyusdt; pyusdt.pn(2)"]):
            got = harness.finish(tracer, 30)
    assert got.stdout.split() == ["700"], got


def test_three_sessions_at_once_while_others_come_and_go(gated):
    """Each of the three has all of the 20,000 events, whatever a fourth and its successors do."""
    process, gate = gated(
        20_000, 50
    )  # for 4 s at least, in which a busy machine starts two pydtraces
    arguments = [1, "-x", "bufsize=8m", "-n", COUNTS, "-p", str(process.pid)]
    with tracing(*arguments) as a, tracing(*arguments) as b, tracing(*arguments) as c:
        gate.touch()
        visits = 0
        while process.poll() is None and visits < 20:
            got = harness.run(
                [
                    harness.PYDTRACE,
                    "-Zq",
                    "-n",
                    "pyusdt$target:::user_trace-i4s4 { exit(0); }",
                    "-p",
                    str(process.pid),
                ]
            )
            visits += got.status == 0
        outputs = [harness.finish(tracer, 30) for tracer in (a, b, c)]
    assert visits > 1
    counts = {str(k): 20_000 // 3 + (k in (1, 2)) for k in range(3)}
    for got in outputs:
        assert got.stderr == "" and got.status == 0, got
        words = got.stdout.split()
        assert words[-1] == str(sum(range(20_001))), got
        assert dict(zip(words[:-1:2], map(int, words[1:-1:2]))) == counts


def test_leaves_nothing(pydtrace, tmp_path):
    rundir = tmp_path / "run"
    rundir.mkdir(mode=0o700)
    environment = {**os.environ, "PYUSDT_RUNDIR": str(rundir)}
    pydtrace(
        "-q",
        "-n",
        f"pyusdt*:::user_trace-i4s4 {PRINT}",
        "-c",
        harness.program("forks.py"),
        env=environment,
    )
    assert list(rundir.iterdir()) == []
