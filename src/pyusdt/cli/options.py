"""-x options: dtrace's names, values and errors.

In: names and values as text, from -x, from `#pragma D option`, from DTRACE_OPT_… variables.
Out: Options, a mapping from name to value: sizes in bytes, rates in ns, switches True or False,
counts as int.  Always: only what was set is in it; what reads an option knows its default.

Source of the rules: the DTrace guide, "Options and Tunables", and dtrace 2.0's answers.
"""

_SIZE_SUFFIXES = {"k": 10, "m": 20, "g": 30, "t": 40}
_SECOND = 1_000_000_000
_RATE_SUFFIXES = {
    "ns": 1, "nsec": 1, "us": 1000, "usec": 1000, "ms": 1_000_000, "msec": 1_000_000,
    "s": _SECOND, "sec": _SECOND, "m": 60 * _SECOND, "min": 60 * _SECOND,
    "h": 3600 * _SECOND, "hour": 3600 * _SECOND, "d": 86400 * _SECOND, "day": 86400 * _SECOND,
}
_ON = ("yes", "enable", "enabled", "true", "on", "set")
_OFF = ("no", "disable", "disabled", "false", "off", "unset")
_LARGEST = 2**63 - 1


class OptionError(Exception):
    """An option that can not be set so; the message is dtrace's, or says what is not supported."""


def _invalid():
    return OptionError("Invalid value for specified option")


def _number(text):
    """What C's strtoull(text, &end, 0) reads: (value, rest of the text)."""
    body = text.lstrip(" \t\n\v\f\r")
    sign = body[:1] if body[:1] in ("+", "-") else ""
    body = body[len(sign):]
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
    if (sign == "-" and value) or value > _LARGEST:
        raise _invalid()
    return value, body[end:]


def _size(text):
    if text is None:
        return 0
    shift = _SIZE_SUFFIXES.get(text[-1:].lower(), 0)
    value, rest = _number(text)
    if len(rest) != (1 if shift else 0):
        raise _invalid()
    return value << shift


def _strsize(text):
    value = _size(text)
    if value < 5:  # dtrace: its word for NULL, and a NUL
        raise _invalid()
    if value > 65536:
        raise OptionError("strings of more than 65536 bytes are not supported")
    return value


def _rate(text):
    if text is None:
        return 0
    value, rest = _number(text)
    rest = rest.lower()
    if rest == "hz":
        return _SECOND // value if value else 0
    if rest == "":
        return value
    if rest not in _RATE_SUFFIXES:
        raise _invalid()
    return value * _RATE_SUFFIXES[rest]


def _switch(text):
    """On, unless the value says off; numbers mean on, even 0, as in dtrace."""
    if text is None:
        return True
    if text == "" or text.lower() in _OFF:
        return False
    if text.lower() not in _ON:
        _count(text)
    return True


def _count(text):
    if text is None:
        return 0
    value, rest = _number(text)
    if rest:
        raise _invalid()
    return value


def _flag(text):
    """An option of the compiler, which takes no value."""
    if text is not None:
        raise _invalid()
    return True


def _unsupported(why):
    def refuse(text):
        raise OptionError(f"not supported: {why}")

    return refuse


def _preprocessor(text):
    raise OptionError("not supported yet: the preprocessor")


_LINKING = _unsupported("there is nothing to link, the probes are part of pyusdt's own build")
_KERNEL = _unsupported("it is about the kernel, and only user processes are traced")

PARSERS = {
    "aggrate": _rate, "aggsize": _size, "bufsize": _size, "cleanrate": _rate, "dynvarsize": _size,
    "nspec": _count, "specsize": _size, "statusrate": _rate, "strsize": _strsize, "switchrate": _rate,
    "orderlag": _rate,
    "aggsortkey": _switch, "aggsortkeypos": _count, "aggsortpos": _count, "aggsortrev": _switch,
    "destructive": _switch, "quiet": _switch, "quietresize": _switch, "rawbytes": _switch,
    "stackindent": _count, "stackframes": _count, "ustackframes": _count, "maxframes": _count,
    "argref": _flag, "defaultargs": _flag, "droptags": lambda text: True, "empty": _flag, "errtags": _flag,
    "nolibs": _flag, "pspec": _flag, "zdefs": _flag,
    "amin": _unsupported("stability attributes"),
    "cpp": _preprocessor, "cppargs": _preprocessor, "cpphdrs": _preprocessor, "cpppath": _preprocessor,
    "define": _preprocessor, "incdir": _preprocessor, "stdc": _preprocessor, "undef": _preprocessor,
    "aggpercpu": _unsupported("an aggregation has one part, whichever CPU its events come from"),
    "flowindent": _unsupported("-F"),
    "disasm": _unsupported("see pydtrace --dump=bpf"),
    "tree": _unsupported("see pydtrace --dump=ast"),
    "verbose": _unsupported("see pydtrace --dump=bpf"),
    "bufpolicy": _unsupported("buffers are rings that are read all the time"),
    "bufresize": _unsupported("buffers have the size that bufsize says, or tracing does not start"),
    "cpu": _unsupported("events come from every CPU"),
    "evaltime": _unsupported("a command is traced from its first probe on"),
    "lockmem": _unsupported("no memory is locked"),
    "noresolve": _unsupported("stacks"),
    "libdir": _unsupported("D libraries"), "syslibdir": _unsupported("D libraries"),
    "version": _unsupported("there is one version of the language here"),
    "linkmode": _LINKING, "linktype": _LINKING, "linknommap": _LINKING, "ldpath": _LINKING, "strip": _LINKING,
    "dofstashpath": _LINKING, "xlate": _LINKING, "late": _LINKING,
    "bpflog": _KERNEL, "bpflogsize": _KERNEL, "ctypes": _KERNEL, "ctfpath": _KERNEL, "dtypes": _KERNEL,
    "kdefs": _KERNEL, "knodefs": _KERNEL, "modpath": _KERNEL, "pcapsize": _KERNEL, "procfspath": _KERNEL,
    "udefs": _KERNEL, "unodefs": _KERNEL, "grabanon": _KERNEL,
    "core": _unsupported("it is for developers of dtrace"), "debug": _unsupported("it is for developers of dtrace"),
    "debugassert": _unsupported("it is for developers of dtrace"),
    "iregs": _unsupported("it is for developers of dtrace"), "tregs": _unsupported("it is for developers of dtrace"),
    "lazyload": _unsupported("it is for developers of dtrace"), "pgmax": _unsupported("it is for developers of dtrace"),
    "preallocate": _unsupported("it is for developers of dtrace"),
    "jstackframes": _unsupported("jstack()"), "jstackstrsize": _unsupported("jstack()"),
    "printsize": _unsupported("print()"), "scratchsize": _unsupported("alloca()"),
    "sysslice": _unsupported("system processes"), "useruid": _unsupported("system processes"),
}  # fmt: skip


class Options(dict):
    """The options that are set: {name: value}."""

    __slots__ = ()

    def set(self, name, text=None):
        """Set an option from its text; OptionError where that can not be."""
        parser = PARSERS.get(name)
        if parser is None:
            raise OptionError("Invalid option name")
        self[name] = parser(text)

    def read_environment(self, environ, prefix="DTRACE_OPT_"):
        """Set options from variables such as DTRACE_OPT_QUIET; what can not be set is passed over, as
        in dtrace."""
        for variable, text in environ.items():
            if variable.startswith(prefix):
                name = variable[len(prefix):].lower()
                if variable == prefix + name.upper() and name in PARSERS:
                    try:
                        self.set(name, text)
                    except OptionError:
                        continue
