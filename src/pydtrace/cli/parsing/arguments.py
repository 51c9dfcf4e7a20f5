"""Parse pydtrace's command line: argv in, Arguments out.

- Nothing is opened, started or looked up, but for the hint of an error.
- As in dtrace, the values of options are checked before anything else happens.
"""

from __future__ import annotations

from pydtrace.dlang.compile import DUMP_STAGES
from pydtrace.options import PARSERS, OptionError, Options, read_keep
from pydtrace.suggestions import append_hint, did_you_mean
from pydtrace.terminal_colour import WHEN

from .options_table import DTRACE_OPTIONS, PYDTRACE_OPTIONS
from .sink_factory import FORMATS, SCHEMAS, TEXT_FORMAT, parse_address, parse_port

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from .options_table import Option
    from .sink_factory import Format

    Given = tuple[str, str | None]  # an option: its letter or --name, its value

STDERR = 2
_SHORT_OPTIONS = {
    option.name[0]: option for option in DTRACE_OPTIONS
}  # as in getopt(3): of -32, "2" is the argument
_LONG_OPTIONS = {option.flag: option for option in PYDTRACE_OPTIONS}
_INFORMATION_MODES = {
    "--help": "help",
    "--version": "versions",
}  # the mode of these options, whatever others stand beside them
_LEVELS = {"n": "name", "i": "name", "f": "function", "m": "module", "P": "provider"}


class UsageError(Exception):
    """The command line can not be parsed, or, without a message, asks for nothing; usage: the list of options follows (not where it would
    scroll a hint away)."""

    def __init__(self, message: str | None, usage: bool = True) -> None:
        super().__init__(message)
        self.usage = usage


class OptionRefused(Exception):
    """An option that is known but can not be used in this way; the message is one line for the user."""


class Failure(Exception):
    """The end, with exit status 1, for a reason that is not in the command line; the message is for the user."""


class Request:
    """One -n, -f, -m, -P or -s.  text: the clause, None for a script; script: its path, else None; level: the meaning of the last
    part of its probe descriptions."""

    __slots__ = ("level", "script", "text")

    def __init__(
        self, text: str | None = None, script: str | None = None, level: str = "name"
    ) -> None:
        self.text, self.script, self.level = text, script, level

    @property
    def kind(self) -> str:
        return "description" if self.script is None else "script"

    @property
    def name(self) -> str:
        """The request's name in messages about its probes: of a clause, the part before its predicate or body."""
        if self.script is not None:
            return self.script
        text = self.text or ""
        ends = [end for end in (text.find(c) for c in "{/;") if end >= 0]
        return text[: min(ends)] if ends else text


class Arguments:
    """requests: list of Request; options: Options; commands: list of str (-c); pids: list of int (-p);
    output: path (-o) or None; mode: "trace", "list", "header", "link", "serve", "version", "help" or "versions"; execute: False for -e;
    verbose: number of -v; dump: stage of --dump or None; colour: word of --color; format: one of sink_factory.py, format_argument: its
    argument; operands: the arguments $1 and up."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.commands: list[str] = []
        self.pids: list[int] = []
        self.operands: list[str] = []
        self.options = Options()
        self.output: str | None = None
        self.dump: str | None = None
        self.format: Format = TEXT_FORMAT
        self.format_argument: str | None = None
        self.mode, self.execute, self.verbose = "trace", True, 0
        self.ready: int | None = (
            None  # the file descriptor that hears when the probes are on; 2: by a line on the standard error
        )
        self.colour = "auto"
        self.strict = False  # a loss makes the exit status 3
        self.hosts: str | None = None  # the list; of pydtrace --serve this host's own name
        self.width = 0  # of the longest name
        self.via: str | None = None
        self.relay: str | None = None  # a list of hosts
        self.policy: str | None = None  # the file that says what --serve allows
        self.attach = False  # the provider python is brought into the processes of -p


def split_argv(argv: Iterable[str]) -> tuple[list[Given], list[str]]:
    """getopt(3): argv without the program's name in, ([(letter or "--name", argument or None)], operands) out."""
    found: list[Given] = []
    operands: list[str] = []
    words = iter(argv)
    for word in words:
        if word == "--":
            operands.extend(words)
        elif not word.startswith("-") or word == "-":
            operands.append(word)
        elif long := _LONG_OPTIONS.get(word.partition("=")[0]):
            found.append(_parse_long(long, word, words))
        else:
            found.extend(_parse_letters(word, words))
    return found, operands


def _parse_long(option: Option, word: str, words: Iterator[str]) -> Given:
    """An option of ours; its value stands behind "=", or is the next word."""
    name, equals, value = word.partition("=")
    if option.value is None:
        if equals:
            raise UsageError(f"option takes no argument -- '{name[2:]}'")
        return name, None
    if option.optional:
        return name, value if equals else None
    return name, value if equals else next(words, "")


def _parse_letters(word: str, words: Iterator[str]) -> Iterator[Given]:
    """The options of a word such as -qs."""
    at = 1
    while at < len(word):
        letter = word[at]
        option = _SHORT_OPTIONS.get(letter)
        at += 1
        if option is None:
            hint = _suggest_long_option(word) if letter == "-" else None
            raise UsageError(append_hint(f"invalid option -- '{letter}'", hint), usage=hint is None)
        if option.value is None and len(option.name) == 1:
            yield letter, None
            continue
        argument = word[at:] or next(words, None)
        if argument is None:
            raise UsageError(f"option requires an argument -- '{letter}'")
        yield letter, argument
        return


def _suggest_long_option(word: str) -> str:
    """The hint for a --name that is none of ours: dtrace's message does not name it."""
    name = word.partition("=")[0]
    return (
        f"did you mean -x {word[2:]}?"
        if name[2:] in PARSERS
        else did_you_mean(name, _LONG_OPTIONS) or f"unknown option {name}; --help lists the options"
    )


def parse_arguments(argv: Iterable[str], environ: Mapping[str, str]) -> Arguments:
    """The Arguments of an argv without the program's name.  Raises UsageError, Refused."""
    found, operands = split_argv(argv)
    arguments = Arguments()
    arguments.operands = operands
    _set_modes(arguments, found)
    if arguments.mode in ("version", "versions", "help"):
        return arguments
    arguments.options.read_environment(environ)
    for letter, value in found:
        _apply_option(arguments, letter, value)
    return arguments


def _set_modes(arguments: Arguments, found: list[Given]) -> None:
    """The options that are looked at before all others: the word sizes, and the modes, of which one is allowed."""
    for name, mode in _INFORMATION_MODES.items():
        if (name, None) in found:
            arguments.mode = mode
            return
    modes = [letter for letter, _ in found if letter in "GhlV"]
    for letter, value in found:
        if letter in "36" and f"{letter}{value}" not in ("32", "64"):
            raise UsageError(f"illegal option -- {letter}{value}")
    if len(modes) > 1:
        raise UsageError("only one of the [-GhlV] options can be specified at a time", usage=False)
    arguments.mode = {"G": "link", "h": "header", "l": "list", "V": "version"}.get(
        modes[0] if modes else "", "trace"
    )
    arguments.verbose = sum(letter == "v" for letter, _ in found)
    if arguments.mode in ("header", "link", "list"):
        arguments.options["zdefs"] = True


def _apply_option(arguments: Arguments, letter: str, value: str | None) -> None:
    """One option of the second pass."""
    option = _SHORT_OPTIONS.get(letter) or _LONG_OPTIONS[letter]
    text = value or ""  # an option that takes a value has one
    if option.refusal:
        raise OptionRefused(f"-{option.name} is not supported: {option.refusal}")
    if option.needs and not option.optional and not value:
        raise OptionRefused(f"{letter} needs {option.needs}")
    if letter in _LEVELS:
        arguments.requests.append(Request(text=text, level=_LEVELS[letter]))
    elif letter == "s":
        arguments.requests.append(Request(script=text))
    elif letter == "c":
        arguments.commands.append(text)
    elif letter == "p":
        arguments.pids.append(_parse_pid(text))
    elif letter == "o":
        arguments.output = text
    elif letter == "e":
        arguments.execute = False
    elif letter in ("--record", "--replay"):
        arguments.options[letter[2:]] = value
    elif letter == "--keep":
        arguments.options["keep"] = _parse_keep(text)
    elif letter == "--wait":
        if len(text.encode()) > 15:
            raise OptionRefused(f"--wait needs {option.needs}")
        arguments.options["wait"] = int(text) if text.isascii() and text.isdigit() else text
        arguments.options["zdefs"] = True
    elif letter == "--ready":
        arguments.ready = STDERR if value is None else _parse_descriptor(value)
    elif letter == "--strict":
        arguments.strict = True
    elif letter in ("--hosts", "--via", "--relay"):
        setattr(arguments, letter[2:], text)
    elif letter == "--serve":
        arguments.mode, arguments.policy = "serve", value
    elif letter == "--attach":
        arguments.attach = True
    elif letter == "--dump":
        arguments.dump = _check_choice(DUMP_STAGES, option, text)
    elif letter == "--color":
        arguments.colour = _check_choice(WHEN, option, text)
    elif letter[2:] in FORMATS:
        if letter == "--json":
            _check_choice(SCHEMAS, option, "1" if value is None else value)
        elif letter == "--web":
            _check_value(parse_port, value or "0", "--web needs the number of a port, or nothing")
        elif letter == "--metrics":
            _check_value(parse_address, text, f"--metrics needs {option.needs}")
        arguments.format, arguments.format_argument = FORMATS[letter[2:]], value
    elif letter == "x":
        name, equals, setting = text.partition("=")
        _set_option(arguments.options, f"-x {name}", name, setting if equals else None)
    elif option.setting:
        shown = f"-{letter}" if value is None else f"-{letter} {value}"
        _set_option(arguments.options, shown, option.setting, value)


def _set_option(options: Options, option: str, name: str, text: str | None) -> None:
    try:
        options.set(name, text)
    except OptionError as error:
        raise OptionRefused(
            append_hint(f"failed to set {option}: {error}", did_you_mean(name, PARSERS))
        ) from None


def _check_choice(words: Collection[str], option: Option, value: str) -> str:
    if value not in words:
        raise OptionRefused(f"{option.flag} needs {option.needs}")
    return value


def _parse_keep(text: str) -> tuple[str, int, int]:
    try:
        return read_keep(text, "--keep", _LONG_OPTIONS["--keep"].needs or "")
    except OptionError as error:
        raise OptionRefused(str(error)) from None


def _check_value(parse: Callable[[str], object], text: str, message: str) -> None:
    try:
        parse(text)
    except ValueError:
        raise OptionRefused(message) from None


def _parse_descriptor(text: str) -> int:
    """The N of --ready=N."""
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) > STDERR):
        raise OptionRefused("--ready needs the number of an open file descriptor, from 3 on")
    return int(text)


def _parse_pid(text: str) -> int:
    digits = text.strip(" \t\n\v\f\r")
    if digits[:1] in ("+", "-"):
        digits = digits[1:]
    if not (digits.isascii() and digits.isdigit()) or text[-1:].isspace() or len(digits) > 18:
        from pydtrace.process.process_names import pid_hint

        raise OptionRefused(append_hint(f"invalid pid: {text}", pid_hint(text)))
    return int(text)
