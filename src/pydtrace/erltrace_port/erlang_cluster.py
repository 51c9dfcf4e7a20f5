"""The nodes of an Erlang cluster as the hosts of one tracing.

- erltrace_cluster.erl names a node on its socket; the connection is then the line to the pydtrace
  --serve of that node.
- Which process a node is, is asked when the tracing begins.
"""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, Any

from pydtrace.dlang.host_placement import declare_host
from pydtrace.hosts import hostlist
from pydtrace.hosts.connection import HostConnection
from pydtrace.hosts.request import Request, make_request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydtrace.program.program import Program

_MAX_NODE_NAME = 128  # characters of a node's name, at most


class ErlangCluster:
    def __init__(self, path: str, found: list[tuple[bytes, int]]) -> None:
        self.path = path
        self.pids: dict[str, int] = {}
        self.new_names: list[str] = []
        self.update_nodes(found)

    def update_nodes(self, found: list[tuple[bytes, int]]) -> None:
        """All that are there now."""
        for raw, pid in found:
            name = raw.decode()
            if len(name) <= _MAX_NODE_NAME and hostlist.is_host_name(name):
                if name not in self.pids:
                    self.new_names.append(name)
                self.pids[name] = pid

    def declare_hosts(self, compiler: Any) -> None:
        declare_host(compiler, "", _MAX_NODE_NAME, "erltrace:cluster")

    def make_request(
        self, program: Program, options: Mapping[str, Any], script: bytes, arguments: list[str]
    ) -> Request:
        texts = [{"text": os.fsdecode(script), "level": "name"}]
        made = make_request(
            ",".join(self.pids),
            None,
            program,
            options,
            texts,
            arguments,
            (),
            None,
            width=_MAX_NODE_NAME,
        )
        self.new_names.clear()
        return _NodesRequest(self, made)


class _NodesRequest(Request):
    def __init__(self, cluster: ErlangCluster, made: Request) -> None:
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
        found, self._cluster.new_names = self._cluster.new_names, []
        return found
