"""-x options: dtrace's names, values and errors.

They come from -x, from `#pragma D option` and from DTRACE_OPT_… variables. Options is a mapping
from name to value: sizes in bytes, rates in ns, switches True or False, counts as int.

- Only what was set is in it; who reads an option knows its default.
- Options that tune parts of dtrace that do not exist here (aggrate, evaltime, bpflogsize …) are
  checked and change nothing.

Source: the DTrace guide, "Options and Tunables", and dtrace 2.0's answers.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Parser = Callable[[str | None], Any]

_SIZE_SUFFIXES = {"k": 10, "m": 20, "g": 30, "t": 40}
_SECOND = 1_000_000_000
_RATE_SUFFIXES = {
    "ns": 1,
    "nsec": 1,
    "us": 1000,
    "usec": 1000,
    "ms": 1_000_000,
    "msec": 1_000_000,
    "s": _SECOND,
    "sec": _SECOND,
    "m": 60 * _SECOND,
    "min": 60 * _SECOND,
    "h": 3600 * _SECOND,
    "hour": 3600 * _SECOND,
    "d": 86400 * _SECOND,
    "day": 86400 * _SECOND,
}
_ON = ("yes", "enable", "enabled", "true", "on", "set")
_OFF = ("no", "disable", "disabled", "false", "off", "unset")
_STABILITIES = frozenset(
    ["internal", "private", "obsolete", "external", "unstable", "evolving", "stable", "standard"]
)
_CLASSES = frozenset(["unknown", "cpu", "platform", "group", "isa", "common"])
_LARGEST, _LARGEST_SIZE = 2**63 - 1, 2**64 - 1
# The versions of the language. A program can not see which one it runs under.
_VERSIONS = frozenset(
    [
        (1, 0),
        (1, 1),
        (1, 2),
        (1, 2, 1),
        (1, 2, 2),
        (1, 3),
        (1, 4),
        (1, 4, 1),
        (1, 5),
        (1, 6),
        (1, 6, 1),
        (1, 6, 2),
        (1, 6, 3),
        (1, 6, 4),
        (1, 7),
        (1, 8),
        (1, 8, 1),
        (1, 9),
        (1, 9, 1),
        (1, 9, 2),
        (1, 10),
        (1, 11),
        (1, 12),
        (1, 12, 1),
        (1, 13),
        (1, 13, 1),
        (1, 13, 2),
        (2, 0),
    ]
)


class OptionError(Exception):
    """An option with a value that it can not have; the message is dtrace's, or says what is not supported."""


def _invalid_value() -> OptionError:
    return OptionError("Invalid value for specified option")


def _parse_strtoull(text: str, largest: int | None = _LARGEST) -> tuple[int, str]:
    """What C's strtoull(text, &end, 0) reads: (value, rest of the text)."""
    body = text.lstrip(" \t\n\v\f\r")
    sign = body[:1] if body[:1] in ("+", "-") else ""
    body = body[len(sign) :]
    base, digits = 10, "0123456789"
    if body[:2].lower() == "0x" and body[2:3].lower() in tuple("0123456789abcdef"):
        base, digits, body = 16, "0123456789abcdef", body[2:]
    elif body[:1] == "0":
        base, digits = 8, "01234567"
    end = 0
    while end < len(body) and body[end].lower() in digits:
        end += 1
    if end == 0:
        return 0, text
    value = int(body[:end], base)
    if (sign == "-" and value) or (largest is not None and value > largest):
        raise _invalid_value()
    return value, body[end:]


def _parse_size(text: str | None) -> int:
    if text is None:
        return 0
    shift = _SIZE_SUFFIXES.get(text[-1:].lower(), 0)
    value, rest = _parse_strtoull(text, _LARGEST_SIZE)
    if len(rest) != (1 if shift else 0):
        raise _invalid_value()
    return value << shift & _LARGEST_SIZE


def _parse_printsize(text: str | None) -> int:
    """The most that print() shows; as with dtrace, a value out of bounds means the default."""
    value = _parse_size(text)
    return (value if 0 < value <= 65536 else 8192) + 7 & ~7


def _parse_strsize(text: str | None) -> int:
    value = _parse_size(text)
    if value < 2:  # a character and its NUL
        raise _invalid_value()
    if value >= 1 << 32:
        raise OptionError("Value too large for defined data type")
    if value > 65536:
        raise OptionError("strings of more than 65536 bytes are not supported")
    return value


def _parse_rate(text: str | None, largest: int | None = _LARGEST) -> int:
    if text is None:
        return 0
    value, rest = _parse_strtoull(text, largest)
    rest = rest.lower()
    if rest == "hz":
        return _SECOND // value if value else 0
    if rest == "":
        return value
    if rest not in _RATE_SUFFIXES:
        raise _invalid_value()
    return value * _RATE_SUFFIXES[rest]


def _parse_unused_rate(text: str | None) -> int:
    """One that is only kept: of as many digits as one likes, as in dtrace."""
    return min(_parse_rate(text, None), _LARGEST)


def _parse_switch(text: str | None) -> bool:
    """On, unless the value says off; numbers mean on, even 0, as in dtrace."""
    if text is None:
        return True
    if text == "" or text.lower() in _OFF:
        return False
    if text.lower() not in _ON:
        _parse_count(text)
    return True


def _parse_count(text: str | None) -> int:
    if text is None:
        return 0
    value, rest = _parse_strtoull(text)
    if rest:
        raise _invalid_value()
    return value


def _parse_flag(text: str | None) -> bool:
    """An option of the compiler, which takes no value."""
    if text is not None:
        raise _invalid_value()
    return True


def _parse_text(text: str | None) -> str:
    """An option that needs a value."""
    if text is None:
        raise _invalid_value()
    return text


def _parse_stdc(text: str | None) -> str:
    if text is None or text not in ("a", "c", "s", "t"):
        raise _invalid_value()
    return text


def _make_preprocessor_parser(switch: str) -> Parser:
    """The parser of an option that gives the preprocessor an argument. The arguments have the order of the options."""

    def parse(text: str | None) -> list[str]:
        return [switch + _parse_text(text)]

    return parse


def _parse_headers(text: str | None) -> list[str]:
    _parse_flag(text)
    return ["-H"]


def _make_choice_parser(*names: str) -> Parser:
    """The parser of an option that is one of a few words."""

    def parse(text: str | None) -> str:
        if text is None or text not in names:
            raise OptionError(f"one of {', '.join(names)} is needed")
        return text

    return parse


def _parse_frames(text: str | None) -> int:
    """A number of stack frames, at most what the kernel allows."""
    if text == "":
        raise _invalid_value()
    value = _parse_count(text)
    try:
        with open("/proc/sys/kernel/perf_event_max_stack", encoding="ascii") as file:
            limit = int(file.read())
    except (OSError, ValueError):
        limit = _LARGEST
    if value > limit:
        raise _invalid_value()
    return value


def _make_word_parser(*names: str) -> Parser:
    """The parser of an option with these values."""

    def parse(text: str | None) -> str:
        if text is None or text not in names:
            raise _invalid_value()
        return text

    return parse


def _parse_version(text: str | None) -> str:
    version = _parse_text(text)
    parts = version.split(".")
    if not 1 < len(parts) < 4 or not all(part.isdigit() for part in parts):
        raise OptionError("Invalid version string")
    if tuple(int(part) for part in parts) not in _VERSIONS:
        raise OptionError("Operation not supported")
    return version


def _parse_stages(text: str | None) -> int:
    """Which of the compiler's trees are shown, a bit for each."""
    value = _parse_count(_parse_text(text))
    if not value:
        raise _invalid_value()
    return value


def _parse_atoi(text: str | None) -> int:
    """What C's atoi(text) reads; Invalid value unless that is more than 0."""
    body = _parse_text(text).lstrip(" \t\n\v\f\r").removeprefix("+")
    value = int("0" + body[: len(body) - len(body.lstrip("0123456789"))])
    if value == 0:
        raise _invalid_value()
    return value


def _parse_registers(text: str | None) -> int:
    """Eight, which dtrace has, and needs."""
    value = _parse_atoi(text)
    if value > 8:
        raise _invalid_value()
    if value < 8:
        raise OptionError("Insufficient registers to generate code")
    return value


def _parse_speculations(text: str | None) -> int:
    """How many; dtrace takes no digits at all as more than there can be."""
    return _LARGEST_SIZE if text == "" else _parse_count(text)


def are_attributes(parts: list[str]) -> bool:
    """Whether these are those of Evolving/Evolving/Common or its like, in small letters: a name's stability, the data's, a class.  As in
    dtrace's #pragma the last ones may be left out."""
    return len(parts) <= 3 and _STABILITIES.issuperset(parts[:2]) and _CLASSES.issuperset(parts[2:])


def _parse_stability(text: str | None) -> str:
    """The least stable that a script may use: name/data/class. It is checked and changes nothing."""
    parts = _parse_text(text).lower().split("/")
    if len(parts) != 3 or not are_attributes(parts):
        raise _invalid_value()
    return "/".join(parts)


def _parse_percent(text: str | None) -> int:
    value = _parse_count(text)
    if not 0 < value <= 100_000:
        raise OptionError("a number of percent of one processor is needed, 1 and up")
    return value


def _parse_workers(text: str | None) -> int:
    most = 64  # c/consumer/parallel_consumers.h
    value = _parse_count(text)
    if text is not None and not 0 < value <= most:
        raise OptionError(f"a number of consumers is needed, 1 to {most}")
    return value  # 0: one a processor


def _parse_repeated(text: str | None) -> list[str]:
    return [_parse_text(text)]


def _make_refusal(reason: str) -> Parser:
    """The parser of an option that means nothing here, or nothing yet."""

    def parse(text: str | None) -> Any:
        raise OptionError(f"not supported: {reason}")

    return parse


PARSERS: dict[str, Parser] = {
    "aggrate": _parse_unused_rate, "cleanrate": _parse_unused_rate, "orderlag": _parse_rate, "statusrate": _parse_unused_rate, "switchrate": _parse_unused_rate,
    "bufpolicy": _make_word_parser("ring", "fill", "switch"), "bufresize": _make_word_parser("auto", "manual"), "cpu": _parse_count,
    "evaltime": _make_word_parser("exec", "preinit", "postinit", "main"), "linkmode": _make_word_parser("kernel", "primary", "dynamic",
    "static"), "linktype": _make_word_parser("elf", "dof"), "version": _parse_version, "libdir": _parse_repeated, "syslibdir": _parse_text,
    "iregs": _parse_registers, "tregs": _parse_atoi, "pspec": _parse_flag, "verbose": _parse_flag, "knodefs": _parse_flag, "unodefs": _parse_flag,
    "kdefs": _parse_flag, "udefs": _parse_flag, "tree": _parse_stages, "disasm": lambda text: text or "1", "preallocate": _parse_size,
    "pgmax": _parse_count, "lockmem": _parse_text, "bpflog": _parse_switch, "bpflogsize": _parse_size, "pcapsize": _parse_size,
    "printsize": _parse_printsize, "strip": _parse_flag,
    "scratchsize": _parse_size, "noresolve": _parse_switch, "demangle": _parse_switch, "jstackframes": _parse_frames, "jstackstrsize": _parse_size,
    "linknommap": lambda text: True, "useruid": _parse_text, "sysslice": _parse_text, "core": _parse_flag, "debug": _parse_flag,
    "debugassert": _make_word_parser("mutexes"), "amin": _parse_stability, "ldpath": _parse_text,
    "aggsize": _parse_size, "bufsize": _parse_size, "dynvarsize": _parse_size, "specsize": _parse_size, "strsize": _parse_strsize,
    "aggsortkeypos": _parse_count, "aggsortpos": _parse_count, "maxframes": _parse_frames, "nspec": _parse_speculations,
    "stackframes": _parse_frames, "stackindent": _parse_count, "ustackframes": _parse_frames,
    "profilewall": _parse_switch,
    "flowindent": _parse_switch, "aggsortkey": _parse_switch, "aggsortrev": _parse_switch, "destructive": _parse_switch, "quiet": _parse_switch,
    "agghist": _parse_switch, "aggpack": _parse_switch, "aggpercpu": _parse_flag, "aggzoom": _parse_switch, "encoding": _make_word_parser("ascii", "utf8"),
    "quietresize": _parse_switch, "rawbytes": _parse_switch,
    "argref": _parse_flag, "defaultargs": _parse_flag, "empty": _parse_flag, "errtags": _parse_flag, "nolibs": _parse_flag,
    "cpp": _parse_flag, "cppargs": lambda text: _parse_text(text).split(), "cpphdrs": _parse_headers, "cpppath": _parse_text, "stdc": _parse_stdc,
    "define": _make_preprocessor_parser("-D"), "incdir": _make_preprocessor_parser("-I"), "undef": _make_preprocessor_parser("-U"),
    "zdefs": _parse_flag, "droptags": lambda text: True,
    # pyusdt's own: what D does not do (docs/reference/language.md); which engine; how the kernel's attaches; whether it does so at a
    # site's nop5; files that it looks into, whether a process has them mapped or not
    "pyusdt": _parse_flag, "engine": _make_choice_parser("embedded", "kernel", "dtrace"), "attach": _make_choice_parser("multi", "perf"), "nop5": _parse_switch,
    "file": _parse_repeated,
    # whether paths to values may have the names of secrets (docs/howto/values.md)
    "secrets": _parse_flag,
    "valuerate": _parse_size,  # bytes of values a second of a process
    # the provider of $target stands for those of its descendants, too (docs/reference/pydtrace.md)
    "children": _parse_flag,
    # the provider python goes into what the command of -c starts, too (docs/reference/python-vm.md)
    "pychildren": _parse_flag,
    # what --metrics calls them: a line of the mapping, a file of such; what it asks of whom, and answers with (docs/howto/metrics.md)
    "track": _make_word_parser("thread", "task", "tag"),  # by which --perfetto and --chrome have their tracks
    "metric": _parse_repeated, "metrics": _parse_text, "metricstoken": _parse_text, "metricscert": _parse_text,
    # who gets a clause's records; when an alert is over, when it is sent again; how many alerts a minute;
    # whether the stacks of the process go with them (docs/howto/alerts.md)
    "alert": _parse_repeated, "alertends": _parse_rate, "alertrepeat": _parse_rate, "alertrate": _parse_count, "alertstacks": _parse_flag,
    # where the aggregations go by OTLP, how often, and whether all or what is new (docs/howto/metrics.md)
    "spans": _parse_text, "otlp": _parse_text, "otlpinterval": _parse_rate, "otlptemporality": _make_choice_parser("cumulative", "delta"),
    # how long hosts of --hosts may take to answer, and how long one that was lost is tried again (docs/reference/many-hosts.md)
    "hostwait": _parse_rate, "hostretry": _parse_rate,
    # whether each host runs the clauses of its events, or the coordinator those of all
    "hostmode": _make_choice_parser("partial", "central"),
    "workers": _parse_workers,  # consumers that share the events (docs/internals/consumers.md)
    "maxcpu": _parse_percent,  # of a processor that pydtrace may take (docs/howto/serve.md)
}  # fmt: skip
_REFUSED = {
    "there is nothing to link": "dofstashpath late xlate",
    "types are not read as CTF, nor written so": "ctfpath ctypes dtypes",
    "the kernel that is traced is the one that runs, and tells of itself": "grabanon modpath procfspath",
    "it is for dtrace's own developers": "lazyload",
}  # fmt: skip
for _reason, _names in _REFUSED.items():
    PARSERS.update(dict.fromkeys(_names.split(), _make_refusal(_reason)))


# These add to the arguments of the preprocessor, which are the option cppargs.
_PREPROCESSOR_OPTIONS = frozenset(("cppargs", "cpphdrs", "define", "incdir", "undef"))
# A script can not set the options that decide how the script itself is read.
COMMAND_LINE = _PREPROCESSOR_OPTIONS | {
    "cpppath",
    "stdc",
    "ldpath",
    "ctfpath",
    "modpath",
    "procfspath",
    "lockmem",
    "metrics",
    "metricstoken",
    "metricscert",
    "alert",
    "otlp",
    "spans",
    "hostmode",
}


class Options(dict[str, "Any"]):
    """The options that are set: {name: value}."""

    __slots__ = ()

    def set(self, name: str, text: str | None = None) -> None:
        """Set an option from its text; OptionError where that can not be."""
        parser = PARSERS.get(name)
        if parser is None:
            raise OptionError("Invalid option name")
        value = parser(text)
        if name in _PREPROCESSOR_OPTIONS:
            name, value = "cppargs", self.get("cppargs", []) + value
        elif parser is _parse_repeated:
            value = self.get(name, []) + value
        self[name] = value

    def set_received(self, name: str, value: Any) -> None:
        """Set an option to a value that another process says that it has read; OptionError where no text reads so."""
        texts = [None, "on", "off"] if isinstance(value, bool) else [str(value), None]
        for text in texts:
            try:
                if (found := PARSERS[name](text)) == value and type(found) is type(value):
                    self[name] = value
                    return
            except (OptionError, KeyError):
                continue
        raise OptionError(f"option {name} cannot have the value {str(value)[:40]}")

    def read_environment(self, environ: Mapping[str, str], prefix: str = "DTRACE_OPT_") -> None:
        """Set options from variables such as DTRACE_OPT_QUIET; as in dtrace, those that can not be set are ignored."""
        for variable, text in environ.items():
            if variable.startswith(prefix):
                name = variable[len(prefix) :].lower()
                if variable == prefix + name.upper() and name in PARSERS:
                    try:
                        self.set(name, text)
                    except OptionError:
                        continue


def read_keep(text: str, what: str, needs: str) -> tuple[str, int, int]:
    """NAME[,TIME[,SIZE]] of a session that goes on without its tracer, as (name, ns, bytes).  what: the option, for people; needs: its
    value.  OptionError."""
    name, _, rest = text.partition(",")
    time, _, size = rest.partition(",")
    if not name or len(name.encode()) > 31:
        raise OptionError(f"{what} needs {needs}")
    found = []
    for shown, parse, word in (
        ("time", _parse_unused_rate, time or "1h"),
        ("size", _parse_size, size or "64m"),
    ):
        try:
            found.append(parse(word))
        except OptionError as error:
            raise OptionError(f"failed to set {what}'s {shown}: {error}") from None
    if not found[0]:
        raise OptionError(f"{what} needs a time")
    return name, found[0], found[1]
