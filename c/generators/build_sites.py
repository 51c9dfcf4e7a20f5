"""How probe sites are built on systems whose dtrace(1) makes them: macOS, FreeBSD, illumos.

- `dtrace -h` makes a header before anything is compiled. `dtrace -G` makes an object from exactly
  the objects that are linked, and changes these.
- setup.py runs only commands from here, so that tests on any machine see what it would run.
"""

from __future__ import annotations

import subprocess
import sys

MACRO = "PYUSDT_SITES_DTRACE=1"


class Way:
    """How one system does it."""

    __slots__ = ("object", "compile_args", "libraries", "bits")

    def __init__(
        self, makes_object: bool, compile_args: list[str], libraries: list[str], bits: list[str]
    ) -> None:
        self.object = makes_object  # does `dtrace -G` make one? The linker of macOS needs none
        self.compile_args = compile_args
        self.libraries = libraries
        self.bits = bits  # the option that says how large an address is in the objects


WAYS = {
    "darwin": Way(False, [], [], []),
    # -G reads and changes machine code, which link time optimisation has not made yet; what it makes registers the
    # probes at start, with FreeBSD's libelf
    "freebsd": Way(True, ["-fno-lto"], ["elf"], ["-64"]),
    "sunos": Way(True, ["-fno-lto"], [], ["-64"]),
    # Linux has sites of our own; this is for trying the others' way there, with PYUSDT_SITES=dtrace
    "linux": Way(True, ["-fno-lto"], [], []),
}


def way(platform: str = sys.platform) -> Way | None:
    """freebsd14 is freebsd; None: there is no dtrace that makes sites."""
    return next((each for name, each in WAYS.items() if platform.startswith(name)), None)


def header_command(dtrace: str, source: str, header: str) -> list[str]:
    return [dtrace, "-h", "-s", source, "-o", header]


def object_command(
    dtrace: str, how: Way, source: str, output: str, objects: list[str]
) -> list[str]:
    return [dtrace, "-G", *how.bits, "-s", source, "-o", output, *objects]


def make_header(dtrace: str, source: str, header: str) -> str:
    """Runs dtrace -h; '' or why it failed."""
    return _run(header_command(dtrace, source, header))


def make_object(dtrace: str, how: Way, source: str, output: str, objects: list[str]) -> list[str]:
    """What has to be linked: the objects, and the one that dtrace -G makes of them.  OSError where that fails."""
    if not how.object:
        return objects
    failed = _run(object_command(dtrace, how, source, output, objects))
    if failed:
        raise OSError(failed)
    return [*objects, output]


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
    except OSError as error:
        return f"{command[0]}: {error.strerror}"
    return "" if done.returncode == 0 else f"{' '.join(command[:2])}: {done.stdout.strip()[-500:]}"
