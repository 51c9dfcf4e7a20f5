"""PYUSDT_FLIGHT=exceptions: the last exceptions of a process that is dead, and `pyusdt exceptions`, on each CPython."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pydtrace.cli.commands import exceptions
from pydtrace.remote_python.kept_exceptions import NoExceptions, read_file
from tests.support import harness, python_builds
from tests.support.pyusdt_command import run as pyusdt

pytestmark = pytest.mark.own_processes

PROGRAM = """
import asyncio, os, signal, sys, threading
import pyusdt

hooks = 0

def hook(*_, **__):
    global hooks
    hooks += 1
    raise RuntimeError("a hook of the program ran")

class Hurts:
    __repr__ = __str__ = __eq__ = __getattr__ = __len__ = __iter__ = __index__ = hook
    price = property(hook)
    def __init__(self):
        self.total = 9.5
        self.password = "hunter2"
    def __hash__(self):
        return hook()

class Own(Exception):
    __str__ = __repr__ = __eq__ = __getattr__ = hook
    __hash__ = Exception.__hash__

def checkout(cart, number, api_key="k"):
    text = "caf\\u00e9 \\ud800 \\x1b[31m"
    def inner():
        return number
    raise Own("no route", number)

def fails(n):
    try:
        {}["price"]
    except KeyError as error:
        raise ValueError("bad") from error

def loops(n):
    for i in range(n):
        try:
            [][i]
        except IndexError:
            pass

def attempt(function, *args):
    try:
        function(*args)
    except Exception:
        pass

async def pay():
    await asyncio.sleep(0)
    raise LookupError("of a task\\nsecond line")

async def main():
    attempt(None)
    try:
        await asyncio.create_task(pay(), name="payment")
    except LookupError:
        pass

def recursive(n):
    if n == 0:
        1 / 0
    recursive(n - 1)

loops(1000)
with pyusdt.tag("request 17"):
    attempt(checkout, Hurts(), 7)
attempt(fails, 3)
worker = threading.Thread(target=attempt, args=(int, "x"), name="worker")
worker.start()
worker.join()
attempt(recursive, 100)
asyncio.run(main())
big, self_containing = 10 ** 5000, []
self_containing.append(self_containing)
try:
    raise OSError(2, "absent", "/nothing")
except OSError:
    pass
print("hooks", hooks, flush=True)
os.kill(os.getpid(), int(sys.argv[1]))
"""


@pytest.fixture(
    scope="module", params=["3.10", "3.11", "3.12", "3.13", "3.14", "3.15", "without the GIL"]
)
def python(request) -> str:
    path = python_builds.find(request.param)
    if path is None:
        pytest.skip(f"host: no CPython {request.param}")
    python_builds.build(path, only_core=True)
    return path


@pytest.fixture(scope="module")
def rundir():
    path = Path(f"/dev/shm/pyusdt-test-exceptions-{os.getpid()}")
    path.mkdir(mode=0o700)
    yield path
    for file in path.iterdir():
        file.unlink()
    path.rmdir()


def start(rundir: Path, program: str, *arguments: str, python: str = sys.executable, **more: str):
    environment = {
        **os.environ,
        "PYTHONPATH": python_builds.ROOM,
        "PYUSDT_RUNDIR": str(rundir),
        "PYUSDT_FLIGHT": "exceptions",
        **more,
    }
    return subprocess.Popen(
        [python, "-c", program, *arguments],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def fly(rundir: Path, program: str, *arguments: str, **more: str) -> tuple[int, str, str, int]:
    """(pid, output, errors, status)"""
    process = start(rundir, program, *arguments, **more)
    out, err = process.communicate(timeout=60)
    return process.pid, out, err, process.returncode


def read(rundir: Path, pid: int) -> list[dict]:
    shown = pyusdt("exceptions", "--json", str(pid), PYUSDT_RUNDIR=str(rundir))
    assert (shown.returncode, shown.stderr) == (0, "")
    return [json.loads(line) for line in shown.stdout.splitlines()]


def find(kept: list[dict], kind: str) -> dict:
    (found,) = [each for each in kept if each.get("type") == kind]
    return found


def variables(frame: dict) -> dict[str, str]:
    return {each["name"]: each["value"] for each in frame["variables"]}


@pytest.fixture(scope="module")
def flown(python, rundir):
    pid, out, err, status = fly(rundir, PROGRAM, str(int(signal.SIGKILL)), python=python)
    assert (out, err, status) == ("hooks 0\n", "", -signal.SIGKILL)
    return pid


@pytest.fixture(scope="module")
def kept(flown, rundir):
    return read(rundir, flown)


def test_each_is_counted(kept):
    *shown, whole = kept
    counts = [each["count"] for each in shown if each["frames"][-1]["function"] == "loops"]
    assert counts == [1000]
    assert whole["raised"] == sum(each["count"] for each in shown)
    assert (whole["left_out"], whole["replaced"], whole["unfinished"]) == (0, 0, 0)
    assert not whole["runs"]


def test_frames_and_variables(kept):
    own = find(kept, "Own")
    assert (own["text"], own["tag"], own["thread"], own["task"]) == (
        "no route",
        "request 17",
        "MainThread",
        None,
    )
    functions = [each["function"] for each in own["frames"]]
    assert functions == ["<module>", "attempt", "checkout"]
    frame = own["frames"][-1]
    assert PROGRAM.splitlines()[frame["line"] - 1].strip() == 'raise Own("no route", number)'
    found = variables(frame)
    assert found.pop("inner").startswith("<function")
    assert found == {
        "cart": "Hurts(total=9.5, password=<redacted>)",
        "number": "7",
        "api_key": "<redacted>",
        "text": "'café \\ud800 \\x1b[31m'",
    }
    assert PROGRAM.splitlines()[own["frames"][1]["line"] - 1].strip() == "function(*args)"


def test_where_it_comes_from(kept):
    (bad,) = [each for each in kept if each.get("text") == "bad"]
    if bad["causes"]:  # not without the GIL
        assert bad["causes"] == [{"kind": "cause", "text": "KeyError: 'price'"}]


def test_threads_and_tasks(kept):
    (of_worker,) = [each for each in kept if each.get("thread") == "worker"]
    assert of_worker["text"] == "invalid literal for int() with base 10: 'x'"
    of_task = find(kept, "LookupError")
    assert (of_task["task"], of_task["text"]) == ("payment", "of a task\nsecond line")
    assert of_task["frames"][-1]["function"] == "pay"


def test_deep_stacks_are_cut(kept):
    deep = find(kept, "ZeroDivisionError")
    assert len(deep["frames"]) == 64 and deep["more_frames"] == 39
    assert variables(deep["frames"][-1]) == {"n": "0"}


def test_the_data_of_a_module(kept):
    found = variables(find(kept, "FileNotFoundError")["frames"][0])
    assert found["big"] == f"<int of {(10**5000).bit_length()} bits>"
    assert found["self_containing"].startswith("[[[")
    assert "Hurts" not in found and "os" not in found


def test_the_text(flown, rundir):
    shown = pyusdt("exceptions", str(flown), PYUSDT_RUNDIR=str(rundir))
    assert shown.stdout.startswith(f"Process {flown} (")
    assert ", has ended): CPython 3." in shown.stdout
    assert "Own: no route\n" in shown.stdout
    assert "        cart = Hurts(total=9.5, password=<redacted>)\n" in shown.stdout
    assert "LookupError: of a task\n    second line\n" in shown.stdout
    assert "\x1b" not in shown.stdout
    last = pyusdt("exceptions", "-n", "1", str(flown), PYUSDT_RUNDIR=str(rundir))
    assert last.stdout.count("Traceback") == 1
    listed = pyusdt("exceptions", PYUSDT_RUNDIR=str(rundir))
    assert f"\n{flown} " in listed.stdout


SESSION = """
import pyusdt, sys, threading, time
def loops(n):
    for i in range(n):
        try:
            [][i]
        except IndexError:
            pass
def work():
    loops(100)
for line in sys.stdin:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    work()
    print(flush=True)
"""


def test_beside_a_tracer_and_after_it(python, rundir):
    """The tracer gets each exception, too, and afterwards only exceptions are looked at again."""

    def work() -> None:
        process.stdin.write("\n")
        process.stdin.flush()
        process.stdout.readline()

    process = start(rundir, SESSION, python=python)
    try:
        work()
        tracer = subprocess.Popen(
            [
                *python_builds.pydtrace(),
                "-qn",
                'BEGIN { printf("go\\n"); } python$target:__main__:loops:exception-raise { @ = count(); }',
                "-p",
                str(process.pid),
            ],
            env={**os.environ, "PYUSDT_RUNDIR": str(rundir), "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            text=True,
        )
        tracer.stdout.readline()
        time.sleep(0.5)
        work()
        tracer.send_signal(signal.SIGINT)
        assert tracer.communicate(timeout=30)[0].split() == ["200"]
        time.sleep(0.5)
        work()
        counts = [
            each["count"] for each in read(rundir, process.pid)[:-1] if each["type"] == "IndexError"
        ]
        assert sum(counts) == 600
    finally:
        process.kill()
        process.communicate()


FORKS = """
import os, pyusdt, sys
def attempt(what):
    try:
        raise ValueError(what)
    except ValueError:
        pass
attempt("parent")
child = os.fork()
if child == 0:
    attempt("child")
    os._exit(0)
os.waitpid(child, 0)
print(child, flush=True)
"""


def test_a_forked_child_has_its_own_file(python, rundir):
    pid, out, err, _ = fly(rundir, FORKS, python=python)
    assert err == ""
    for process, text in ((pid, "parent"), (int(out), "child")):
        texts = [
            each["text"] for each in read(rundir, process)[:-1] if each["type"] == "ValueError"
        ]
        assert texts == [text]


HURTS = """
import ctypes, gc, os, sys, threading, time, weakref
import pyusdt

class Meta(type):
    def __getattribute__(self, name):
        if name in ("__repr__", "__str__", "__module__", "__qualname__"):
            hooks.append(name)
        return super().__getattribute__(name)

hooks = []

class Long(Exception, metaclass=Meta):
    pass

Long.__name__ = "L" * 5000
Long.__module__ = 7

class Structure(ctypes.Structure):
    _fields_ = [("a", ctypes.c_int)]

class Ends:
    def __del__(self):
        try:
            {}["in a destructor"]
        except KeyError:
            pass

class Property:
    @property
    def price(self):
        hooks.append("price")

def fails(n):
    kept = Property()
    proxy, dead = weakref.proxy(kept), weakref.proxy(Property())
    structure, array, huge = Structure(3), (ctypes.c_int * 3)(), 1 << 3_400_000
    looped = {}
    looped[1] = looped
    ends = Ends()
    class Local(Exception):
        pass
    if n % 3 == 0:
        raise Long(structure, huge)
    if n % 3 == 1:
        raise Local("\\ud800" * 3000)
    next(each for each in ())

def work(seed):
    n = seed
    while time.monotonic() < end:
        n += 1
        try:
            fails(n)
        except (Exception, StopIteration):
            pass
        if n % 50 == 0:
            gc.collect()

end = time.monotonic() + float(sys.argv[1])
threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
for each in threads:
    each.start()
for each in threads:
    each.join()
print(hooks, flush=True)
"""


def test_objects_that_hurt(python, rundir):
    """Hooks of the program do not run, and a checked allocator finds nothing."""
    pid, out, err, status = fly(rundir, HURTS, "1", python=python, PYTHONMALLOC="debug")
    assert (out, err, status) == ("[]\n", "", 0)
    *kept, whole = read(rundir, pid)
    assert (
        sum(each["count"] for each in kept) + whole["left_out"] + whole["replaced"]
        == whole["raised"]
    )
    local = find(kept, "Local")
    found = variables(local["frames"][-1])
    assert (found["proxy"], found["dead"]) == ("<weakref.ProxyType object>",) * 2
    assert found["structure"] == "<Structure object>" and found["huge"] == "<int of 3400001 bits>"
    assert local["text"].endswith("…") and len(local["text"]) < 2100


FLOOD = """
import pyusdt
for i in range(1000):
    scope = {}
    exec(f"def fails{i}():\\n    raise ValueError({i})", scope)
    try:
        scope[f"fails{i}"]()
    except ValueError:
        pass
"""


def test_too_many_at_once_are_counted(rundir):
    pid, _, err, _ = fly(rundir, FLOOD)
    *kept, whole = read(rundir, pid)
    assert err == ""
    assert len(kept) == 64 and whole["left_out"] > 0
    assert (
        sum(each["count"] for each in kept) + whole["left_out"] + whole["replaced"]
        == whole["raised"]
    )
    text = pyusdt("exceptions", "-n1", str(pid), PYUSDT_RUNDIR=str(rundir)).stdout
    assert "too many new ones were raised at once" in text


BUSY = """
import pyusdt
n = 0
print(flush=True)
while True:
    n += 1
    scope = {"n": n}
    exec(f"def fails{n}(n):\\n    raise ValueError(n)", scope)
    try:
        scope[f"fails{n}"](n)
    except ValueError:
        pass
"""


def test_while_it_is_written(rundir):
    """Each exception that is read is whole, and the last one is not older than the one before."""
    process = start(rundir, BUSY)
    try:
        process.stdout.readline()
        raised = 0
        for _ in range(5):
            *kept, whole = read(rundir, process.pid)
            assert whole["runs"] and whole["raised"] > raised
            raised = whole["raised"]
            for each in kept:
                (name,) = {each["text"], variables(each["frames"][-1])["n"]}
                assert each["frames"][-1]["function"] == f"fails{name}"
    finally:
        process.kill()
        process.communicate()


VETO = """
import pyusdt
pyusdt.redact(*{patterns!r})
def fails(salary, n):
    raise ValueError("secret text")
try:
    fails(5, 6)
except ValueError:
    pass
"""


@pytest.mark.parametrize(
    ("patterns", "text", "found"),
    [
        (("sal*",), "secret text", {"salary": "<redacted>", "n": "6"}),
        (("exception",), "<redacted>", {"salary": "5", "n": "6"}),
        (("*",), "<redacted>", {"salary": "<redacted>", "n": "<redacted>"}),
    ],
)
def test_what_the_program_redacts(rundir, patterns, text, found):
    pid, _, err, _ = fly(rundir, VETO.format(patterns=patterns))
    kept = find(read(rundir, pid), "ValueError")
    assert (err, kept["text"], variables(kept["frames"][-1])) == ("", text, found)


def test_together_with_events(rundir):
    """Both are in the environment's one variable."""
    program = "import pyusdt\npyusdt.p(1, 'flown')\ntry: {}[1]\nexcept KeyError: pass"
    pid, _, err, _ = fly(rundir, program, PYUSDT_FLIGHT="64k,exceptions")
    assert err == ""
    assert sorted(path.suffix for path in rundir.glob(f"{pid}-*")) == [".exceptions", ".flight"]
    assert find(read(rundir, pid), "KeyError")["text"] == "1"


def test_only_the_program_keeps_its_own(rundir, tmp_path):
    """`python -m pyusdt` and `pyusdt run` become the program: neither they nor the commands have a file."""
    path = tmp_path / "fails.py"
    path.write_text("import pyusdt\ntry: {}['here']\nexcept KeyError: pass\n")
    environment = {**os.environ, "PYUSDT_RUNDIR": str(rundir), "PYUSDT_FLIGHT": "exceptions"}
    for launcher in (
        ["-m", "pyusdt"],
        ["-mpyusdt"],
        ["-m", "pydtrace.cli.commands.main", "run", sys.executable],
    ):
        with harness.running([sys.executable, *launcher, str(path)], env=environment) as process:
            process.wait()
        command = [sys.executable, "-m", "pydtrace.cli.commands.main", "exceptions"]
        run = harness.run(command, env=environment)
        rows = [line.split() for line in run.stdout.splitlines()]
        (row,) = [row for row in rows if row[0] == str(process.pid)]
        assert row[-1] == "KeyError", (launcher, run)
        run = harness.run([*command, "--json"], env=environment)
        objects = [json.loads(line) for line in run.stdout.splitlines()]
        (found,) = [each for each in objects if each["pid"] == process.pid]
        assert (found["runs"], found["exceptions"]) == (False, int(row[3])), (launcher, run)


@pytest.mark.parametrize("asked", ["", "0", "64k"])
def test_not_asked_for(rundir, asked):
    program = "import pyusdt, threading; print(threading.active_count(), flush=True)"
    pid, out, err, _ = fly(rundir, program, PYUSDT_FLIGHT=asked)
    assert (out, err) == ("1\n", "") and not list(rundir.glob(f"{pid}-*.exceptions"))
    shown = pyusdt("exceptions", str(pid), PYUSDT_RUNDIR=str(rundir))
    assert shown.returncode == 1
    assert (
        f"no exceptions of process {pid}: " in shown.stderr
        and "PYUSDT_FLIGHT=exceptions" in shown.stderr
    )


@pytest.mark.parametrize("asked", ["exception", "exceptions,", "64k,128k", "exceptions,5q"])
def test_a_wish_that_is_none(rundir, asked):
    _, _, err, status = fly(rundir, "import pyusdt", PYUSDT_FLIGHT=asked)
    assert status == 0 and "nor 64k,exceptions" in err


def test_never_on_a_disk(tmp_path):
    kind = subprocess.run(
        ["stat", "-f", "-c", "%T", tmp_path], capture_output=True, text=True, check=False
    ).stdout.strip()
    if kind == "tmpfs":
        pytest.skip("host: the temporary directory is in memory")
    tmp_path.chmod(0o700)
    _, _, err, status = fly(tmp_path, "import pyusdt")
    assert status == 0 and "no exceptions are kept" in err and "not on a tmpfs" in err
    assert not list(tmp_path.glob("*.exceptions"))


@pytest.fixture(scope="module")
def whole_file(rundir):
    pid, _, _, _ = fly(rundir, PROGRAM, "9")
    (path,) = rundir.glob(f"{pid}-*.exceptions")
    return path


PLACES = st.one_of(
    st.integers(0, 120),
    st.builds(lambda slot, at: 4096 + 16384 * slot + at, st.integers(0, 8), st.integers(0, 400)),
)


@settings(
    max_examples=300, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
@given(
    st.lists(st.tuples(PLACES, st.binary(min_size=1, max_size=8)), max_size=6),
    st.integers(0, 2**32),
)
def test_hostile_files(whole_file, tmp_path, mutations, cut):
    """Whatever a stranger changes: an error, or what makes sense, and nothing that a terminal obeys."""
    data = bytearray(whole_file.read_bytes())
    for at, put in mutations:
        data[at : at + len(put)] = put
    if cut % 4 == 0:
        del data[cut % len(data) :]
    path = tmp_path / "file"
    path.write_bytes(data)
    try:
        kept = read_file(str(path))
    except NoExceptions:
        return
    text = exceptions.format_process(kept, None)
    assert all(line.isprintable() or "\udc80" in line for line in text.splitlines())
    assert len(text) < 64 * 16384 * 12
    for line in exceptions.encode_process(kept, None).splitlines():
        json.loads(line)
