"""profile-n of the embedded engine: the Python stacks of a process's threads, read from outside.

For each running thread (with -x profilewall for all) there are its id, the words of its stack
(engine/language_frames.py), and who works there (remote_python/thread_arg0.py).

- Nothing is done in the process, which is neither stopped nor signalled.
- Names are read anew at each look, so those of freed code are right or absent.
- The reason why a process cannot be read is reported once.
- A process of another user is not read, since it could make the reader wait for ever.
"""

from __future__ import annotations

import os
import time

from pydtrace.process.identity import is_alive
from pydtrace.profile.frame_key import FrameKey, pseudo_frame
from pydtrace.remote_python import python_threads
from pydtrace.remote_python.code_objects import CodeObjects
from pydtrace.remote_python.remote_python import ProcessNotFound, RemotePython, StackReadError
from pydtrace.remote_python.thread_arg0 import ThreadArg0
from pydtrace.remote_python.thread_finder import ThreadFinder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TRIES = 32
_RETRY_INTERVAL = 0.2  # seconds until a process that is no Python yet is looked at again


class _Process:
    def __init__(self, pid: int, frames: int, want_tasks: bool) -> None:
        self._python = RemotePython(pid)
        self._codes = CodeObjects(self._python)
        self._walker = self._python.make_walker(max(1, frames), _TRIES)
        self._threads = ThreadFinder(self._python)
        self._proc = ThreadArg0(self._python, self._codes) if want_tasks else None
        self.sampled_at = 0

    @property
    def unknown_tasks(self) -> int:
        return self._proc.unknown if self._proc else 0

    def read_stacks(self, include_waiting: bool) -> list[tuple[int, list[str], bytes]]:
        """[(thread id as the process knows it, texts of its frames, who works there)]; `when` is the moment.  Raises NoStacks."""
        self._codes.expire_frames()
        if self._proc:
            self._proc.read_tasks()
        self._threads.read_states()
        waiting = () if include_waiting else self._threads.waiting
        raws = python_threads.read_raw_threads(self._walker, self._python.pid, waiting)
        self.sampled_at = time.monotonic_ns()
        if self._proc:
            self._proc.confirm_tasks(raws)
        alone = self._walker.thread_count == 1
        found_tasks = [(raw, self._threads.find_thread(raw, alone)) for raw in raws]
        tasks = [
            (raw, task)
            for raw, task in found_tasks
            if task and (include_waiting or task.state_letter == "R")
        ]
        procs = [
            self._proc.format_arg0(raw, task.inner_tid) if self._proc else b""
            for raw, task in tasks
        ]
        found = [
            (task.inner_tid, self._frame_texts(raw), proc)
            for (raw, task), proc in zip(tasks, procs)
        ]
        if not self._python.memory.is_same_process():
            raise ProcessNotFound.for_pid(self._python.pid)
        return found

    def _frame_texts(self, raw: Any) -> list[str]:
        if "lost" in raw.marks:
            return [pseudo_frame("lost").text]
        texts = [
            FrameKey((frame.name, frame.file, frame.line)).text
            for frame in raw.read_frames(self._codes)
        ]
        return [pseudo_frame("moving").text, *texts] if "torn" in raw.marks else texts


class ProfileSampler:
    """word: frames.Names.intern_text; frames: of a stack; everywhere: threads that wait count, too; tasks: who works in each is wanted."""

    def __init__(
        self, intern_frame: Any, frames: int, include_waiting: bool, want_tasks: bool = False
    ) -> None:
        self._intern_frame, self._frames, self._include_waiting, self._want_tasks = (
            intern_frame,
            frames,
            include_waiting,
            want_tasks,
        )
        self._sample_count = self._unknown_count = 0
        self._processes: dict[int, _Process] = {}
        self._retry_at: dict[int, float] = {}  # when those are looked at next that can not be read
        self._reported: set[str] = set()
        self.messages: list[str] = []  # for the user, each once

    def sample_process(self, pid: int) -> tuple[int, list[tuple[int, list[int], bytes]]]:
        """(when, [(thread id, words of its stack, the innermost frame first, who works there)]) of a process, now (ns)."""
        if self._retry_at.get(pid, 0) > time.monotonic():
            return 0, []
        try:
            if pid not in self._processes:
                _refuse_other_users(pid)
                self._processes[pid] = _Process(pid, self._frames, self._want_tasks)
            process = self._processes[pid]
            before = process.unknown_tasks
            found = process.read_stacks(self._include_waiting)
        except StackReadError as error:
            self._record_failure(pid, error)
            return 0, []
        self._retry_at.pop(pid, None)
        self._sample_count += len(found)
        self._unknown_count += process.unknown_tasks - before
        return process.sampled_at, [
            (tid, [self._intern_frame(text) for text in texts], proc) for tid, texts, proc in found
        ]

    def warnings(self, ended: bool) -> list[str]:
        """Messages for the user since the last call."""
        said, self.messages = self.messages, []
        if ended and self._unknown_count:
            said.append(
                f"the asyncio task of {self._unknown_count} of {self._sample_count} samples is unknown"
            )
            self._unknown_count = 0
        return said

    def _record_failure(self, pid: int, error: StackReadError) -> None:
        self._processes.pop(pid, None)
        first, why = pid not in self._retry_at, str(error)
        self._retry_at[pid] = time.monotonic() + _RETRY_INTERVAL
        if (
            not isinstance(error, ProcessNotFound)
            and is_alive(pid)
            and not first
            and why not in self._reported
        ):  # else it ends, or begins
            self._reported.add(why)
            self.messages.append(f"profile-n has no samples: {why}")


def _refuse_other_users(pid: int) -> None:
    try:
        owner = os.stat(f"/proc/{pid}").st_uid
    except OSError:
        raise ProcessNotFound.for_pid(pid) from None
    if owner != os.geteuid():
        raise StackReadError(
            f"process {pid}: it is another user's, who could make the tracer wait for ever; use -x engine=kernel"
        )
