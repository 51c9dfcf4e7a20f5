"""Both commands where a standard stream is closed, full or gone, and with names that are no text."""

import ctypes
import os
import struct
import subprocess
import sys

import pytest

from pydtrace.cli.commands import doctor, main
from pydtrace.cli.commands.list_command import ListedProbe
from pydtrace.cli.pydtrace import dtrace_l

pytestmark = pytest.mark.own_processes
FOLDER = os.path.dirname(sys.executable)
PRINTS = ["-qn", "BEGIN { trace(1); exit(0); }"]
COMMANDS = [
    ("dtrace", "pydtrace", words)
    for words in (PRINTS, ["--json", *PRINTS], ["-l"], ["-V"], ["--dump=ast", *PRINTS])
]
COMMANDS += [("pyusdt", "pyusdt", words) for words in (["list"], ["doctor"])]
by_words = pytest.mark.parametrize(
    "said, command, words", COMMANDS, ids=lambda part: part[0] if isinstance(part, list) else ""
)


def run(command, words, redirected, **streams):
    """(status, standard error); redirected: in the shell's words."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {redirected}', "sh", os.path.join(FOLDER, command), *words],
        text=True,
        timeout=30,
        check=False,
        env=environment,
        **{"stderr": subprocess.PIPE, **streams},
    )
    return done.returncode, done.stderr


@by_words
@pytest.mark.parametrize(
    "redirected, why",
    [(">/dev/full", "No space left on device"), ("<&- >&-", "Bad file descriptor")],
)
def test_what_can_not_be_printed_is_told(said, command, words, redirected, why):
    assert run(command, words, redirected) == (1, f"{said}: failed to write to <stdout>: {why}\n")


@by_words
def test_a_reader_that_is_gone_is_told_nothing(said, command, words):
    reader, writer = os.pipe()
    os.close(reader)
    assert run(command, words, "", stdout=writer) == (-13 if command == "pydtrace" else 1, "")
    os.close(writer)


def test_messages_that_nobody_wants_are_not_among_the_output():
    done = subprocess.run(
        [
            "sh",
            "-c",
            'exec "$@" 2>&-',
            "sh",
            os.path.join(FOLDER, "pydtrace"),
            "--json",
            "-n",
            "BEGIN { exit(0); }",
        ],
        stdout=subprocess.PIPE,
        text=True,
        timeout=30,
        check=False,
    )
    assert [line[:9] for line in done.stdout.splitlines()] == ['{"type":"'] * 2, done


def test_no_file_gets_the_output_for_its_own(tmp_path):
    """The lowest descriptor that is free is the next file's."""
    path = tmp_path / "recording"
    status, _ = run(
        "pydtrace", ["--record", str(path), "-qn", 'BEGIN { printf("words"); exit(0); }'], "<&- >&-"
    )
    assert status == 1 and b"words" not in path.read_bytes()


# ---- names ----


def note(*texts):
    content = struct.pack("=QQQ", 4096, 0, 0) + b"".join(text + b"\0" for text in texts)
    return (
        struct.pack("=III", 8, len(content), 3)
        + b"stapsdt\0"
        + content.ljust(-(-len(content) // 4) * 4, b"\0")
    )


def test_a_file_can_not_command_the_terminal(tmp_path):
    """Names of probes are whatever the file says."""
    notes, names = (
        note(b"evil\x1b]0;mine\7\n", b"pr\xffobe\x1b[2J", b"8@%rdi\r\nok"),
        b"\0.note.stapsdt\0.shstrtab\0",
    )
    table = 64 + len(notes) + len(names)
    table += -table % 8
    header = struct.pack(
        "=16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 3, 62, 1, 0, 0, table, 0, 64, 56, 0, 64, 3, 2
    )
    rows = [
        (0,) * 10,
        (1, 7, 0, 0, 64, len(notes), 0, 0, 4, 0),
        (15, 3, 0, 0, 64 + len(notes), len(names), 0, 0, 1, 0),
    ]
    path = os.fsencode(tmp_path) + b"/evil\xff.so"
    with open(path, "wb") as file:
        file.write(
            (header + notes + names).ljust(table, b"\0")
            + b"".join(struct.pack("=IIQQQQIIQQ", *row) for row in rows)
        )
    done = subprocess.run(
        [os.path.join(FOLDER, "pyusdt"), "list", path], capture_output=True, timeout=30, check=True
    )
    _, line = done.stdout.decode(errors="surrogateescape").splitlines()
    assert line.split() == [
        r"evil\x1b]0;mine\x07\n",
        "pr\N{REPLACEMENT CHARACTER}obe\\x1b[2J",
        "-",
        "evil\udcff.so",
        r"8@%rdi\r\nok",
    ]


def test_names_in_columns():
    assert (
        main.format_probes([ListedProbe("a\x9b", "b", "c\n", "é d")]).splitlines()[1]
        == r"a\x9b     b      -   c\n     é d"
    )
    assert dtrace_l.format_rows([("a", "b", "\x1b[1m", "d")], [1]).split() == [
        "1",
        "a",
        "b",
        r"\x1b[1m",
        "d",
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="prctl()")
def test_a_process_may_be_called_anything():
    libc, before = ctypes.CDLL(None), ctypes.create_string_buffer(16)
    libc.prctl(16, before)
    libc.prctl(15, b"\xff\x1b[31m")
    try:
        first, *_ = doctor.check_process(os.getpid())
    finally:
        libc.prctl(15, before)
    assert (
        main.format_findings([first]).split("  ")[-1] == f"\\xff\\x1b[31m, of uid {os.geteuid()}\n"
    )
