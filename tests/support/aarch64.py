"""pyusdt for Debian's CPython 3.11 of aarch64, cross-compiled from this tree.

Input: the C that `make build` left, and the root that .ci/wheel-pythons gets.
Output: a folder with the packages pyusdt and pydtrace.
"""

from __future__ import annotations

import ast
import glob
import os
import shutil
import subprocess

from tests.support import harness

COMPILER = "aarch64-linux-gnu-gcc"
PYTHON, SUITE = "python3.11", "bookworm"
TOOLS = (COMPILER, "apt-get", "dpkg-deb")


def get(*what: str) -> str:
    """The path of what .ci/wheel-pythons makes."""
    command = [os.path.join(harness.ROOT, ".ci", "wheel-pythons"), *what]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def find_root() -> str:
    """A root with that Python, its headers and its C library."""
    return get("aarch64", SUITE, PYTHON.removeprefix("python"))


def build(root: str, library: str) -> str:
    """The path of the extension of pyusdt."""
    for package in ("pyusdt", "pydtrace"):
        source = f"{harness.ROOT}/src/{package}"
        shutil.copytree(source, f"{library}/{package}", ignore=harness.NOT_SOURCE)
    _compile(root, library, "pydtrace/_tracer", _find_sources("TRACER"))
    own = glob.glob(f"{harness.ROOT}/src/pyusdt/_core_c/**/*.c", recursive=True)
    own.append(f"{harness.ROOT}/c/pystack/cpython_offsets.c")
    return _compile(root, library, "pyusdt/_core", [*_find_sources("TARGET"), *own])


def _find_sources(name: str) -> list[str]:
    """Of the core's folders that setup.py names."""
    with open(f"{harness.ROOT}/setup.py") as file:
        module = ast.parse(file.read())
    (folders,) = (
        ast.literal_eval(each.value)
        for each in module.body
        if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == name
    )
    return [path for each in folders for path in glob.glob(f"{harness.ROOT}/c/{each}/*.c")]


def _compile(root: str, library: str, module: str, sources: list[str]) -> str:
    path = f"{library}/{module}.cpython-311-aarch64-linux-gnu.so"
    folders = ("include", "c", "src/pyusdt", "src/pydtrace", "src/pyusdt/include")
    done = harness.run(
        [
            *(COMPILER, "-shared", "-fPIC", "-std=gnu11", "-O2", "-fvisibility=hidden"),
            *("-fno-omit-frame-pointer", "-DPYUSDT_REQUIRE_SITES=1"),
            *(["-DCYTHON_USE_MODULE_STATE=1"] if module == "pyusdt/_core" else []),
            *(f"-I{harness.ROOT}/{folder}" for folder in folders),
            *("-isystem", f"{root}/usr/include/{PYTHON}", "-isystem", f"{root}/usr/include"),
            f"{harness.ROOT}/build/cython/src/{module}.c",
            *sources,
            *("-o", path),
        ],
        timeout=900,
    )
    assert done.status == 0, done
    return path
