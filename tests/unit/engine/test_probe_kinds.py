"""The one table of which engine a description is for: the code's, and the page's, row by row."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from pydtrace.engine import probe_kinds
from pydtrace.engine.probe_kinds import (
    ABSENT,
    BUILTIN,
    EMBEDDED,
    KERNEL,
    OTHER,
    PENDING,
    PRESENT,
    PYUSDT_PENDING,
    REFUSED,
    TRACER,
)
from tests.support.paths import ROOT

COLUMNS = [PRESENT, PENDING, PYUSDT_PENDING, ABSENT]


def kind(text: str) -> str:
    provider, module, function, name = text.split(":")
    return probe_kinds.probe_kind(
        SimpleNamespace(provider=provider, module=module, function=function, name=name)
    )


@pytest.mark.parametrize(
    ("what", "descriptions"),
    [
        (TRACER, [":::BEGIN", "dtrace:::END", ":::tick-1s", "profile:::profile-99"]),
        (
            BUILTIN,
            [
                "pyusdt*:::user_trace-i4s4",
                "pyusdt12:::user_trace-n1",
                "erlang*:::spawn",
                "python7:m:f:function-entry",
                "http*:::request-done",
                "db9:::query-start",
                "otel*:::span-end",
                "log*:::record",
            ],
        ),
        (
            KERNEL,
            [
                "pid12:libc:malloc:entry",
                "pid*:a.out:main:return",
                "p*d12:::entry",
                "syscall::read:entry",
                "rawtp:sched::sched_switch",
                "proc:::exec",
                "sched:::on-cpu",
                "io:::start",
                "tcp:::send",
                "ip:::send",
                "udp:::receive",
            ],
        ),
        (
            OTHER,
            [
                "php*:::function-entry",
                "hotspot77:::gc-begin",
                "libstdcxx*:::throw",
                "shop5:::order-placed",
                "postgresql*:::query-start",
                "pyvm*:::line",
            ],
        ),
        (probe_kinds.ANY, [":::user_trace-i4s4", "*:::throw", "::malloc:entry"]),
    ],
)
def test_kinds(what, descriptions):
    assert {text: kind(text) for text in descriptions} == dict.fromkeys(descriptions, what)


def rows() -> list[list[str]]:
    """The cells of the page's table."""
    with open(os.path.join(ROOT, "docs/reference/pydtrace.md")) as file:
        text = file.read().partition("## Which engine")[2].partition("\n- ")[0]
    text = text[text.index("| description |") :]
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("|")
    ][2:]


def test_the_page_and_the_code_have_one_table():
    wanted, row = {}, {}
    for cells in rows():
        row = (
            row
            if cells[0].startswith("the same")
            else {
                "what": BUILTIN
                if "pyusdt*" in cells[0]
                else KERNEL
                if "syscall" in cells[0]
                else OTHER
            }
        )
        users = (True, False) if ";" not in cells[0] else (cells[0].endswith("root"),)
        for root in users:
            wanted |= {
                (row["what"], root, who): cell.partition(",")[0]
                for who, cell in zip(COLUMNS, cells[1:], strict=True)
            }
    assert wanted == probe_kinds.TABLE_OF_ENGINES
    assert {EMBEDDED, KERNEL, REFUSED} == set(wanted.values())


@pytest.mark.parametrize(
    ("line", "loads"),
    [
        ("python app.py", True),
        ("/usr/bin/python3.12 -m app", True),
        ("env X=1 python3 x.py", True),
        ("erl -noshell", True),
        ("sh -c", False),
        ("java -jar x.jar", False),
        ("./dl", False),
        ("php x.php", False),
    ],
)
def test_commands_that_load_pyusdt(line, loads):
    assert probe_kinds.may_load_pyusdt(line.split()) == loads


def test_a_shell_line_with_a_python_in_it():
    assert probe_kinds.may_load_pyusdt(["sh", "-c", "sleep 1; exec python3 app.py"])
    assert not probe_kinds.may_load_pyusdt(["sh", "-c", "sleep 1; exec php app.php"])


def test_a_script_of_python(tmp_path):
    path = tmp_path / "tool"
    path.write_text("#!/usr/bin/env python3\n")
    path.chmod(0o755)
    assert probe_kinds.may_load_pyusdt([str(path)])
    assert probe_kinds.may_load_pyusdt(["timeout", "5", str(path)])


def test_a_program_with_the_core(tmp_path):
    """The core's strings are in every program that is linked with it: its extension for Python stands for one here."""
    from pyusdt import _core

    assert probe_kinds.may_load_pyusdt([_core.__file__])
    assert not probe_kinds.may_load_pyusdt(["/bin/true"])
    (tmp_path / "text").write_bytes(b"\0PYUSDT_RUNDIR\0")
    assert not probe_kinds.may_load_pyusdt([str(tmp_path / "text")])
