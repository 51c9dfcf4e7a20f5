"""Which Python a command starts, and whether the provider `python` can be in it.

The result is the interpreter's command line, its version, and the reason why it cannot have the
provider.

- Another interpreter than ours is started once, before the command runs, with a question in the
  place of the program.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

OLDEST = 10  # minor version
_NAME = re.compile(r"python(\d+(\.\d+)?t?)?$")
_ISOLATING, _WITH_VALUE, _BEFORE_PROGRAM = (
    "IES",
    "WX",
    "cm",
)  # letters of Python's options; behind the last ones stands the program
_HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_ANSWER_TIMEOUT = 10  # s
# "" is the folder that we are in, and is not the program's; sys is built in: nothing is imported before
_QUESTION = """
import sys
sys.path = [each for each in sys.path if each]
print('%d %d %s' % (sys.version_info[0], sys.version_info[1], getattr(sys, 'pypy_version_info', None) is None))
from importlib import machinery, util
print(machinery.EXTENSION_SUFFIXES[0])
spec = util.find_spec('pyusdt')
names = {}
exec(open(sys.argv[1]).read(), names)
print(spec and ('marked' if names['has_mark'](spec) else spec.origin))
"""
_LOAD_PROVIDER = os.path.join(os.path.dirname(__file__), "start", "load_provider.py")


def find_interpreter_line(words: list[str]) -> list[str] | None:
    """The command line of the interpreter that runs the command: its own, or that of the first line of a script; None: the command
    is no Python, or none that is known before it runs."""
    if is_python(words[0]):
        return words
    path = shutil.which(words[0])
    first = _read_shebang(path) if path else []
    if first[:1] and os.path.basename(first[0]) == "env":
        first = [word for word in first[1:] if word != "-S"]
    return [*first, str(path), *words[1:]] if first and is_python(first[0]) else None


def _read_shebang(path: str) -> list[str]:
    """The words behind #!, if there are some."""
    try:
        with open(path, "rb") as file:
            start, _, _ = file.read(256).partition(b"\n")
    except OSError:
        return []
    return os.fsdecode(start[2:]).split() if start.startswith(b"#!") else []


def is_python(path: str) -> bool:
    return _NAME.match(os.path.basename(path)) is not None


def find_isolating_option(line: list[str]) -> str | None:
    """The option of a Python's command line that keeps it from reading its environment, or site.py; None: there is none, or it is
    no Python."""
    if not is_python(line[0]):
        return None
    value = False  # the word belongs to the option before it
    for word in line[1:]:
        if value:
            value = False
            continue
        letters = word[1:] if word.startswith("-") and not word.startswith("--") else ""
        if not letters:
            return None
        at = next(
            (
                i
                for i, letter in enumerate(letters)
                if letter in _ISOLATING or letter in _BEFORE_PROGRAM or letter in _WITH_VALUE
            ),
            None,
        )
        if at is not None and letters[at] in _ISOLATING:
            return f"-{letters[at]}"
        if at is not None and letters[at] in _BEFORE_PROGRAM:
            return None
        value = at == len(letters) - 1
    return None


class Interpreter:
    """minor: of its version 3.x; lack: why the provider can not be in it, or None."""

    __slots__ = ("reason", "minor")

    def __init__(self, minor: int = sys.version_info[1], reason: str | None = None) -> None:
        self.minor, self.reason = minor, reason


def inspect_interpreter(name: str) -> Interpreter:
    """What the interpreter is that a command line begins with; one that does not answer is taken for one like ours."""
    path = shutil.which(name)
    if path is None or os.path.realpath(path) == os.path.realpath(sys.executable):
        return Interpreter()
    try:
        answer = subprocess.run(
            [path, "-c", _QUESTION, _LOAD_PROVIDER],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_ANSWER_TIMEOUT,
            text=True,
            errors="replace",
            check=False,
        ).stdout.split(maxsplit=4)
    except (OSError, subprocess.TimeoutExpired):
        return Interpreter()
    return _parse_answer(path, answer)


def _parse_answer(path: str, answer: list[str]) -> Interpreter:
    if len(answer) < 3 or not (answer[0] + answer[1]).isdigit():
        return Interpreter()
    major, minor = int(answer[0]), int(answer[1])
    package = answer[4].strip() if answer[4:] else "None"
    if answer[2] != "True" or (major, minor) < (3, OLDEST):
        return Interpreter(
            minor,
            f"{path} is Python {major}.{minor}; the provider python needs CPython 3.{OLDEST} or later",
        )
    ours = os.path.exists(os.path.join(_HOME, f"_core{answer[3]}")) if answer[3:] else False
    if package == "marked" or (package == "None" and ours):
        return Interpreter(minor)
    if package != "None":
        return Interpreter(minor, f"the package pyusdt of {path} is another project's: {package}")
    return Interpreter(
        minor,
        f"{path} is CPython 3.{minor}, and this pyusdt is for 3.{sys.version_info[1]}: "
        f"`{path} -m pip install .` in pyusdt's sources gives it one of its own",
    )
