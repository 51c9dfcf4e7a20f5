"""The C core compiles for the systems that nobody here has: macOS, FreeBSD, Linux with musl; by zig, which has their headers.

What it makes is not run.  ziglang has 100 MB, so it is installed for this test alone."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
ZIGLANG = "ziglang==0.17.1"
WARNINGS = ["-Wall", "-Wextra", "-Werror"]


@pytest.fixture(scope="module")
def zig(tmp_path_factory):
    folder = tmp_path_factory.mktemp("zig")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "-q",
            "--disable-pip-version-check",
            "--no-deps",
            "--target",
            folder,
            ZIGLANG,
        ],
        check=True,
    )
    return str(folder / "ziglang" / "zig")


@pytest.mark.long
@pytest.mark.parametrize(
    "target",
    ["aarch64-macos", "x86_64-macos", "x86_64-freebsd", "aarch64-freebsd", "x86_64-linux-musl"],
)
def test_cross(target, zig, tmp_path):
    """Every file to an object, and the target's side to a shared library, for which every name must be found."""
    objects = {}
    for source in sorted(ROOT.glob("c/**/*.c")):
        folder = source.parent.name
        made = tmp_path / f"{folder}-{source.stem}.o"
        done = subprocess.run(
            [
                zig,
                "cc",
                "-target",
                target,
                "-std=gnu11",
                "-O1",
                "-fPIC",
                "-fvisibility=hidden",
                *WARNINGS,
                f"-I{ROOT}/include",
                f"-I{ROOT}/c",
                "-c",
                source,
                "-o",
                made,
            ],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        objects.setdefault(folder, []).append(made)
    library = tmp_path / ("core.dylib" if "macos" in target else "core.so")
    options = [] if "macos" in target else ["-Wl,-z,defs"]
    done = subprocess.run(
        [
            zig,
            "cc",
            "-target",
            target,
            "-shared",
            *options,
            *objects["target"],
            *objects["shared"],
            "-o",
            library,
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )  # it makes the libc first
    assert done.returncode == 0 and library.stat().st_size > 10_000, done.stderr
