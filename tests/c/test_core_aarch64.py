"""The C core on aarch64: cross-compiled, run by qemu's user emulation: every site is hit, a provider is written, loaded and
hit, and events arrive at a tracer of this machine."""

import json
import os
import platform
import shutil
import subprocess
import sys

import pytest

from tests.support.core.programs import C_TESTS, ROOT
from tests.support.core.target_sources import target_sources

EMULATOR, COMPILER = "qemu-aarch64-static", "aarch64-linux-gnu-gcc"
LIBRARIES = "/usr/aarch64-linux-gnu"


def make(folder, name):
    """A test program for aarch64."""
    for tool in (EMULATOR, COMPILER):
        if not shutil.which(tool):
            pytest.skip(f"no {tool}")
    subprocess.run(
        [
            COMPILER,
            "-std=gnu11",
            "-O2",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-fvisibility=hidden",
            "-fno-omit-frame-pointer",
            f"-I{ROOT}/include",
            f"-I{ROOT}/c",
            C_TESTS / f"{name}.c",
            *target_sources(),
            "-o",
            folder / "main",
            "-ldl",
            "-lpthread",
        ],
        check=True,
    )
    return f"{EMULATOR} {folder}/main"


@pytest.fixture(scope="module")
def emulated(tmp_path_factory):
    """emulated(…, **environment): provider_main on aarch64; the command and its environment."""
    folder = tmp_path_factory.mktemp("aarch64")
    command = make(folder, "provider_main")
    for name in ("cache", "run"):
        (folder / name).mkdir(mode=0o700)
    environment = {
        **os.environ,
        "QEMU_LD_PREFIX": LIBRARIES,
        "PYUSDT_CACHE": str(folder / "cache"),
        "PYUSDT_RUNDIR": str(folder / "run"),
    }
    return command, environment


@pytest.mark.skipif(platform.machine() != "x86_64", reason="host: not x86-64")
def test_sites_and_provider(emulated):
    command, environment = emulated
    shown = subprocess.run(
        command.split(), env=environment, capture_output=True, text=True, check=False
    )
    assert shown.returncode == 0, shown.stderr
    notes = subprocess.run(
        ["readelf", "--wide", "--notes", "--file-header", shown.stdout.strip()],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "Machine:                           AArch64" in notes
    assert "Name: one\n" in notes and "Arguments: -8@x0 8@x1\n" in notes
    assert "Arguments: " + " ".join(f"-8@x{i}" for i in range(12)) + "\n" in notes


@pytest.mark.skipif(platform.machine() != "x86_64", reason="host: not x86-64")
def test_events_arrive(emulated):
    """The emulator rounds a process's start time in its /proc/self/stat up or down as it likes: where it differs from the
    kernel's, the tracer takes the process for one that has ended, and the next try may do."""
    command, environment = emulated
    pydtrace = os.path.join(os.path.dirname(sys.executable), "pydtrace")
    script = 'cross*:::one { printf("%s %d %s", probefunc, arg0, copyinstr(arg1)); }'
    for _ in range(20):
        shown = subprocess.run(
            [pydtrace, "-Zq", "-n", script, "-c", command],
            env=environment,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert shown.returncode == 0, shown.stderr
        if "cross_one" in shown.stdout:
            break
    assert "cross_one 17 text" in shown.stdout


@pytest.mark.long
@pytest.mark.skipif(platform.machine() != "x86_64", reason="host: not x86-64")
@pytest.mark.parametrize(
    "mode, stack",
    [
        ("", ["innermost", "in_between", "outermost", "run"]),
        ("broken", ["innermost", "fire_with_link"]),
    ],
)
def test_native_stacks(world, tmp_path, mode, stack):
    """For the flight recorder, which a tracer of this machine reads."""
    command = make(tmp_path, "stack_target")
    child = world.start(
        [*command.split(), "5", *mode.split()],
        QEMU_LD_PREFIX=LIBRARIES,
        PYUSDT_FLIGHT="64k",
        PYUSDT_FLIGHT_FRAMES="10",
    )
    assert child.wait(60) == 0
    (kept,) = world.rundir.glob("*.flight")
    pydtrace = os.path.join(os.path.dirname(sys.executable), "pydtrace")
    script = f"stacked*:::fired {{ @[ustack({len(stack)})] = count(); }}"
    shown = subprocess.run(
        [pydtrace, "-q", "--json", "--replay", kept, "-n", script],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    rows = [json.loads(line) for line in shown.splitlines()]
    found = [
        [text.partition("`")[2].partition("+")[0] for text in row["keys"][0]]
        for row in rows
        if row["type"] == "aggregation"
    ]
    assert found and all(each[: len(stack)] == stack for each in found), shown
