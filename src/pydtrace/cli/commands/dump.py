"""`pyusdt dump`: the current stack of each thread of Python processes, as text or JSON.

- The process is not changed. A thread is stopped for microseconds only if its stack does not hold
  still.
- Names from the process are escaped, and at most MAX_SHOWN characters of them are printed.
- A stack that changed during the read is marked.
"""

from __future__ import annotations

import json
from collections import namedtuple

from pydtrace._tracer import Memory
from pydtrace.process import proc_threads
from pydtrace.program.secret_names import SecretNames
from pydtrace.remote_python import native_dump, python_threads
from pydtrace.remote_python.asyncio_tasks import AsyncioTasks
from pydtrace.remote_python.code_objects import CodeObjects, LocatedFrame
from pydtrace.remote_python.deadlocks import LockReader, find_cycles
from pydtrace.remote_python.frame_variables import FrameVariablesReader
from pydtrace.remote_python.program_veto import read_program_veto
from pydtrace.remote_python.remote_python import (
    PythonNotFound,
    RemotePython,
    StackReadError,
    make_read_error,
)
from pydtrace.remote_python.remote_values import ValueLimits
from pydtrace.remote_python.thread_names import ThreadNames
from pydtrace.untrusted.terminal_escape import escape_for_terminal
from pydtrace.untrusted.watchdog import watchdog
from pydtrace.unwind.native_unwinder import NativeFrame

from .dump_values import encode_variables, format_variables
from .stack_options import LOCALS_LIMITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator
    from typing import Any

_ATTEMPTS = 64  # how long stacks that move are read again
MAX_NAME_CHARACTERS = (
    1 << 24
)  # characters, lest a process that shows many deep stacks of long names fills memory
MARK_TEXTS = {
    "moved": "the stack moved while it was read: lines may be mixed",
    "torn": "the stack moved too fast: the innermost functions are left out",
    "cut": "there are more frames outside of these",
    "left out": "there was no room for more frames",
    "lost": "the stack could not be followed: it changed too fast, or its memory is damaged",
}
_HALT_HINTS = {
    "stopped": " by a signal: kill -CONT {} lets it go on",
    "stopped by a debugger": ": TracerPid in /proc/{}/status says which process that is",
    proc_threads.FROZEN: " with its cgroup (/proc/{}/cgroup), as docker pause and systemctl freeze do",
}
_OTHER_PROCESSES_HINT = (
    "--native shows the threads of any process, and erltrace:dump() in an Erlang node its processes"
)
_OUTER_MARKS = ("cut", "left out")  # said where the frames are that are not there


# minor: of its CPython 3.minor; None: it is none.  waiting: {thread id: id of the thread that holds what it waits for}
Process = namedtuple("Process", ("pid", "minor", "waiting"))


class VariableOptions:
    """How variables are read.  limits: ValueLimits; redacted: patterns of further names; are_secrets_shown: those on the list are, too."""

    __slots__ = ("are_secrets_shown", "limits", "redacted")

    def __init__(
        self, limits: ValueLimits, redacted: list[str], are_secrets_shown: bool = False
    ) -> None:
        self.limits, self.redacted = limits, redacted
        self.are_secrets_shown = are_secrets_shown

    def make_reader(self, python: RemotePython) -> FrameVariablesReader:
        try:
            veto = read_program_veto(python)
        except OSError as error:
            raise make_read_error(python.pid, error) from None
        secrets = SecretNames(self.redacted, veto, self.are_secrets_shown)
        return FrameVariablesReader(python, secrets, self.limits)


def make_variable_options(options: Namespace) -> VariableOptions:
    """Of parsed options with --locals.  A variable has room for 100 values, or for three times the items that are asked for."""
    limits = ValueLimits(
        **{
            name: default if getattr(options, name) is None else getattr(options, name)
            for name, _, default, _ in LOCALS_LIMITS
        }
    )
    limits.nodes = max(limits.nodes, 3 * limits.items)
    return VariableOptions(limits, options.redact or [], options.secrets)


def read_process(
    pid: int,
    frames: int,
    native: bool = False,
    stop: bool = True,
    variables: VariableOptions | None = None,
) -> tuple[Process, list[Any], list[Any]]:
    """(Process, [Thread], [AsyncTask]); frames: how many of a stack at the most; native: with native frames, of any process;
    stop: a thread whose stack does not hold still is stopped while it is read; variables: None: they are not read.  Raises NoStacks."""
    with watchdog(f"pyusdt: process {pid} does not let its memory be read: gave up"):
        try:
            python = RemotePython(pid)
        except PythonNotFound as error:
            if not native:
                raise PythonNotFound(f"{error}; {_OTHER_PROCESSES_HINT}") from None
            return Process(pid, None, {}), _native_threads(pid), []
        codes = CodeObjects(python)
        reader = variables.make_reader(python) if variables else None
        walker = python.make_walker(frames, _ATTEMPTS, native, reader is not None)
        threads = (
            native_dump.dump_threads(pid, python.memory, python, codes, walker)
            if native
            else python_threads.read_threads(python, walker, codes, stop)
        )
        if reader:
            _read_variables(reader, threads)
        tasks = AsyncioTasks(python, codes).read_all(threads)
        if reader:
            _read_variables(reader, tasks)
        waiting = LockReader(python, codes).find_waiting(threads)
        names = ThreadNames(python, codes)
        for thread in threads:
            thread.name = names.find_name(thread.home, thread.ident, thread.kernel_thread)
        python.check_running()
        truncate_frames([*threads, *tasks])
        return Process(pid, python.layout["minor"], waiting), threads, tasks


def _read_variables(reader: FrameVariablesReader, listed: list[Any]) -> None:
    for each in listed:
        reader.read_frames(each.frames)


def read_processes(
    options: Namespace,
) -> Iterator[tuple[Process, list[Any], list[Any]] | StackReadError]:
    """What read_process() gives for each process that was asked for, each process once, or why it gave nothing.  Of descendants only what it gives:
    they may be no Pythons, and they may end."""
    asked = list(dict.fromkeys(options.pids))
    found = (
        [child for pid in asked for child in proc_threads.list_descendants(pid)]
        if options.subprocesses
        else []
    )
    for pid in dict.fromkeys([*asked, *found]):
        try:
            yield read_process(
                pid, options.frames, options.native, not options.no_stop, options.variables
            )
        except StackReadError as error:
            if pid in asked:
                yield error


def _native_threads(pid: int) -> list[Any]:
    try:
        memory = Memory(pid)
    except OSError as error:
        raise make_read_error(pid, error) from None
    threads: list[Any] = native_dump.dump_threads(pid, memory, None, None, None)
    truncate_frames(threads)
    return threads


def truncate_frames(listed: list[Any], room: int = MAX_NAME_CHARACTERS) -> None:
    """Threads, or tasks: leaves out the frames of whose names there are too many, and says so."""
    for each in listed:
        for i, frame in enumerate(each.frames):
            room -= len(frame.name) + len(frame.file)
            if room < 0:
                each.frames = each.frames[:i]
                each.marks.append("left out")
                break


# --- text ----------------------------------------------------------------------------------


def describe_state(thread: Any, holder: int | None = None) -> str:
    """What a thread does, in words; holder: the thread that holds the lock it waits for."""
    said = [thread.kernel_thread.state if thread.kernel_thread else "state unknown"]
    if (
        thread.kernel_thread
        and thread.kernel_thread.syscall
        and thread.kernel_thread.state_letter != "R"
    ):
        said = [
            f"{thread.kernel_thread.state}, in {thread.kernel_thread.syscall}"
            if thread.kernel_thread.is_stopped
            else f"waits in {thread.kernel_thread.syscall}"
        ]
    if holder is not None:
        said = [f"waits for a lock that thread {holder} holds"]
    if thread.has_gil:
        said.append("holds the GIL")
    return ", ".join(said)


def format_frame(frame: Any) -> str:
    if not frame.file:
        return f"    {escape_for_terminal(frame.name)}\n"
    line = f":{frame.line}" if frame.line is not None else ""
    head = f"    {escape_for_terminal(frame.name)} ({escape_for_terminal(frame.file)}{line})\n"
    variables = frame.variables if isinstance(frame, LocatedFrame) else None
    return head + format_variables(variables) if variables else head


def format_thread(thread: Any, waiting: dict[int, int]) -> str:
    holder = waiting.get(thread.kernel_thread.tid) if thread.kernel_thread else None
    name = f" ({escape_for_terminal(thread.name)})" if thread.name else ""
    lines = [
        f"Thread {thread.kernel_thread.tid if thread.kernel_thread else '?'}{name}: {describe_state(thread, holder)}\n"
    ]
    lines += [f"    ({MARK_TEXTS[mark]})\n" for mark in thread.marks if mark not in _OUTER_MARKS]
    lines += [format_frame(frame) for frame in thread.frames]
    lines += (
        [f"    (its native frames are not all here: {thread.native_remark})\n"]
        if thread.native_remark
        else []
    )
    lines += [f"    ({MARK_TEXTS[mark]})\n" for mark in thread.marks if mark in _OUTER_MARKS]
    if len(lines) == 1:
        lines.append("    (no Python function)\n")
    return "".join(lines)


def format_task(task: Any) -> str:
    doing = f"awaits {escape_for_terminal(task.awaits)}" if task.awaits else "runs, or is about to"
    return (
        f"Task {escape_for_terminal(task.name)}: {doing}\n"
        + "".join(map(format_frame, task.frames))
        + "".join(f"    ({MARK_TEXTS[mark]})\n" for mark in task.marks)
    )


def format_count(n: int, what: str) -> str:
    return f"{n} {what}{'s' * (n != 1)}"


def format_cycle(threads: list[int]) -> str:
    first, *others = [f"thread {each}" for each in threads]
    return f"{first} waits for " + ", which waits for ".join(
        [*others, first if others else "itself"]
    )


def find_blocked_loops(
    process: Process, threads: list[Any], tasks: list[Any]
) -> list[tuple[Any, Any]]:
    """(thread, task): the thread waits in a system call for what the task does, which no event loop should.  The GIL is waited for, too
    (futex), where nobody is to blame."""
    found: list[tuple[Any, Any]] = []
    for thread in threads:
        if (
            thread.kernel_thread is None
            or thread.kernel_thread.state_letter == "R"
            or thread.kernel_thread.is_stopped
            or not thread.kernel_thread.syscall
            or (
                thread.kernel_thread.syscall == "futex"
                and thread.kernel_thread.tid not in process.waiting
            )
        ):
            continue
        places = {(each.name, each.file, each.line) for each in thread.frames}
        runs = (
            task
            for task in tasks
            if not task.awaits and task.frames and all(task is not other for _, other in found)
        )
        found += [
            (thread, task)
            for task in runs
            if (task.frames[0].name, task.frames[0].file, task.frames[0].line) in places
        ][:1]
    return found


def describe_halt(pid: int, threads: list[Any]) -> list[str]:
    """What keeps the whole process from running, in a line, and what lets it go on.  Of a frozen one some threads stay where they
    wait (cgroups' first version)."""
    tasks = [thread.kernel_thread for thread in threads if thread.kernel_thread]
    states = {task.state for task in tasks if task.is_stopped}
    if proc_threads.FROZEN not in states and not all(task.is_stopped for task in tasks):
        return []
    return [f"{state.capitalize()}{_HALT_HINTS[state].format(pid)}\n" for state in sorted(states)]


def format_process(process: Process, threads: list[Any], tasks: list[Any]) -> str:
    of_asyncio = f", {format_count(len(tasks), 'task')} of asyncio" if tasks else ""
    what = "no CPython" if process.minor is None else f"CPython 3.{process.minor}"
    head = f"Process {process.pid}: {what}, {format_count(len(threads), 'thread')}{of_asyncio}\n"
    lines = describe_halt(process.pid, threads)
    lines += [f"Dead lock: {format_cycle(each)}\n" for each in find_cycles(process.waiting)]
    lines += [
        f"Blocked loop: task {escape_for_terminal(task.name)} waits in {thread.kernel_thread.syscall}, so no other task of thread {thread.kernel_thread.tid} has its turn\n"
        for thread, task in find_blocked_loops(process, threads, tasks)
    ]
    parts = [*(format_thread(each, process.waiting) for each in threads), *map(format_task, tasks)]
    return head + "".join(lines) + "".join("\n" + each for each in parts)


# --- JSON ----------------------------------------------------------------------------------


def encode_frame(frame: Any) -> dict[str, Any]:
    of_c = {"address": frame.address} if isinstance(frame, NativeFrame) else {}
    found = frame.variables if isinstance(frame, LocatedFrame) else None
    variables = encode_variables(found) if found else {}
    return {
        "function": frame.name,
        "file": frame.file,
        "line": frame.line,
        **of_c,
        **variables,
    }


def encode_thread(thread: Any, waiting: dict[int, int]) -> dict[str, Any]:
    task = thread.kernel_thread
    return {
        "tid": task and task.tid,
        "name": thread.name,
        "state": task and task.state,
        "call": task and task.syscall,
        "gil": thread.has_gil,
        "waits_for": task and waiting.get(task.tid),
        "marks": thread.marks,
        "native": thread.native_remark,
        "frames": [encode_frame(each) for each in thread.frames],
    }


def encode_task(task: Any) -> dict[str, Any]:
    return {
        "name": task.name,
        "awaits": task.awaits,
        "marks": task.marks,
        "frames": [encode_frame(each) for each in task.frames],
    }


def encode_process(process: Process, threads: list[Any], tasks: list[Any]) -> str:
    version = None if process.minor is None else f"3.{process.minor}"
    return (
        json.dumps(
            {
                "pid": process.pid,
                "python": version,
                "threads": [encode_thread(each, process.waiting) for each in threads],
                "dead_locks": find_cycles(process.waiting),
                "blocked_loops": [
                    {
                        "thread": thread.kernel_thread.tid,
                        "task": task.name,
                        "call": thread.kernel_thread.syscall,
                    }
                    for thread, task in find_blocked_loops(process, threads, tasks)
                ],
                "tasks": [encode_task(each) for each in tasks],
            }
        )
        + "\n"
    )
