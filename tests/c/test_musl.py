"""The target's side of the C core on musl: every site is hit, a provider is written, loaded by musl's dlopen() and hit, and
its events arrive at a tracer that is a glibc program."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.support.core.programs import C_TESTS, ROOT
from tests.support.core.target_sources import target_sources

KERNEL_HEADERS = (
    "/usr/include/linux",
    "/usr/include/asm-generic",
    f"/usr/include/{os.uname().machine}-linux-gnu/asm",
)


@pytest.fixture(scope="module")
def musl(tmp_path_factory):
    """(provider_main, linked with musl; its environment)"""
    if not shutil.which("musl-gcc"):
        pytest.skip("no musl-gcc")
    folder = tmp_path_factory.mktemp("musl")
    for name in ("kernel", "cache", "run"):
        (folder / name).mkdir(mode=0o700)
    for path in KERNEL_HEADERS:  # the wrapper hides them with glibc's
        (folder / "kernel" / os.path.basename(path)).symlink_to(path)
    subprocess.run(
        [
            "musl-gcc",
            "-std=gnu11",
            "-O2",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-fvisibility=hidden",
            f"-I{ROOT}/include",
            f"-I{ROOT}/c",
            "-isystem",
            folder / "kernel",
            C_TESTS / "provider_main.c",
            *target_sources(),
            "-o",
            folder / "main",
        ],
        check=True,
    )
    return str(folder / "main"), {
        **os.environ,
        "PYUSDT_CACHE": str(folder / "cache"),
        "PYUSDT_RUNDIR": str(folder / "run"),
    }


def test_sites_and_provider(musl):
    command, environment = musl
    shown = subprocess.run([command], env=environment, capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr
    assert (
        "ld-musl"
        in subprocess.run(
            ["readelf", "--program-headers", command], capture_output=True, text=True, check=True
        ).stdout
    )
    notes = subprocess.run(
        ["readelf", "--wide", "--notes", command, shown.stdout.strip()],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "Name: user_trace__n950\n" in notes and "Name: one\n" in notes


def test_events_arrive(musl):
    command, environment = musl
    pydtrace = os.path.join(os.path.dirname(sys.executable), "pydtrace")
    script = 'cross*:::one { printf("%s %d %s", probefunc, arg0, copyinstr(arg1)); }'
    shown = subprocess.run(
        [pydtrace, "-Zq", "-n", script, "-c", command],
        env=environment,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert "cross_one 17 text" in shown.stdout, shown.stderr
