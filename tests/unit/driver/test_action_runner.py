"""Actions of the consumer, in whole programs: BEGIN runs in the embedded engine, what is printed is compared
with what the real dtrace printed for the same script (cases in tests/unit/dtrace_output/actions-*.d, .r)."""

import glob
import os
import re
import signal
import subprocess
import sys

import pytest

from tests.support.paths import TESTS

pytestmark = pytest.mark.own_processes
FOLDER = os.path.join(TESTS, "unit", "dtrace_output")
CASES = sorted(
    os.path.basename(path)[len("actions-") : -len(".d")]
    for path in glob.glob(os.path.join(FOLDER, "actions-*.d"))
)
ORDERS = {
    "key": ["aggsortkey"],
    "key-second": ["aggsortkey", "aggsortkeypos=1"],
    "rev": ["aggsortrev"],
    "third-rev": ["aggsortrev", "aggsortpos=2"],
}  # what the program of actions-order.d is run with, too


def pydtrace(*arguments):
    command = [
        sys.executable,
        "-c",
        "from pydtrace.cli.pydtrace.main import main; main()",
        *arguments,
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def compared(script, name, *options):
    """Run actions-SCRIPT.d; what it prints is in actions-NAME.r."""
    done = pydtrace("-q", *options, "-s", os.path.join(FOLDER, f"actions-{script}.d"))
    assert done.stdout, done.stderr
    with open(os.path.join(FOLDER, f"actions-{name}.r"), encoding="utf-8") as file:
        assert unaddressed(done.stdout) == unaddressed(file.read()), done.stderr


@pytest.mark.parametrize("name", CASES)
def test_prints_what_dtrace_printed(name):
    compared(name, name)


@pytest.mark.parametrize("name", ORDERS)
def test_sorts_as_dtrace_did(name):
    compared("order", f"order-{name}", *(f"-x{option}" for option in ORDERS[name]))


def unaddressed(text):
    """What print() shows, without the address that it begins with."""
    return re.sub(r"0x[0-9a-f]+ = \*", "ADDRESS = *", text)


def test_characters_beyond_ascii_are_utf8():
    """dtrace ends at the first of them."""
    assert (
        pydtrace("-qn", 'BEGIN { printf("%lc%wc%lc|", 233, 8364, -1); exit(0); }').stdout
        == "é€\ufffd|\n"
    )


def test_destructive_actions_need_w():
    script = 'BEGIN { system("echo %s", "ran"); exit(0); }'
    done = pydtrace("-qn", script)
    assert (done.returncode, done.stdout) == (1, "")
    assert "could not enable tracing: Destructive actions not allowed" in done.stderr
    assert pydtrace("-wqn", script).stdout == "ran\n\n"


def test_the_shell_is_called_as_system_calls_it():
    """So a command that is not there is told as under dtrace: "sh: 1: audioplay: not found"."""
    assert pydtrace("-wqn", 'BEGIN { system("echo $0"); exit(0); }').stdout == "sh\n\n"


def test_what_system_runs_ignores_no_signal_that_python_ignores_for_itself():
    done = pydtrace("-wqn", 'BEGIN { system("grep SigIgn /proc/self/status"); exit(0); }')
    ignored = int(done.stdout.split()[1], 16)
    assert ignored & (1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGXFSZ - 1)) == 0


def test_freopen_and_back(tmp_path):
    path = tmp_path / "out.3"
    script = f'BEGIN {{ printf("a"); freopen("{tmp_path}/out.%d", 3); printf("b"); freopen(""); printf("c"); exit(0); }}'
    assert pydtrace("-wqn", script).stdout == "ac\n"
    assert path.read_text() == "b"


def test_setopt_says_what_it_can_not_set():
    done = pydtrace(
        "-qn", 'BEGIN { setopt("nosuch"); setopt("bufsize", "1m"); setopt("quiet"); exit(0); }'
    )
    assert 'couldn\'t set option "nosuch" to "1": Invalid option name' in done.stderr
    assert (
        'couldn\'t set option "bufsize" to "1m": Operation illegal when tracing is active'
        in done.stderr
    )


def test_setopt_sets_what_dtrace_sets_while_it_traces():
    """Asked of dtrace 2.0.7, one by one."""
    fixed = [
        "bpflog",
        "bpflogsize",
        "bufpolicy",
        "bufresize",
        "cleanrate",
        "cpu",
        "jstackframes",
        "jstackstrsize",
        "lockmem",
        "maxframes",
        "noresolve",
        "pcapsize",
        "scratchsize",
        "stackframes",
        "statusrate",
        "ustackframes",
    ]
    values = {"bufpolicy": "fill", "bufresize": "auto", "cleanrate": "10hz", "statusrate": "10hz"}
    free = ["aggrate", "aggsortrev", "quiet", "stackindent", "switchrate"]
    script = "".join(
        f'BEGIN {{ setopt("{name}", "{values.get(name, "1")}"); }}' for name in fixed + free
    )
    done = pydtrace("-qn", script + "BEGIN { exit(0); }")
    refused = [
        line.split('"')[1]
        for line in done.stderr.splitlines()
        if line.endswith("Operation illegal when tracing is active")
    ]
    assert refused == fixed


def test_a_speculation_that_is_too_long_drops():
    script = (
        'BEGIN { i = speculation(); } BEGIN { speculate(i); printf("%d", i); } '
        "BEGIN { speculate(i); trace(1); } BEGIN { commit(i); } BEGIN { exit(0); }"
    )
    done = pydtrace("-q", "-x", "specsize=50", "-n", script)
    assert "1 speculative drop" in done.stderr
    assert done.stdout == "1\n"


def test_a_fault_runs_error_and_tells_its_place(tmp_path):
    script = tmp_path / "x.d"
    script.write_text(
        "BEGIN { x = 0; }\nBEGIN { this->k = 5;\n  y = 1 / x; }\n"
        'ERROR { printf("%d %d %d", arg1, arg4, this->k); }\nBEGIN { printf("-%d", this->k); exit(0); }\n'
    )
    done = pydtrace("-qs", str(script))
    assert done.stdout == "1 4 0-5\n"
    assert "divide-by-zero at BPF pc" in done.stderr and f"\n    at {script}:3:7" in done.stderr


def test_a_path_that_freopen_can_not_take_is_shown_not_obeyed():
    done = pydtrace("-wqn", r'BEGIN { freopen("/proc/nonexistent/\033[2J%s", "\n"); exit(0); }')
    assert (
        "\x1b" not in done.stderr
        and "couldn't freopen \"" r'/proc/nonexistent/\x1b[2J\n"' in done.stderr
    )
