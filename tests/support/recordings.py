"""Recording what a program fires, and replaying it."""

import subprocess
import sys

import pytest

from tests.support import harness

SCRIPT = """
    BEGIN { printf("begin %d %Y", timestamp, walltimestamp); }
    pyusdt$target:::user_trace-i4s4 /arg6/ { printf("%d %s %s", arg2, copyinstr(arg6), execname); @[probename] = quantize(arg2); }
    pyusdt$target::: { trace(timestamp); @all[pid, tid, uid, cpu >= 0] = count(); }
    pyusdt$target:::user_trace-s1 { trace(stringof(copyinstr(arg0))); trace(copyinstr(1)); }
    tick-5ms { n++; }
    END { printf("%d %d", timestamp, n); }
"""
COUNT = 'pyusdt*:::user_trace-i4s4 { @[arg0 ? copyinstr(arg0) : "", copyinstr(arg6)] = count(); }'


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """(path, Run of the pydtrace that made it)"""
    path = tmp_path_factory.mktemp("recording") / "events"
    got = harness.run(
        [harness.PYDTRACE, "--record", str(path), "-n", SCRIPT, "-c", harness.program("events.py")]
    )
    assert got.status == 0, got
    return path, got


def replay(path, *arguments) -> harness.Run:
    return harness.run([harness.PYDTRACE, "--replay", str(path), *arguments])


CHILD = """
import os, sys
from pydtrace import _tracer
from pydtrace.select_engine import open_engine
from pydtrace.engine import Targets
from pydtrace.dlang.compile import Compiler
compiler = Compiler()
compiler.compile_text(sys.argv[2])
program = compiler.generate_program()
for name in sys.stdin:
    try:
        engine, _ = open_engine(program, {"replay": name.strip(), "zdefs": True}, Targets())
    except Exception as error:
        print(type(error).__name__, flush=True)
        continue
    engine.begin()
    while not engine.finished:
        engine.poll(0)
    engine.end()
    engine.close()
    print("ok", flush=True)
"""


@pytest.fixture(scope="module")
def replayer(tmp_path_factory):
    """replayer(bytes) -> what a child process that replays it says; it must live on."""
    path = tmp_path_factory.mktemp("fuzz") / "recording"
    with harness.running([sys.executable, "-c", CHILD, "", COUNT], stdin=subprocess.PIPE) as child:

        def say(data: bytes) -> str:
            path.write_bytes(data)
            child.stdin.write(f"{path}\n")
            child.stdin.flush()
            answer = child.stdout.readline()
            assert answer, (child.wait(5), child.stderr.read())
            return answer.strip()

        yield say
        child.stdin.close()
