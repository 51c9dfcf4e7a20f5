"""pyusdt top and the tracers that have programs in the kernel: whom they trace, how often their programs ran, what ours lost."""

import os
import re
import signal
import subprocess
import sys

import pytest

from pydtrace.cli.commands import top
from pydtrace.engine.kernel import bpf_tracers as tracers
from tests.support import harness
from tests.support.kernel_harness import start_pydtrace

pytestmark = [pytest.mark.usefixtures("bpf"), pytest.mark.own_processes]
PYUSDT = os.path.join(os.path.dirname(sys.executable), "pyusdt")
PROGRAM = """
import pyusdt, sys
pyusdt.p(0)
print("there", flush=True)
for line in sys.stdin:
    for _ in range(int(line)):
        pyusdt.p(1, "some text")
    print("fired", flush=True)
"""


@pytest.fixture
def program(running):
    process = running("-c", PROGRAM, program=sys.executable)
    assert process.stdout.readline() == "there\n"
    return process


def fire(process, times):
    process.stdin.write(f"{times}\n")
    process.stdin.flush()
    assert process.stdout.readline() == "fired\n"


def traced(*arguments):
    tracer = start_pydtrace(
        "-q", "--ready", *arguments, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    )
    while "ready" not in (line := tracer.stderr.readline()):
        assert line, tracer.communicate()
    return tracer


def end(tracer):
    tracer.send_signal(signal.SIGTERM)
    return tracer.communicate(timeout=60)


def looked(looks, process, tracer):
    """(row of the process, the tracer's cells by their heading)."""
    row = next(row for row in looks.sample_rows() if row.pid == process.pid)
    found = [kernel for kernel in looks.kernel if kernel.tracer.pid == tracer.pid]
    return row, dict(zip(top.KERNEL_HEADINGS, found[0].format_cells())) if found else None


def test_who_is_traced_in_the_kernel_and_how_much(program):
    with tracers.RunStatistics() as statistics:
        assert not statistics.reason
        looks = top.ActivitySampler(True)
        tracer = traced(
            "-p",
            program.pid,
            "-n",
            "pyusdt$target:::user_trace-i4s4, pyusdt$target:::user_trace-s1 { @ = count(); }",
        )
        row, _ = looked(looks, program, tracer)
        assert (
            row.kernel_tracers,
            row.tracers,
            row.run_rate,
            row.foreign_probes,
            row.is_traced,
        ) == (
            [tracer.pid],
            [],
            0.0,
            0,
            True,
        )
        fire(program, 500)
        looks._sampled_at -= 100.0  # an interval of a hundred seconds
        row, cells = looked(looks, program, tracer)
        assert 500 / 110 < row.run_rate <= 500 / 100, (
            "one program for both probes, which ran once for each firing"
        )
        assert (row.format_cells()[4], cells["NAME"], cells["PROGRAMS"], cells["PLACES"]) == (
            f"{tracer.pid} (kernel)",
            "pydtrace",
            "1",
            "2",
        )
        assert re.fullmatch(rf"_core\S*\.so of {program.pid}", cells["TRACES"]), cells
        assert (cells["RUNS/s"], cells["LOST"], cells["LOST/s"]) == (
            f"{row.run_rate:.0f}",
            "0",
            "0",
        )
    assert "500" in end(tracer)[0]
    row, cells = looked(looks, program, tracer)
    assert (row.kernel_tracers, row.run_rate, row.is_traced, cells) == ([], None, False, None)


def test_where_fdinfo_says_less_the_link_is_asked(program):
    """As on Linux 6.8 to 6.16."""
    tracer = traced(
        "-p",
        program.pid,
        "-n",
        "pyusdt$target:::user_trace-i4s4, pyusdt$target:::user_trace-s1 { @ = count(); }",
    )
    (found,) = (each for each in tracers.find_tracers() if each.pid == tracer.pid)
    ((ident, told),) = found.links.items()
    link = tracers.BpfLink(
        {"link_type": "uprobe_multi", "link_id": ident, "prog_id": str(told.program)}, []
    )
    for name in ("path", "pid", "places", "counters"):
        assert getattr(link, name) == getattr(told, name) != 0
    end(tracer)


@pytest.mark.xdist_group(
    "everywhere"
)  # its tracer is attached to the other workers' processes, too
def test_what_is_for_all_processes_is_told_of_the_tracer(program):
    with tracers.RunStatistics():
        looks = top.ActivitySampler(True)
        tracer = traced(
            "-n", "pyusdt*:::user_trace-i4s4 { @ = count(); } sched:::on-cpu { @all = count(); }"
        )
        looked(looks, program, tracer)
        fire(program, 300)
        row, cells = looked(looks, program, tracer)
        assert (row.kernel_tracers, row.run_rate, row.foreign_probes) == ([tracer.pid], None, 0)
        assert (
            int(cells["RUNS/s"]) > 0
            and "sched_switch" in cells["TRACES"]
            and " of " not in cells["TRACES"]
        )
    end(tracer)


def test_what_is_lost_in_the_kernel(program):
    tracer = traced(
        "-b",
        "16k",
        "-p",
        program.pid,
        "-n",
        'pyusdt$target:::user_trace-i4s4 { printf("%s\\n", copyinstr(arg6)); }',
    )
    os.kill(tracer.pid, signal.SIGSTOP)
    fire(program, 5000)
    lost = int(looked(top.ActivitySampler(), program, tracer)[1]["LOST"])
    os.kill(tracer.pid, signal.SIGCONT)
    out, said = end(tracer)
    assert lost > 1000 and out.count("some text") == 5000 - lost
    assert harness.count_drops(said) == lost, "it counts what the tracer counts"


def test_the_command_has_a_table_of_them(program):
    tracer = traced("-p", program.pid, "-n", "pyusdt$target:::user_trace-i4s4 { @ = count(); }")
    found = subprocess.run(
        [PYUSDT, "top", "-i", "0.2"], check=True, capture_output=True, text=True, timeout=60
    ).stdout
    processes, others = found.split("\n\n")
    assert f"{tracer.pid} (kernel)" in next(
        line for line in processes.splitlines() if line.startswith(f"{program.pid} ")
    )
    assert others.split("  ")[0] == "TRACER" and re.search(
        rf"^{tracer.pid} +pydtrace ", others, re.MULTILINE
    )
    assert "RUNS/s: how often programs" in others
    end(tracer)


def test_who_may_not_count_is_told(monkeypatch):
    def refused():
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(tracers.syscalls, "enable_stats", refused)
    monkeypatch.setattr(tracers, "_is_counting", lambda: False)
    with tracers.RunStatistics() as statistics:
        assert statistics.reason == "Operation not permitted"
    tracer = tracers.BpfTracer(1)
    tracer.add_descriptor(
        "anon_inode:bpf-prog", {"prog_type": "2", "prog_id": "7", "run_cnt": "0"}, []
    )
    tracer.add_descriptor("anon_inode:bpf-prog", {"prog_type": "8", "prog_id": "8"}, [])
    row = top.KernelRow(tracer, "x\x1b[2J", None, None, None)
    assert row.format_cells() == ("1", "x\\x1b[2J", "1", "0", "-", "-", "-", "-"), (
        "a cgroup's program is no tracer's"
    )
    assert top.footer_lines([], [row], False)[1:] == [
        "RUNS/s: only root can make the kernel count them"
    ]


def test_what_hostile_files_are_called():
    """A path may have a line's end in it, and what looks like a line of fdinfo."""
    rest = [
        ["cookie", "offset", "ref_ctr_offset"],
        ["5", "0x28050", "0x452e0"],
        ["6", "0x28070", "0x0"],
    ]
    link = tracers.BpfLink(
        {
            "link_type": "uprobe_multi",
            "prog_id": "3",
            "pid": "12",
            "uprobe_cnt": "2",
            "path": "/tmp/a\x1bb",
        },
        rest,
    )
    assert (link.program, link.pid, link.places, link.counters, link.path) == (
        3,
        12,
        2,
        1,
        "/tmp/a\x1bb",
    )
    with pytest.raises(ValueError, match="invalid literal"):
        tracers.BpfLink({"link_type": "uprobe_multi", "pid": "12 of them"}, [])


def test_a_map_of_our_name_whose_values_are_too_large(monkeypatch):
    """Anybody may call his so: what top asks the kernel for has a bound."""
    asked = []
    monkeypatch.setattr(
        tracers.syscalls, "map_fd_by_id", lambda ident: os.open(os.devnull, os.O_RDONLY)
    )
    monkeypatch.setattr(tracers.syscalls, "map_info", lambda fd: ("pyusdt_globals", 4, 1 << 30))
    monkeypatch.setattr(tracers.syscalls, "map_lookup", lambda *given: asked.append(given))
    assert tracers._read_drops(1) is None and asked == []
