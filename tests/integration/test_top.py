"""pyusdt top: who is traced and who can be, what comes and what is lost; in a terminal (tmux) and as a table."""

import io
import os
import re
import subprocess
import sys

import pytest

from tests.support import harness
from tests.support.tmux_terminal import Terminal

pytestmark = pytest.mark.own_processes
PYUSDT = os.path.join(os.path.dirname(sys.executable), "pyusdt")
PROGRAM = """
import pyusdt, sys, time
sold = pyusdt.Provider("shop").probe("sold", int)
pyusdt.p(0)
print("there", flush=True)
for line in sys.stdin:
    for _ in range(int(line)):
        pyusdt.p(1, "some text")
    print("fired", flush=True)
"""


@pytest.fixture
def program():
    with harness.running([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE) as process:
        assert process.stdout.readline() == "there\n"
        yield process
        process.stdin.close()


def table(*arguments):
    """{pid: {heading: cell}} of `pyusdt top`."""
    result = harness.run([PYUSDT, "top", "-i", "0.3", *arguments])
    assert result.status == 0, result
    lines = [
        re.split(r" {2,}", line.strip()) for line in result.stdout.partition("\n\n")[0].splitlines()
    ]
    return {int(line[0]): dict(zip(lines[0], line)) for line in lines[1:]}


def traced(program, *options):
    script = f"pyusdt{program.pid}:::user_trace-i4s4 {{ @ = count(); }}"
    return harness.running([harness.PYDTRACE, "-q", "--ready", *options, "-n", script])


def test_who_is_traced_by_whom(program):
    alone = table()[program.pid]
    assert (
        alone["OWN PROVIDERS"],
        alone["TRACED BY"],
        alone["KB/s"],
        alone["LOST"],
        alone["PROBES"],
    ) == ("shop", "-", "-", "-", "954")
    with traced(program) as tracer:
        assert "ready" in tracer.stderr.readline()
        program.stdin.write("1000\n")
        program.stdin.flush()
        assert program.stdout.readline() == "fired\n"
        row = table()[program.pid]
        assert (row["TRACED BY"], row["LOST"]) == (str(tracer.pid), "0")
        tracer.terminate()
        tracer.wait(30)
    assert table()[program.pid]["TRACED BY"] == "-"


def test_what_is_lost(program):
    """More than the rings hold comes while the tracer is stopped."""
    with traced(program, "-b", "64k") as tracer:
        assert "ready" in tracer.stderr.readline()
        os.kill(tracer.pid, 19)
        program.stdin.write("200000\n")
        program.stdin.flush()
        assert program.stdout.readline() == "fired\n"
        row = table()[program.pid]
        assert int(row["LOST"]) > 1000 and int(row["UNREAD"].rstrip("%")) > 50
        os.kill(tracer.pid, 18)
        tracer.terminate()
        said = harness.finish(tracer, 30).stderr
    assert harness.count_drops(said) == int(row["LOST"]), "it counts what the tracer counts"


def test_rates_are_of_the_interval(program):
    from pydtrace.cli.commands import top

    looks = top.ActivitySampler()
    with traced(program) as tracer:
        assert "ready" in tracer.stderr.readline()
        looks.sample_rows()
        program.stdin.write("500\n")
        program.stdin.flush()
        assert program.stdout.readline() == "fired\n"
        looks._sampled_at -= 100.0  # an interval of a hundred seconds
        (row,) = (row for row in looks.sample_rows() if row.pid == program.pid)
        assert 500 * 16 / 101 < row.byte_rate < 500 * 500 / 100
        (row,) = (row for row in looks.sample_rows() if row.pid == program.pid)
        assert row.byte_rate == 0 and row.drop_rate == 0
        tracer.terminate()
        tracer.wait(30)


def test_what_other_tracers_listen_to(program):
    """They raise semaphores, as this test does; nobody but they know how much they see."""
    from pydtrace.cli.commands import list_command, top

    def row():
        return next(row for row in looks.sample_rows() if row.pid == program.pid)

    looks = top.ActivitySampler()
    assert row().foreign_probes == 0 and not row().is_traced and top.footer_lines([row()]) == []
    first, second, *_ = sorted(list_command.find_semaphores(program.pid)[0])
    with open(f"/proc/{program.pid}/mem", "r+b", buffering=0) as memory:
        for address in (first, second):
            memory.seek(address)
            memory.write(b"\x01\x00")
        raised = row()
        assert raised.is_traced and raised.format_cells()[4:] == (
            "others (2 of 954)",
            "-",
            "-",
            "-",
            "-",
            "-",
        )
        assert "only they count their events" in top.footer_lines([raised])[0]
        for address in (first, second):
            memory.seek(address)
            memory.write(b"\x00\x00")
    assert not row().is_traced


@pytest.mark.skipif(
    "CI" not in os.environ and not os.path.exists("/usr/bin/tmux"), reason="host: no tmux"
)
@pytest.mark.parametrize("size", [(120, 30), (60, 10)])
def test_on_a_terminal(size, program, tmp_path):
    terminal = Terminal(tmp_path, *size)
    try:
        terminal.type(
            f"PYUSDT_RUNDIR={os.environ['PYUSDT_RUNDIR']} {PYUSDT} top -i 0.5; echo status $?",
            "Enter",
        )
        assert re.search(
            r"\d+ traced, \d+ more can be +every 0\.5 s, by KB/s",
            terminal.until(rf"{program.pid}"),
        )
        terminal.type("s")
        terminal.until("by LOST")
        terminal.type("p", "+")
        terminal.until("every 1 s, by LOST  paused")
        terminal.type("q")
        terminal.until("status 0")
    finally:
        terminal.end()


def test_nobody_is_there(tmp_path):
    result = harness.run(
        [PYUSDT, "top", "-i", "0.1"], env={**os.environ, "PYUSDT_RUNDIR": str(tmp_path)}
    )
    assert (
        result.status == 0
        and "no process that you may trace has pyusdt in it: `import pyusdt` in a program, or `pyusdt attach PID`\n"
        in result.stdout
    )


def test_wrong_intervals():
    for interval in ("0", "x", "-1", "4000"):
        assert harness.run([PYUSDT, "top", f"--interval={interval}"]).status == 2


def test_a_low_screen_has_room_for_the_tracers():
    """Processes that do not fit are a number; the columns that a narrow one has are those that tell most."""
    from rich.console import Console

    from pydtrace.cli.commands import top
    from pydtrace.engine.kernel import bpf_tracers

    rows = [top.ProcessRow(pid, "python") for pid in range(1, 31)]
    tracer = bpf_tracers.BpfTracer(4242)
    tracer.add_descriptor("anon_inode:bpf-prog", {"prog_type": "2", "prog_id": "7"}, [])
    kernel = [top.KernelRow(tracer, "pydtrace", 12.0, 0, 0.0)]

    def shown(*size):
        console = Console(width=size[0], height=size[1], color_system=None)
        with console.capture() as capture:
            console.print(top.render_screen(rows, "", size, kernel, True))
        return capture.get().splitlines()

    wide, narrow = shown(120, 20), shown(80, 8)
    assert (
        len(wide) == 20 and "… and 17 more" in wide and wide[-3].split() == [*top.KERNEL_HEADINGS]
    )
    assert [line.partition(" ")[0] for line in narrow][2:] == [
        "",
        "",
        "…",
        "",
        "TRACER",
        "",
        "RUNS/s:",
    ], narrow
    assert next(line for line in narrow if "TRACER" in line).split() == [
        "TRACER",
        "NAME",
        "TRACES",
        "RUNS/s",
        "LOST",
    ]
    assert "…" not in next(line for line in narrow if "4242" in line)
    assert not any("more" in line for line in shown(120, 60)[1:])


@pytest.mark.parametrize("width", [120, 90, 60])
def test_long_texts_leave_the_numbers_room(width):
    """A process with many providers of its own is cut there, not at its pid."""
    from rich.console import Console

    from pydtrace.cli.commands import top

    row = top.ProcessRow(1234567, "python -m " + "long.name" * 5)
    row.providers, row.tracers, row.drops = [f"provider{i}" for i in range(20)], [7654321], 123456
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(top.render_screen([row], "every 2 s", (width, 30)))
    head, headings, line, *rest = console.export_text().splitlines()
    assert (
        {"1234567", "123456"} <= set(line.split())
        and "…" in line
        and {"PID", "LOST"} <= set(headings.split())
    ), line
    assert all(len(each) <= width for each in (head, headings, line, *rest))
