"""Attach and detach over and over, under each kind of load: nothing of the program changes.

Input: tests/support/attach_stress.py; PYUSDT_TEST_ROUNDS says how often (of each version and load).

- All signals of a timer at 1 kHz and all queued ones arrive, each thread goes on, what goes through a pipe, a socket and a
  file is what comes out, and no text stays in memory.
"""

from __future__ import annotations

import os
import random
import sys

import pytest

from tests.support import harness
from tests.support.attach_load import counted_signals, loaded
from tests.support.attach_stress import LOADS, Account, attach_beside_killed_tracers, run_load

pytestmark = pytest.mark.xdist_group("integration/test_attach")
SHORT = {"3.10", f"3.{sys.version_info[1]}", "3.14"}
VERSIONS = [
    version if version in SHORT else pytest.param(version, marks=pytest.mark.long)
    for version in harness.VERSIONS
]
ROUNDS = int(os.environ.get("PYUSDT_TEST_ROUNDS", "5"))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("load", LOADS)
def test_again_and_again(other_core, version, load):
    account = run_load(other_core(version), LOADS[load], ROUNDS)
    assert account.attaches == account.detaches == ROUNDS and not account.refusals, account
    assert account.signals > 0


@pytest.mark.parametrize("version", VERSIONS)
def test_tracers_that_are_killed_and_stopped_at_any_moment(other_core, version):
    account, chance = Account(), random.Random(1)
    with loaded(other_core(version), "tns", counted_signals()) as load:
        attach_beside_killed_tracers(load, ROUNDS, account, chance)
        load.end()
    assert account.attaches == account.kills == ROUNDS, account
