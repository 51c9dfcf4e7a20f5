"""--hosts and --via: the request that the coordinator sends to every host, and the connection to it.

- What a host cannot do as if it were this machine is refused before any host is asked.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pydtrace.cli.parsing.arguments import OptionRefused
from pydtrace.hosts import hostlist, request

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydtrace.cli.parsing.arguments import Arguments
    from pydtrace.cli.parsing.arguments import Request as Text
    from pydtrace.program.program import Program


def check_hosts(arguments: Arguments) -> None:
    """Refuse what can not be had on many hosts.  Refused."""
    for name in request.LOCAL_OPTIONS:
        if name in arguments.options:
            raise OptionRefused(
                f"--hosts cannot be used with {'--' if name in request.LOCAL_OPTIONS[:4] else '-x '}{name}: the hosts do not have the files"
            )
    try:
        hostlist.parse_hosts(arguments.hosts or "")
    except hostlist.BadHostList as error:
        raise OptionRefused(f"--hosts {arguments.hosts}: {error}") from None
    if arguments.attach:
        raise OptionRefused("--hosts cannot be used with --attach")
    if arguments.mode != "trace":
        raise OptionRefused("--hosts is for tracing: it cannot be used with -l, -h, -G")
    if len(arguments.commands) > 1:
        raise OptionRefused("more than one -c is not supported")


def make_hosts_request(
    arguments: Arguments, program: Program, text_of: Callable[[Text], bytes]
) -> request.Request:
    texts = [
        {"text": os.fsdecode(text_of(each)), "script": each.script, "level": each.level}
        for each in arguments.requests
    ]
    try:
        return request.make_request(
            arguments.hosts or "",
            arguments.via,
            program,
            arguments.options,
            texts,
            arguments.operands,
            arguments.pids,
            arguments.commands[0] if arguments.commands else None,
            arguments.relay,
        )
    except hostlist.BadHostList as error:
        through = f" --relay {arguments.relay}" if arguments.relay is not None else ""
        raise OptionRefused(
            str(error)
            if str(error).startswith("--via")
            else f"--hosts {arguments.hosts}{through}: {error}"
        ) from None
