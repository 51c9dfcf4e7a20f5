"""--hosts and --via: what the coordinator sends to every host, and how it gets there.

In: the parsed command line, the compiled script.  Out: engine.remote's Request.
Always: what a host can not do as if it were here is refused before any is asked.
"""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Any

from ..dlang import sides as of_script
from ..engine.remote import nodes, sides
from ..engine.remote.engine import Request
from .arguments import Refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..data.program import Program
    from .arguments import Arguments
    from .arguments import Request as Text

VIA = "ssh -T {host}"
_COMMAND = ("pydtrace", "--serve")
_NOT_THERE = ("replay", "record", "keep", "wait", "cpp", "cppargs", "libdir", "file")  # options
# What decides how a script is compiled, or how a host traces; the rest is for who shows it.
FORWARDED = ("aggsize", "bufsize", "dynvarsize", "specsize", "strsize", "nspec", "stackframes", "ustackframes", "jstackframes", "maxframes",
             "printsize", "pyusdt", "engine", "orderlag", "profilewall", "pychildren", "argref", "defaultargs", "encoding", "knodefs",
             "unodefs", "nolibs", "empty", "destructive", "nop5", "attach", "cpu", "version", "scratchsize", "jstackstrsize")
_OFTEN, _SELDOM = 0.2, 1.0  # s of an epoch, where records wait for each other, and where they do not


def check(arguments: Arguments) -> None:
    """Refuse what can not be had on many hosts.  Refused."""
    for name in _NOT_THERE:
        if name in arguments.options:
            raise Refused(f"--hosts can not be used with {'--' if name in _NOT_THERE[:4] else '-x '}{name}: the files are not there")
    if arguments.attach:
        raise Refused("--hosts can not be used with --attach")
    if arguments.mode != "trace":
        raise Refused("--hosts is for tracing: it can not be used with -l, -h, -G")
    if len(arguments.commands) > 1:
        raise Refused("more than one -c is not supported")


def declaration(name: str) -> str:
    """What makes `host` a constant of D where the script runs; at the coordinator, whose name is a list, it is empty."""
    return f'inline string host = "{name}";\n'


def check_sides(items: list[Any]) -> None:
    """CompileError."""
    of_script.check(items, sides.of_clause, sides.THERE)


def request_of(arguments: Arguments, program: Program, text_of: Callable[[Text], bytes]) -> Request:
    try:
        names = nodes.hosts(arguments.hosts or "")
        via = shlex.split(arguments.via or VIA)
    except ValueError as error:
        raise Refused(f"--hosts {arguments.hosts}: {error}") from None
    if not any("{host}" in word for word in via):
        raise Refused("--via needs {host} where the name of a host is to stand: --via 'ssh -T {host}'")
    if not any(word.startswith("--serve") for word in via):
        via += _COMMAND
    records = any(clause.record_size and sides.THERE in sides.of_clause(clause.probes) for clause in program.clauses)
    return Request(names, via, {
        "schema": 2, "interval": _OFTEN if records else _SELDOM, "operands": arguments.operands, "pids": arguments.pids,
        "command": (arguments.commands or [None])[0], "options": _forwarded(arguments.options),
        "requests": [{"text": os.fsdecode(text_of(each)), "script": each.script, "level": each.level} for each in arguments.requests]})


def _forwarded(options: Any) -> dict[str, Any]:
    return {name: options[name] for name in FORWARDED if name in options}
