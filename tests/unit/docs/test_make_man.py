"""The manual pages: as docs/reference and the tables of options have them now, and as man(1) reads them."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from pydtrace.cli.commands.main import COMMANDS
from pydtrace.cli.parsing.options_table import DTRACE_OPTIONS, PYDTRACE_OPTIONS
from tests.support.paths import ROOT

DOCS = Path(ROOT) / "docs"
PAGES = ["pydtrace", "pyusdt"]


def shown(name):
    """What a reader sees, without the overstrikes of bold."""
    done = subprocess.run(
        ["groff", "-man", "-ww", "-Kutf8", "-Tutf8", "-P-cbou", DOCS / "man" / f"{name}.1"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={**os.environ, "GROFF_NO_SGR": "1"},
    )
    assert done.stderr == ""
    return " ".join(done.stdout.split())


@pytest.mark.parametrize("name", PAGES)
def test_page_is_made_of_its_sources(name):
    made = subprocess.run(
        [sys.executable, DOCS / "make_man.py", "--print", name],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert (DOCS / "man" / f"{name}.1").read_text(encoding="utf-8") == made.stdout, (
        "run docs/make_man.py"
    )


def test_every_option_of_pydtrace_is_explained():
    text = shown("pydtrace")
    options = [each for each in (*DTRACE_OPTIONS, *PYDTRACE_OPTIONS) if each.help]
    assert [each.name for each in options if each.synopsis.replace("\\", "") not in text] == []
    assert "-n 'CLAUSES', -s FILE" in text and "kill $!; wait" in text and r"(\x1b)" in text


def test_every_command_of_pyusdt_is_explained():
    text = shown("pyusdt")
    assert [
        name for name, each in COMMANDS.items() if each.help and f"pyusdt {name}" not in text
    ] == []
    assert "source <(pyusdt completion bash)" in text


def test_a_page_of_the_guide_is_named_by_the_command_that_shows_it():
    made = runpy.run_path(str(DOCS / "make_man.py"))
    command = r"\fBpyusdt help \%timeline\fR"
    assert made["inline"]("[timeline](../howto/timeline.md#tracks)") == command
    assert made["inline"]("[lines](../howto/timeline.md)") == f"lines ({command})"
    assert made["inline"]("[below](#x) [of it](../internals/ring.md)") == "below of it"
    assert ".md" not in shown("pydtrace") + shown("pyusdt")
