"""The headers of the CPythons that are there: options for the compiler, and what a program in C says of them."""

from __future__ import annotations

import os
import shlex
import subprocess

import pytest


def headers(python: str) -> list[str]:
    """Options for the compiler."""
    code = "import sysconfig; print(sysconfig.get_paths()['include'], sysconfig.get_config_var('MULTIARCH') or '')"
    include, multiarch = (
        subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
        .stdout.rstrip("\n")
        .split(" ")
    )
    own = os.path.dirname(
        os.path.dirname(os.path.realpath(python))
    )  # of a Python that was unpacked, not installed
    if not os.path.exists(include) and os.path.exists(own + include.removeprefix("/usr")):
        include = own + include.removeprefix("/usr")
    if not os.path.exists(os.path.join(include, "internal", "pycore_interp.h")):
        pytest.skip(f"host: {python} has no headers")
    return [
        f"-I{include}",
        f"-I{include}/internal",
        f"-I{os.path.dirname(include)}",
        f"-I{os.path.dirname(include)}/{multiarch}",
    ]


AARCH64 = ("aarch64-linux-gnu-gcc", ["qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu"])


def _without_libc(options: list[str], folder) -> list[str]:
    """For another processor: the headers of its own C library, and pyconfig.h of this one's Python."""
    include, internal, _, multiarch = options
    own = os.path.join(multiarch.removeprefix("-I"), os.path.basename(include))
    os.makedirs(folder / "aarch64-linux-gnu", exist_ok=True)
    if (
        os.path.exists(own)
        and not (link := folder / "aarch64-linux-gnu" / os.path.basename(own)).exists()
    ):
        os.symlink(own, link)
    return [include, internal, f"-I{folder}"]


def compiled(
    python: str, folder, source: str, compiler: str = "gcc", emulator: list[str] | None = None
) -> dict[str, int]:
    """{name: offset}, as its headers have it.  emulator: the command that runs what the compiler makes."""
    program = str(folder / "layout")
    command = [
        compiler,
        "-w",
        *(_without_libc(headers(python), folder) if emulator else headers(python)),
        source,
        "-o",
        program,
        "-Wl,--unresolved-symbols=ignore-all",
    ]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, f"{shlex.join(command)}\n{built.stderr}"
    lines = subprocess.run(
        [*(emulator or []), program], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return {name: int(offset) for name, offset in (line.split() for line in lines)}
