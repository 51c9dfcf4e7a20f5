"""`pyusdt attach`, `pyusdt detach` and `pydtrace --attach`: into programs that run, and out again.

Input: programs/attach_loads.py, which says what is in it.

- Whatever the tracer does, and however it dies, the program goes on and computes what it would have.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pydtrace.attach import placed_copy, run_statement, statement
from pydtrace.cli.commands import attach
from tests.support import harness, python_builds
from tests.support.attach_load import LOADS, Load, loaded
from tests.support.python_vm_scripts import PAUSES, by_function

pytestmark = pytest.mark.xdist_group("integration/test_attach")
SHORT = {"3.10", f"3.{sys.version_info[1]}", "3.14"}
VERSIONS = [
    version if version in SHORT else pytest.param(version, marks=pytest.mark.long)
    for version in harness.VERSIONS
]


def pyusdt(*arguments: object) -> harness.Run:
    return harness.run(
        [sys.executable, "-m", "pydtrace.cli.commands.main", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": python_builds.ROOM},
        timeout=60,
    )


def tracing(script: str, pid: int, *options: str) -> harness.Run:
    return harness.run(
        [*python_builds.pydtrace(), "-q", *options, "-n", script, "-p", str(pid)], timeout=60
    )


COUNTS = "python$target::work:function-entry { @[probefunc] = count(); } python$target::work:function-entry { exit(0); }"


# --- in and out ---------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_a_tracer_brings_it_in_and_takes_it_out(other_core, version):
    """By a tracer of another version, too, and twice."""
    with loaded(other_core(version), "t") as load:
        before = load.ask()
        for _ in range(2):
            run = tracing(COUNTS, load.pid, "--attach")
            assert (run.status, run.stderr) == (0, "") and by_function(run)["work"] >= 1, run
            after = load.ask()
            for key in ("modules", "names", "threads", "descriptors", "finders", "wrapped"):
                assert after[key] == before[key], key
        without = tracing(COUNTS, load.pid)
        assert without.status == 1, without
        load.end()


@pytest.mark.parametrize("version", VERSIONS)
def test_attach_stays_until_detach(other_core, version):
    python = other_core(version)
    with loaded(python) as first, loaded(python, "n") as second:
        for _ in range(2):
            run = pyusdt("attach", first.pid, second.pid)
            assert (run.status, run.stdout, run.stderr) == (0, "", ""), run
        assert "pyusdt.vm" in first.ask()["modules"]
        for options in ((), ("--attach",)):  # what attach has brought in stays
            run = tracing(COUNTS, first.pid, *options)
            assert (run.status, run.stderr) == (0, "") and by_function(run)["work"] >= 1, run
        run = pyusdt("detach", first.pid, second.pid)
        assert (run.status, run.stdout, run.stderr) == (0, "", ""), run
        assert first.ask()["modules"] == second.ask()["modules"] == []
        again = pyusdt("detach", first.pid)
        assert again.status == 1 and "nothing was brought into it" in again.stderr, again
        first.end()
        second.end()


def test_the_last_of_two_tracers_takes_it_out(other_core):
    with loaded(other_core(f"3.{sys.version_info[1]}")) as load:
        command = [
            *python_builds.pydtrace(),
            *("--attach", "-q", "-n", "python$target::work:function-entry { @ = count(); }"),
            *("-n", 'tick-100ms { printf("on\\n"); }', "-p", str(load.pid)),
        ]
        with harness.running(command) as one, harness.running(command) as two:
            for tracer in (one, two):
                assert tracer.stdout.readline() == "on\n", tracer.stderr.read()
            one.terminate()
            one.wait(20)
            assert "pyusdt.vm" in load.ask()["modules"]
            two.terminate()
            two.wait(20)
        assert load.ask()["modules"] == []
        load.end()


def test_a_program_keeps_its_own_pyusdt(other_core, program):
    """One that has imported pyusdt, and one that has the provider."""
    python = other_core(f"3.{sys.version_info[1]}")
    for own, kept in [("import pyusdt", True), ("from pyusdt import vm; vm.enable()", True)]:
        text = f"import sys; sys.path.insert(0, {python_builds.ROOM!r}); {own}\n"
        text += PAUSES.replace(
            "while",
            "import threading\ndef answer():\n    for _ in sys.stdin: print('pyusdt' in sys.modules, flush=True)\nthreading.Thread(target=answer, daemon=True).start()\nwhile",
        )
        with harness.running([python, program(text)], stdin=subprocess.PIPE) as process:
            assert process.stdout.readline() == "ready\n"
            script = "python$target::here:function-entry { exit(0); }"
            run = tracing(script, process.pid, "--attach")
            assert (run.status, run.stderr) == (0, ""), run
            print(file=process.stdin, flush=True)
            assert process.stdout.readline() == f"{kept}\n"


# --- refusals -------------------------------------------------------------------------------


IN_C = """
import sys, time
print('ready', flush=True)
time.sleep({0})  # goes on sleeping in C, whatever interrupts it
for _ in range(10): time.sleep(0.01)
print('pyusdt' in sys.modules, flush=True)
for _ in range(1000): time.sleep(0.01)
"""


@pytest.mark.parametrize("version", VERSIONS)
def test_a_process_that_stays_in_c(other_core, program, version):
    """It is asked no longer when the tracer has gone."""
    with harness.running([other_core(version), program(IN_C.format(2.5))]) as process:
        assert process.stdout.readline() == "ready\n"
        run = pyusdt("attach", process.pid, "--timeout", "0.3")
        assert run.status == 1, run
        assert "has run no Python code for 0.3 s" in run.stderr, run
        assert "the request was taken back" in run.stderr, run
        assert process.stdout.readline() == "False\n"
        again = pyusdt("attach", process.pid)
        assert (again.status, again.stderr) == (0, "") and process.poll() is None, again


TRACERS = {
    "strace": ["strace", "-f", "-o", "/dev/null", "-p"],
    "gdb": ["gdb", "-q", "-nx", "-ex", "set confirm off", "-p"],
}


@pytest.mark.parametrize("tool", TRACERS)
def test_a_process_that_another_traces(other_core, root, tool):
    python = other_core(f"3.{sys.version_info[1]}")
    if harness.tools(tool):
        pytest.skip(f"host: no {tool}")
    with loaded(python, "z") as load:
        with harness.running([*TRACERS[tool], str(load.pid)], stdin=subprocess.PIPE):
            harness.wait_until(
                lambda: "TracerPid:\t0" not in Path(f"/proc/{load.pid}/status").read_text()
            )
            run = pyusdt("attach", load.pid)
        assert run.status == 1, run
        assert f"({tool}), and Linux lets only one process do that" in run.stderr, run
        load.end()


def test_a_process_that_is_stopped(other_core):
    import signal

    with loaded(other_core(f"3.{sys.version_info[1]}")) as load:
        os.kill(load.pid, signal.SIGSTOP)
        run = pyusdt("attach", load.pid)
        assert run.status == 1 and "is stopped (SIGSTOP, Ctrl-Z)" in run.stderr, run
        os.kill(load.pid, signal.SIGCONT)
        load.end()


def test_what_is_no_python_or_not_there(root):
    with harness.running(["sleep", "60"]) as process:
        run = pyusdt("attach", process.pid, 4194303)
    assert run.status == 1 and "CPython" in run.stderr, run
    assert "there is no process 4194303" in run.stderr, run


def test_of_another_user(other_core, root):
    """Here: another user's tracer, who sees root's Python."""
    with loaded(other_core(f"3.{sys.version_info[1]}")) as load:
        code = "import os, sys; os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534); from pydtrace.attach.run_statement import Target; Target(int(sys.argv[1]))"
        run = harness.run(
            [
                sys.executable,
                "-c",
                "from pydtrace.attach import run_statement; import pydtrace.unwind.native_unwinder;"
                + code,
                str(load.pid),
            ]
        )
        assert run.status == 1 and "belongs to another user" in run.stderr, run
        load.end()


@pytest.mark.parametrize("package", ["pyusdt/__init__.py", "pyusdt.py", "pyusdt/other.py"])
def test_nothing_is_imported_from_the_current_folder(other_core, tmp_path, package):
    """`python -c` searches it; whoever may write there would run code in the process."""
    (tmp_path / package).parent.mkdir(exist_ok=True)
    (tmp_path / package).write_text("print('a stranger runs', flush=True)")
    python = other_core(f"3.{sys.version_info[1]}")
    with harness.running([python, "-c", PAUSES], cwd=tmp_path) as process:
        assert process.stdout.readline() == "ready\n"
        run = pyusdt("attach", process.pid)
        assert (run.status, run.stderr) == (0, ""), run
        process.kill()
        assert process.stdout.read() == ""


@pytest.mark.parametrize("owner", [65534, 0])
def test_a_package_that_another_user_can_change_is_not_loaded(
    other_core, program, root, tmp_path, owner
):
    """It is beside the program, has the mark of pyusdt, and would run as root."""
    python = other_core(f"3.{sys.version_info[1]}")
    shutil.copytree(os.path.join(python_builds.ROOM, "pyusdt"), tmp_path / "pyusdt")
    os.chown(tmp_path / "pyusdt", owner, owner)
    with harness.running([python, program(PAUSES)]) as process:
        assert process.stdout.readline() == "ready\n"
        run = pyusdt("attach", process.pid)
        maps = Path(f"/proc/{process.pid}/maps").read_text()
    if owner:
        assert run.status == 1 and "another user can change its package pyusdt" in run.stderr, run
    else:
        assert (run.status, run.stderr) == (0, ""), run
    assert (f"{tmp_path}/pyusdt/_core" in maps) == (owner == 0), maps


# --- other files ----------------------------------------------------------------------------


def default_places() -> dict[str, str]:
    """The environment of a program whose run directory is where the system's is."""
    return {name: value for name, value in os.environ.items() if name != "PYUSDT_RUNDIR"}


@contextlib.contextmanager
def in_container(python: str, mounts: str, folder: Path):
    """A load in a mount namespace of its own, in which this tree's sources are hidden."""
    program = folder / "load.py"
    program.write_text(Path(LOADS).read_text())
    hidden = os.path.join(harness.ROOT, "src")
    script = f'{mounts}mount -t tmpfs none {hidden} && exec "$@"'
    command = ["unshare", "-m", "sh", "-c", script, "sh", python, str(program), "t"]
    with harness.running(command, stdin=subprocess.PIPE, env=default_places()) as process:
        assert process.stdout.readline() == "ready\n", process.stderr.read()
        yield Load(process)


@pytest.mark.parametrize("version", VERSIONS)
def test_into_a_container_and_out_again(other_core, root, tmp_path, version):
    """Files are there only while they are loaded."""
    mounts = "mount -t tmpfs none /dev/shm && mount -t tmpfs none /var/tmp && "
    tmp = "mount --bind /tmp /tmp && mount -o remount,bind,noexec /tmp && "  # others use it, too
    with in_container(other_core(version), mounts + tmp, tmp_path) as load:
        places = [f"/proc/{load.pid}/root/{name}" for name in ("var/tmp", "dev/shm")]

        def left() -> set[str]:
            return {name for each in places for name in os.listdir(each) if ".pyusdt" in name}

        before = left()
        for _ in range(2):
            run = tracing(COUNTS, load.pid, "--attach")
            assert (run.status, run.stderr) == (0, "") and by_function(run)["work"] >= 1, run
            assert load.ask()["modules"] == [] and left() == before
        assert len([each for each in load.ask()["mappings"] if "_core" in each]) <= 1
        load.end()


BECOMES = """
import os, select, sys
if __name__ != '__main__': pass
elif len(sys.argv) > 1:
    with open('/proc/self/mem', 'r+b', 0) as memory:
        memory.seek(int(sys.argv[1]))
        memory.write(b'of another')
        print('ready', flush=True)
        os.read(0, 1)
        memory.seek(int(sys.argv[1]))
        print(memory.read(10), flush=True)
else:
    print('ready', flush=True)
    while not select.select([0], [], [], 0.01)[0]: pass
    os.execv(sys.executable, [sys.executable, __file__, os.read(0, 99).decode()])
def go(report): pass
"""


def test_a_program_that_the_process_becomes_is_not_written(other_core, program, monkeypatch):
    """Right before the text is cleared. Without a random layout it has the same addresses."""
    path = program(BECOMES)
    python = other_core(f"3.{sys.version_info[1]}")
    before = run_statement.Target._clear_slot

    def clear(target, *arguments):
        process.stdin.write(str(target.entry.slot))
        process.stdin.flush()
        assert process.stdout.readline() == "ready\n"
        monkeypatch.setattr(target, "_read_report", lambda: (statement.DONE, ""))
        before(target, *arguments)

    monkeypatch.setattr(run_statement.Target, "_clear_slot", clear)
    with harness.running(["setarch", "-R", python, path], stdin=subprocess.PIPE) as process:
        assert process.stdout.readline() == "ready\n"
        target = run_statement.Target(process.pid)
        target.run(statement.Statement.run_file(path, "go"), 5)
        print(file=process.stdin, flush=True)
        assert process.stdout.readline() == "b'of another'\n"


NO_FILES = """
import resource, select, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
print('ready', flush=True)
while not select.select([0], [], [], 0.01)[0]: pass
print([each for each in sys.modules if each.startswith('pyusdt')], flush=True)
"""


def test_a_provider_that_cannot_start_leaves_nothing(other_core, program):
    """It can make no file."""
    python = other_core(f"3.{sys.version_info[1]}")
    with harness.running([python, program(NO_FILES)], stdin=subprocess.PIPE) as process:
        assert process.stdout.readline() == "ready\n"
        run = pyusdt("attach", process.pid)
        assert run.status == 1 and "could not be loaded there" in run.stderr, run
        print(file=process.stdin, flush=True)
        assert process.stdout.readline() == "[]\n"


def test_folders_in_folders_do_not_stop_the_tracer(root, tmp_path):
    (tmp_path / "pyusdt").mkdir()
    with placed_copy.place_copy(os.getpid(), str(tmp_path / "pyusdt"), []) as folder:
        subprocess.run(["mkdir", "-p", os.path.dirname(folder) + "/a" * 990], check=True)
    subprocess.run(["rm", "-rf", os.path.dirname(folder)], check=True)


def mounted(how: str) -> str:
    """Commands that mount all places for temporary files so; the program is below /tmp."""
    places = "".join(
        f"mount -t tmpfs -o {how} none {place} && " for place in ("/var/tmp", "/dev/shm")
    )
    return f"{places}mount --bind /tmp /tmp && mount -o remount,bind,{how} /tmp && "


@pytest.mark.parametrize("version", VERSIONS)
def test_where_libraries_are_loaded_from_memory_only(other_core, root, tmp_path, version):
    """All that can be written is noexec."""
    with in_container(other_core(version), mounted("noexec"), tmp_path) as load:
        for _ in range(2):
            run = tracing(COUNTS, load.pid, "--attach")
            assert (run.status, run.stderr) == (0, "") and by_function(run)["work"] >= 1, run
            assert load.ask()["modules"] == []
        maps = Path(f"/proc/{load.pid}/maps").read_text()
        assert "/memfd:pyusdt (deleted)" in maps and "_core" not in maps, maps
        load.end()


def test_another_build_is_loaded_from_memory_too(other_core, root, tmp_path, monkeypatch):
    """The system knows a library by the spelling of its path: that of /proc/self/fd has the same number each time."""
    version = f"3.{sys.version_info[1]}"
    package = tmp_path / "another" / "pyusdt"  # not beside the program, which would find it
    shutil.copytree(attach._PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    with in_container(other_core(version), mounted("noexec"), tmp_path) as load:
        assert tracing(COUNTS, load.pid, "--attach").status == 0
        core = package / os.path.basename(attach._find_core(run_statement.Target(load.pid)))
        with open(core, "ab") as file:
            file.write(b"of another build")
        loader = package / os.path.relpath(attach._LOADER, attach._PACKAGE)
        monkeypatch.setattr(attach, "_LOADER", str(loader))
        monkeypatch.setattr(attach, "_PACKAGE", str(package))
        monkeypatch.setattr(attach, "_find_core", lambda target: str(core))
        attach.attach_provider(load.pid)
        attach.detach_provider(load.pid)
        maps = Path(f"/proc/{load.pid}/maps").read_text()
        assert len({line.split()[4] for line in maps.splitlines() if "memfd:pyusdt" in line}) == 2
        load.end()


def test_where_nothing_can_be_written(other_core, root, tmp_path):
    with in_container(other_core(f"3.{sys.version_info[1]}"), mounted("ro"), tmp_path) as load:
        run = pyusdt("attach", load.pid)
        assert run.status == 1, run
        reason = "Read-only file system"
        assert f"(/tmp: {reason}, /var/tmp: {reason}, /dev/shm: {reason})" in run.stderr, run
        load.end()


IDLE = """
import asyncio, sys
async def main():
    print('ready', flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""


@pytest.mark.parametrize("version", VERSIONS)
def test_an_event_loop_that_waits(other_core, program, version):
    """It has nothing to do for ten minutes, and is woken."""
    with harness.running([other_core(version), program(IDLE)]) as process:
        assert process.stdout.readline() == "ready\n"
        for command in ("attach", "detach"):
            run = pyusdt(command, process.pid, "--timeout", "20")
            assert (run.status, run.stderr) == (0, ""), run
        process.kill()
        assert process.stderr.read() == ""


INTERPRETERS = """
import sys, threading, time
try: import _interpreters as interpreters
except ImportError: import _xxsubinterpreters as interpreters
made = [interpreters.create() for _ in range(3)]
def run(each):
    interpreters.run_string(each, "import time\\nfor i in range(30000): time.sleep(0.001)")
for each in made[:2]: threading.Thread(target=run, args=(each,), daemon=True).start()
print('ready', flush=True)
while True: time.sleep(0.01)
"""


@pytest.mark.parametrize("version", VERSIONS)
def test_a_program_with_sub_interpreters(other_core, program, version):
    """The main one's ring is used, whichever interpreter runs."""
    with harness.running([other_core(version), program(INTERPRETERS)]) as process:
        assert process.stdout.readline() == "ready\n", process.stderr.read()
        for _ in range(3):
            for command in ("attach", "detach"):
                run = pyusdt(command, process.pid, "--timeout", "20")
                assert (run.status, run.stderr) == (0, ""), run
        assert process.poll() is None
        process.kill()
        assert process.stderr.read() == ""


FREEZERS = {  # version of cgroups: (folders, one of which is there, file, what freezes, what is read then, what thaws)
    1: (["/sys/fs/cgroup/freezer"], "freezer.state", "FROZEN", "FROZEN\n", "THAWED"),
    2: (["/sys/fs/cgroup/unified", "/sys/fs/cgroup"], "cgroup.freeze", "1", "frozen 1\n", "0"),
}


@pytest.mark.parametrize("number", FREEZERS)
def test_a_process_that_is_frozen(other_core, root, number):
    folders, name, freeze, frozen, thaw = FREEZERS[number]
    needed = "freezer.state" if number == 1 else "cgroup.events"
    folder = next((Path(each, "pyusdt-frozen") for each in folders if os.path.isdir(each)), None)
    if folder is None:
        pytest.skip(f"host: no freezer of cgroups {number}")
    folder.mkdir(exist_ok=True)
    if not (folder / needed).exists():
        folder.rmdir()
        pytest.skip(f"host: no freezer of cgroups {number}")
    with loaded(other_core(f"3.{sys.version_info[1]}"), "z") as load:
        (folder / "cgroup.procs").write_text(str(load.pid))
        try:
            (folder / name).write_text(freeze)
            harness.wait_until(lambda: frozen in (folder / needed).read_text())
            run = pyusdt("attach", load.pid)
            assert run.status == 1 and "is frozen with its control group" in run.stderr, run
        finally:
            (folder / name).write_text(thaw)
            (folder.parent / "cgroup.procs").write_text(str(load.pid))
            folder.rmdir()
        load.end()


@pytest.mark.parametrize(
    "variables",
    [
        {"PYTHONWARNINGS": "error", "PYTHONDEVMODE": "1"},
        {"PYTHONOPTIMIZE": "2", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1"},
        {"PYTHONMALLOC": "debug", "PYTHONTRACEMALLOC": "25", "PYTHONASYNCIODEBUG": "1"},
        {"PYTHONPATH": "/nowhere:/proc/self/fd:.", "PYTHONVERBOSE": "", "PYTHONIOENCODING": "x"},
        {"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONSAFEPATH": "1"},
    ],
    ids=lambda each: next(iter(each)),
)
def test_variables_of_python(other_core, program, variables):
    """Those of the program decide nothing, and nothing is printed in it."""
    variables = {name: value for name, value in variables.items() if value != "x"}
    python = other_core(f"3.{sys.version_info[1]}")
    with harness.running([python, program(PAUSES)], env={**os.environ, **variables}) as process:
        assert process.stdout.readline() == "ready\n"
        for command in ("attach", "detach"):
            run = pyusdt(command, process.pid)
            assert (run.status, run.stderr) == (0, ""), run
        process.kill()
        assert (process.stdout.read(), process.stderr.read()) == ("", "")


def test_where_other_files_have_our_names(other_core, program, root, tmp_path):
    """A stranger in that namespace could have made them: they are not run."""
    start = os.path.realpath(os.path.join(python_builds.ROOM, "pyusdt", "vm", "start"))
    (tmp_path / "start").mkdir()
    (tmp_path / "start" / "enter_process.py").write_text("print('a stranger runs', flush=True)\n")
    script = f'mount --bind {tmp_path / "start"} {start} && exec "$@"'
    python = other_core(f"3.{sys.version_info[1]}")
    inside = ["unshare", "-m", "sh", "-c", script, "sh", python, program(PAUSES)]
    with harness.running(inside) as process:
        assert process.stdout.readline() == "ready\n"
        run = pyusdt("attach", process.pid)
        assert (run.status, run.stderr) == (0, ""), run
        process.kill()
        assert process.stdout.read() == ""


def test_of_a_user_who_cannot_read_our_files(root, other_core):
    """Root's tracer copies them with his rights, and he loads them."""
    if not os.path.exists("/usr/bin/python3.11") or sys.version_info[1] != 11:
        pytest.skip("host: the system's Python is of another version")
    other_core("3.11")
    ids = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
    code = "import sys; sys.path.insert(0, sys.argv[2]); from pydtrace.cli.commands import attach; attach.can_read = lambda *_: False; attach.attach_provider(int(sys.argv[1]))"
    with harness.running(
        [*ids, "/usr/bin/python3.11", "-c", PAUSES], cwd="/", env=default_places()
    ) as process:
        assert process.stdout.readline() == "ready\n"
        run = harness.run([sys.executable, "-c", code, str(process.pid), python_builds.ROOM])
        assert (run.status, run.stderr) == (0, ""), run
        run = pyusdt("detach", process.pid)
        assert (run.status, run.stderr) == (0, ""), run
        process.kill()
        assert process.stderr.read() == ""


def test_attach_needs_a_process(pydtrace):
    run = pydtrace("--attach", "-n", "BEGIN { exit(0); }")
    assert run.status == 1 and "--attach needs -p PID" in run.stderr, run


# --- under load -----------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("letters", ["tns", "f", "j", pytest.param("tnsp", marks=pytest.mark.long)])
def test_again_and_again_under_load(other_core, version, letters):
    with loaded(other_core(version), letters) as load:
        for _ in range(5):
            run = pyusdt("attach", load.pid)
            assert (run.status, run.stderr) == (0, ""), run
            run = pyusdt("detach", load.pid)
            assert (run.status, run.stderr) == (0, ""), run
        assert load.ask()["modules"] == []
        load.end()


IN_POOL = """
import multiprocessing
lock = multiprocessing.get_context("fork").Semaphore(0)
print("ready", flush=True)
lock.acquire()  # as an idle worker of a pool
"""


@pytest.mark.parametrize("version", ["3.10", f"3.{sys.version_info[1]}"])
def test_an_idle_worker_of_a_pool(other_core, program, version):
    """Its refusal says when it would be entered."""
    with harness.running([other_core(version), program(IN_POOL)]) as process:
        assert process.stdout.readline() == "ready\n"
        run = pyusdt("attach", process.pid, "--timeout", "0.3")
        assert run.status == 1 and "waits in futex()" in run.stderr, run
        assert "when its next task comes" in run.stderr, run
