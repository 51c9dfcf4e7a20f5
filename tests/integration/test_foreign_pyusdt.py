"""Another project's package pyusdt is recognised, and never taken for ours."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import pyusdt
from tests.support import harness

pytestmark = pytest.mark.own_processes
FOREIGN = "the package pyusdt that is installed here is another project's, or is damaged"
KINDS = {
    "another's": "def profile(): pass\n",
    "another's, that lacks a module": "import absent_package\n",
    "another's beside our extension": "WHO = 'another'\n",
}


def make_foreign(folder, kind):
    (folder / "pyusdt").mkdir(parents=True)
    (folder / "pyusdt" / "__init__.py").write_text(KINDS[kind])
    if "beside" in kind:
        shutil.copy(pyusdt._core.__file__, folder / "pyusdt")
    return folder


def run(*command, **environment):
    return subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("command", ["pydtrace", "pyusdt"])
def test_commands_say_so(tmp_path, kind, command):
    path = os.path.join(os.path.dirname(sys.executable), command)
    done = run(path, "--version", PYTHONPATH=str(make_foreign(tmp_path, kind)))
    program = {"pydtrace": "dtrace", "pyusdt": "pyusdt"}[command]
    assert done.stderr.startswith(f"{program}: {FOREIGN}: `pip uninstall pyusdt pydtrace`"), done
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)


def test_import_of_ours_beside_a_foreign_extension(tmp_path):
    """Our __init__.py, and a _core that has none of our names."""
    folder = tmp_path / "pyusdt"
    folder.mkdir()
    shutil.copy(pyusdt.__file__, folder)
    (folder / "_core.py").write_text("")
    done = run(sys.executable, "-c", "import pyusdt", PYTHONPATH=str(tmp_path))
    assert (
        "of another version, or of another project: `pip uninstall pyusdt pydtrace`" in done.stderr
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("command", "what"),
    [
        ((harness.PYDTRACE, "-q", "-n", "python$target:::line { exit(0); }", "-c"), "the provider"),
        ((os.path.join(os.path.dirname(sys.executable), "pyusdt"), "run"), "probes"),
    ],
)
def test_it_is_not_brought_into_a_program(tmp_path, kind, command, what):
    """The program runs, with its own pyusdt; the line names the file."""
    venv.create(tmp_path / "venv", symlinks=True)
    (packages,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    make_foreign(packages, kind)
    program = tmp_path / "app.py"
    program.write_text("import sys\nprint('ran', 'pyusdt' in sys.modules)\n")
    line = [str(tmp_path / "venv/bin/python"), str(program)]
    done = run(*command, *([" ".join(line)] if "-c" in command else line))
    assert "ran False\n" in done.stdout, done
    init = packages / "pyusdt" / "__init__.py"
    assert f"pyusdt: {what}" in done.stderr
    assert f"its package pyusdt ({init}) is another project's\n" in done.stderr, done


def test_another_interpreter_has_it(tmp_path):
    """One that is asked before the command runs: the question names the file that it found."""
    from pyusdt.vm import target_python

    make_foreign(tmp_path, "another's")
    other = tmp_path / "python3"
    other.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path} exec {sys.executable} "$@"\n')
    other.chmod(0o755)
    reason = target_python.inspect_interpreter(str(other)).reason
    assert reason == (
        f"the package pyusdt of {other} is another project's: {Path(tmp_path, 'pyusdt/__init__.py')}"
    )
    (tmp_path / "pyusdt" / "__init__.py").unlink()  # a folder of the name is no package
    assert target_python.inspect_interpreter(str(other)).reason is None
