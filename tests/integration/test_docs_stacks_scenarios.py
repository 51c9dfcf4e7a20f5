"""A spinning function, a dead lock, a blocked event loop and a slow query of Django: each is found by the command of docs/howto/dump.md or profile.md.

Input: the console blocks of these pages, each CPython that there is as `python`.
Output: what the pages show.

- Program and pyusdt have no rights but those of the user whose they are; programs end with the
  test.
"""

from __future__ import annotations

import importlib.util
import os
import signal
from pathlib import Path

import pytest

from tests.support import harness, python_builds
from tests.support.docs_blocks import BLOCKS, MARK, check_step, steps

pytestmark = pytest.mark.own_processes
EXAMPLES = {
    "a spinning function": "hot.py",
    "a dead lock": "dead_lock.py",
    "a blocked event loop": "blocked_loop.py",
    "a slow query": "slow_sql.py",
}
OF_DJANGO = (
    "django",
    "asgiref",
    "sqlparse",
    "typing_extensions",
)  # written in Python, so that each version can have them
UNPRIVILEGED = "setpriv", "--inh-caps=-all", "--bounding-set=-all"


def block_of(example: str):
    """The first of the pages that runs it."""
    return next(
        each
        for each in BLOCKS
        if each.page in ("docs/howto/dump.md", "docs/howto/profile.md")
        and each.kind == "console folder"
        and f"python {example}" in each.text
    )


@pytest.fixture(
    params=[
        pytest.param(version, marks=() if version == "3.14" else pytest.mark.long)
        for version in ("3.10", "3.11", "3.12", "3.13", "3.14", "3.15")
    ]
)
def environment(request, path, tmp_path):
    """Of the commands: `python` is that version, and finds Django.  (test_docs runs them with the project's own.)"""
    python = python_builds.find(request.param)
    if python is None:
        pytest.skip(f"host: no CPython {request.param}")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(os.path.realpath(python))
    (tmp_path / "packages").mkdir()
    for name in OF_DJANGO:
        found = Path(importlib.util.find_spec(name).origin)
        found = found.parent if found.name == "__init__.py" else found
        (tmp_path / "packages" / found.name).symlink_to(found)
    return {
        **os.environ,
        "PATH": f"{tmp_path / 'bin'}:{path}",
        "PYTHONPATH": str(tmp_path / "packages"),
        **dict([MARK.split("=")]),
    }


def ours() -> list[int]:
    """Processes of the examples."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (folder / "cmdline").read_bytes().split(b"\0")
            marked = MARK.encode() in (folder / "environ").read_bytes().split(b"\0")
            if marked and any(name.encode() in arguments for name in EXAMPLES.values()):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("trouble", EXAMPLES)
def test_one_command_finds(trouble, environment, tmp_path):
    def shell(command: str) -> harness.Run:
        return harness.run(
            [*UNPRIVILEGED, "bash", "-c", command], timeout=120, cwd=tmp_path, env=environment
        )

    try:
        for command, expected in steps(block_of(EXAMPLES[trouble])):
            check_step(command, expected, shell)
    finally:
        for pid in ours():
            os.kill(pid, signal.SIGKILL)
