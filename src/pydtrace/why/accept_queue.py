"""The queue before a server: connections that wait, in the kernel, until a worker accepts them.

- Their wait is in no request's time: a request begins when a worker has read it.
- Seen of TCP sockets that listen, in the processes' own network namespaces; not of Unix sockets.
- /proc/PID/net/tcp is read at most every INTERVAL, with at most a twentieth of a processor.
- At most ADDRESSES are counted.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import time
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

INTERVAL = 0.1  # seconds
ADDRESSES = 100
LEAST_LOOKS, LEAST_SHARE = 5, 0.1  # for a report
_REST = 20  # the time from one look to the next, in processor times of one
_LISTED = 5.0  # seconds for which a process is taken to have the same sockets
_LISTEN = b"0A"  # TCP_LISTEN
_SOCKET = "socket:["


class Queue(NamedTuple):
    """Of an address.  looks: how often it was looked at; waited: in how many of these a connection waited; total, longest: connections
    that waited, of all looks together and in one of them."""

    looks: int = 0
    waited: int = 0
    total: int = 0
    longest: int = 0

    def add(self, waiting: int) -> Queue:
        return Queue(
            self.looks + 1,
            self.waited + (waiting > 0),
            self.total + waiting,
            max(self.longest, waiting),
        )

    @property
    def is_long(self) -> bool:
        return self.looks >= LEAST_LOOKS and self.waited >= LEAST_SHARE * self.looks


class AcceptQueues:
    """queues: {address: Queue}."""

    def __init__(self) -> None:
        self.queues: dict[str, Queue] = {}
        self._inodes: dict[int, set[bytes]] = {}  # of the sockets of a process
        self._listed = self._next = 0.0

    def read_queues(self, pids: Iterable[int]) -> None:
        """Looks at the sockets, if that is due."""
        began = time.monotonic()
        if began < self._next:
            return
        used = time.thread_time()
        if began - self._listed >= _LISTED:
            self._listed, self._inodes = began, {}
        for pid in pids:
            if pid not in self._inodes:
                self._inodes[pid] = list_socket_inodes(pid)
        found: dict[str, int] = {}
        for pid, inodes in self._inodes.items():
            found.update(read_listen_queues(pid, inodes))
        for address, waiting in found.items():
            if address in self.queues or len(self.queues) < ADDRESSES:
                self.queues[address] = self.queues.get(address, Queue()).add(waiting)
        self._next = began + max(INTERVAL, _REST * (time.thread_time() - used))


def list_socket_inodes(pid: int) -> set[bytes]:
    """Of the sockets that a process has open; none if it may not be looked at."""
    folder, found = f"/proc/{pid}/fd", set()
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            with contextlib.suppress(OSError):  # it was closed
                target = os.readlink(f"{folder}/{name}")
                if target.startswith(_SOCKET):
                    found.add(target[len(_SOCKET) : -1].encode())
    return found


def read_listen_queues(pid: int, inodes: set[bytes]) -> Iterator[tuple[str, int]]:
    """(address, connections that wait) of those of the sockets that listen."""
    for name in ("tcp", "tcp6") if inodes else ():
        with contextlib.suppress(OSError), open(f"/proc/{pid}/net/{name}", "rb") as file:
            next(file, None)  # the names of the columns
            for line in file:
                fields = line.split()
                if len(fields) < 10 or fields[3] != _LISTEN:
                    break  # the kernel lists sockets that listen first
                if fields[9] in inodes:
                    yield format_address(fields[1].decode()), int(fields[4].split(b":")[1], 16)


def format_address(text: str) -> str:
    """ "0100007F:1F90" as "127.0.0.1:8080": words in the machine's order of bytes."""
    host, _, port = text.partition(":")
    words = b"".join(
        int(host[i : i + 8], 16).to_bytes(4, sys.byteorder) for i in range(0, len(host), 8)
    )
    if len(words) == 4:
        return f"{socket.inet_ntop(socket.AF_INET, words)}:{int(port, 16)}"
    return f"[{socket.inet_ntop(socket.AF_INET6, words)}]:{int(port, 16)}"
