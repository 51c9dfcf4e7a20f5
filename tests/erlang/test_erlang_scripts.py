"""Each script of scripts/erl-*.d over work of programs/ that knows its own counts; test_erlang_newer_otp.py runs them on newer OTPs."""

from __future__ import annotations

import glob
import os

import pytest

from tests.support.erlang_script_cases import CASES, SCRIPTS, finds


@pytest.mark.parametrize("name", CASES)
def test_finds_what_the_work_did(erlang, epmd, name, tmp_path, monkeypatch):
    monkeypatch.setenv("VM_OPTIONS", "#{functions => [scripted]}")
    monkeypatch.setenv("VM_FOLDER", str(tmp_path))
    finds(erlang, name)


def test_every_script_has_a_case():
    """But for erl-dist, which needs two nodes: tests/erlang/test_erlang_vm.py runs it."""
    assert sorted([*CASES, "erl-dist"]) == sorted(
        os.path.basename(path)[:-2] for path in glob.glob(f"{SCRIPTS}/erl-*.d")
    )
