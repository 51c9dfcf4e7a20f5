"""-x options: dtrace's names, values and errors.

In: names and values as text, from -x, from `#pragma D option`, from DTRACE_OPT_… variables.
Out: Options, a mapping from name to value: sizes in bytes, rates in ns, switches True or False,
counts as int.  Always: only what was set is in it; what reads an option knows its default.  Options that only tune
parts of dtrace that are not here (aggrate, evaltime, bpflogsize …) are checked and change nothing.

Source of the rules: the DTrace guide, "Options and Tunables", and dtrace 2.0's answers.
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


def _invalid() -> OptionError:
    return OptionError("Invalid value for specified option")


def _number(text: str, largest: int | None = _LARGEST) -> tuple[int, str]:
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
        raise _invalid()
    return value, body[end:]


def _size(text: str | None) -> int:
    if text is None:
        return 0
    shift = _SIZE_SUFFIXES.get(text[-1:].lower(), 0)
    value, rest = _number(text, _LARGEST_SIZE)
    if len(rest) != (1 if shift else 0):
        raise _invalid()
    return value << shift & _LARGEST_SIZE


def _printsize(text: str | None) -> int:
    """The most that print() shows; as with dtrace, a value out of bounds means the default."""
    value = _size(text)
    return (value if 0 < value <= 65536 else 8192) + 7 & ~7


def _strsize(text: str | None) -> int:
    value = _size(text)
    if value < 2:  # a character and its NUL
        raise _invalid()
    if value >= 1 << 32:
        raise OptionError("Value too large for defined data type")
    if value > 65536:
        raise OptionError("strings of more than 65536 bytes are not supported")
    return value


def _rate(text: str | None, largest: int | None = _LARGEST) -> int:
    if text is None:
        return 0
    value, rest = _number(text, largest)
    rest = rest.lower()
    if rest == "hz":
        return _SECOND // value if value else 0
    if rest == "":
        return value
    if rest not in _RATE_SUFFIXES:
        raise _invalid()
    return value * _RATE_SUFFIXES[rest]


def _any_rate(text: str | None) -> int:
    """One that is only kept: of as many digits as one likes, as in dtrace."""
    return min(_rate(text, None), _LARGEST)


def _switch(text: str | None) -> bool:
    """On, unless the value says off; numbers mean on, even 0, as in dtrace."""
    if text is None:
        return True
    if text == "" or text.lower() in _OFF:
        return False
    if text.lower() not in _ON:
        _count(text)
    return True


def _count(text: str | None) -> int:
    if text is None:
        return 0
    value, rest = _number(text)
    if rest:
        raise _invalid()
    return value


def _flag(text: str | None) -> bool:
    """An option of the compiler, which takes no value."""
    if text is not None:
        raise _invalid()
    return True


def _text(text: str | None) -> str:
    """An option that needs a value."""
    if text is None:
        raise _invalid()
    return text


def _stdc(text: str | None) -> str:
    if text is None or text not in ("a", "c", "s", "t"):
        raise _invalid()
    return text


def _preprocessor(switch: str) -> Parser:
    """The parser of an option that gives the preprocessor an argument. The arguments have the order of the options."""

    def parse(text: str | None) -> list[str]:
        return [switch + _text(text)]

    return parse


def _headers(text: str | None) -> list[str]:
    _flag(text)
    return ["-H"]


def _choice(*names: str) -> Parser:
    """The parser of an option that is one of a few words."""

    def parse(text: str | None) -> str:
        if text is None or text not in names:
            raise OptionError(f"one of {', '.join(names)} is needed")
        return text

    return parse


def _frames(text: str | None) -> int:
    """A number of stack frames, at most what the kernel allows."""
    if text == "":
        raise _invalid()
    value = _count(text)
    try:
        with open("/proc/sys/kernel/perf_event_max_stack", encoding="ascii") as file:
            limit = int(file.read())
    except (OSError, ValueError):
        limit = _LARGEST
    if value > limit:
        raise _invalid()
    return value


def _one_of(*names: str) -> Parser:
    """The parser of an option with these values."""

    def parse(text: str | None) -> str:
        if text is None or text not in names:
            raise _invalid()
        return text

    return parse


def _version(text: str | None) -> str:
    version = _text(text)
    parts = version.split(".")
    if not 1 < len(parts) < 4 or not all(part.isdigit() for part in parts):
        raise OptionError("Invalid version string")
    if tuple(int(part) for part in parts) not in _VERSIONS:
        raise OptionError("Operation not supported")
    return version


def _stages(text: str | None) -> int:
    """Which of the compiler's trees are shown, a bit for each."""
    value = _count(_text(text))
    if not value:
        raise _invalid()
    return value


def _integer(text: str | None) -> int:
    """What C's atoi(text) reads; Invalid value unless that is more than 0."""
    body = _text(text).lstrip(" \t\n\v\f\r").removeprefix("+")
    value = int("0" + body[: len(body) - len(body.lstrip("0123456789"))])
    if value == 0:
        raise _invalid()
    return value


def _registers(text: str | None) -> int:
    """Eight, which dtrace has, and needs."""
    value = _integer(text)
    if value > 8:
        raise _invalid()
    if value < 8:
        raise OptionError("Insufficient registers to generate code")
    return value


def _speculations(text: str | None) -> int:
    """How many; dtrace takes no digits at all as more than there can be."""
    return _LARGEST_SIZE if text == "" else _count(text)


def are_attributes(parts: list[str]) -> bool:
    """Whether these are those of Evolving/Evolving/Common or its like, in small letters: a name's stability, the data's, a class.  As in
    dtrace's #pragma the last ones may be left out."""
    return len(parts) <= 3 and _STABILITIES.issuperset(parts[:2]) and _CLASSES.issuperset(parts[2:])


def _stability(text: str | None) -> str:
    """The least stable that a script may use: name/data/class. It is checked and changes nothing."""
    parts = _text(text).lower().split("/")
    if len(parts) != 3 or not are_attributes(parts):
        raise _invalid()
    return "/".join(parts)


def _percent(text: str | None) -> int:
    value = _count(text)
    if not 0 < value <= 100_000:
        raise OptionError("a number of percent of one processor is needed, 1 and up")
    return value


def _workers(text: str | None) -> int:
    most = 64  # c/consumer/parallel_consumers.h
    value = _count(text)
    if text is not None and not 0 < value <= most:
        raise OptionError(f"a number of consumers is needed, 1 to {most}")
    return value  # 0: one a processor


def _several(text: str | None) -> list[str]:
    return [_text(text)]


def _refuse(reason: str) -> Parser:
    """The parser of an option that means nothing here, or nothing yet."""

    def parse(text: str | None) -> Any:
        raise OptionError(f"not supported: {reason}")

    return parse


PARSERS: dict[str, Parser] = {
    "aggrate": _any_rate, "cleanrate": _any_rate, "orderlag": _rate, "statusrate": _any_rate, "switchrate": _any_rate,
    "bufpolicy": _one_of("ring", "fill", "switch"), "bufresize": _one_of("auto", "manual"), "cpu": _count,
    "evaltime": _one_of("exec", "preinit", "postinit", "main"), "linkmode": _one_of("kernel", "primary", "dynamic",
    "static"), "linktype": _one_of("elf", "dof"), "version": _version, "libdir": _several, "syslibdir": _text,
    "iregs": _registers, "tregs": _integer, "pspec": _flag, "verbose": _flag, "knodefs": _flag, "unodefs": _flag,
    "kdefs": _flag, "udefs": _flag, "tree": _stages, "disasm": lambda text: text or "1", "preallocate": _size,
    "pgmax": _count, "lockmem": _text, "bpflog": _switch, "bpflogsize": _size, "pcapsize": _size,
    "printsize": _printsize, "strip": _flag,
    "scratchsize": _size, "noresolve": _switch, "demangle": _switch, "jstackframes": _frames, "jstackstrsize": _size,
    "linknommap": lambda text: True, "useruid": _text, "sysslice": _text, "core": _flag, "debug": _flag,
    "debugassert": _one_of("mutexes"), "amin": _stability, "ldpath": _text,
    "aggsize": _size, "bufsize": _size, "dynvarsize": _size, "specsize": _size, "strsize": _strsize,
    "aggsortkeypos": _count, "aggsortpos": _count, "maxframes": _frames, "nspec": _speculations,
    "stackframes": _frames, "stackindent": _count, "ustackframes": _frames,
    "profilewall": _switch,
    "flowindent": _switch, "aggsortkey": _switch, "aggsortrev": _switch, "destructive": _switch, "quiet": _switch,
    "agghist": _switch, "aggpack": _switch, "aggpercpu": _flag, "aggzoom": _switch, "encoding": _one_of("ascii", "utf8"),
    "quietresize": _switch, "rawbytes": _switch,
    "argref": _flag, "defaultargs": _flag, "empty": _flag, "errtags": _flag, "nolibs": _flag,
    "cpp": _flag, "cppargs": lambda text: _text(text).split(), "cpphdrs": _headers, "cpppath": _text, "stdc": _stdc,
    "define": _preprocessor("-D"), "incdir": _preprocessor("-I"), "undef": _preprocessor("-U"),
    "zdefs": _flag, "droptags": lambda text: True,
    # pyusdt's own: what D does not do (docs/guide/language.md); which engine; how the kernel's attaches; whether it does so at a
    # site's nop5; files that it looks into, whether a process has them mapped or not
    "pyusdt": _flag, "engine": _choice("embedded", "kernel", "dtrace"), "attach": _choice("multi", "perf"), "nop5": _switch,
    "file": _several,
    # the provider of $target stands for those of its descendants, too (docs/guide/pydtrace.md)
    "children": _flag,
    # the provider python goes into what the command of -c starts, too (docs/guide/python-vm.md)
    "pychildren": _flag,
    # what --metrics calls them: a line of the mapping, a file of such; what it asks of whom, and answers with (docs/guide/metrics.md)
    "track": _one_of("thread", "task", "tag"),  # by which --perfetto and --chrome have their tracks
    "metric": _several, "metrics": _text, "metricstoken": _text, "metricscert": _text,
    # who is told of a clause's records; when an alert is over, when who was told is told again; how many alerts a minute;
    # whether the stacks of the process go with them (docs/guide/alerts.md)
    "alert": _several, "alertends": _rate, "alertrepeat": _rate, "alertrate": _count, "alertstacks": _flag,
    # where the aggregations go by OTLP, how often, and whether all or what is new (docs/guide/metrics.md)
    "spans": _text, "otlp": _text, "otlpinterval": _rate, "otlptemporality": _choice("cumulative", "delta"),
    # how long hosts of --hosts may take to answer, and how long one that was lost is tried again (docs/guide/hosts.md)
    "hostwait": _rate, "hostretry": _rate,
    # whether each host runs the clauses of its events, or the coordinator those of all
    "hostmode": _choice("partial", "central"),
    "workers": _workers,  # consumers that share the events (docs/internals/consumers.md)
    "maxcpu": _percent,  # of a processor that pydtrace may take (docs/guide/serve.md)
}  # fmt: skip
_REFUSED = {
    "there is nothing to link": "dofstashpath late xlate",
    "types are not read as CTF, nor written so": "ctfpath ctypes dtypes",
    "the kernel that is traced is the one that runs, and tells of itself": "grabanon modpath procfspath",
    "it is for dtrace's own developers": "lazyload",
}  # fmt: skip
for _reason, _names in _REFUSED.items():
    PARSERS.update(dict.fromkeys(_names.split(), _refuse(_reason)))


# These add to the arguments of the preprocessor, which are the option cppargs.
_GATHERED = frozenset(("cppargs", "cpphdrs", "define", "incdir", "undef"))
# A script can not set the options that decide how the script itself is read.
COMMAND_LINE = _GATHERED | {
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
        if name in _GATHERED:
            name, value = "cppargs", self.get("cppargs", []) + value
        elif parser is _several:
            value = self.get(name, []) + value
        self[name] = value

    def receive(self, name: str, value: Any) -> None:
        """Set an option to a value that another process says that it has read; OptionError where no text reads so."""
        texts = [None, "on", "off"] if isinstance(value, bool) else [str(value), None]
        for text in texts:
            try:
                if (found := PARSERS[name](text)) == value and type(found) is type(value):
                    self[name] = value
                    return
            except (OptionError, KeyError):
                continue
        raise OptionError(f"option {name} can not have the value {str(value)[:40]}")

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
    for shown, parse, word in (("time", _any_rate, time or "1h"), ("size", _size, size or "64m")):
        try:
            found.append(parse(word))
        except OptionError as error:
            raise OptionError(f"failed to set {what}'s {shown}: {error}") from None
    if not found[0]:
        raise OptionError(f"{what} needs a time")
    return name, found[0], found[1]
