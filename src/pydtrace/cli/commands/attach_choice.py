"""The processes that `pyusdt attach` and `pyusdt detach` act on: those that are named, their descendants, those of a control group, and
those of a name, which may be still to come.

- Descendants and members of a group that are no CPython are skipped, as a shell between them is.
- A process that starts while others are attached to is found by the next pass.
"""

from __future__ import annotations

import sys
import time

from pydtrace.attach.refusal import NoPython, NotAttached
from pydtrace.engine.embedded.young_processes import is_young
from pydtrace.process.cgroups import CgroupNotFound, list_cgroup_pids
from pydtrace.process.identity import is_alive
from pydtrace.process.proc_threads import list_descendants
from pydtrace.process.process_names import display_name, find_named
from pydtrace.sinks.output_file import write_stdout
from pydtrace.untrusted.terminal_escape import escape_for_terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator

_WAIT_POLL, _YOUNG_POLL = 0.2, 0.05  # s
_MOST_PASSES = 20  # over processes that start new ones all the time


def check_options(options: Namespace) -> str | None:
    """What is wrong with them."""
    awaited = getattr(options, "wait", None)
    if not options.pid and options.cgroup is None and awaited is None and not options.node:
        return "no process is named: give a PID, a name or a control group"
    if "" in (options.cgroup, awaited):
        return "the name is empty"
    return None


class Words:
    """done: printed before a process that the command line does not name; nothing: before a control group without such a process."""

    __slots__ = ("done", "nothing")

    def __init__(self, done: str, nothing: str) -> None:
        self.done, self.nothing = done, nothing


ATTACH = Words("attached to", "no CPython is in")
DETACH = Words("detached from", "nothing was brought into any process of")


class Choice:
    """What the options of one command name."""

    def __init__(self, options: Namespace) -> None:
        self._named: list[int] = list(dict.fromkeys(options.pid))
        self._cgroup: str | None = options.cgroup
        self._subprocesses: bool = options.subprocesses
        self._awaited: str | None = getattr(options, "wait", None)

    def act_on_each(self, act: Callable[[int], object], words: Words) -> Iterator[NotAttached]:
        """Yields why it failed, of each process that it failed for."""
        if self._awaited is not None:
            self._named += await_named(self._awaited)
        known: set[int] = set()
        are_some_done = False
        for _ in range(_MOST_PASSES):
            later = [pid for pid in self._list_all() if pid not in known]
            for pid in later:
                known.add(pid)
                try:
                    self._act_on(pid, act)
                    are_some_done = True
                except NotAttached as error:
                    if pid in self._named or not (isinstance(error, NoPython) or not is_alive(pid)):
                        are_some_done = True
                        yield error
                else:
                    self._report(pid, words.done)
            if not later or not (self._subprocesses or self._cgroup):
                break
        if not are_some_done and self._cgroup is not None:
            yield NotAttached(f"{words.nothing} the control group {self._cgroup}")

    def _list_all(self) -> list[int]:
        found = list(self._named)
        if self._cgroup is not None:
            try:
                found += list_cgroup_pids(self._cgroup)
            except CgroupNotFound as error:
                raise NotAttached(str(error), error.hint) from None
        if self._subprocesses:
            found += [child for pid in found for child in list_descendants(pid)]
        return list(dict.fromkeys(found))

    def _act_on(self, pid: int, act: Callable[[int], object]) -> None:
        """One that has been waited for may not have come to running Python yet."""
        while True:
            try:
                act(pid)
                return
            except NotAttached:
                if self._awaited is None or not is_young(pid) or not is_alive(pid):
                    raise
            time.sleep(_YOUNG_POLL)

    def _report(self, pid: int, done: str) -> None:
        if pid not in self._named or self._awaited is not None:
            write_stdout(f"{done} process {pid} ({escape_for_terminal(display_name(pid))})\n")


def act_on_nodes(names: list[str], act: Callable[[str], object]) -> Iterator[NotAttached]:
    """Of Erlang; yields why it failed, of each that it failed for."""
    for name in dict.fromkeys(names):
        try:
            act(name)
        except NotAttached as error:
            yield error


def await_named(name: str) -> list[int]:
    """The processes of this name; the first to come, if there is none."""
    found = find_named(name)
    if not found:
        print(
            f"pyusdt: no process is called {escape_for_terminal(name)}: waits for one",
            file=sys.stderr,
            flush=True,
        )
    while not found:
        time.sleep(_WAIT_POLL)
        found = find_named(name)
    return found
