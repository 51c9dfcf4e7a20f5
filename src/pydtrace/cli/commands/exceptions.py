"""`pyusdt exceptions`: the last exceptions that a process has kept, as tracebacks with variables, or as JSON.

- Names and texts of the process are escaped for a terminal.
- No file of the program is opened, so a traceback has no lines of source.
"""

from __future__ import annotations

import json
from datetime import datetime

from pydtrace.remote_python.kept_exceptions import (
    FROM,
    KeptException,
    KeptExceptions,
    NoExceptions,
    list_all,
    read_file,
    read_of_process,
)
from pydtrace.untrusted.terminal_escape import escape_for_terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pydtrace.remote_python.kept_exceptions import KeptFrame

_CAUSES = {
    True: "The above exception was the direct cause of the following exception:",
    False: "During handling of the above exception, another exception occurred:",
}


def read_asked(asked: str) -> KeptExceptions:
    """asked: a process id, or the name of a file.  Raises NoExceptions, OSError."""
    return read_of_process(int(asked)) if asked.isascii() and asked.isdigit() else read_file(asked)


# --- the list of processes -----------------------------------------------------------------


def list_processes() -> list[KeptExceptions]:
    """Those that keep exceptions, the youngest last.  Raises NoExceptions, OSError."""
    found = list_all()
    if not found:
        raise NoExceptions(
            "no process keeps its exceptions: PYUSDT_FLIGHT=exceptions in a program's environment does that"
        )
    return found


def format_rows(found: list[KeptExceptions]) -> list[list[str]]:
    return [["PID", "PROCESS", "STATE", "EXCEPTIONS", "LAST", "TYPE"], *map(_format_row, found)]


def _format_row(kept: KeptExceptions) -> list[str]:
    last = kept.exceptions[-1] if kept.exceptions else None
    return [
        str(kept.pid),
        kept.name,
        "runs" if kept.is_alive else "ended",
        str(len(kept.exceptions)),
        _format_time(last.last) if last else "-",
        last.type if last else "-",
    ]


# --- text ----------------------------------------------------------------------------------


def _format_time(nanoseconds: int) -> str:
    at = datetime.fromtimestamp(nanoseconds // 10**9)
    return f"{at:%Y-%m-%d %H:%M:%S}.{nanoseconds // 10**6 % 1000:03}"


def _format_count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


def format_process(kept: KeptExceptions, most: int | None) -> str:
    """most: how many exceptions are shown, the last ones."""
    shown = kept.exceptions if most is None else kept.exceptions[-most:]
    major, minor = kept.python
    state = "" if kept.is_alive else ", has ended"
    distinct = _format_count(len(kept.exceptions), "distinct exception")
    often = _format_count(sum(each.count for each in kept.exceptions), "time")
    process = f"Process {kept.pid} ({escape_for_terminal(kept.name)}{state})"
    lines = [f"{process}: CPython {major}.{minor}, {distinct}, raised {often}\n"]
    if kept.replaced:
        lines.append(
            f"Older exceptions, raised {_format_count(kept.replaced, 'time')}, have no room here any more.\n"
        )
    if kept.left_out:
        lines.append(
            f"{_format_count(kept.left_out, 'exception')} left out: too many new ones were raised at once.\n"
        )
    if kept.unfinished:
        lines.append(
            f"{_format_count(kept.unfinished, 'exception')} left out: the process was just writing.\n"
        )
    return "".join(lines) + "".join("\n" + format_exception(each) for each in shown)


def format_exception(kept: KeptException) -> str:
    lines = [_format_head(kept)]
    for how, text in reversed(kept.causes):
        lines += [f"{escape_lines(text)}\n\n", f"{_CAUSES[how == FROM]}\n\n"]
    lines.append("Traceback (most recent call last):\n")
    if kept.more_frames:
        lines.append(f"  ({_format_count(kept.more_frames, 'outer frame')} left out)\n")
    lines += [_format_frame(each) for each in kept.frames]
    if kept.is_cut:
        lines.append("  (there was no room for more variables)\n")
    text = f": {escape_lines(kept.text)}" if kept.text else ""
    lines.append(f"{escape_for_terminal(kept.type)}{text}\n")
    return "".join(lines)


def _format_head(kept: KeptException) -> str:
    where = [f"thread {kept.tid}" + (f" ({escape_for_terminal(kept.thread)})" * bool(kept.thread))]
    where += [f"task {escape_for_terminal(kept.task)}"] * bool(kept.task)
    where += [f"tag {escape_for_terminal(kept.tag)}"] * bool(kept.tag)
    often = ""
    if kept.count > 1:
        often = f"Raised {_format_count(kept.count, 'time')}, first {_format_time(kept.first)}, last {_format_time(kept.last)}\n"
    return f"{_format_time(kept.written)}, {', '.join(where)}\n{often}"


def _format_frame(frame: KeptFrame) -> str:
    line = "?" if frame.line < 0 else frame.line
    place = f'  File "{escape_for_terminal(frame.file)}", line {line}, in {escape_for_terminal(frame.function)}\n'
    return place + "".join(
        f"        {escape_for_terminal(name)} = {escape_for_terminal(value)}\n"
        for name, value in frame.variables
    )


def escape_lines(text: str) -> str:
    """The text of an exception may have several lines.  Those behind the first are indented, so that they forge none of this output."""
    return "\n    ".join(map(escape_for_terminal, text.split("\n")))


# --- JSON ----------------------------------------------------------------------------------


def encode_process(kept: KeptExceptions, most: int | None) -> str:
    """An object in a line for each exception, then one for the process."""
    shown = kept.exceptions if most is None else kept.exceptions[-most:]
    return "".join(map(_encode_line, map(_encode_exception, shown))) + encode_summary(kept)


def encode_summary(kept: KeptExceptions) -> str:
    """The object of a process, in a line."""
    whole = {
        "pid": kept.pid,
        "process": kept.name,
        "runs": kept.is_alive,
        "python": "{}.{}".format(*kept.python),
        "exceptions": len(kept.exceptions),
        "raised": kept.raised,
        "replaced": kept.replaced,
        "left_out": kept.left_out,
        "unfinished": kept.unfinished,
    }
    return _encode_line(whole)


def _encode_line(row: dict[str, Any]) -> str:
    return json.dumps(row) + "\n"


def _encode_exception(kept: KeptException) -> dict[str, Any]:
    return {
        "type": kept.type,
        "text": kept.text,
        "time": kept.written,
        "first": kept.first,
        "last": kept.last,
        "count": kept.count,
        "tid": kept.tid,
        "thread": kept.thread or None,
        "task": kept.task or None,
        "tag": kept.tag or None,
        "causes": [
            {"kind": "cause" if how == FROM else "context", "text": text}
            for how, text in kept.causes
        ],
        "frames": [
            {
                "function": each.function,
                "file": each.file,
                "line": each.line,
                "variables": [{"name": name, "value": value} for name, value in each.variables],
            }
            for each in kept.frames
        ],
        "more_frames": kept.more_frames,
        "cut": kept.is_cut,
    }
