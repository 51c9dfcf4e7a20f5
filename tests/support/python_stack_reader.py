"""Reads the Python stacks of a process, as dump and profile do."""

from __future__ import annotations

from pydtrace.remote_python import python_threads
from pydtrace.remote_python.code_objects import CodeObjects
from pydtrace.remote_python.remote_python import RemotePython


class Reader:
    """Of one process."""

    def __init__(self, pid: int, frames: int = 1000, tries: int = 64):
        self.python = RemotePython(pid)
        self.codes = CodeObjects(self.python)
        self.make_walker = self.python.make_walker(frames, tries)

    def read(self):
        return python_threads.read_raw_threads(self.make_walker, self.python.pid)

    def rows(self, raw) -> list[list]:
        self.codes.expire_frames()
        return [[each.name, each.file, each.line] for each in raw.read_frames(self.codes)]
