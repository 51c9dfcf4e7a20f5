"""Probe sites that dtrace(1) makes, as macOS, FreeBSD and illumos have them, here by the two dtraces that Linux knows:
SystemTap's script and the real one.  The same core also without any sites, for the embedded engine alone."""

from __future__ import annotations

import os
import subprocess
import sys
from glob import glob

import pytest

from tests.support import harness

sys.path.insert(0, os.path.join(harness.ROOT, "c", "generators"))
import build_sites

pytestmark = pytest.mark.xdist_group("integration/test_dtrace_sites")

SOURCE = f"{harness.ROOT}/c/generated/user_trace_dtrace.d"
VALUES = "<who>|the tag|1|-2|3|-1099511627776|s1|zwölf"


def build(folder, macro: str, prepare=lambda objects: objects) -> str:
    """tests/c/sites_main.c with the core, through the objects that prepare() is given and returns."""
    sources = [
        f"{harness.ROOT}/tests/c/sites_main.c",
        *glob(f"{harness.ROOT}/c/target/*.c"),
        *glob(f"{harness.ROOT}/c/shared/*.c"),
    ]
    subprocess.run(
        [
            "gcc",
            "-std=gnu11",
            "-O0",
            "-fno-lto",
            "-Wall",
            "-Wextra",
            "-fvisibility=hidden",
            f"-D{macro}",
            f"-I{folder}",
            f"-I{harness.ROOT}/c",
            f"-I{harness.ROOT}/include",
            "-c",
            *sources,
        ],
        cwd=folder,
        check=True,
    )
    program = str(folder / "sites_main")
    subprocess.run(
        ["gcc", *prepare(sorted(glob(f"{folder}/*.o"))), "-pthread", "-ldl", "-o", program],
        check=True,
    )
    return program


def build_with(dtrace: str, folder) -> str:
    """As setup.py does it, which has the header beside the other generated ones."""
    way = build_sites.way("linux")
    (folder / "generated").mkdir()
    assert build_sites.make_header(dtrace, SOURCE, f"{folder}/generated/user_trace_dtrace.h") == ""
    return build(
        folder,
        build_sites.MACRO,
        lambda objects: build_sites.make_object(dtrace, way, SOURCE, f"{folder}/probes.o", objects),
    )


@pytest.fixture(scope="module")
def systemtaps(tmp_path_factory):
    if lacking := harness.tools("dtrace", "gdb"):
        pytest.skip(f"no {lacking}: SystemTap's dtrace is in systemtap-sdt-dev")
    return build_with("/usr/bin/dtrace", tmp_path_factory.mktemp("systemtap"))


@pytest.mark.parametrize("probe", ["user_trace__i4s4", "user_trace__n950"])
def test_systemtaps_dtrace(probe, systemtaps):
    show = 'printf "%s|%s|%d|%d|%d|%lld|%s|%s\\n", ' + ", ".join(
        f"(char *)$_probe_arg{i}" if i in (0, 1, 6, 7) else f"$_probe_arg{i}" for i in range(8)
    )
    with harness.running([systemtaps]) as process:
        assert process.stdout.readline() == "ready\n"
        shown = harness.run(
            [
                "gdb",
                "-nx",
                "-batch",
                "-p",
                str(process.pid),
                "-ex",
                f"break -probe-stap pyusdt:{probe}",
                "-ex",
                "continue",
                "-ex",
                show,
                "-ex",
                "detach",
            ],
            timeout=60,
        )
        assert VALUES + "\n" in shown.stdout, shown
        assert [process.stdout.readline() for _ in range(2)] == ["on\n", "off\n"]


def test_without_sites(tmp_path):
    """The no-op stubs, and the embedded engine."""
    program = build(tmp_path, "PYUSDT_NO_SITES=1")
    script = (
        'pyusdt$target:::user_trace-i4s4,pyusdt$target:::user_trace-n950 { printf("%s %s|%s|%d|%d|%d|%d|%s|%s\\n", '
        "probename, copyinstr(arg0), copyinstr(arg1), arg2, arg3, arg4, arg5, copyinstr(arg6), copyinstr(arg7)); } "
        "pyusdt$target:::user_trace-n950 { exit(0); }"
    )
    shown = harness.run([harness.PYDTRACE, "-q", "-n", script, "-c", program])
    assert f"user_trace-i4s4 {VALUES}\nuser_trace-n950 {VALUES}\n" in shown.stdout, shown
