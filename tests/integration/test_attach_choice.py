"""`pyusdt attach` and `detach` of more than the named processes: --subprocesses, --cgroup, --wait."""

from __future__ import annotations

import contextlib
import os
import secrets
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from pydtrace.engine.embedded.young_processes import has_python_provider
from tests.support import harness
from tests.support.pyusdt_command import PYUSDT

pytestmark = pytest.mark.xdist_group("integration/test_attach")

FAMILY = """
    import os, subprocess, sys, time
    shell = subprocess.Popen(["sh", "-c", "sleep 600; :"])
    if len(sys.argv) > 1:
        child = os.fork()
        if child: print(child, shell.pid, flush=True)
    else:
        print("ready", flush=True)
    while True: time.sleep(0.01)
"""


def pyusdt(*arguments: object) -> harness.Run:
    return harness.run([PYUSDT, *map(str, arguments)], timeout=60)


@pytest.fixture
def family(tmp_path):
    """(parent, child, ids of all processes) of a program called by a name of its own."""
    program = tmp_path / f"f{secrets.token_hex(4)}.py"
    program.write_text(textwrap.dedent(FAMILY))
    with harness.running([sys.executable, str(program), "x"], start_new_session=True) as process:
        child, shell = map(int, process.stdout.readline().split())
        try:
            yield process.pid, child, [process.pid, child, shell], program.name
        finally:
            os.killpg(process.pid, 9)


@contextlib.contextmanager
def cgroup(pids: list[int]):
    """The path of a control group below /sys/fs/cgroup, with a group below that has these processes."""
    places = [each for each in ("/sys/fs/cgroup/freezer", "/sys/fs/cgroup") if os.path.isdir(each)]
    folder = Path(places[0], f"pyusdt-{secrets.token_hex(4)}")
    inner = folder / f"docker-{secrets.token_hex(32)}.scope"
    try:
        inner.mkdir(parents=True)
    except OSError as error:
        pytest.skip(f"host: no control group can be made: {error}")
    try:
        for pid in pids:
            (inner / "cgroup.procs").write_text(str(pid))
        yield inner
    finally:
        for pid in pids:
            with contextlib.suppress(OSError):
                Path(places[0], "cgroup.procs").write_text(str(pid))
        inner.rmdir()
        folder.rmdir()


def test_the_descendants(family):
    parent, child, _, name = family
    run = pyusdt("attach", "--subprocesses", parent)
    assert (run.status, run.stderr) == (0, ""), run
    assert run.stdout == f"attached to process {child} (python {name})\n"
    assert has_python_provider(parent) and has_python_provider(child)
    run = pyusdt("detach", "--subprocesses", parent)
    assert run.stdout == f"detached from process {child} (python {name})\n", run
    assert not has_python_provider(parent) and not has_python_provider(child)


def test_a_control_group(family, root):
    """By its path, by its name, by a container's id; a shell in it is left alone."""
    parent, child, pids, _ = family
    with cgroup(pids) as group:
        identity = group.name[len("docker-") :]
        for name in (group, group.parent, group.name, identity[:12]):
            run = pyusdt("attach", "--cgroup", name)
            assert (run.status, run.stderr) == (0, "") and run.stdout.count("\n") == 2, run
            assert has_python_provider(parent) and has_python_provider(child)
            run = pyusdt("detach", "--cgroup", name)
            assert (run.status, run.stderr) == (0, "") and run.stdout.count("\n") == 2, run
        run = pyusdt("detach", "--cgroup", group)
        assert run.status == 1 and "nothing was brought into any process of" in run.stderr, run
    run = pyusdt("attach", "--cgroup", group)
    assert run.status == 1 and "no process that this user can see" in run.stderr, run


def test_a_program_that_is_to_come(tmp_path):
    """By the name of its script, from its start on: its Python is not ready then."""
    program = tmp_path / f"w{secrets.token_hex(4)}.py"
    program.write_text(textwrap.dedent(FAMILY))
    command = [PYUSDT, "attach", "--wait", program.name]
    for _ in range(3):
        with harness.running(command) as waiting:
            assert waiting.stderr.readline().endswith(": waits for one\n")
            with harness.running([sys.executable, str(program)], start_new_session=True) as process:
                try:
                    run = harness.finish(waiting, 30)
                    assert (run.status, run.stderr) == (0, ""), run
                    assert f"attached to process {process.pid} (" in run.stdout, run
                    assert has_python_provider(process.pid)
                    assert process.stdout.readline() == "ready\n"
                finally:
                    os.killpg(process.pid, 9)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["attach"], 2, "no process is named"),
        (["attach", "--wait", ""], 2, "the name is empty"),
        (["attach", "--cgroup", "/"], 1, "/ holds every process\nhint: name a group below it"),
        (["detach", "--cgroup", "none-of-this-name"], 1, "hint: /proc/PID/cgroup has the groups"),
        (["detach", "--wait", "x"], 2, "there is no option --wait"),
    ],
)
def test_wrong_options(arguments, status, message):
    run = pyusdt(*arguments)
    assert run.status == status and message in run.stderr, run


def test_another_kind_of_process_that_is_named():
    with harness.running(["sleep", "60"]) as process:
        run = pyusdt("attach", "--subprocesses", process.pid)
    assert run.status == 1 and f"process {process.pid}" in run.stderr, run


def test_it_ends_where_its_output_does(family):
    """As any command of this kind."""
    parent, child, _, _ = family
    command = f"{PYUSDT} attach --subprocesses {parent} | true"
    run = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert "Traceback" not in run.stderr, run
    assert pyusdt("detach", parent).status == 0
    assert child
