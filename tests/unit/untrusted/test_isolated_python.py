"""The Pythons that pyusdt starts for itself import nothing from the current folder, and nothing that the environment names."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import pyusdt
from pydtrace.consumer import cluster
from pydtrace.process.identity import start_ticks
from pydtrace.sinks.alerts.alert_receivers import StackDump
from pydtrace.untrusted.isolated_python import isolated_command
from pyusdt.vm import target_python

SOURCES = Path(pyusdt.__file__).parents[1]
MODULES = (
    "asyncio",
    "ctypes",
    "importlib",
    "json",
    "os",
    "pyusdt",
    "signal",
    "sitecustomize",
    "struct",
    "subprocess",
    "threading",
    "usercustomize",
)
# What runs the user's own program, in the place of the Python that the user has started.
NOT_FOR_ITSELF = {"__main__.py"}


@pytest.fixture
def stranger(tmp_path, monkeypatch):
    """The current folder has modules that say that they were imported; so has one that the environment names."""
    for folder in (tmp_path / "current", tmp_path / "named"):
        folder.mkdir()
        for name in MODULES:
            (folder / f"{name}.py").write_text(
                f"open({str(tmp_path / 'imported')!r}, 'a').write(__file__)\n"
            )
    (tmp_path / "startup.py").write_text(
        f"open({str(tmp_path / 'imported')!r}, 'a').write(__file__)\n"
    )
    monkeypatch.chdir(tmp_path / "current")
    yield tmp_path
    assert not (tmp_path / "imported").exists(), (tmp_path / "imported").read_text()


@pytest.fixture
def environment(stranger, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", f"{stranger / 'named'}:")
    monkeypatch.setenv("PYTHONSTARTUP", str(stranger / "startup.py"))
    monkeypatch.setenv("PYTHONINSPECT", "1")


@pytest.mark.parametrize("path", ["named:", ":", "."])
def test_nothing_of_the_folder_or_the_environment(stranger, environment, monkeypatch, path):
    monkeypatch.setenv("PYTHONPATH", path.replace("named", str(stranger / "named")))
    program = f"import sys, pyusdt, {', '.join(MODULES[:-1]).replace('sitecustomize, ', '')}; print(pyusdt.__file__, *sys.argv[1:])"
    done = subprocess.run(
        isolated_command(program, "-q", "two words"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{SOURCES / 'pyusdt' / '__init__.py'} -q two words\n" and not done.stderr


def test_what_this_process_could_import(stranger, tmp_path, monkeypatch):
    """A module of PYTHONPATH or of the user's own packages, but none of what `python -m` adds."""
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "further.py").write_text("")
    (stranger / "current" / "other.py").write_text("")
    monkeypatch.setattr(sys, "path", ["", ".", os.getcwd(), *sys.path, str(tmp_path / "more")])
    for module, status in (("further", 0), ("other", 1)):
        done = subprocess.run(
            isolated_command(f"import {module}"), capture_output=True, text=True, check=False
        )
        assert done.returncode == status, done


def test_a_dump(stranger, environment):
    assert "pytest" in StackDump(os.getpid(), start_ticks(os.getpid())).read_text()


def test_the_question_to_another_interpreter(stranger):
    """That of the command of -c, which reads its environment as that does."""
    answer = subprocess.run(
        [sys.executable, "-c", target_python._QUESTION, target_python._LOAD_PROVIDER],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert answer.split()[:3] == [str(sys.version_info[0]), str(sys.version_info[1]), "True"]


def test_a_tracer_in_a_cluster(stranger, environment):
    import asyncio

    async def begin_and_end():
        folder = await cluster.start_tracer()
        await cluster.exchange_bytes(folder, cluster._REQUEST.pack(0, 0, 0, True))

    asyncio.run(begin_and_end())


def commands(path: Path):
    """The lists of a source that begin with an interpreter, and their lines."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, (ast.List, ast.Tuple)) and node.elts:
            first = ast.unparse(node.elts[0])
            if first == "sys.executable" or (
                isinstance(node.elts[0], ast.Constant)
                and str(node.elts[0].value).startswith("python")
            ):
                yield f"{path.name}:{node.lineno}", [ast.unparse(each) for each in node.elts[1:2]]


def test_every_interpreter_is_isolated():
    """Of all sources; a command line that is made in another way is not found: isolated_command() is there to make them."""
    found = {
        where: option
        for package in ("pyusdt", "pydtrace")
        for path in (SOURCES / package).rglob("*.py")
        if path.name not in NOT_FOR_ITSELF
        for where, option in commands(path)
    }
    assert found and all(option == ["'-I'"] for option in found.values()), found
