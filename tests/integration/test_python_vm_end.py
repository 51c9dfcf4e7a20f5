"""The provider `python`, enabled while exit functions run: its watcher uses nothing of an interpreter that has ended.

- Py_AtExit() holds the process where CPython has freed its memory: a tracer comes then.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pydtrace.process.proc_threads import read_kernel_threads
from tests.support import harness, python_builds

pytestmark = pytest.mark.xdist_group("integration/test_python_vm_injection")
SHORT = {"3.10", f"3.{sys.version_info[1]}", "3.14"}
VERSIONS = [
    version if version in SHORT else pytest.param(version, marks=pytest.mark.long)
    for version in harness.VERSIONS
]
ENDS = """
import atexit, ctypes
from pyusdt import vm

def enable():
    vm.enable(sites=False)
    print("ending", flush=True)

ctypes.pythonapi.Py_AtExit(ctypes.cast(ctypes.CDLL(None).getchar, ctypes.c_void_p))
atexit.register(enable)
"""
TRACE = "python*:::function-entry { n++; } tick-500ms { exit(0); }"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_tracer_after_the_interpreter(other_core, program, version):
    environment = {**os.environ, "PYTHONPATH": python_builds.ROOM}
    command = [other_core(version), program(ENDS)]
    with harness.running(command, env=environment, stdin=subprocess.PIPE) as process:
        assert process.stdout.readline() == "ending\n"
        harness.wait_until(lambda: read_kernel_threads(process.pid)[process.pid].syscall == "read")
        seen = harness.run([*python_builds.pydtrace(), "-q", "-n", TRACE, "-p", str(process.pid)])
        run = harness.finish(process, 20)  # it closes what the process reads
    assert seen.status == 0 and "did not fire in process" in seen.stderr, seen  # it has the probe
    assert (run.status, run.stdout, run.stderr) == (0, "", ""), run
