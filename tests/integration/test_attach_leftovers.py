"""What an attach leaves behind, seen from outside: nothing, also if the tracer was killed, and nothing more after a hundred times."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from pydtrace import _tracer
from pydtrace.attach import placed_copy
from pydtrace.attach.run_statement import Target
from pydtrace.attach.statement import Statement
from pydtrace.attach.text_slots import has_ended_text
from tests.support import harness, python_builds
from tests.support.attach_load import loaded

pytestmark = pytest.mark.xdist_group("integration/test_attach")
OWN = f"3.{sys.version_info[1]}"
VERSIONS = [
    each if each in {"3.10", OWN, "3.14"} else pytest.param(each, marks=pytest.mark.long)
    for each in harness.VERSIONS
]


def attaching(pid: int, prepared: str, *, temporary: bool = False) -> harness.Run:
    """A tracer that runs a text first."""
    code = f"""
import os, signal, sys
sys.path.insert(0, {python_builds.ROOM!r})
from pydtrace.attach import placed_copy, run_statement
from pydtrace.cli.commands import attach
def die(*_): os.kill(os.getpid(), signal.SIGKILL)
{prepared}
attach.attach_provider({pid}, temporary={temporary})
"""
    return harness.run([sys.executable, "-c", code], timeout=60)


def is_in(pid: int) -> bool:
    status = harness.run(
        [sys.executable, "-m", "pydtrace.cli.commands.main", "list", "-p", str(pid)]
    )
    return f"python{pid}" in status.stdout


def copies(parent: str) -> set[str]:
    return {each for each in os.listdir(parent) if placed_copy._NAME.fullmatch(each)}


@pytest.fixture
def place():
    """A folder that every user can write in, as /tmp is."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o1777)
        yield folder


# --- a tracer that is killed --------------------------------------------------------------


def test_killed_before_its_files_are_loaded(other_core, root, place, monkeypatch):
    """The next attach removes them, but not those of a tracer that lives."""
    monkeypatch.setattr(placed_copy, "_PARENTS", (place,))
    places = f"placed_copy._PARENTS = ({place!r},); attach._sees_files = lambda *_: False\n"
    with loaded(other_core(OWN), "z") as load:
        run = attaching(load.pid, places + "run_statement.Target.run = die")
        assert run.status == -signal.SIGKILL and len(copies(place)) == 1, run
        assert placed_copy.remove_stale_copies(load.pid) == 0  # the process may be loading them
        monkeypatch.setattr(placed_copy, "_STALE", 0)
        with placed_copy.place_copy(load.pid, place, []):
            assert placed_copy.remove_stale_copies(load.pid) == 1
            assert len(copies(place)) == 1
        run = attaching(load.pid, places + "run_statement.Target.run = die")
        assert len(copies(place)) == 1
        run = attaching(load.pid, places + "placed_copy._STALE = 0")
        assert (run.status, run.stderr) == (0, "") and not copies(place), run
        load.end()


def test_folders_that_others_have_made_stay(place, root, monkeypatch):
    """Of another user, of another name, no folder, too many names."""
    monkeypatch.setattr(placed_copy, "_PARENTS", (place,))
    monkeypatch.setattr(placed_copy, "_STALE", 0)
    made = [Path(place) / f".pyusdt-{secrets.token_hex(8)}" for _ in range(4)]
    made[0].mkdir()
    Path(place, ".pyusdt-other").mkdir()
    made[1].write_text("")
    made[2].symlink_to("/root")
    (made[3] / "x" / "y").mkdir(parents=True)
    os.chown(made[3], 65534, 65534)
    with harness.running(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sleep", "60"]
    ) as process:
        harness.wait_until(lambda: placed_copy.find_user(process.pid)[0] == 65534)
        assert placed_copy.remove_stale_copies(process.pid) == 0  # y is in a folder of root's
        os.chown(made[3] / "x", 65534, 65534)
        assert placed_copy.remove_stale_copies(process.pid) == 1
    assert [os.path.lexists(each) for each in made] == [True, True, True, False]
    assert Path(place, ".pyusdt-other").exists()


def test_killed_after_the_text_was_written(other_core, root, place):
    """The process loads and removes the files by itself; the place of the text is free again."""
    places = f"placed_copy._PARENTS = ({place!r},); attach._sees_files = lambda *_: False\n"
    with loaded(other_core(OWN), "t") as load:
        run = attaching(load.pid, places + "run_statement.Target._await_begin = die")
        assert run.status == -signal.SIGKILL, run
        harness.wait_until(lambda: is_in(load.pid))
        harness.wait_until(lambda: not copies(place))
        target = Target(load.pid)
        memory = target.python.memory
        texts = [memory.read(each, _tracer.SLOT_SIZE) for each in target.entry.slots]
        assert sum(map(has_ended_text, texts)) == 1
        for _ in range(3):  # it is taken if there is no other
            run = attaching(
                load.pid,
                "from pydtrace.attach import text_slots\nfind = text_slots.find_slots\n"
                f"run_statement.find_slots = lambda python: [find(python)[{[*map(has_ended_text, texts)].index(True)}]]\n"
                "attach.has_python_provider = iter([False, True]).__next__ and (lambda pid, n=iter([False, True, True]): next(n))",
            )
            assert (run.status, run.stderr) == (0, ""), run
        load.end()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("when", ["before it traces", "while it traces"])
def test_a_provider_whose_tracer_was_killed_leaves_by_itself(other_core, version, when):
    with loaded(other_core(version), "z") as load:
        first = 0.5 if when == "before it traces" else 60
        run = attaching(load.pid, f"attach.UNUSED_TIMEOUT = {first}", temporary=True)
        assert (run.status, run.stderr) == (0, ""), run
        if when == "while it traces":
            script = (
                'python$target:::function-entry { @ = count(); } tick-100ms { printf("on\\n"); }'
            )
            command = [*python_builds.pydtrace(), "-q", "-n", script, "-p", str(load.pid)]
            with harness.running(command) as tracer:
                assert tracer.stdout.readline() == "on\n", tracer.stderr.read()
                Target(load.pid).run(Statement.call("pyusdt.vm.attachment", "enter", 0.5, ""), 20)
                for _ in range(15):
                    assert tracer.stdout.readline() == "on\n", tracer.stderr.read()
                assert "pyusdt.vm" in load.ask()["modules"]
                tracer.kill()
        harness.wait_until(lambda: load.ask()["modules"] == [], 30)
        assert load.ask()["threads"].count("pyusdt-watch") == 0
        load.end()


# --- again and again ----------------------------------------------------------------------


COLLECTS = """
import gc, sys, threading, time
def answer():
    for _ in sys.stdin:
        gc.collect()
        print([name for name in sys.modules if name.startswith("pyusdt")], flush=True)
threading.Thread(target=answer, daemon=True).start()
print("ready", flush=True)
while True: time.sleep(0.005)
"""


def measure(process: subprocess.Popen) -> dict[str, int]:
    """From outside, after a garbage collection."""
    print(file=process.stdin, flush=True)
    assert process.stdout.readline() == "[]\n"
    folder = Path(f"/proc/{process.pid}")
    rollup = (folder / "smaps_rollup").read_text().split()
    return {
        "threads": len(os.listdir(folder / "task")),
        "descriptors": len(os.listdir(folder / "fd")),
        "mappings": len((folder / "maps").read_text().splitlines()),
        "private": int(rollup[rollup.index("Private_Dirty:") + 1]),  # KB
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_a_hundred_times(other_core, program, version):
    """Python's arenas and the C library's have their size after the first ones."""
    python = other_core(version)
    code = (
        "import sys; sys.path.insert(0, sys.argv[2]); from pydtrace.cli.commands.attach import *\n"
    )
    code += "for _ in sys.stdin: attach_provider(int(sys.argv[1])); detach_provider(int(sys.argv[1])); print(flush=True)"
    with contextlib.ExitStack() as opened:
        process = opened.enter_context(
            harness.running([python, "-I", "-S", program(COLLECTS)], stdin=subprocess.PIPE)
        )
        assert process.stdout.readline() == "ready\n"
        command = [sys.executable, "-c", code, str(process.pid), python_builds.ROOM]
        tracer = opened.enter_context(harness.running(command, stdin=subprocess.PIPE))
        found = []
        for _ in range(140):
            print(file=tracer.stdin, flush=True)
            assert tracer.stdout.readline() == "\n", tracer.stderr.read()
            found.append(measure(process))
        first, last = found[39], found[-1]
        for each in ("threads", "descriptors", "mappings"):
            assert last[each] <= first[each], (each, first, last)
        # the provider alone has more; without the GIL, CPython 3.13 frees no code and no function ever
        most = 200 if version != "without the GIL" else 100 * 200
        assert last["private"] - first["private"] < most, (first, last)
