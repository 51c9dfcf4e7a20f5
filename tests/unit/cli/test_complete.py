"""Completion: what is offered at the end of a line, and each shell's own way of asking for it."""

import os
import pty
import re
import select
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

import pydtrace
from pydtrace.cli.commands import complete, list_command
from pydtrace.cli.commands.list_command import ListedProbe
from pydtrace.cli.commands.main import COMMANDS
from pydtrace.cli.parsing.options_table import DTRACE_OPTIONS, PYDTRACE_OPTIONS
from pydtrace.process import process_names
from pydtrace.remote_python import kept_exceptions
from tests.support import harness

BIN = os.path.dirname(sys.executable)


def offered(line):
    return [word for word, _ in complete.find_offers(line, COMMANDS)[1]]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("pydtrace -n", ["pydtrace", "-n"]),
        ("pydtrace -n ", ["pydtrace", "-n", ""]),
        ("", []),
        ("a 'b c", ["a", "b c"]),
        ('a "b ', ["a", "b "]),
        ("a \\", ["a", "\\"]),
        ("  a   b", ["a", "b"]),
        ("a 'b' ", ["a", "b", ""]),
    ],
)
def test_words_of_a_line(line, words):
    assert complete.split_words(line) == words


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("pydtrace --re", ["--record", "--replay", "--relay", "--ready"]),
        ("pydtrace --dump=", ["--dump=ast", "--dump=types", "--dump=bpf"]),
        ("pydtrace --dump t", ["types"]),
        ("pydtrace --color a", ["auto", "always"]),
        ("pydtrace -x bufp", ["bufpolicy"]),
        ("pydtrace -xq", []),
        ("pydtrace -s ", []),
        ("pydtrace -n 'BEGIN {", []),
        ("pydtrace -o x -s", ["-s"]),
        ("pydtrace ", []),
        ("/usr/bin/pydtrace --vers", ["--version"]),
        ("pyusdt do", ["doctor"]),
        ("pyusdt doctor --r", ["--report"]),
        ("pyusdt completion ", ["bash", "zsh", "fish"]),
        ("pyusdt nothing -", []),
        ("pyusdt", []),
        ("other -", []),
        ("", []),
    ],
)
def test_offers(line, words):
    assert offered(line) == words


def test_all_that_the_usage_lists_is_offered():
    """And nothing that it does not."""
    assert set(offered("pydtrace -")) == {
        each.flag for each in (*DTRACE_OPTIONS, *PYDTRACE_OPTIONS) if each.help
    }
    assert set(offered("pyusdt ")) == {name for name, each in COMMANDS.items() if each.help}


def test_probes_are_those_of_any_process(monkeypatch):
    numbered = [ListedProbe("pyusdt17", f"user_trace-n{i}", "m", "") for i in range(5)]
    monkeypatch.setattr(
        list_command,
        "list_published",
        lambda: [
            ListedProbe("shop17", "order", "m", ""),
            ListedProbe("shop18", "order", "m", ""),
            *numbered,
        ],
    )
    assert offered("pydtrace -n ") == ["pyusdt*:::user_trace-n*", "shop*:::order"]
    assert offered("pydtrace -qZn 'sho") == ["shop*:::order"]


@pytest.mark.parametrize("name", ["$(reboot)", "a b", "a\nb", "`x`", "\x1b[31m", "a;b", "a'b"])
def test_a_name_that_a_shell_would_read_is_not_offered(name, monkeypatch):
    """Any process chooses the names of its probes; root completes them."""
    monkeypatch.setattr(
        list_command,
        "list_published",
        lambda: [ListedProbe("shop1", name, "m", ""), ListedProbe(name, "order", "m", "")],
    )
    assert offered("pydtrace -n ") == []


def test_a_machine_where_nothing_can_be_found_out(monkeypatch):
    def fails():
        raise list_command.NotFound("no")

    monkeypatch.setattr(list_command, "list_published", fails)
    assert offered("pydtrace -n ") == []


@pytest.mark.parametrize(
    "line", ["pydtrace -p ", "pydtrace --wait ", "pyusdt doctor -p ", "pyusdt list --pid "]
)
def test_processes(line, monkeypatch):
    shown = {17: "python web.py\x1b[31m", 170: "db"}
    monkeypatch.setattr(process_names, "list_named", lambda: [(17, "python"), (170, "db")])
    monkeypatch.setattr(process_names, "display_name", shown.get)
    assert offered(line) == ["17", "170"]
    assert complete.format_offers("fish", line, COMMANDS) == "17\tpython web.py\\x1b[31m\n170\tdb\n"


def test_processes_with_exceptions(monkeypatch):
    """The youngest first, also those that have ended."""
    kept = [SimpleNamespace(pid=17), SimpleNamespace(pid=170)]
    monkeypatch.setattr(kept_exceptions, "list_all", lambda: kept)
    assert offered("pyusdt exceptions 1") == ["170", "17"]


def test_what_each_shell_reads(monkeypatch):
    monkeypatch.setattr(
        list_command, "list_published", lambda: [ListedProbe("shop1", "order", "m", "")]
    )
    line = "pydtrace -n shop*::"
    assert (
        complete.format_offers("bash", line, COMMANDS) == ":order\n"
    )  # which parts words at a colon
    assert complete.format_offers("zsh", line, COMMANDS) == "shop*\\:\\:\\:order:probe of shop\n"
    assert complete.format_offers("fish", line, COMMANDS) == "shop*:::order\tprobe of shop\n"


# ---- the shells themselves ----

ENVIRONMENT = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "TERM": "dumb"}


def test_bash():
    line = "pydtrace -n pyusdt*:::user_trace-i"
    script = (
        "source <(pyusdt completion bash); complete -p pydtrace\n"
        f"COMP_LINE='{line}' COMP_POINT={len(line)}; _pyusdt_complete; printf '<%s>' \"${{COMPREPLY[@]}}\""
    )
    done = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env=ENVIRONMENT,
    )
    assert done.stdout == "complete -o default -F _pyusdt_complete pydtrace\n<user_trace-i4s4>"


def test_fish():
    script = (
        "pyusdt completion fish | source; complete -C 'pydtrace --rep'; complete -C 'pyusdt li'"
    )
    done = subprocess.run(
        ["fish", "--no-config", "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env=ENVIRONMENT,
    )
    assert done.stdout.splitlines() == [
        "--replay\trun the script over the events of such a file",
        f"list\t{COMMANDS['list'].help}",
    ]


PROGRAM = """
import time
def price(cart_number): pass
print("ready", flush=True)
time.sleep(999)
"""


def test_zsh():
    """By a terminal: its completion works in no other way."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execvpe("zsh", ["zsh", "-f", "-i"], ENVIRONMENT)
    try:
        os.write(
            fd,
            b"autoload -U compinit; compinit -u -D; source <(pyusdt completion zsh); print re''ady\n",
        )
        read_until(fd, rb"ready")
        os.write(fd, b"pyusdt comple\t")
        read_until(fd, rb"pyusdt completion")
        os.write(fd, b"\x15pydtrace --repl\t")
        read_until(fd, rb"pydtrace --replay ")
        if os.geteuid() == 0:  # else the kernel may not let it read the process
            with harness.running([sys.executable, "-c", PROGRAM]) as program:
                assert program.stdout.readline() == "ready\n"
                line = "python$target::price:function-entry /local.cart_nu"
                os.write(fd, f"\x15pydtrace -p {program.pid} -n '{line}\t".encode())
                read_until(fd, rb"local\.cart_number")
    finally:
        os.close(fd)
        os.kill(pid, 9)
        os.waitpid(pid, 0)


def read_until(fd, pattern):
    seen, end = b"", time.monotonic() + 60
    while not re.search(pattern, seen):
        assert select.select([fd], [], [], end - time.monotonic())[0], seen
        seen += os.read(fd, 4096)


def test_the_scripts_are_installed():
    folder = os.path.join(os.path.dirname(pydtrace.__file__), "cli", "completions")
    assert sorted(os.listdir(folder)) == sorted(f"pyusdt.{shell}" for shell in complete.SHELLS)
