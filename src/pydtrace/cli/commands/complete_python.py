"""Completion from a running Python: functions in descriptions, and the variables of a function behind `local.`."""

from __future__ import annotations

import re

from pydtrace.engine.embedded.python_functions import PythonFunctions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydtrace.remote_python.module_functions import ModuleFunction

    Offers = list[tuple[str, str]]

_VARIABLE = re.compile(r"(?s)(.*(?<![\w.])local\.)(\w*)")
_DESCRIPTION = re.compile(r"(python[\w$*]*):([^\s:/{},;]*):([^\s:/{},;]*)(?::[\w*-]*)?")
_MOST = 500  # offers
_PLAIN = re.compile(r"[\w.]+")  # a shell interprets nothing in it


class _Pattern:
    def __init__(self, module: str, function: str) -> None:
        self.provider = "python*"
        self.module, self.function = module, function


def find_pid(words: Sequence[str]) -> int | None:
    """That of -p PID or -pPID on a line."""
    for at, word in enumerate(words):
        text = words[at + 1] if word in ("-p", "--pid") and at + 1 < len(words) else ""
        text = text or (word[2:] if word.startswith("-p") else word.removeprefix("--pid="))
        if text.isdecimal():
            return int(text)
    return None


def _find(pid: int, module: str, function: str) -> list[ModuleFunction]:
    return [each for _, each in PythonFunctions([pid]).find(_Pattern(module, function))]


def offer_in_script(pid: int, word: str) -> Offers:
    """For the end of a D text: `python$target:shop:che` or `python$target:shop:checkout:function-entry /local.ca`."""
    written = _VARIABLE.fullmatch(word)
    named = list(_DESCRIPTION.finditer(word))
    if not named:
        return []
    provider, module, function = named[-1].groups()
    if written is not None:
        return _offer_variables(_find(pid, module, function), written[1])
    if not function or named[-1].end() != len(word) or word.count(":") > 2:
        return []
    start = word[: named[-1].start()]
    return [
        (f"{start}{provider}:{each.module if module else ''}:{each.name}:", describe(each))
        for each in _find(pid, module, f"{function}*")[:_MOST]
        if _PLAIN.fullmatch(each.name)
    ]


def offer_in_expression(pid: int, function: str, word: str) -> Offers:
    """For the end of an expression about FUNCTION or MODULE:FUNCTION."""
    written = _VARIABLE.fullmatch(word)
    module, _, name = function.rpartition(":")
    return [] if written is None else _offer_variables(_find(pid, module, name), written[1])


def offer_functions(pid: int, word: str) -> Offers:
    """FUNCTION, or MODULE:FUNCTION if the word has a colon."""
    module, colon, name = word.rpartition(":")
    if not name:
        return []
    return [
        (f"{each.module}:{each.name}" if colon else each.name, describe(each))
        for each in _find(pid, module, f"{name}*")[:_MOST]
        if _PLAIN.fullmatch(each.name)
    ]


def _offer_variables(functions: list[ModuleFunction], start: str) -> Offers:
    names = {
        name: "parameter" if name in each.arguments else "variable"
        for each in functions
        for name in each.names
    }
    return [(f"{start}{name}", what) for name, what in names.items()][:_MOST]


def describe(function: ModuleFunction) -> str:
    return f"({', '.join(function.arguments)})"
