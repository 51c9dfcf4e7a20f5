"""jstack() under the kernel engine: the frames of Python that the program itself had at the firing.

Always: what is compared is the program's word (tests/stacks/programs/tells.py) and the tracer's, frame by frame; no frame is left out.
"""

import json
import subprocess
import sys
import zlib

import pytest
import stacks_harness as harness
from kernel_harness import PYDTRACE

pytestmark = pytest.mark.usefixtures("bpf")
TIMES = 400
SYSCALL = "syscall::getpriority:entry /pid == $target && arg0 >= 1000/ { trace(arg0); trace(arg1); jstack(120); }"
USDT = "pyusdt$target:::user_trace-i4s4 { trace(arg2); trace(arg3); jstack(120); }"
ON = "tick-10ms /!on/ { on = 1; trace(-1); }"


def rows(process, times):
    """The values of so many records of pydtrace's, once it traces; it goes on."""
    found = []
    while len(found) < times:
        line = process.stdout.readline()
        assert line, process.communicate()
        row = json.loads(line)
        if row["type"] == "record":
            found.append(row["values"])
    return found


def told(python, how, script, *options, times=TIMES):
    """[[1000 + number of frames, checksum, frames]] of what the program told."""
    with harness.running(python, "tells.py", times, how) as subject:
        command = [PYDTRACE, "-x", "engine=kernel", "--json", "-q", *options, "-n", f"{script} {ON}", "-p", str(subject.pid)]
        tracer = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            rows(tracer, 1)
            subject.say()
            assert subject.hear() == "told"
            found = rows(tracer, times)
            subject.say()
            assert tracer.communicate(timeout=60)[1] == ""
        finally:
            tracer.kill()
            tracer.communicate()
    return found


def wrong(found):
    return [row for row in found if zlib.crc32("\n".join(row[2]).encode()) & 0x7FFFFFFF != row[1] or len(row[2]) != row[0] - 1000]


@pytest.mark.parametrize("python", harness.INTERPRETERS, ids=harness.name_of)
def test_at_system_calls(python):
    assert wrong(told(python, "syscall", SYSCALL)) == []


def test_at_usdt_probes():
    assert wrong(told(sys.executable, "usdt", USDT)) == []
