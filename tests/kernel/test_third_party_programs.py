"""Programs that nobody wrote for a tracer, and ours, under the kernel engine: C's and C++'s libraries, Python.

PostgreSQL: test_postgres.py.  Erlang: tests/erlang/test_erlang_kernel.py.
"""

import os
import signal
import subprocess
import sys

import pytest

from tests.support.kernel_harness import DATA, compile_c, pydtrace, start_pydtrace, wait_until
from tests.support.paths import ORACLE

pytestmark = pytest.mark.usefixtures("bpf")


def test_the_probes_of_libstdcxx(tmp_path):
    program = str(tmp_path / "throwing")
    subprocess.run(["g++", "-O2", "-o", program, os.path.join(DATA, "throwing.cc")], check=True)
    out, err, _ = pydtrace(
        "-q",
        "-n",
        "libstdcxx$target:::throw { @thrown = count(); last = arg0; } libstdcxx$target:::catch "
        "/arg0 == last/ { @caught = count(); }",
        "-c",
        program,
    )
    assert out.split() == ["caught", "5", "5", "5"], err


def test_the_probes_of_libc(tmp_path):
    """Debian's libc has them from trixie on: in the chroot that has the real dtrace, which is another mount namespace."""
    if os.geteuid() != 0:
        pytest.skip("host: only root can make the chroot")
    subprocess.run([ORACLE, "setup"], check=True)
    program = compile_c(os.path.join(DATA, "jumping.c"), tmp_path / "jumping")
    process = subprocess.Popen(
        [ORACLE, "run", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def jump():
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "jumped\n"

    try:
        jump()  # it has become the program
        script = (
            'BEGIN { printf("ready\\n"); } libc$target:::setjmp { @set = count(); } libc$target:libc.so.6:: '
            "{ @[probename] = count(); } libc$target:::longjmp { @values[(int)arg1] = count(); } "
            'libc$target:::memory_mallopt_trim_threshold { @limit = max(arg0); } tick-20ms /on++ == 0/ { printf("on\\n"); }'
        )
        tracer = start_pydtrace("-q", "-n", script, "-p", process.pid, wait_for="ready")
        while tracer.stdout.readline() != "on\n":
            pass
        jump()
        tracer.send_signal(signal.SIGINT)
        lines = [
            line.split() for line in tracer.communicate(timeout=20)[0].splitlines() if line.strip()
        ]
    finally:
        process.kill()
        process.communicate()
    counts = {line[0]: line[1] for line in lines if len(line) == 2}
    assert (
        counts["longjmp"] == counts["longjmp_target"] == "4"
        and [counts[str(i)] for i in range(1, 5)] == ["1"] * 4
    )
    assert ["1"] in lines and ["123456"] in lines, lines


def test_a_library_that_is_loaded_later(tmp_path, running):
    """It is found a moment after it was mapped; nobody knew of it when tracing began."""
    source = tmp_path / "later.c"
    source.write_text("#include <sys/sdt.h>\nvoid fire(void) { STAP_PROBE(later, here); }\n")
    library = compile_c(source, tmp_path / "later.so", "-shared", "-fPIC")
    process = running(library, program=compile_c(os.path.join(DATA, "late.c"), tmp_path / "late"))
    tracer = start_pydtrace(
        "-q",
        "-Z",
        "-n",
        'BEGIN { printf("ready\\n"); } later$target:later.so:fire:here { printf("%s\\n", probemod); '
        "exit(0); }",
        "-p",
        process.pid,
        wait_for="ready",
    )

    def answered():
        fire(process)
        assert process.stdout.readline() == "ready\n"

    answered()
    wait_until(lambda: answered() or tracer.poll() is not None)
    assert tracer.communicate()[0].split() == ["later.so"] and tracer.returncode == 0


@pytest.fixture
def rounds(running):
    """start(N, TEXT) -> a Python process that waits in data/round.py."""

    def start(n, text):
        process = running(os.path.join(DATA, "round.py"), n, text, program=sys.executable)
        assert process.stdout.readline() == "ready\n"
        return process

    return start


def fire(process):
    process.stdin.write("\n")
    process.stdin.flush()


def test_two_python_processes_at_once(rounds):
    """Each counts for itself what was offered; all of it is there, in one script over both."""
    n = 20_000
    processes = [rounds(n, "one"), rounds(n, "two")]
    tracer = start_pydtrace(
        "-q",
        "-n",
        'BEGIN { printf("ready\\n"); } pyusdt*:::user_trace-i4s4 { @[pid, copyinstr(arg6)] = count(); '
        '@sum[pid] = sum(arg2); } tick-20ms /on++ == 0/ { printf("on\\n"); }',
        wait_for="ready",
    )
    while tracer.stdout.readline() != "on\n":
        pass
    for process in processes:
        fire(process)
    offered = [int(process.stdout.readline()) for process in processes]
    assert offered == [2 * n, 2 * n]
    tracer.send_signal(signal.SIGINT)
    lines = [
        line.split() for line in tracer.communicate(timeout=20)[0].splitlines() if line.strip()
    ]
    for process, text in zip(processes, ("one", "two")):
        assert [str(process.pid), text, str(2 * n)] in lines and [
            str(process.pid),
            str(n * (n - 1)),
        ] in lines, lines


def test_a_python_process_under_two_tracers(rounds):
    """Both see everything, and the probe is off when both have gone."""
    process = rounds(1000, "both")
    script = (
        'BEGIN { printf("ready\\n"); } pyusdt$target:::user_trace-i4s4 { @ = sum(arg2); } '
        'tick-20ms /on++ == 0/ { printf("on\\n"); }'
    )
    tracers = [
        start_pydtrace("-q", "-n", script, "-p", process.pid, wait_for="ready") for _ in range(2)
    ]
    for tracer in tracers:
        while tracer.stdout.readline() != "on\n":
            pass
    fire(process)
    assert process.stdout.readline() == "2000\n"
    for tracer in tracers:
        tracer.send_signal(signal.SIGINT)
        assert tracer.communicate(timeout=20)[0].split() == [str(999 * 1000)]
    other = rounds(10, "off")  # nobody is there any more
    fire(other)
    wait_until(lambda: other.stdout.readline() == "0\n")
