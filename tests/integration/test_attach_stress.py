"""Attach and detach over and over, under each kind of load: nothing of the program changes.

Input: tests/support/attach_stress.py; PYUSDT_TEST_ROUNDS says how often (of each version and load).

- All signals of a timer at 1 kHz and all queued ones arrive, each thread goes on, what goes through a pipe, a socket and a
  file is what comes out, and no text stays in memory.
"""

from __future__ import annotations

import errno
import json
import os
import random
import re
import sys

import pytest

from pydtrace import _tracer
from pydtrace.attach.run_statement import Target
from pydtrace.attach.statement import DONE, WAITS, Statement
from pydtrace.attach.text_slots import find_empty
from tests.support import harness
from tests.support.attach_load import LOADS as PROGRAM
from tests.support.attach_load import Load, counted_signals, loaded
from tests.support.attach_stress import (
    LOADS,
    Account,
    NotAttached,
    Slots,
    attach_beside_killed_tracers,
    attach_provider,
    check_program,
    detach_provider,
    extensions_of_all_versions,
    run_load,
    settle_provider,
    wait_for_progress,
)

pytestmark = pytest.mark.xdist_group("integration/test_attach")
SHORT = {"3.10", f"3.{sys.version_info[1]}", "3.14"}
VERSIONS = [
    version if version in SHORT else pytest.param(version, marks=pytest.mark.long)
    for version in harness.VERSIONS
]
ROUNDS = int(os.environ.get("PYUSDT_TEST_ROUNDS", "5"))


@pytest.fixture(autouse=True)
def all_versions():
    with extensions_of_all_versions():
        yield


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


# words of a refusal that a program meets which becomes another: it is never said to be no Python
BECOMES = re.compile(
    r"has ended|has become another program|not started yet|not ready yet"
    r"|has run no Python code|nothing was brought into it"
)
# which ends
ENDS = re.compile(
    r"has ended|has become another program|is ending|not started yet|not ready yet"
    r"|not a CPython process|files say CPython|is not mapped as it says"
    r"|has run no Python code|nothing was brought into it"
    r"|no file that it has mapped leaves|its root folder cannot be looked at"
)


# between an attach and the look whether it was one, the other tracer detached
TAKEN_OUT = re.compile(r"nothing was brought into it|has no provider python")


def attach_from_two_processes(pid: int) -> list[str]:
    """All refusals."""
    read, write = os.pipe()
    child = os.fork()
    found = ["another error"]
    try:
        found = [attach_and_detach(pid) for _ in range(4 * ROUNDS)]
    finally:
        if child == 0:
            os.write(write, json.dumps(found).encode())
            os._exit(0)
    os.close(write)
    with open(read) as file:
        found += json.load(file)
    os.waitpid(child, 0)
    return found


def attach_and_detach(pid: int) -> str:
    """What it came to: "", or the refusal."""
    try:
        attach_provider(pid, 20)
        detach_provider(pid, 20)
    except NotAttached as error:
        return str(error)
    return ""


@pytest.mark.parametrize("version", VERSIONS)
def test_two_tracers_at_the_same_time(other_core, version):
    """Each of them attaches and detaches: what one finds the other one may just be taking out."""
    account = Account()
    with loaded(other_core(version), "t") as load:
        wait_for_progress(load)
        before = load.ask()
        found = attach_from_two_processes(load.pid)
        settle_provider(load.pid, account)
        check_program(load, before)
        load.end()
    assert not [each for each in found if each and not TAKEN_OUT.search(each)], found
    assert account.attaches == 1 and not account.refusals, account


@pytest.mark.parametrize("version", VERSIONS)
def test_a_program_that_becomes_another_all_the_time(other_core, version):
    """By os.execv()."""
    program = os.path.join(harness.PROGRAMS, "attach_becomes.py")
    with harness.running([other_core(version), program, str(4 * ROUNDS)]) as process:
        found = []
        while process.poll() is None:
            found.append(attach_and_detach(process.pid))
        run = harness.finish(process, 20)
    assert (run.status, run.stdout, run.stderr) == (0, "END\n", ""), run
    assert len(found) >= ROUNDS, found
    assert not [each for each in found if each and not BECOMES.search(each)]


@pytest.mark.parametrize("version", VERSIONS)
def test_an_interpreter_that_ends(other_core, version):
    """At any moment of an attach: it ends as it would have."""
    python, chance = other_core(version), random.Random(2)
    program = os.path.join(harness.PROGRAMS, "attach_ends.py")
    for _ in range(2 * ROUNDS):
        with harness.running([python, program, str(chance.randrange(400))]) as process:
            while process.poll() is None:
                refusal = attach_and_detach(process.pid)
                assert not refusal or ENDS.search(refusal), refusal
            run = harness.finish(process, 20)
        assert (run.status, run.stdout, run.stderr) == (0, "END\n", ""), run


@pytest.mark.parametrize("version", ["3.14", "3.15"])
def test_where_remote_debugging_is_off(other_core, version):
    """CPython's own way in is shut: sys.remote_exec() is refused, and the ring of pending calls is used."""
    python = other_core(version)
    environment = {**os.environ, "PYTHON_DISABLE_REMOTE_DEBUG": "1"}
    with loaded(python, "t", env=environment) as load:
        code = f"import sys; assert sys.is_remote_debug_enabled(); sys.remote_exec({load.pid}, {PROGRAM!r})"
        run = harness.run([python, "-c", code])
        assert run.status == 1 and "Error: " in run.stderr, run
        assert attach_and_detach(load.pid) == ""
        load.end()
    with harness.running([python, "-X", "disable-remote-debug", PROGRAM, "t"], stdin=-1) as process:
        assert process.stdout.readline() == "ready\n"
        load = Load(process)
        assert attach_and_detach(load.pid) == ""
        load.end()


@pytest.mark.parametrize("state", [DONE, WAITS])
def test_places_that_killed_tracers_have_left(other_core, state):
    """Their texts were run, or never will be, and fill all places: one is taken again."""
    with loaded(other_core(f"3.{sys.version_info[1]}"), "t") as load:
        target = Target(load.pid)
        free = find_empty(target.python, target.entry.slots)
        text = Statement.call("a", "b").make_text(load.pid, free[0])
        content = text.ljust(_tracer.SLOT_REPORT, b"\0") + state
        with open(f"/proc/{load.pid}/mem", "r+b", buffering=0) as memory:
            for each in free:
                memory.seek(each)
                memory.write(content)
        for _ in range(2):
            assert attach_and_detach(load.pid) == ""
        load.end()


class KilledEntry(_tracer.RingEntry):
    """Its first child is killed by the kernel's timer at a step: the text is there, perhaps an entry."""

    kills, stop_at = 1, 0

    def put(self, limit, slot, text, *more):
        if type(self).kills == 0:
            return super().put(limit, slot, text, *more)
        type(self).kills -= 1
        if self.stop_at == _tracer.STEP_ENTERED:
            while (done := super().put(limit, slot, text, *more)[:2])[0] == errno.EAGAIN:
                pass  # a thread got no processor in time
            assert done == (0, _tracer.RING_DONE)
        else:
            self.left = self.slots[slot]
            with open(f"/proc/{self.pid}/mem", "r+b", buffering=0) as memory:
                memory.seek(self.left)
                memory.write(text)
        raise InterruptedError(errno.EINTR, "killed")

    @property
    def slot(self):
        return super().slot or self.left

    @property
    def step(self):
        return self.stop_at


@pytest.mark.parametrize("step", [_tracer.STEP_TEXT, _tracer.STEP_ENTERED])
def test_a_killed_child_is_tried_again_and_leaves_no_text(other_core, monkeypatch, step):
    """One that was killed behind its last store is not: the statement would run twice."""
    with loaded(other_core(f"3.{sys.version_info[1]}"), "t") as load:
        slots = Slots(load.pid)
        for how in (attach_provider, detach_provider):
            monkeypatch.setattr(
                _tracer,
                "RingEntry",
                type("Killed", (KilledEntry,), {"kills": 1, "stop_at": step, "pid": load.pid}),
            )
            how(load.pid, 20)
        slots.check()
        load.end()
