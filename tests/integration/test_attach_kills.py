"""A tracer that is killed or stopped at each step of an attach: the program goes on, and can be attached to again.

Input: a build of c/attach/ with a hook between every two stores into the program (attach_main.c).

- A child that is stopped while the program's threads stand is killed by the kernel's timer.
"""

from __future__ import annotations

import errno
import os
import select
import signal as signals
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pydtrace import _tracer
from pydtrace.attach.run_statement import Target
from pydtrace.attach.text_slots import find_empty
from tests.support import harness, python_builds
from tests.support.attach_load import counted_signals, loaded

pytestmark = pytest.mark.xdist_group("integration/test_attach")
CORE = os.path.join(harness.ROOT, "c")
STORES, AROUND = range(1, 7), (10, 11, 12, 13)
VERSIONS = ["3.10", "3.13"]
# PTRACE_SEIZE of a thread
SEIZES = "import ctypes, time; print(ctypes.CDLL(None).ptrace(0x4206, {}, None, None), flush=True); time.sleep(60)"
BUSY = f"0 {-errno.EAGAIN} 0\n"  # a thread got no processor in time: nothing was stored
KILLED = f"{-errno.EINTR} 0 0\n"  # the child got none, and the kernel's timer ended it


@pytest.fixture(scope="module")
def injector(tmp_path_factory) -> str:
    program = str(tmp_path_factory.mktemp("attach") / "attach_main")
    files = ["attach/stop_process.c", "attach/ring_entry.c", "attach/inject.c"]
    files += [
        f"pystack/{name}.c"
        for name in ("cpython_offsets", "remote_memory", "ptrace_holder", "ptrace_holds")
    ]
    subprocess.run(
        [
            *(
                "gcc",
                "-std=gnu11",
                "-O1",
                "-g",
                "-DPYUSDT_ATTACH_HOOKS",
                f"-I{CORE}",
                "-o",
                program,
            ),
            os.path.join(harness.ROOT, "tests", "c", "attach_main.c"),
            *(os.path.join(CORE, name) for name in files),
            "-pthread",
        ],
        check=True,
    )
    return program


def free_slot(target: Target) -> int:
    return find_empty(target.python, target.entry.slots)[0]


def make_command(injector: str, target: Target, text: str, *more: str) -> list[str]:
    numbers = [target.pid, target.minor, target.python.runtime, target._find_function()]
    return [injector, *map(str, numbers), str(free_slot(target)), text, *more]


def inject(injector: str, target: Target, text: str, *more: str, **environment: str) -> harness.Run:
    for _ in range(20):
        run = harness.run(
            make_command(injector, target, text, *more), env={**os.environ, **environment}
        )
        if run.stdout != BUSY and (environment or run.stdout != KILLED):
            break
    return run


def goes_on(load) -> None:
    before = load.ask()["rounds"]
    end = time.monotonic() + 10
    while load.ask()["rounds"] == before:
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("signal", ["kill", "stop"])
def test_at_each_step(injector, version, signal):
    python = python_builds.find(version)
    if python is None:
        pytest.skip(f"host: no CPython {version}")
    with loaded(python, "t") as load:
        for place in [*STORES, *AROUND]:
            target = Target(load.pid)
            slot = free_slot(target)
            run = inject(
                injector, target, "try:pass\nexcept:pass\n", HOOK=str(place), HOOK_SIGNAL=signal
            )
            assert run.stdout.split()[0] == "-4", (place, run)  # EINTR: the child was killed
            goes_on(load)
            assert "TracerPid:\t0\n" in Path(f"/proc/{load.pid}/status").read_text(), place
            with open(f"/proc/{load.pid}/mem", "r+b", buffering=0) as memory:
                memory.seek(slot)
                memory.write(bytes(_tracer.SLOT_SIZE))  # a killed tracer leaves it
        run = inject(injector, Target(load.pid), "try:pass\nexcept:pass\n")
        assert run.stdout == "0 0 0\n", run
        load.end()


def test_a_child_without_its_timer_ends_with_its_tracer(injector):
    """It is stopped before it has one."""
    with loaded(sys.executable, "t") as load:
        target = Target(load.pid)
        command = make_command(injector, target, "try:pass\nexcept:pass\n")
        environment = {**os.environ, "HOOK": "14", "HOOK_SIGNAL": "stop"}
        with harness.running(command, env=environment) as tracer:
            children = Path(f"/proc/{tracer.pid}/task/{tracer.pid}/children")
            harness.wait_until(lambda: children.read_text().split())
            child = int(children.read_text())
            harness.wait_until(lambda: "State:\tT" in Path(f"/proc/{child}/status").read_text())
            held = os.pidfd_open(child)
            try:
                tracer.kill()
                ended, _, _ = select.select([held], [], [], 10)
                if not ended:
                    signals.pidfd_send_signal(held, signals.SIGKILL)
                assert ended
            finally:
                os.close(held)
        goes_on(load)
        load.end()


def test_signals_of_threads_that_stop_too_late(injector):
    """The tracer gives up, as another one has the last thread; a signal comes before the first one is asked to stop."""
    with loaded(sys.executable, "ts", counted_signals()) as load:
        command = make_command(injector, Target(load.pid), "try:pass\nexcept:pass\n")
        last = max(int(each) for each in os.listdir(f"/proc/{load.pid}/task"))
        with harness.running([sys.executable, "-c", SEIZES.format(last)]) as other:
            assert other.stdout.readline() == "0\n"
            for _ in range(10):
                run = harness.run(command, env={**os.environ, "HOOK": "15", "HOOK_SIGNAL": "wait"})
                assert run.stdout == f"0 {-errno.EBUSY} 0\n", run
        assert load.ask()["missing"] == [0, 0]
        load.end()


@pytest.mark.parametrize("version", VERSIONS)
def test_what_runs_and_what_was_taken_back(injector, version, tmp_path):
    """An entry runs once, also in a program whose tracer was killed right behind the store that makes it visible."""
    python = python_builds.find(version)
    if python is None:
        pytest.skip(f"host: no CPython {version}")
    for place, runs in [("2", [0]), ("4", [0, 1]), ("5", [0, 1]), ("6", [1]), ("", [1])]:
        mark = tmp_path / f"mark{place}"
        text = f"try:open({str(mark)!r},'a').write('x')\nexcept:pass\n"
        with loaded(python, "t") as load:
            inject(injector, Target(load.pid), text, HOOK=place)
            if 0 not in runs:
                harness.wait_until(mark.exists)
            time.sleep(0.5)
            assert len(mark.read_text() if mark.exists() else "") in runs, place
            load.end()
