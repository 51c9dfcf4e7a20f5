"""The commands for a GPU in README.md and docs/howto/frameworks/pytorch.md name the lines of Python that launch and wait.

- The driver's library is a stub with its name and its functions' names, since few machines have a GPU.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.support.kernel_harness import PYDTRACE, compile_c
from tests.support.paths import ROOT

pytestmark = [pytest.mark.usefixtures("bpf"), pytest.mark.xdist_group("kernel/test_gpu_lines")]
STUB = "int cuLaunchKernel(void) { return 0; }\nint cuLaunchKernelEx(void) { return 0; }\nint cuStreamSynchronize(void) { return 0; }\n"
PROGRAM = """
import ctypes, sys, time
cuda = ctypes.CDLL(sys.argv[1])

def forward():
    cuda.cuLaunchKernel()
    cuda.cuLaunchKernelEx()

def loss():
    cuda.cuStreamSynchronize()

print("ready", flush=True)
while True:
    forward()
    loss()
    time.sleep(0.001)
"""


def commands() -> list[tuple[str, str]]:
    """(page, script) of each command that names the driver's library."""
    found = []
    for page in ("README.md", "docs/howto/frameworks/pytorch.md"):
        with open(os.path.join(ROOT, page), encoding="utf-8") as file:
            found += [
                (page, script) for script in re.findall(r"-n '([^']*libcuda[^']*)'", file.read())
            ]
    return found


@pytest.fixture(scope="module", name="program")
def program_of_a_gpu(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gpu")
    (folder / "stub.c").write_text(STUB)
    library = compile_c(folder / "stub.c", folder / "libcuda.so.1", "-shared", "-fPIC")
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, library], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


def test_pages_have_the_commands():
    assert {page for page, _ in commands()} == {"README.md", "docs/howto/frameworks/pytorch.md"}


@pytest.mark.parametrize("page, script", commands())
def test_lines_of_python(page, script, program):
    done = subprocess.run(
        [PYDTRACE, "-q", "-n", script + " tick-1s { exit(0); }", "-p", str(program.pid)],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    functions = {"cuLaunchKernel": {"forward"}, "cuStreamSynchronize": {"loss"}}
    (wanted,) = (found for name, found in functions.items() if name in script)
    found = {*re.findall(r"(\S+) \(<string>:\d+\)", done.stdout)}
    assert found == wanted | {"<module>"}, done
