"""What a page says of the tracing itself: when, where, by whom, what was traced, and the script.

- All of it is text of the user, of the script or of processes: who shows it escapes it.
"""

from __future__ import annotations

import getpass
import os
import re
import shlex
import socket
import time
from typing import TYPE_CHECKING, Any

from pydtrace.dtrace_text.runtime_errors import format_drops

from .readable_values import format_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydtrace.driver.sink import TraceInfo
    from pydtrace.engine import Targets

_MAX_PROBES = 20  # descriptions that are named
_MAX_SCRIPT = 65536  # characters of the script
_QUESTION = re.compile(r"\s*/\*\s*\n \* (\S.*)\n")  # the first line of a script's comment


class RunFacts:
    """title: the script's question, or "pydtrace"; script: its text; began: s since 1970; utc_offset: seconds of this machine's zone."""

    def __init__(self, info: TraceInfo, command_line: Iterable[str] = ()) -> None:
        self._info, self.began = info, info.clock.wall()
        self._command_line = _join_words(command_line)
        sources = {clause.loc.source: None for clause in info.program.clauses}
        texts = [source.text.encode("latin-1").decode("utf-8", "replace") for source in sources]
        self.script = "\n".join(text.strip("\n") for text in texts)[:_MAX_SCRIPT]
        found = _QUESTION.match(self.script)
        self.title = found[1] if found else "pydtrace"
        self.utc_offset = time.localtime(self.began).tm_gmtoff

    def to_plain(self, now: float, drops: Mapping[str, int], finished: bool) -> dict[str, Any]:
        """As plain data.  now: s since 1970; finished: nothing more comes."""
        rows = self._list_rows(now, drops)
        return {
            "title": self.title,
            "script": self.script,
            "utc_offset": self.utc_offset,
            "rows": rows if finished else [row for row in rows if row[0] not in ("time", "lost")],
        }

    def _list_rows(self, now: float, drops: Mapping[str, int]) -> list[tuple[str, str]]:
        """[(what, text)], as they stand above each other."""
        info = self._info
        rows = [
            ("time", self._format_time(now)),
            ("host", f"{socket.gethostname()}, {_user_name()}, engine {info.engine}"),
            ("command", self._command_line),
            ("traced", _describe_targets(info.targets, info.options)),
            ("probes", _describe_probes(info.matched)),
            ("lost", _describe_losses(drops)),
        ]
        return [(what, text) for what, text in rows if text]

    def _format_time(self, now: float) -> str:
        began, ended = time.localtime(self.began), time.localtime(now)
        last = "%H:%M:%S" if began[:3] == ended[:3] else "%Y-%m-%d %H:%M:%S"
        return (
            f"{time.strftime('%Y-%m-%d %H:%M:%S', began)} to {time.strftime(last, ended)} "
            f"{time.strftime('%Z', ended)}, {format_seconds(now - self.began)}"
        )


def _join_words(words: Iterable[str]) -> str:
    first, *others = [*words] or [""]
    return " ".join(shlex.join([os.path.basename(first), *others]).split()) if first else ""


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without a name
        return f"user {os.geteuid()}"


def _describe_targets(targets: Targets | None, options: Mapping[str, Any]) -> str:
    if "replay" in options:
        return f"the recording {options['replay']}"
    if "hosts" in options:
        return "processes on several hosts"
    if targets is None:
        return ""
    if targets.command:
        return f"{shlex.join(targets.command.argv)} (process {targets.command.pid})"
    if targets.pids:
        return f"process{'es' if len(targets.pids) > 1 else ''} {', '.join(map(str, targets.pids))}"
    return "all processes that have the probes"


def _describe_probes(matched: Iterable[tuple[Any, int]]) -> str:
    found: dict[str, int] = {}
    for description, count in matched:
        found[str(description)] = max(count, found.get(str(description), 0))
    texts = [f"{name} ({count})" for name, count in found.items()]
    more = [f"and {len(texts) - _MAX_PROBES} more"] * (len(texts) > _MAX_PROBES)
    return ", ".join([*texts[:_MAX_PROBES], *more])


def _describe_losses(drops: Mapping[str, int]) -> str:
    return ", ".join(format_drops(kind, count) for kind, count in drops.items()) or "nothing"
