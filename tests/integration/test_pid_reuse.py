"""Process ids are used again: raise() reaches the process that fired, or nobody."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

from tests.support import harness

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0
    or harness.tools("unshare") is not None
    or not os.path.exists("/proc/sys/kernel/ns_last_pid"),
    reason="host: not root, or no unshare, or a kernel that gives no pid that is asked for",
)

# In a pid namespace of its own, where nobody else takes the id.  The tracer stands still while the process that fired
# ends, and another one gets its id.
WORLD = """
import os, signal, subprocess, sys, time
pydtrace, engine = sys.argv[1:]
fires = "import pyusdt, sys\\nprint(1, flush=True)\\nfor line in sys.stdin: print(pyusdt.p(int(line)), flush=True)"
first = subprocess.Popen([sys.executable, "-c", fires], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
first.stdout.readline()
script = 'pyusdt*:::user_trace-i4s4 /arg2 == 7/ { printf("told\\\\n"); raise(9); }'
tracer = subprocess.Popen([pydtrace, "-Zwq", "-x", f"engine={engine}", "-n", script], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)

def fire(mark):
    first.stdin.write(f"{mark}\\n")
    first.stdin.flush()
    return first.stdout.readline()

while fire(0) != "True\\n":
    time.sleep(0.05)
os.kill(tracer.pid, signal.SIGSTOP)
os.waitpid(tracer.pid, os.WUNTRACED)
fire(7)
first.stdin.close()
first.wait()
time.sleep(0.05)  # ids are told apart by the time of their start, which counts 10 ms
with open("/proc/sys/kernel/ns_last_pid", "w") as file:
    file.write(str(first.pid - 1))
second = subprocess.Popen(["sleep", "600"])
assert second.pid == first.pid
os.kill(tracer.pid, signal.SIGCONT)
assert tracer.stdout.readline() == "told\\n"
time.sleep(0.1)
tracer.send_signal(signal.SIGINT)
err = tracer.communicate()[1]
print(second.poll(), err)
second.kill()
"""


@pytest.mark.parametrize("engine", ["embedded", "kernel"])
def test_raise_hits_nobody_who_has_the_id_now(engine, tmp_path):
    (tmp_path / "world.py").write_text(textwrap.dedent(WORLD))
    done = subprocess.run(
        [
            "unshare",
            "-pfm",
            "--mount-proc",
            "--kill-child",
            sys.executable,
            tmp_path / "world.py",
            harness.PYDTRACE,
            engine,
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0 and done.stdout.startswith("None "), done
    assert "couldn't send signal 9 to" in done.stdout, done


# As above, but the process that was named ends between being looked at and being attached to.
NAMED = """
import subprocess, sys, time
from pydtrace.dlang.compile import compile_program
from pydtrace.engine import Targets
from pydtrace.engine.kernel.engine import KernelEngine
fires = "import pyusdt, sys\\nprint(1, flush=True)\\nfor line in sys.stdin: print(pyusdt.p(int(line)), flush=True)"

def start():
    process = subprocess.Popen([sys.executable, "-c", fires], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    return process

first = start()
engine = KernelEngine(compile_program("pyusdt*:::user_trace-i4s4 { trace(arg2); }"), {})
engine.open(Targets((first.pid,), only=True))
first.communicate()
with open("/proc/sys/kernel/ns_last_pid", "w") as file:
    file.write(str(first.pid - 1))
second = start()
assert second.pid == first.pid
engine.begin()
second.stdin.write("7\\n")
second.stdin.flush()
print(second.stdout.readline().strip(), len(engine.poll(0.2)), engine.finished)
second.communicate()
engine.close()
"""


def test_who_has_the_id_of_a_named_process_now_is_not_traced(tmp_path):
    (tmp_path / "world.py").write_text(NAMED)
    done = subprocess.run(
        ["unshare", "-pfm", "--mount-proc", "--kill-child", sys.executable, tmp_path / "world.py"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "False 0 True\n"), done


# The stacks of --alert and -x alertstacks are read later than the event: by then the process may have ended, before or while they are.
DUMPED = """
import os, subprocess, sys, time
from pydtrace.process.identity import query_process, start_ticks
from pydtrace.sinks.alerts.alert_receivers import StackDump
waits = [sys.executable, "-c", "def secret(): print(flush=True); input()\\nsecret()"]

def start():
    process = subprocess.Popen(waits, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    return process, start_ticks(process.pid)

def end(process):
    process.communicate()
    time.sleep(0.05)
    with open("/proc/sys/kernel/ns_last_pid", "w") as file:
        file.write(str(process.pid - 1))

first, began = start()
print("secret (" in StackDump(first.pid, began).read_text())
print(StackDump(first.pid, None).read_text())
end(first)
second, _ = start()
assert second.pid == first.pid
print(StackDump(first.pid, began).read_text())

def replaced():
    global second
    end(second)
    second, _ = start()
    return "secret of another"

print(query_process(second.pid, start_ticks(second.pid), replaced))
second.kill()
"""


def test_stacks_are_of_the_process_that_fired(tmp_path):
    (tmp_path / "dumped.py").write_text(DUMPED)
    done = subprocess.run(
        ["unshare", "-pfm", "--mount-proc", "--kill-child", sys.executable, tmp_path / "dumped.py"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done
    first, *others, asked = done.stdout.splitlines()
    assert (first, asked) == ("True", "None") and all(
        "has ended: its stacks could not be read" in line for line in others
    ), done
