"""pyusdt for other CPythons than that of .venv, from this tree and with the tools of .venv.

Input: the paths of interpreters, with their headers.
Output: ROOM, a folder for PYTHONPATH: the tree's own Python files, and the extensions of each
interpreter that was asked for.

- Built once a source (20 seconds each), in build/; two that build at once wait for each other.

`python python_builds.py 3.14 3.15` does it beforehand.
"""

from __future__ import annotations

import fcntl
import functools
import glob
import os
import subprocess
import sys
import sysconfig

from tests.support import harness

ROOM = os.path.join(harness.ROOT, "build", "pythons", "room")
PACKAGES = ("pyusdt", "pydtrace")
AS_PYDTRACE = (
    "import sys; sys.path.insert(0, {!r}); from pydtrace.cli.pydtrace.main import main; main()"
)
KEPT = os.environ.get("PYUSDT_PYTHONS", os.path.expanduser("~/.cache/pyusdt-pythons"))


@functools.cache
def find(version: str) -> str | None:
    """The path of a CPython of this version ("without the GIL": that build): one of pyenv's, or one that .ci/pythons gets."""
    if version == "without the GIL":
        subprocess.run(
            [os.path.join(harness.ROOT, ".ci", "pythons")], check=True, stdout=subprocess.DEVNULL
        )
        return next(iter(glob.glob(f"{KEPT}/3.*t/bin/python3.[0-9]*t")), None)
    if version in ("3.14", "3.15"):
        subprocess.run(
            [os.path.join(harness.ROOT, ".ci", "pythons"), version],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    found = glob.glob(f"{KEPT}/{version}/usr/bin/python{version}") + glob.glob(
        os.path.expanduser(f"~/.pyenv/versions/{version}.*/bin/python{version}")
    )
    if version == f"3.{sys.version_info[1]}":
        found = [sys.executable]
    return found[0] if found else None


def _link_sources() -> None:
    for package in PACKAGES:
        source = os.path.join(harness.ROOT, "src", package)
        os.makedirs(os.path.join(ROOM, package), exist_ok=True)
        for name in os.listdir(source):
            place = os.path.join(ROOM, package, name)
            if name != "__pycache__" and not os.path.lexists(place):
                os.symlink(os.path.join(source, name), place)


@functools.cache
def build(python: str, only_core: bool = False) -> None:
    """The extensions for an interpreter, in ROOM.  only_core: what a traced program needs."""
    os.makedirs(ROOM, exist_ok=True)
    with open(os.path.join(ROOM, ".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _link_sources()
        if os.path.realpath(python) == os.path.realpath(sys.executable):
            return  # its extensions are in the tree
        tools = sysconfig.get_path("purelib")  # Cython's own sources run on any
        subprocess.run(
            [
                python,
                "setup.py",
                "--quiet",
                "build_ext",
                "--build-lib",
                ROOM,
                "--build-temp",
                os.path.join(
                    harness.ROOT, "build", "pythons", "temporary", os.path.basename(python)
                ),
            ],
            cwd=harness.ROOT,
            env={
                **os.environ,
                "PYTHONPATH": tools,
                **({"PYUSDT_ONLY_CORE": "1"} if only_core else {}),
            },
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def pydtrace(python: str = sys.executable) -> list[str]:
    """The command line of a pydtrace that this interpreter runs, and that knows the extensions of all that were built."""
    return [python, "-c", AS_PYDTRACE.format(ROOM)]


if __name__ == "__main__":
    for each in sys.argv[1:]:
        if path := find(each):
            build(path)
