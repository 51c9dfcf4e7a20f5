"""Recordings, read three times: by the core here, by the core on aarch64, and by a reader made from docs/internals/recording-format.md."""

import os
import platform
import shutil
import subprocess
import sys

import pytest

from tests.support.core import recording_reader
from tests.support.core.programs import C_TESTS, ROOT

PYDTRACE = os.path.join(os.path.dirname(sys.executable), "pydtrace")
PROGRAM = """
import pyusdt
late = pyusdt.Provider("shop").probe("order-placed", int, str)
with pyusdt.tag("red"):
    for i in range(40):
        pyusdt.p(i, -i, "a" * i, "")
        pyusdt.user_trace_n(i * 20, i, "b")
late(-1, "zwölf")
"""
CORE = sorted(path for path in (ROOT / "c/shared").glob("*.c")) + [
    ROOT / f"c/{name}.c"
    for name in (
        "recording/recording_reader",
        "recording/flight_reader",
        "recording/recording_file",
        "events/place_table",
        "session/build_version",
    )
]


def build(folder, compiler):
    program = folder / f"replay_{compiler}"
    subprocess.run(
        [
            compiler,
            "-std=gnu11",
            "-O2",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-fvisibility=hidden",
            f"-I{ROOT}/include",
            f"-I{ROOT}/c",
            C_TESTS / "replay_main.c",
            *CORE,
            "-o",
            program,
            "-lpthread",
        ],
        check=True,
    )
    return program


def printed(*command, **environment):
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """(the recording's path, what the core here prints of it)"""
    folder = tmp_path_factory.mktemp("recording")
    (folder / "fires.py").write_text(PROGRAM)
    script = "pyusdt*:::, shop*::: { n++; }"
    subprocess.run(
        [
            PYDTRACE,
            "-Zq",
            "--record",
            folder / "events",
            "-n",
            script,
            "-c",
            f"{sys.executable} {folder}/fires.py",
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return folder / "events", printed(build(folder, "gcc"), folder / "events")


def test_by_the_page(made):
    path, lines = made
    assert len(lines) == 82 and lines[-2].endswith("1=zwölf")
    assert recording_reader.lines(path.read_bytes()) == lines


def test_places_by_the_page(world, tmp_path):
    command = f"{world.build.program('places_target')} 12 2"
    subprocess.run(
        [
            PYDTRACE,
            "-Zq",
            "--record",
            tmp_path / "events",
            "-n",
            "vm*:::function-entry { n++; }",
            "-c",
            command,
        ],
        check=True,
        stdout=subprocess.DEVNULL,
        env=world.env,
    )
    lines = printed(build(tmp_path, "gcc"), tmp_path / "events")
    assert len(lines) == 25 and ":m1:f11:function-entry " in lines[11]
    assert recording_reader.lines((tmp_path / "events").read_bytes()) == lines


@pytest.mark.skipif(platform.machine() != "x86_64", reason="host: not x86-64")
def test_on_another_processor(made, tmp_path):
    emulator, compiler = "qemu-aarch64-static", "aarch64-linux-gnu-gcc"
    for tool in (emulator, compiler):
        if not shutil.which(tool):
            pytest.skip(f"no {tool}")
    program = build(tmp_path, compiler)
    assert printed(emulator, program, made[0], QEMU_LD_PREFIX="/usr/aarch64-linux-gnu") == made[1]
