"""Attach to builds of CPython other than those of test_attach.py: Debian's own, its debug build, musl.

Input: the packages python3.11 and python3.11-dbg; .ci/wheel-pythons musl.

- The extension of a release build serves the debug build of the same version: Python loads it there.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pydtrace.attach import run_statement, text_slots
from pydtrace.cli.commands import attach
from tests.support import harness, python_builds
from tests.support.attach_load import counted_signals, loaded
from tests.support.attach_stress import (
    LOADS,
    Account,
    NotAttached,
    Slots,
    attach_again_and_again,
    attach_provider,
    detach_provider,
    extensions_of_all_versions,
)
from tests.support.python_vm_scripts import by_function

pytestmark = pytest.mark.xdist_group("integration/test_attach")
OWN = f"3.{sys.version_info[1]}"
DEBIAN = {"Debian": f"/usr/bin/python{OWN}", "Debian, debug": f"/usr/bin/python{OWN}-dbg"}
ROUNDS = int(os.environ.get("PYUSDT_TEST_ROUNDS", "5"))
COUNTS = "python$target::work:function-entry { @[probefunc] = count(); } python$target::work:function-entry { exit(0); }"


@pytest.fixture(autouse=True)
def all_versions():
    with extensions_of_all_versions():
        yield


def find_debian(build: str) -> str:
    if not os.path.exists(DEBIAN[build]):
        pytest.skip(f"host: no {DEBIAN[build]}")
    return DEBIAN[build]


def stress(python: str, letters: str, *libraries: str) -> None:
    account = Account()
    with loaded(python, letters, *libraries) as load:
        attach_again_and_again(load, ROUNDS, account)
        load.end()
    assert account.attaches == account.detaches == ROUNDS and not account.refusals, account


@pytest.mark.parametrize("build", DEBIAN)
@pytest.mark.parametrize("load", ["threads come and go", "pending calls, sub-interpreters"])
def test_again_and_again(build, load):
    stress(find_debian(build), LOADS[load], counted_signals())


@pytest.mark.parametrize("build", DEBIAN)
def test_a_tracer_brings_it_in_and_takes_it_out(build):
    with loaded(find_debian(build), "t") as load:
        before = load.ask()["modules"]
        command = [*python_builds.pydtrace(), "--attach", "-q", "-n", COUNTS, "-p", str(load.pid)]
        run = harness.run(command, timeout=60)
        assert (run.status, run.stderr) == (0, "") and by_function(run)["work"] >= 1, run
        assert load.ask()["modules"] == before == []
        load.end()


def test_a_build_whose_objects_begin_with_more(monkeypatch):
    """Py_TRACE_REFS, up to 3.12."""
    monkeypatch.setattr(run_statement, "_OF_TRACED_REFS", "PyRun_SimpleString")
    with loaded(sys.executable) as load:
        with pytest.raises(NotAttached, match="is a build of CPython with Py_TRACE_REFS"):
            attach_provider(load.pid)
        load.end()


def test_a_program_without_the_function(monkeypatch):
    """PyInstaller and Nuitka make such ones."""
    monkeypatch.setattr(run_statement, "_FUNCTION", "PyRun_Nothing")
    with loaded(sys.executable) as load:
        with pytest.raises(NotAttached, match="does not export PyRun_Nothing"):
            attach_provider(load.pid)
        load.end()


# --- musl -------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["3.10", OWN, "3.14"])
def test_places_that_the_process_may_only_read(other_core, version, monkeypatch):
    """As on musl: nothing of the text stays there."""
    monkeypatch.setattr(text_slots, "uses_musl", lambda python: True)
    with loaded(other_core(version), "t") as load:
        slots = Slots(load.pid)
        for _ in range(ROUNDS):
            assert attach_provider(load.pid, 20)
            detach_provider(load.pid, 20)
        slots.check()
        load.end()


def test_a_tracer_without_an_extension_for_musl(monkeypatch):
    monkeypatch.setattr(attach, "uses_musl", lambda python: True)
    monkeypatch.setattr(attach, "_MUSL_SUFFIX", "-none.so")  # a test may have built one
    with loaded(sys.executable) as load:
        with pytest.raises(NotAttached, match=r"uses musl, .*\n.*in the container"):
            attach_provider(load.pid)
        load.end()


@pytest.mark.long
@pytest.mark.parametrize("load", ["t", "i", "g", "n", "f", "tpx"])
@pytest.mark.parametrize("suite, version", [("trixie", "3.13"), ("bookworm", "3.11")])
def test_musl(suite, version, load):
    command = [os.path.join(harness.ROOT, ".ci", "wheel-pythons"), "musl", suite, version]
    made = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    python = f"{made}/root/usr/local/bin/python{version}"
    python_builds.build(python, only_core=True)
    stress(python, load)
