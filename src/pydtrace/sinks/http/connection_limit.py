"""Who is at the other end of a connection: a user of this machine, or an address; and how many
connections each may have.

- On loopback connections /proc/net is read to find the user; where that does not say, the address
  is the identity.
"""

from __future__ import annotations

import ipaddress
import os
import sys
import threading
from collections import Counter
from typing import Any

Peer = tuple[str, Any]  # ("uid", 1000) or ("address", "10.0.0.7")


def identify_peer(remote: tuple[Any, ...], local: tuple[Any, ...]) -> Peer:
    """theirs, ours: as socket.getpeername() and getsockname() give them."""
    address = ipaddress.ip_address(str(remote[0]).partition("%")[0])
    if (
        address.is_loopback
        and (uid := _find_socket_uid(_proc_net_address(remote), _proc_net_address(local)))
        is not None
    ):
        return "uid", uid
    return "address", str(address)


def _proc_net_address(address: tuple[Any, ...]) -> str:
    """As /proc/net/tcp and tcp6 write it: 32-bit words of the machine's order."""
    packed = ipaddress.ip_address(str(address[0]).partition("%")[0]).packed
    words = [
        packed[i : i + 4][:: -1 if sys.byteorder == "little" else 1]
        for i in range(0, len(packed), 4)
    ]
    return f"{b''.join(words).hex().upper()}:{address[1]:04X}"


def _find_socket_uid(remote: str, local: str) -> int | None:
    """Whose socket it is that has these two ends."""
    try:
        with open(f"/proc/net/tcp{'6' if len(remote) > 20 else ''}", encoding="ascii") as file:
            for line in file:
                fields = line.split()
                if len(fields) > 7 and fields[1] == remote and fields[2] == local:
                    return int(fields[7])
    except (OSError, ValueError):
        pass
    return None


class ConnectionLimit:
    """Places for connections: the server's own user has all of `most` for himself; everybody else together as many again, each a
    quarter of them: so nobody keeps another out.  Any thread may call."""

    def __init__(self, most: int) -> None:
        self._most, self._each = most, max(1, most // 4)
        self._taken: Counter[Peer] = Counter()
        self._own: Peer = ("uid", os.geteuid())
        self._lock = threading.Lock()

    def acquire_slot(self, peer: Peer) -> bool:
        """Whether there is one; release_slot() it back then."""
        with self._lock:
            others = self._taken.total() - self._taken[self._own]
            free = (
                self._taken[peer] < self._most
                if peer == self._own
                else self._taken[peer] < self._each and others < self._most
            )
            self._taken[peer] += free
            return free

    def release_slot(self, peer: Peer) -> None:
        with self._lock:
            self._taken[peer] -= 1
            if not self._taken[peer]:
                del self._taken[peer]
