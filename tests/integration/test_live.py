"""pydtrace --live in a terminal (tmux), by what its screen shows."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.support import harness
from tests.support.tmux_terminal import Terminal

pytestmark = [
    pytest.mark.own_processes,
    pytest.mark.skipif(
        shutil.which("tmux") is None and "CI" not in os.environ, reason="host: no tmux"
    ),
]

PROGRAM = """
import pyusdt, sys
for i in range(300):
    pyusdt.p(i % 40 + 1, 2, "/cart\\x1b[31m" if i % 3 else "/")
print("fired", flush=True)
sys.stdin.read()
"""
SCRIPT = (
    "pyusdt*:::user_trace-i4s4 { @calls[copyinstr(arg6)] = count(); @lat[copyinstr(arg6)] = quantize(arg2); } "
    'pyusdt*:::user_trace-i4s4 /arg2 == 1/ { printf("one\\x1b[2J"); }'
)


@pytest.fixture
def terminal(tmp_path):
    made = []

    def make(columns, rows):
        made.append(Terminal(tmp_path, columns, rows))
        return made[0]

    yield make
    for each in made:
        each.end()


def begin(terminal, tmp_path, environment=""):
    """pydtrace --live, and a program that has fired all that it will."""
    command = f"{environment} PYUSDT_RUNDIR={os.environ['PYUSDT_RUNDIR']} {harness.PYDTRACE} --live -s script.d 2>messages; echo status $?"
    (tmp_path / "script.d").write_text(SCRIPT)
    terminal.type(command, "Enter")
    terminal.until("^00:0")
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (120, 50), (50, 14)])
@pytest.mark.parametrize("environment", ["", "NO_COLOR=1"])
def test_screen(columns, rows, environment, terminal, tmp_path):
    shown = terminal(columns, rows)
    with begin(shown, tmp_path, environment) as program:
        assert program.stdout.readline() == b"fired\n"
        screen = shown.until(r"^/cart\\x1b\[31m +200 ")
        assert re.search(r"^/ +100 ", screen, re.MULTILINE) and screen.startswith("00:")
        shown.until(r"one\\x")
        if rows >= 24:
            shown.until(r"^@lat = quantize")
            heat = re.search(r"^ +16( .*)?$", shown.screen(), re.MULTILINE)
            assert ("@" in (heat[1] or "")) == bool(environment)
        shown.type("/", "cart", "Enter")
        assert not re.search(r"^/ +100 ", shown.until("/cart +q quit|  /cart"), re.MULTILINE)
        shown.resize(60, 20)
        shown.until("^─ printed ─{50}$")
        shown.type("q")
        screen = shown.until(r"status 0")
        program.stdin.close()
    assert "every" not in screen  # the terminal is as it was, with dtrace's tables on it
    assert re.search(r"^ +32 \|@+ +\d+$", screen, re.MULTILINE)
    assert re.search(
        r"^dtrace: script 'script.d' matched \d+ probes?$",
        (tmp_path / "messages").read_text(),
        re.MULTILINE,
    )


def test_ctrl_c_and_kill(terminal, tmp_path):
    shown = terminal(80, 24)
    with begin(shown, tmp_path) as program:
        shown.until("^@calls")
        shown.type("C-c")
        shown.until("^status 0")
        program.stdin.close()
    shown.type("stty -a | grep -o ' icanon'", "Enter")
    shown.until("^ icanon")


def test_without_a_terminal():
    result = harness.run([harness.PYDTRACE, "--live", "-n", "BEGIN"])
    assert (result.status, result.stdout) == (1, "")
    assert result.stderr.endswith(
        "dtrace: --live needs a terminal; --web shows the same in a browser\n"
    )


def test_in_the_background_of_its_terminal(terminal):
    """The terminal would stop it. A script's timeout puts its command there."""
    shown = terminal(100, 24)
    shown.type(f"sh -c 'timeout 30 {harness.PYDTRACE} --live -n BEGIN; echo status $?'", "Enter")
    screen = shown.until(r"^status \d+")
    assert "status 1" in screen and "--live has to run in the foreground of its terminal" in (
        " ".join(screen.split())
    ), screen
