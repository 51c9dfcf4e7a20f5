"""The scripts that are installed with the package: their list, their texts, and the command line
that runs one.

Each NAME.d in scripts/ begins with a comment: its question, the commands, and a line for each
option, `--unit=1000000 words`: the option's default, or a word in capitals if it is required. The
options are $1, $2 … in their order.

- The file itself is traced, unless --provider or --name change the names of its probes; then a
  copy in memory.
"""

from __future__ import annotations

import argparse
import os
import re
from typing import TYPE_CHECKING

from pydtrace.installed_scripts import (
    FOLDER,
    PROVIDER,
    fitting_scripts,
    needed_probes,
    script_names,
    script_text,
)
from pydtrace.suggestions import append_hint, did_you_mean
from pydtrace.untrusted.terminal_escape import escape_for_terminal

if TYPE_CHECKING:
    from collections.abc import Mapping

_OPTION = re.compile(r"^ \*     --([a-z][a-z-]*)=(\S+)  +(\S.*)$", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_EPILOG = "All other options are pydtrace's: -p PID, -c COMMAND, -o FILE, --json, --live, --web … (pydtrace --help)."


class Option:
    """One of a script.  default: "" where it has to be given; integer: it stands in the script as a number."""

    __slots__ = ("default", "integer", "name", "help")

    def __init__(self, name: str, default: str, help: str) -> None:
        self.name, self.help, self.default = name, help, "" if default.isupper() else default
        self.integer = default.isdigit() or default == "N"


class Script:
    """name: without .d; text: the file's; question: its first line, in a sentence; options: what it takes."""

    __slots__ = ("name", "options", "path", "question", "text")

    def __init__(self, name: str) -> None:
        self.name, self.path = name, os.path.join(FOLDER, f"{name}.d")
        self.text = script_text(name)
        comment = self.text.partition("*/")[0]
        self.question = comment.split("\n")[1].removeprefix(" * ")
        self.options = [Option(*found) for found in _OPTION.findall(comment)]

    def find_providers(self) -> list[str]:
        """Those of its probe descriptions."""
        return list(dict.fromkeys(PROVIDER.findall(self.text)))

    def rename_probes(self, provider: str | None, names: Mapping[str, str]) -> str:
        """The text for another provider, with other names of probes and arguments.  ValueError for what it does not name."""
        text, mine = self.text, self.find_providers()
        if provider is not None:
            if len(mine) != 1:
                raise ValueError(
                    f"{self.name} is about several providers, {', '.join(mine)}: --provider cannot replace all of them"
                )
            text = PROVIDER.sub(f"{provider}*:", text)
        named = re.compile(r"(?:(?<=\*:::)|(?<=\*:\$\d::))[\w-]+|(?<=\barg\.)\w+")
        for old in names:
            if old not in named.findall(text):
                raise ValueError(f"{self.name} names no probe and no argument {old}")
        return named.sub(lambda found: names.get(found[0], found[0]), text)


def names() -> list[str]:
    """Of all scripts."""
    return script_names()


# (what a group of scripts needs, the providers that scripts of the group have), in the order of the list
_GROUPS = (
    ("any Python program: -c, python -m pyusdt, pyusdt attach", {"python"}),
    (
        "web frameworks and databases under pyusdt run, or probes with these names",
        {"http", "db", "request"},
    ),
    ("calls of pyusdt.p() and pyusdt.pn(): pyusdt example webshop", {"pyusdt"}),
    ("Erlang and Elixir nodes: pyusdt attach, or pyusdt_vm:enable()", {"erlang"}),
)
_OTHERS = "one process that is named by -p or -c"


def group_scripts() -> list[tuple[str, list[list[str]]]]:
    """[(what the scripts need, [[name, probes, question]])]."""
    texts = [*(text for text, _ in _GROUPS), _OTHERS]
    found: dict[str, list[list[str]]] = {text: [] for text in texts}
    for name in names():
        providers = {provider for provider, _ in needed_probes(name)}
        fitting = (text for text, named in _GROUPS if providers and providers <= named)
        found[next(fitting, _OTHERS)].append([name, _format_probes(name), Script(name).question])
    return [(text, rows) for text, rows in found.items() if rows]


def _format_probes(name: str) -> str:
    """Those that it needs: each provider, and its probes."""
    needed: dict[str, list[str]] = {}
    for provider, probe in needed_probes(name):
        needed.setdefault(provider, []).append(probe)
    return (
        "; ".join(f"{provider}:::{', '.join(probes)}" for provider, probes in needed.items())
        or "any"
    )


def explain_misfit(name: str, words: list[str]) -> str | None:
    """Why the script sees nothing in a process that the command line names by -p, and which script does; None: it may see something.

    given: what follows the script's name.  A process that has just begun may get its probes yet.
    """
    from pydtrace.engine.embedded.young_processes import is_young
    from pydtrace.engine.no_events_hints import find_providers
    from pydtrace.engine.probe_hints import explain_library_to_come, is_framework_provider

    needed = {provider for provider, _ in needed_probes(name)}
    if not needed or {"--attach", "-Z", "--provider", "--name"} & {
        word.partition("=")[0] for word in words
    }:
        return None
    for pid in _find_pids(words):
        has = find_providers([pid])
        if has and not has & needed and not is_young(pid):
            if all(map(is_framework_provider, needed)) and (why := explain_library_to_come(pid)):
                return f"no probe of {name}: {why}"
            fitting = (
                ", ".join(fitting_scripts(has - {"pyusdt"}) or fitting_scripts(has))
                or "none of these scripts"
            )
            return f"process {pid} has no probe that {name} needs ({_format_probes(name)}); its probes fit {fitting}"
    return None


def _find_pids(given: list[str]) -> list[int]:
    words = [
        word[2:] or after
        for word, after in zip(given, [*given[1:], ""], strict=False)
        if word.startswith("-p")
    ]
    return [int(word) for word in words if word.isdigit()]


def _parse_word(text: str) -> str:
    if not _WORD.fullmatch(text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a name")
    return text


def _parse_pair(text: str) -> tuple[str, str]:
    old, equals, new = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"'{text}' is not OLD=NEW")
    return _parse_word(old), _parse_word(new)


def make_parser(script: Script) -> argparse.ArgumentParser:
    """For what follows the script's name."""
    made = argparse.ArgumentParser(
        prog=f"pyusdt trace {script.name}",
        description=script.question,
        epilog=_EPILOG,
        allow_abbrev=False,
    )
    for option in script.options:
        words = (
            f"{option.help}; {option.default} if it is not given" if option.default else option.help
        )
        made.add_argument(
            f"--{option.name}",
            dest=option.name,
            metavar="N" if option.integer else "TEXT",
            help=words,
            type=int if option.integer else str,
            default=option.default,
            required=not option.default,
        )
    made.add_argument(
        "--provider",
        type=_parse_word,
        metavar="NAME",
        help=f"the provider instead of {', '.join(script.find_providers())}",
    )
    made.add_argument(
        "--name",
        type=_parse_pair,
        action="append",
        default=[],
        metavar="OLD=NEW",
        help="a probe or an argument is called NEW there",
    )
    return made


def build_command_line(script: Script, words: list[str]) -> list[str]:
    """pydtrace's.  given: what follows the script's name.  ValueError: the script does not have what is named."""
    parser = make_parser(script)
    options, others = parser.parse_known_args(words)
    _check_other_options(parser, others)
    path = script.path
    if options.provider or options.name:
        path = _write_memory_file(
            script.name, script.rename_probes(options.provider, dict(options.name))
        )
    return [
        "-q",
        "-s",
        path,
        *_accept_later_probes(script, options, others),
        *others,
        *(str(getattr(options, option.name)) for option in script.options),
    ]


def _check_other_options(parser: argparse.ArgumentParser, words: list[str]) -> None:
    """Refuses a --name that is neither the script's nor pydtrace's."""
    from pydtrace.cli.parsing.options_table import PYDTRACE_OPTIONS

    known = [
        *(text for action in parser._actions for text in action.option_strings),
        *(option.flag for option in PYDTRACE_OPTIONS),
    ]
    for word in words:
        name = word.partition("=")[0]
        if word == "--":
            return
        if name.startswith("--") and name not in known:
            hint = did_you_mean(name, known) or f"{parser.prog} --help lists the options"
            parser.error(append_hint(f"there is no option {escape_for_terminal(name)}", hint))


def _accept_later_probes(
    script: Script, options: argparse.Namespace, words: list[str]
) -> list[str]:
    """-Z for a command whose frameworks have the script's probes when it runs; they have no other probes, so no mistake is hidden."""
    starts = any(word.startswith("-c") for word in words)
    if not starts or options.provider or options.name:
        return []
    from pydtrace.engine.probe_hints import is_framework_provider

    return ["-Z"] if all(map(is_framework_provider, script.find_providers())) else []


def _write_memory_file(name: str, text: str) -> str:
    """The path of a file of this process with the text, for as long as the process lives."""
    if not hasattr(os, "memfd_create"):  # Linux alone has it
        return _write_temporary_file(text)
    fd = os.memfd_create(f"{name}.d", os.MFD_CLOEXEC)
    with open(fd, "w", encoding="utf-8", closefd=False) as file:
        file.write(text)
    return f"/proc/self/fd/{fd}"


def _write_temporary_file(text: str) -> str:
    """The same for other systems."""
    import atexit
    import tempfile

    file = tempfile.NamedTemporaryFile("w", suffix=".d", encoding="utf-8")  # noqa: SIM115
    atexit.register(file.close)
    file.write(text)
    file.flush()
    return file.name
