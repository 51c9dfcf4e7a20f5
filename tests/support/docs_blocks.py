"""The blocks of code in README.md, CONTRIBUTING.md and docs/, and what their commands must print."""

import contextlib
import glob
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from tests.support import harness

PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    *sorted(glob.glob("docs/**/*.md", root_dir=harness.ROOT, recursive=True)),
]

# A fenced block, and the comment before it that says how it is tested: readers do not see that, and every
# Markdown knows such a fence.
_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>[a-z ]+) -->\n)?(?P<fence>^```)(?P<language>[^\n]*)\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


class Block:
    def __init__(self, page: str, line: int, kind: str, text: str):
        self.page, self.line, self.kind, self.text = page, line, kind, text

    def __repr__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks() -> list[Block]:
    found = []
    for page in PAGES:
        with open(os.path.join(harness.ROOT, page)) as file:
            text = file.read()
        for match in _BLOCK.finditer(text):
            line = text.count("\n", 0, match.start("fence")) + 1
            kind = " ".join(word for word in (match["language"], match["mark"]) if word)
            found.append(Block(page, line, kind, match["code"]))
    return found


BLOCKS = blocks()
MARK = f"PYUSDT_DOCS={os.getpid()}"  # in the environment of what the examples start
PGREP = f"""#!/bin/sh
# The newest of the processes that the options mean (but -n) and that these tests have started.
shift
for pid in $(/usr/bin/pgrep "$@"); do
    tr '\\0' '\\n' </proc/$pid/environ 2>/dev/null | grep -qx {MARK} && newest=$pid
done
echo $newest
"""


def marked() -> list[int]:
    """Processes that the examples have left running."""
    found = []
    for folder in glob.glob("/proc/[0-9]*"):
        with contextlib.suppress(OSError), open(f"{folder}/environ", "rb") as file:
            if MARK.encode() in file.read().split(b"\0"):
                found.append(int(os.path.basename(folder)))
    return found


@pytest.fixture(scope="module", name="path")
def commands_path(tmp_path_factory):
    """PATH for the examples: .venv's commands, as `dtrace` the real one, and a pgrep that finds these tests' processes.

    perf has a cache of its own, and no event of a run that was killed: of several files with a probe it takes any.
    """
    folder = tmp_path_factory.mktemp("bin")
    for name, script in (
        ("dtrace", f'#!/bin/sh\nexec {harness.ORACLE} dtrace "$@"\n'),
        ("pgrep", PGREP),
    ):
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)
    (folder / "perfconfig").write_text(f"[buildid]\ndir = {folder}/debug\n")
    subprocess.run("perf probe -q -d 'sdt_pyusdt:*' 2>/dev/null", shell=True, check=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PERF_CONFIG", str(folder / "perfconfig"))
        yield f"{os.path.dirname(sys.executable)}:{folder}:{os.environ['PATH']}"
    for pid in marked():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def steps(block: Block) -> list[tuple[str, str]]:
    """(command, its output), …"""
    return re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE)


PATIENCE = 60  # s


def pattern(expected: str) -> str:
    """A regular expression for output in which "..." stands for anything."""
    lines = [
        ".*(?:\n.*)*?" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*")
        for line in expected.split("\n")
    ]
    return "\n".join(lines)


def check_step(command: str, expected: str, run) -> None:
    """run(command) -> Run.  Where the reader waits a moment for a program (`sleep`), it is asked here until it says what is expected."""
    wanted, until = pattern(expected.rstrip("\n")), time.monotonic() + PATIENCE
    asked = re.sub(r"^sleep [\d.]+; ", "", command)
    done = run(asked)
    while not re.fullmatch(wanted, done.stdout.rstrip("\n")):
        assert asked != command and time.monotonic() < until, done
        time.sleep(0.1)
        done = run(asked)
