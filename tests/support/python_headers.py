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


def compiled(python: str, folder, source: str) -> dict[str, int]:
    """{name: offset}, as its headers have it."""
    program = str(folder / "layout")
    command = [
        "gcc",
        "-w",
        *headers(python),
        source,
        "-o",
        program,
        "-Wl,--unresolved-symbols=ignore-all",
    ]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, f"{shlex.join(command)}\n{built.stderr}"
    lines = subprocess.run(
        [program], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return {name: int(offset) for name, offset in (line.split() for line in lines)}
