"""`pyusdt complete`: what a shell can offer at the end of an unfinished command line.

The output has a line for each offer, as the shell's script in completions/ reads it.

- The options come from cli/parsing/options_table.py and main.COMMANDS.
- File names are left to the shell.
- Where nothing can be found out, there are no offers and no message.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex

from pydtrace.cli.parsing.options_table import DTRACE_OPTIONS, PYDTRACE_OPTIONS
from pydtrace.options import PARSERS
from pydtrace.untrusted.terminal_escape import escape_for_terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from pydtrace.cli.parsing.options_table import Option

    from .main import Command

    Offers = list[tuple[str, str]]

_PROBES, _PROCESSES, _OPTIONS, _WORDS = "probes", "processes", "options", "words"
_VALUE_KINDS = {"n": _PROBES, "P": _PROBES, "m": _PROBES, "f": _PROBES, "p": _PROCESSES, "x": _OPTIONS, "wait": _PROCESSES, "dump": _WORDS, "color": _WORDS}  # fmt: skip
_PLAIN = re.compile(
    r"[\w:*.-]+"
)  # other names are not offered: a process chooses its names, and the shell would interpret them
_CLAUSE_CHARACTERS = frozenset(
    "{/;"
)  # the rest of the clause, behind one of these, is D, for which there are no offers


def split_words(line: str) -> list[str]:
    """The words of a line, as a shell splits them; the last is the one that is being written.  A quote may be open, and a backslash
    may have nothing to quote yet."""
    if line.endswith("\\"):
        line += "\\"
    for closing in ("", "'", '"'):
        with contextlib.suppress(ValueError):
            found = shlex.split(line + closing)
            return [*found, ""] if not closing and line[-1:].isspace() else found
    return []


# --- what there is to offer: (word, description) each -----------------------------------------


def _offer_probes() -> Offers:
    """One for each probe of the processes that run, of any process."""
    from . import list_command

    try:
        probes = list_command.list_published()
    except list_command.NotFound:
        return []
    rows = {
        (each.provider.rstrip("0123456789"), each.name): each.arguments
        for each in list_command.fold_families(probes)
    }
    offered = sorted(
        (
            f"{provider}*:::{_family_pattern(name)}",
            f"probe of {provider}{_format_argument_names(arguments)}",
        )
        for (provider, name), arguments in rows.items()
    )
    return [each for each in offered if _PLAIN.fullmatch(each[0])]


def _format_argument_names(arguments: str) -> str:
    """The names of a found.Found's arguments, where there are some."""
    names = ", ".join(each.partition(":")[0] for each in arguments.split() if ":" in each)
    return f"({names})" if names else ""


def _family_pattern(name: str) -> str:
    """found.folded()'s `user_trace-n0 … 950` as a pattern."""
    first, several, _ = name.partition(" … ")
    return first.rstrip("0123456789") + "*" if several else name


def _offer_processes() -> Offers:
    from pydtrace.process.process_names import display_name, list_named

    return [(str(pid), escape_for_terminal(display_name(pid))) for pid, _ in list_named()]


def _offer_options() -> Offers:
    return [
        (
            name,
            "option of D"
            if name not in ("pyusdt", "engine", "attach", "nop5", "file", "orderlag")
            else "pyusdt's own",
        )
        for name in sorted(PARSERS)
    ]


_OFFER_FUNCTIONS = {_PROBES: _offer_probes, _PROCESSES: _offer_processes, _OPTIONS: _offer_options}


# --- pydtrace ---------------------------------------------------------------------------------


def _find_option_of_value(word: str) -> Option | None:
    """The option of pydtrace that takes the next word as its value, or None."""
    if word.startswith("--"):
        found = [each for each in PYDTRACE_OPTIONS if each.flag == word]
    elif word.startswith("-") and len(word) > 1:
        found = [each for each in DTRACE_OPTIONS if each.name == word[-1]]
    else:
        return None
    return found[0] if found and found[0].value and not found[0].optional else None


def _complete_pydtrace(before: list[str], word: str) -> Offers:
    option = _find_option_of_value(before[-1]) if before else None
    if option is not None:
        return _offer_values(option, word) + _offer_from_python(option, before, word)
    if word.startswith("--") and "=" in word:
        dashed, _, value = word.partition("=")
        return [
            (f"{dashed}={offer}", description)
            for each in PYDTRACE_OPTIONS
            if each.flag == dashed
            for offer, description in _offer_values(each, value)
        ]
    if word.startswith("-"):
        listed = [each for each in (*DTRACE_OPTIONS, *PYDTRACE_OPTIONS) if each.help]
        return [(each.flag, each.help or "") for each in listed]
    return []


def _offer_from_python(option: Option, before: list[str], word: str) -> Offers:
    """Functions and variables of the process of -p, in a D text."""
    if _VALUE_KINDS.get(option.name) != _PROBES or not word.startswith("python"):
        return []
    from . import complete_python

    pid = complete_python.find_pid(before)
    return [] if pid is None else complete_python.offer_in_script(pid, word)


def _offer_values(option: Option, word: str) -> Offers:
    """For the value of an option of cli/parsing/options_table.py."""
    kind = _VALUE_KINDS.get(option.name)
    if kind == _WORDS:
        return [(each, option.help or "") for each in (option.value or "").split("|")]
    if kind is None or (kind == _PROBES and _CLAUSE_CHARACTERS & set(word)):
        return []
    return _OFFER_FUNCTIONS[kind]()


# --- pyusdt -----------------------------------------------------------------------------------


def _list_examples() -> list[str]:
    from .examples import installed_names

    return installed_names()


def _list_topics() -> list[str]:
    from .help_pages import topics

    return topics()


def _list_processes_with_exceptions() -> list[str]:
    from pydtrace.remote_python import kept_exceptions

    try:
        return [str(each.pid) for each in reversed(kept_exceptions.list_all())]
    except OSError:
        return []


_NAME_LISTS = {
    "example": _list_examples,
    "exceptions": _list_processes_with_exceptions,
    "help": _list_topics,
}


def _complete_pyusdt(before: list[str], word: str, commands: Mapping[str, Command]) -> Offers:
    if not before:
        return [(name, each.help) for name, each in commands.items() if each.help]
    if before[0] not in commands:
        return []
    made = commands[before[0]].make_parser()
    options = {
        text: each for each in made._actions for text in each.option_strings
    }  # argparse has no public list of them
    last = options.get(before[-1])
    takes_value = last is not None and last.nargs != 0
    if (
        before[0] == "watch"
        and not word.startswith("-")
        and (not takes_value or before[-1] == "--where")
    ):
        return _offer_for_watch(before[1:], word, options)
    if takes_value:
        return _offer_processes() if last.dest == "pid" else []  # type: ignore[union-attr]
    if word.startswith("-"):
        return [(text, each.help or "") for text, each in options.items()]
    if before[0] in _NAME_LISTS:
        return [(name, commands[before[0]].help or "") for name in _NAME_LISTS[before[0]]()]
    return [
        (choice, each.help or "")
        for each in made._actions
        if not each.option_strings
        for choice in each.choices or ()
    ]


def _offer_for_watch(before: list[str], word: str, options: Mapping[str, Any]) -> Offers:
    """FUNCTION of the process of -p, and the variables in --where."""
    from . import complete_python

    pid = complete_python.find_pid(before)
    if pid is None:
        return []
    functions = [
        each
        for at, each in enumerate(before)
        if not each.startswith("-")
        and not (at and before[at - 1] in options and options[before[at - 1]].nargs != 0)
    ]
    if before[-1] == "--where":
        return complete_python.offer_in_expression(pid, functions[0], word) if functions else []
    return [] if functions else complete_python.offer_functions(pid, word)


# --- the shells -------------------------------------------------------------------------------


def _format_for_bash(word: str, offers: Offers, is_quoted: bool) -> list[str]:
    """bash has split the word at : and =, and wants the part behind the last of them; but not behind an open quote."""
    kept = 0 if is_quoted else max(word.rfind(":"), word.rfind("=")) + 1
    return [offer[kept:] for offer, _ in offers]


def _format_for_zsh(_: str, offers: Offers, is_quoted: bool) -> list[str]:
    return [
        offer.replace("\\", "\\\\").replace(":", "\\:") + f":{description}"
        for offer, description in offers
    ]


def _format_for_fish(_: str, offers: Offers, is_quoted: bool) -> list[str]:
    return [f"{offer}\t{description}" for offer, description in offers]


SHELLS = {"bash": _format_for_bash, "zsh": _format_for_zsh, "fish": _format_for_fish}


def find_offers(line: str, commands: Mapping[str, Command]) -> tuple[str, Offers]:
    """(the word that is being written, the offers that begin with it).  commands: pyusdt's, main.Command by
    name."""
    command, *before = split_words(line) or [""]
    if not before:
        return "", []
    *before, word = before
    name = os.path.basename(command)
    known = (
        _complete_pydtrace(before, word)
        if name == "pydtrace"
        else _complete_pyusdt(before, word, commands)
        if name == "pyusdt"
        else []
    )
    return word, [each for each in known if each[0].startswith(word)]


def format_offers(shell: str, line: str, commands: Mapping[str, Command]) -> str:
    """The offers as the script of that shell reads them."""
    word, offers = find_offers(line, commands)
    return "".join(f"{each}\n" for each in SHELLS[shell](word, offers, _has_open_quote(line)))


def _has_open_quote(line: str) -> bool:
    try:
        shlex.split(line + ("\\" if line.endswith("\\") else ""))
    except ValueError:
        return True
    return False


def read_completion_script(shell: str) -> str:
    """The text of a shell's own script."""
    path = os.path.join(
        os.path.dirname(os.path.dirname(__file__)), "completions", f"pyusdt.{shell}"
    )
    with open(path, encoding="utf-8") as file:
        return file.read()
