"""The kernel's tracepoints, as tracefs lists them.

- If the user may not read tracefs, functions raise OSError.
"""

from __future__ import annotations

import os
import re

_FOLDERS = ("/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events")
_MADE = re.compile(r"\w+:([^/\s]+)/(\S+)")  # a line of dynamic_events
_FIELD = re.compile(r"field:(.*?)\w+;\s*offset:(\d+);")  # of a format
_ARGUMENTS = 16  # where a system call's begin, behind the event's header and the call's number
CALLS = "syscalls"  # the module of the system calls' tracepoints


def find_events_folder() -> str:
    return next(
        (path for path in _FOLDERS if os.path.isdir(os.path.join(path, "sched"))), _FOLDERS[0]
    )


def read_event_file(event: str, name: str) -> str:
    """A file of an event, such as syscalls/sys_enter_read."""
    with open(os.path.join(find_events_folder(), event, name)) as file:
        return file.read()


def list_tracepoints() -> list[tuple[str, ...]]:
    """[(module, name)] of the kernel's tracepoints, in its order."""
    with open(
        os.path.join(os.path.dirname(find_events_folder()), "available_events"), encoding="ascii"
    ) as file:
        return [tuple(line.strip().split(":")[:2]) for line in file]


def list_dynamic_events() -> set[tuple[str, ...]]:
    """{(module, name)} of the events that tracers made at places in code."""
    try:
        with open(
            os.path.join(os.path.dirname(find_events_folder()), "dynamic_events"), encoding="ascii"
        ) as file:
            return {match.groups() for match in map(_MADE.match, file) if match}
    except FileNotFoundError:  # Linux before 5.0, or without such events
        return set()


def read_parameters(event: str) -> dict[int, str]:
    """{offset in the event: the type, in C's words} of a system call's arguments at its entry."""
    found = (
        (int(offset), words.strip())
        for words, offset in _FIELD.findall(read_event_file(event, "format"))
    )
    return {offset: words for offset, words in found if offset >= _ARGUMENTS}


def read_argument_types(name: str) -> list[str] | None:
    """[the type, in C's words] of a system call's arguments; None where there is no such call, or nobody may look."""
    if not name.isidentifier():  # a pattern
        return None
    try:
        return list(read_parameters(f"{CALLS}/sys_enter_{name}").values())
    except OSError:
        return None
