"""A block ends whatever ends it: an exception of a signal's handler between any two steps, the interpreter's end, nobody at all."""

import contextlib
import gc
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import pytest

import pyusdt

SCRIPT = "pyusdt*:::user_trace-i4s4 { trace(arg2); }"
SLEEPS = ["sleep", "1000"]
IGNORES = ["sh", "-c", "trap '' TERM; while :; do sleep 0.05; done"]
pytestmark = pytest.mark.filterwarnings("ignore:no pyusdt was seen")


def children():
    """Of all threads, some of which may go meanwhile."""
    for tid in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError), open(f"/proc/self/task/{tid}/children") as file:
            yield from file.read().split()


EARLIER_CHILDREN = set()  # of this process, which tests of other files have left to it


@pytest.fixture(autouse=True)
def _know_earlier_children():
    EARLIER_CHILDREN.clear()
    EARLIER_CHILDREN.update(children())


def left_behind():
    """What there is of a tracing by this process after it: files of its session, a thread, a command."""
    threads = [thread for thread in threading.enumerate() if thread.name == "pyusdt-trace"]
    commands = [child for child in children() if child not in EARLIER_CHILDREN]
    return [
        *(name for name in os.listdir(os.environ["PYUSDT_RUNDIR"]) if name.endswith(".area")),
        *threads,
        *commands,
    ]


def nothing_is_left(patience=4.0):
    deadline = time.monotonic() + patience
    while (found := left_behind()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not found


class Interrupting:
    """sys.settrace(): raises KeyboardInterrupt at the nth event of the API's own code in this thread."""

    def __init__(self, number):
        self.left = number

    def __call__(self, frame, event, argument):
        if "/pyusdt/" in frame.f_code.co_filename or frame.f_code.co_filename.endswith(
            "/threading.py"
        ):
            if self.left == 0:
                sys.settrace(None)
                self.left = -1
                raise KeyboardInterrupt
            self.left -= 1
        return self


@pytest.mark.parametrize("targets", [{"pid": os.getpid()}, {"cmd": SLEEPS}], ids=["pid", "cmd"])
@pytest.mark.parametrize("where", ["enter", "exit"])
def test_an_interrupt_at_any_step_leaves_nothing(where, targets):
    for number in itertools.count():
        raises = Interrupting(number)
        block = pyusdt.trace(SCRIPT, **targets)
        try:
            if where == "enter":
                sys.settrace(raises)
            with block:
                sys.settrace(raises if where == "exit" else None)
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
        assert nothing_is_left(), (number, left_behind())
        if raises.left >= 0 or number == 45:
            break
    assert number > 5


def test_a_command_that_ignores_sigterm_is_gone_after_an_interrupt():
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), pyusdt.trace(SCRIPT, cmd=IGNORES) as t:
            time.sleep(0.1)
            signal.setitimer(signal.ITIMER_REAL, 0.1)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert nothing_is_left() and t.returncode == -signal.SIGKILL


def test_alarms_at_any_time_leave_nothing():
    """As Ctrl-C: between steps of C and of Python."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for number in range(40):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0003 + number * 0.0004)
                with pyusdt.trace(SCRIPT, pid=os.getpid()):
                    time.sleep(0.001)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                pass
            assert nothing_is_left(), number
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_tracing_that_nobody_has_ends():
    t = pyusdt.trace(SCRIPT, cmd=SLEEPS).__enter__()
    assert t.engine
    forgotten = [t]
    del t
    with pytest.warns(ResourceWarning, match="was never left"):
        forgotten.clear()
    assert nothing_is_left()


def test_what_was_left_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        with pyusdt.trace(SCRIPT, pid=os.getpid()) as t:
            pass
        del t
        gc.collect()


def test_aggregations_keep_their_tracing():
    had = [
        pyusdt.trace("pyusdt*:::user_trace-i4s4 { @ = count(); }", pid=os.getpid())
        .__enter__()
        .aggregations
    ]
    gc.collect()
    assert pyusdt.p(1)
    with pytest.warns(ResourceWarning):
        had.clear()
    assert nothing_is_left()


BEGINNING = (
    "import asyncio, atexit, os, pyusdt, sys\nS = 'pyusdt*:::user_trace-i4s4 { trace(arg2); }'\n"
)
ENDINGS = {
    "a generator of the module": """
def records():
    with pyusdt.trace(S, pid=os.getpid()) as t:
        pyusdt.p(1)
        for r in t:
            yield r
G = records()
assert next(G)[0] == 1""",
    "__del__": """
class Tracer:
    def __init__(self):
        self.t = pyusdt.trace(S, pid=os.getpid()).__enter__()
    def __del__(self):
        self.t.__exit__(None, None, None)
T = Tracer()""",
    "an asynchronous generator": """
async def records():
    async with pyusdt.atrace(S, pid=os.getpid()) as t:
        pyusdt.p(1)
        async for r in t:
            yield r
G = records()
async def main():
    print(await G.__anext__())
loop = asyncio.new_event_loop()
loop.run_until_complete(main())""",
    "a loop that is closed": """
async def main():
    async with pyusdt.atrace(S, pid=os.getpid()) as t:
        sys.exit(0)
asyncio.run(main())""",
    "sys.exit() in another thread's block": """
import threading
def run():
    with pyusdt.trace(S, pid=os.getpid()) as t:
        for r in t:
            pass
threading.Thread(target=run, daemon=True).start()
import time
while not pyusdt.p(1):
    time.sleep(0.01)
sys.exit(0)""",
    "a block that begins at the end": """
def late():
    with pyusdt.trace(S, pid=os.getpid()) as t:
        pyusdt.p(7)
    assert next(t)[0] == 7
atexit.register(late)
class Later:
    def __del__(self):
        try:
            with trace(S, pid=1):
                pass
        except (ImportError, RuntimeError):
            pass
    trace = pyusdt.trace
trace, L = pyusdt.trace, Later()""",
    "one that is never left": """
t = pyusdt.trace(S, pid=os.getpid()).__enter__()""",
}


NEVER_LEFT = (
    "one that is never left",
    "an asynchronous generator",
)  # whose loop does not run any more


@pytest.mark.parametrize("how", ENDINGS)
def test_the_interpreter_ends(how):
    run = subprocess.run(
        [sys.executable, "-W", "always", "-c", BEGINNING + ENDINGS[how]],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "Traceback" not in run.stderr
    assert ("was never left" in run.stderr) == (how in NEVER_LEFT), run.stderr
    assert nothing_is_left()


@pytest.mark.parametrize(
    "end", ["pass", "os._exit(3)", "os.kill(os.getpid(), 15)", "os.kill(os.getpid(), 9)"]
)
def test_the_command_ends_with_the_interpreter(end, tmp_path):
    code = f"{BEGINNING}t = pyusdt.trace(S, cmd=['sh', '-c', 'echo $$; exec sleep 1000']).__enter__()\nsys.stdin.read(1)\n{end}"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        pid = int(process.stdout.readline())
        process.stdin.write("x")
        process.stdin.close()
        process.wait(20)
    deadline = time.monotonic() + 5
    while runs_sleep(pid):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def runs_sleep(pid):
    """Whether a process has not ended: its id is another's then, or nobody's."""
    try:
        return os.readlink(f"/proc/{pid}/exe").endswith("sleep")
    except OSError:
        return False


def test_a_probe_that_has_fired_is_off_after_the_block():
    """Not only after its next firing: what is computed for `if probe:` is for nobody."""
    probe = pyusdt.probe("user_trace-i4s4")
    with pyusdt.trace(SCRIPT, pid=os.getpid()):
        assert pyusdt.p(1) and probe
    assert not probe
