"""The text about pydtrace's options: dtrace(1)'s, line by line, and then ours."""

from __future__ import annotations

from pydtrace.cli.parsing.options_table import DTRACE_OPTIONS, PYDTRACE_OPTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pydtrace.cli.parsing.options_table import Option

PROGRAM = "dtrace"  # what messages begin with, so that scripts that read them keep working
VERSION = "2.0.7"  # of dtrace's D, which this follows

_PREDICATE_ACTION = "[[ predicate ] action ]"
SYNOPSIS = f"""\
[-32|-64] [-CeFGhHlqSvVwZ] [-b bufsz] [-c cmd] [-D name[=def]]
\t[-I path] [-L path] [-o output] [-p pid] [-s script] [-U name]
\t[-x opt[=val]] [-X a|c|s|t]

\t[-P provider {_PREDICATE_ACTION}]
\t[-m [ provider: ] module {_PREDICATE_ACTION}]
\t[-f [[ provider: ] module: ] func {_PREDICATE_ACTION}]
\t[-n [[[ provider: ] module: ] func: ] name {_PREDICATE_ACTION}]
\t[-i probe-id {_PREDICATE_ACTION}] [ args ... ]

\tpredicate -> '/' D-expression '/'
\t   action -> '{{' D-statements '}}'
"""
_MORE = """
Examples:
\tpydtrace -l                              the probes that there are
\tpydtrace -s script.d                     run a script
\tpydtrace -p PID -n 'pyusdt$target:::'    what a process fires
\tpydtrace -c 'python program.py' -n 'pyusdt$target::: { @[probename] = count(); }'

pyusdt doctor tells what keeps tracing from working.
"""


def _format_options(options: Sequence[Option]) -> Iterator[str]:
    """One for each option that is listed."""
    width = max(len(each.synopsis) for each in PYDTRACE_OPTIONS)
    for each in options:
        if each.help is not None:
            name = f"-{each.name:<2}" if each in DTRACE_OPTIONS else each.synopsis.ljust(width)
            yield f"\t{name} {each.help}\n"


def usage_text(program: str = PROGRAM) -> str:
    sizes, others = DTRACE_OPTIONS[:2], DTRACE_OPTIONS[2:]
    parts = [
        f"Usage: {program} {SYNOPSIS}",
        "".join(_format_options(sizes)),
        "".join(_format_options(others)),
        "".join(_format_options(PYDTRACE_OPTIONS)),
    ]
    return "\n".join(parts)


def help_text() -> str:
    """What --help shows."""
    return usage_text("pydtrace") + _MORE


def build_text() -> str:
    """One line: the version of pyusdt with its commit, and that of D."""
    from pydtrace._tracer import BUILD

    return f"pyusdt {BUILD}, D {VERSION}\n"


def describe_python() -> str:
    """CPython 3.13.5 without the GIL, linux x86_64, glibc 2.36."""
    import platform
    import sys
    import sysconfig

    gil = " without the GIL" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
    python = f"{platform.python_implementation()} {platform.python_version()}{gil}"
    name, number = platform.libc_ver()
    if name != "musl" and "musl" in str(sysconfig.get_config_var("HOST_GNU_TYPE")):
        name, number = "musl", ""  # platform does not know it before CPython 3.14
    libc = f", {name} {number}".rstrip() if name else ""
    return f"{python}, {sys.platform} {platform.machine()}{libc}"


def version_text() -> str:
    """What --version shows, of both commands."""
    return f"{build_text()}{describe_python()}\n"
