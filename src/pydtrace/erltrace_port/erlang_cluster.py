# mypy: ignore-errors
"""The nodes of an Erlang cluster as the hosts of one tracing.

In: the socket of erltrace_cluster.erl, the nodes that are there, each with its operating system process.  Out: engine.remote's Request.
Always: a connection names a node, and then is the line to its pydtrace --serve; which process a node is now is known when it is asked.
"""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, Any

from pydtrace.dlang.host_placement import declare
from pydtrace.hosts import hostlist
from pydtrace.hosts.connection import HostConnection
from pydtrace.hosts.request import Request, make_request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydtrace.program.program import Program

_WIDTH = 128  # characters of a node's name, at most


class Cluster:
    def __init__(self, path: str, found: list[tuple[bytes, int]]) -> None:
        self.path = path
        self.pids: dict[str, int] = {}
        self.new: list[str] = []
        self.joined(found)

    def joined(self, found: list[tuple[bytes, int]]) -> None:
        """All that are there now."""
        for raw, pid in found:
            name = raw.decode()
            if len(name) <= _WIDTH and hostlist.is_host_name(name):
                if name not in self.pids:
                    self.new.append(name)
                self.pids[name] = pid

    def declare(self, compiler: Any) -> None:
        declare(compiler, "", _WIDTH, "erltrace:cluster")

    def request(
        self, program: Program, options: Mapping[str, Any], script: bytes, arguments: list[str]
    ) -> Request:
        texts = [{"text": os.fsdecode(script), "level": "name"}]
        made = make_request(
            ",".join(self.pids), None, program, options, texts, arguments, (), None, width=_WIDTH
        )
        self.new.clear()
        return _Request(self, made)


class _Request(Request):  # type: ignore[misc]
    def __init__(self, cluster: Cluster, made: Request) -> None:
        super().__init__(made.names, made.via, made.script)
        self._cluster = cluster

    def connect(self, name: str) -> HostConnection:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.connect(self._cluster.path)
            line.sendall(name.encode() + b"\n")
            return HostConnection(
                os.dup(line.fileno()),
                os.dup(line.fileno()),
                os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC),
            )

    def script_for(self, name: str, patience: int, retry: int) -> dict[str, Any]:
        return {**super().script_for(name, patience, retry), "pids": [self._cluster.pids[name]]}

    def new_names(self) -> list[str]:
        found, self._cluster.new = self._cluster.new, []
        return found
