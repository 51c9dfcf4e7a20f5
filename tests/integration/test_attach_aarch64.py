"""Attach and detach on aarch64: in a machine that qemu-system-aarch64 emulates, with Debian's kernel and CPython 3.11.

Input: on_aarch64.py, which runs in that machine.

- qemu's user emulation cannot do this: a process's memory and threads there are those of the emulator.
- Several minutes.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess

import pytest

from tests.support import aarch64, emulated_machine, harness

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="host: not x86-64"),
]
STEPS = ["dump", "attach", "trace", "detach", "attach and trace", "kernel", "waits for a lock"]
LOADS = ["ts", "is", "gs", "ns", "fs"]
ROUNDS = int(os.environ.get("PYUSDT_TEST_ROUNDS", "5"))
SCRIPT = (
    "PYTHONPATH=/lib_pyusdt:/checkout python3.11 /checkout/tests/integration/on_aarch64.py {} {}\n"
)


@pytest.fixture(scope="module")
def output(tmp_path_factory) -> str:
    if lacking := harness.tools(emulated_machine.EMULATOR, *aarch64.TOOLS):
        pytest.skip(f"no {lacking}")
    root, kernel = aarch64.find_root(), aarch64.get("kernel", aarch64.SUITE)
    library, checkout = (str(tmp_path_factory.mktemp(name)) for name in ("library", "checkout"))
    aarch64.build(root, library)
    for name in ("support", "integration"):
        shutil.copytree(f"{harness.ROOT}/tests/{name}", f"{checkout}/tests/{name}")
    counted = os.path.join(harness.PROGRAMS, "counted_signals.c")
    command = [aarch64.COMPILER, "-O1", "-shared", "-fPIC", "-pthread", counted]
    subprocess.run([*command, "-o", f"{checkout}/counted_signals.so"], check=True)
    ran = emulated_machine.run(
        f"{kernel}/vmlinuz",
        root,
        f"/usr/bin/{aarch64.PYTHON}",
        SCRIPT.format(ROUNDS, " ".join(LOADS)),
        600 + 100 * ROUNDS,
        lib_pyusdt=library,
        checkout=checkout,
    )
    assert re.search(r"^STATUS \d+", ran.stdout, re.MULTILINE), ran
    print(ran.stdout)
    return ran.stdout


@pytest.mark.parametrize("step", STEPS)
def test_step(output, step):
    assert f"ok {step}\n" in output.replace("\r", ""), output


@pytest.mark.parametrize("load", LOADS)
def test_again_and_again(output, load):
    found = re.search(
        rf"^load {load}: (\d+) attaches, (\d+) detaches, \{{\}}", output, re.MULTILINE
    )
    assert found and found[1] == found[2] == str(ROUNDS), output
