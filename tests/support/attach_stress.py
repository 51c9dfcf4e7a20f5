"""Attaches to a program under load and detaches again, over and over: no crash, lost signal, stopped thread or wrong byte.

Input: attach_load.py's program; its letters say which load.
Output: Account; as a program one line of JSON for each load.

`python -m tests.support.attach_stress ROUNDS FILE [VERSION… | LETTERS…]` appends to FILE.

- All threads go on: each makes progress between two checks.
- After each detach the program is as it was before the first attach, also its ring and the places of the texts.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pydtrace import _tracer
from pydtrace.attach.run_statement import Target
from pydtrace.cli.commands import attach
from pydtrace.cli.commands.attach import NotAttached, attach_provider, detach_provider
from tests.support import harness, python_builds
from tests.support.attach_load import Load, counted_signals, loaded

# letters of attach_loads.py
LOADS = {
    "CPU": "ts",
    "I/O": "is",
    "C code with the GIL": "gs",
    "threads come and go": "ns",
    "fork storm": "fs",
    "pending calls, sub-interpreters": "tspx",
}
TIMEOUT = 60.0  # seconds that the program may take to begin: its C code keeps the GIL
_CHECK_EACH = 25
_STAYS = ("modules", "names", "descriptors", "finders", "wrapped", "errors")


@contextlib.contextmanager
def extensions_of_all_versions():
    """This process's attach finds those of python_builds."""
    before = attach._PACKAGE, attach._LOADER
    package = os.path.join(python_builds.ROOM, "pyusdt")
    python_builds.build(sys.executable)  # the tracer's own files are beside them
    attach._PACKAGE = package
    attach._LOADER = os.path.join(package, os.path.relpath(before[1], before[0]))
    try:
        yield
    finally:
        attach._PACKAGE, attach._LOADER = before


@dataclass
class Account:
    """What was done to a program, and what came of it."""

    attaches: int = 0
    detaches: int = 0
    kills: int = 0
    stops: int = 0
    seconds: float = 0.0
    signals: int = 0  # that the program counted
    refusals: Counter[str] = field(default_factory=Counter)
    stood: list[int] = field(default_factory=list)  # microseconds of each stop of all threads
    until_done: list[int] = field(
        default_factory=list
    )  # milliseconds from the call of attach to its return

    def note_refusal(self, error: NotAttached) -> None:
        self.refusals[re.sub(r"\d+", "N", str(error)).partition("\n")[0]] += 1


class _TimedEntry(_tracer.RingEntry):
    """Notes how long the threads stood."""

    account = Account()

    def put(self, *arguments):
        return self._note(super().put(*arguments))

    def mend(self, *arguments):
        return self._note(super().mend(*arguments))

    def withdraw(self, *arguments):
        return self._note(super().withdraw(*arguments))

    def _note(self, result):
        if not result[0]:
            self.account.stood.append(round(result[4] * 1e6))
        return result


@contextlib.contextmanager
def timing(account: Account):
    """Stops of threads and the time go into the account."""
    before, begun = _tracer.RingEntry, time.monotonic()
    _TimedEntry.account = account
    _tracer.RingEntry = _TimedEntry
    try:
        yield
    finally:
        _tracer.RingEntry = before
        account.seconds += time.monotonic() - begun


# --- what must not have changed ---------------------------------------------------------------


def wait_for_progress(load: Load) -> None:
    """All threads of the program go on, and its main thread."""
    before = load.ask()
    end = time.monotonic() + 30
    while True:
        now = load.ask()
        went_on = [a < b for a, b in zip(before["progress"], now["progress"], strict=True)]
        if all(went_on) and now["rounds"] > before["rounds"]:
            return
        assert time.monotonic() < end, (before, now)
        time.sleep(0.01)


def check_threads(pid: int) -> None:
    """None is stopped, none is traced."""
    for each in Path(f"/proc/{pid}/task").iterdir():
        try:
            status = (each / "status").read_text()
        except OSError:
            continue  # it has ended
        assert re.search(r"^State:\t[^tT]", status, re.MULTILINE), status
        assert re.search(r"^TracerPid:\t0$", status, re.MULTILINE), status


def check_program(load: Load, before: dict) -> dict:
    """It is as it was.  A thread of the load may just have a file open."""
    check_threads(load.pid)
    end = time.monotonic() + 10
    while True:
        now = load.ask()
        now["descriptors"] = max(now["descriptors"], before["descriptors"])
        changed = {key: (before[key], now[key]) for key in _STAYS if now[key] != before[key]}
        if not changed:
            break
        assert time.monotonic() < end, changed
    assert now.get("missing", [0, 0]) == [0, 0], now
    wait_for_progress(load)
    return now


class Slots:
    """The bytes of a program that a text may lie in."""

    def __init__(self, pid: int):
        target = Target(pid)
        self._memory, self._slots = target.python.memory, target.entry.slots
        self._before = self._read()

    def check(self) -> None:
        assert self._read() == self._before

    def _read(self) -> list[bytes]:
        return [self._memory.read(each, _tracer.SLOT_SIZE) for each in self._slots]


# --- rounds -----------------------------------------------------------------------------------


def attach_again_and_again(load: Load, rounds: int, account: Account) -> None:
    """Attach, detach."""
    wait_for_progress(load)  # all of it has begun
    before, slots = load.ask(), Slots(load.pid)
    with timing(account):
        for number in range(1, rounds + 1):
            begun = time.monotonic()
            try:
                assert attach_provider(load.pid, TIMEOUT)
            except NotAttached as error:
                account.note_refusal(error)
                settle_provider(load.pid, account)
                continue
            account.until_done.append(round(1000 * (time.monotonic() - begun)))
            account.attaches += 1
            detach_provider(load.pid, TIMEOUT)
            account.detaches += 1
            if number % _CHECK_EACH == 0 or number == rounds:
                now = check_program(load, before)
                assert not account.signals or now["signals"] > account.signals
                account.signals = now.get("signals", 0)
    slots.check()


def run_load(python: str, letters: str, rounds: int) -> Account:
    account = Account()
    with loaded(python, letters, counted_signals()) as load:
        attach_again_and_again(load, rounds, account)
        load.end()
    return account


def attach_until_killed(load: Load) -> int:
    """A child process that attaches and detaches without an end."""
    child = os.fork()
    if child:
        return child
    try:
        while True:
            with contextlib.suppress(NotAttached):
                attach_provider(load.pid, TIMEOUT)
                detach_provider(load.pid, TIMEOUT)
    finally:
        os._exit(1)


def _find_children(pid: int) -> list[int]:
    try:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def disturb_tracer(load: Load, chance: random.Random, account: Account) -> None:
    """Kills or stops a tracer at a random moment, and often the child that holds the threads."""
    tracer = attach_until_killed(load)
    stopped: list[int] = []  # a child that had no timer yet would stay stopped
    try:
        time.sleep(chance.uniform(0, 0.15))
        until = time.monotonic() + 0.5
        while chance.random() < 0.999 and time.monotonic() < until:
            children = _find_children(tracer)
            if children:
                time.sleep(chance.choice([0, 0, 0.0001, 0.0003]))
                with contextlib.suppress(ProcessLookupError):
                    stopped.append(os.pidfd_open(children[0]))
                    how = chance.choice([signal.SIGKILL, signal.SIGSTOP])
                    signal.pidfd_send_signal(stopped[0], how)
                break
        if chance.random() < 0.5:
            os.kill(tracer, signal.SIGSTOP)
            account.stops += 1
            time.sleep(0.3)  # the kernel's timer ends what it had begun
            wait_for_progress(load)
    finally:
        os.kill(tracer, signal.SIGKILL)
        os.waitpid(tracer, 0)
        for each in stopped:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(each, signal.SIGKILL)
            os.close(each)
    account.kills += 1


def attach_beside_killed_tracers(
    load: Load, rounds: int, account: Account, chance: random.Random
) -> None:
    """After each of them the program goes on, and another tracer attaches and detaches."""
    wait_for_progress(load)
    before = load.ask()
    for _ in range(rounds):
        disturb_tracer(load, chance, account)
        wait_for_progress(load)
        with timing(account):
            settle_provider(load.pid, account)
        check_program(load, before)


def settle_provider(pid: int, account: Account) -> None:
    """In, and out again, whatever a killed tracer has left."""
    end = time.monotonic() + TIMEOUT
    while True:
        try:
            attach_provider(pid, TIMEOUT)
            detach_provider(pid, TIMEOUT)
        except NotAttached as error:  # the killed one's entry ran between the two
            account.note_refusal(error)
            assert time.monotonic() < end, error
            time.sleep(0.05)
            continue
        account.attaches += 1
        account.detaches += 1
        return


def main() -> None:
    rounds, path, *chosen = sys.argv[1:]
    versions = [each for each in harness.VERSIONS if each in chosen] or harness.VERSIONS
    loads = [each for each in LOADS.values() if each in chosen] or list(LOADS.values())
    for version in versions:
        python = python_builds.find(version)
        assert python
        python_builds.build(python, only_core=True)
        for letters in loads:
            with extensions_of_all_versions():
                account = run_load(python, letters, int(rounds))
            with open(path, "a") as file:
                print(
                    json.dumps({"version": version, "load": letters, **asdict(account)}),
                    file=file,
                    flush=True,
                )


if __name__ == "__main__":
    main()
