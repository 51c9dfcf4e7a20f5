"""Records whose strings are cut in the ring buffer: nobody sees a difference, but that more of them fit."""

import os
import signal
import subprocess
import sys

import pytest

from pydtrace.dlang.compile import compile_program
from pydtrace.engine.kernel.passes import record_trim
from tests.support.kernel_harness import pydtrace, start_pydtrace

pytestmark = pytest.mark.usefixtures("bpf")
LENGTHS = (0, 1, 6, 7, 8, 9, 63, 200, 254, 255, 256, 400)
NO_FOLDER = 1077  # a descriptor that is not open: the system call fails at once
CALLS = f"""import os, sys
for line in sys.stdin:
    for n in map(int, line.split()):
        try:
            os.unlink("x" * n, dir_fd={NO_FOLDER})
        except OSError:
            pass
    print("called", flush=True)
"""
CALLED = f"syscall::unlinkat:entry /arg0 == {NO_FOLDER}/"


@pytest.fixture
def calls(tmp_path):
    """calls(LENGTHS): a process of its own has called unlinkat() on names of these lengths; calls.pid."""
    script = tmp_path / "calls.py"
    script.write_text(CALLS)
    with subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def call(lengths):
            process.stdin.write(" ".join(map(str, lengths)) + "\n")
            process.stdin.flush()
            assert process.stdout.readline() == "called\n"

        call.pid = process.pid
        yield call
        process.kill()


@pytest.mark.parametrize(
    "clause, cut",
    [
        (
            'x:::y { printf("%s %d %s", copyinstr(arg0), arg1, copyinstr(arg2, 9)); trace(copyinstr(arg3)); }',
            3,
        ),
        (
            'x:::y { printf("%s %s", strjoin(copyinstr(arg0), "b"), arg1 ? copyinstr(arg1) : "c"); trace(execname); }',
            0,
        ),
        ("x:::y { this->a = copyinstr(arg0); @[copyinstr(arg0)] = count(); trace(this->a); }", 0),
    ],
)
def test_what_is_cut(clause, cut):
    """copyinstr() as it is: its length is known, and nothing is done to it."""
    assert [entry[0] for entry in record_trim.trim_table(compile_program(clause))] == [0] * cut


@pytest.mark.parametrize(
    "clauses, expected",
    [
        (
            '{ printf("%d|%s|%d|%s|%s\\n", arg0, copyinstr(arg1), 7, execname, copyinstr(arg1, 5)); }',
            lambda n, name: (
                f"{NO_FOLDER}|{name}|7|{os.path.basename(sys.executable)[:15]}|{name[:4]}"
            ),
        ),
        (
            '{ this->s = speculation(); } CALLED { speculate(this->s); printf("%s %d\\n", copyinstr(arg1), arg0); } CALLED { commit(this->s); }',
            lambda n, name: f"{name} {NO_FOLDER}",
        ),
        (
            '{ trace(copyinstr(arg1)); printf(" %s\\n", copyinstr(arg2 ? arg1 : arg1)); }',
            lambda n, name: f"{name} {name}",
        ),
    ],
)
def test_cut_strings_print_as_they_are(calls, clauses, expected):
    tracer = start_pydtrace(
        "-q",
        "-n",
        'BEGIN { printf("on\\n"); }',
        "-n",
        CALLED + clauses.replace("CALLED", CALLED),
        "-p",
        calls.pid,
        wait_for="on",
    )
    calls(LENGTHS)
    tracer.send_signal(signal.SIGINT)
    out, err = tracer.communicate(timeout=20)
    assert out.strip("\n").split("\n") == [expected(n, "x" * min(n, 255)) for n in LENGTHS], err


def test_more_fit_than_if_they_were_whole(calls):
    """The tracer is stopped: what fits is what the buffer holds.  Whole records would be 300 times 832 bytes."""
    three = 'printf("%s %s %s\\n", copyinstr(arg1), copyinstr(arg1), copyinstr(arg1))'
    tracer = start_pydtrace(
        "-q",
        "-x",
        "bufsize=64k",
        "-n",
        f'BEGIN {{ printf("on\\n"); }} {CALLED} {{ {three}; }}',
        "-p",
        calls.pid,
        wait_for="on",
    )
    tracer.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, tracer.pid, os.WSTOPPED)
    calls([20] * 300)
    tracer.send_signal(signal.SIGCONT)
    tracer.send_signal(signal.SIGINT)
    out, err = tracer.communicate(timeout=20)
    assert (out.count("x" * 20 + "\n"), err) == (300, "")


def test_a_fault_in_such_a_clause_is_told(calls):
    out, err, _ = pydtrace(
        "-q",
        "-n",
        'BEGIN { printf("%s %s", copyinstr(8), copyinstr(16)); exit(0); } ERROR { exit(1); }',
    )
    assert "invalid address (0x8)" in err and out.strip() == ""
