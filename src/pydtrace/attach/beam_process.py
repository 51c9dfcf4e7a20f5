"""What a tracer has to know of an Erlang node that is a process of this system: where its distribution listens, and its cookie.

- The process and its files are untrusted: files are read with the rights of its user only, below its root folder.
- A port is the node's only if one of its own sockets listens there; the mapper of names (epmd) says which one it is.
- In another network namespace a thread enters that one for the connection, which needs root.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import struct
import sys
import threading

from pydtrace import _tracer
from pydtrace.erlang_node.distribution import EPMD_PORT, list_names
from pydtrace.process.proc_status import read_status

from .placed_copy import find_user
from .refusal import NotAttached, make_forbidden_refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_EMULATOR = "beam"  # beam.smp, beam.debug.smp
_LISTENS = "0A"  # of /proc/net/tcp
_MAX_COOKIE = 4096
_CLONE_NEWNET = 0x40000000
_COOKIE_FILE = ".erlang.cookie"
_LOOPBACK = {False: "127.0.0.1", True: "::1"}


def is_beam(pid: int) -> bool:
    """Whether a process is an Erlang emulator."""
    try:
        name = os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        name = os.path.basename(
            (_read_words(pid, "cmdline") or [b""])[0].decode("utf-8", "replace")
        )
    return name.startswith(_EMULATOR + ".")


class BeamProcess:
    """words: its command line; environment: its variables.  NotAttached."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.words = _read_words(pid, "cmdline")
        self.environment = dict(
            pair.partition(b"=")[::2] for pair in _read_words(pid, "environ") if b"=" in pair
        )
        if not self.words:
            raise NotAttached(f"process {pid} has ended")
        if not os.access(f"/proc/{pid}/fd", os.R_OK):
            raise make_forbidden_refusal(pid)

    # --- its port --------------------------------------------------------------------------------

    def find_address(self, timeout: float) -> tuple[str, int]:
        """Where its distribution listens.  NotAttached."""
        if self._option(b"-proto_dist")[:1] == [b"inet_tls"]:
            raise NotAttached(
                f"process {self.pid}: its distribution uses TLS, which pyusdt does not speak",
                _BY_HAND,
            )
        listening = self._list_listening_sockets()
        names = self._list_names(timeout)
        ports = set(names.values()) | {
            int(word) for word in self._option(b"-erl_epmd_port")[:1] if word.isdigit()
        }
        found = [(address, port) for address, port in listening if port in ports]
        if not found:
            raise NotAttached(
                f"process {self.pid} is an Erlang node without distribution"
                if listening == [] or names
                else f"process {self.pid}: no epmd knows this Erlang node, so it has no name, or another mapper of names",
                "start it with -sname NAME, or call net_kernel:start([NAME, shortnames]) in it",
            )
        address, port = min(found, key=lambda each: (":" in each[0], each))
        return address, port

    def _list_names(self, timeout: float) -> dict[str, int]:
        given = self.environment.get(b"ERL_EPMD_PORT", b"")
        port = int(given) if given.isdigit() and int(given) < 1 << 16 else EPMD_PORT
        try:
            return list_names(self.connect, (_LOOPBACK[False], port), timeout)
        except OSError:
            return {}

    def _list_listening_sockets(self) -> list[tuple[str, int]]:
        """(address to connect to, port)"""
        own = set()
        try:
            for name in os.listdir(f"/proc/{self.pid}/fd"):
                with contextlib.suppress(OSError):
                    own.add(os.readlink(f"/proc/{self.pid}/fd/{name}"))
        except OSError:
            raise make_forbidden_refusal(self.pid) from None
        found = []
        for is_ipv6 in (False, True):
            for address, port, inode in _read_listening(self.pid, is_ipv6):
                if f"socket:[{inode}]" in own:
                    found.append((_find_reachable(address, is_ipv6), port))
        return found

    def connect(self, address: tuple[str, int], timeout: float) -> socket.socket:
        """As socket.create_connection(), in the network of the process."""
        if _same_namespace(self.pid, "net"):
            return socket.create_connection(address, timeout)
        made: list[socket.socket | Exception] = []
        thread = threading.Thread(target=self._connect_inside, args=(address, timeout, made))
        thread.start()
        thread.join()
        if isinstance(made[0], Exception):
            raise made[0]
        return made[0]

    def _connect_inside(self, address: tuple[str, int], timeout: float, made: list[Any]) -> None:
        """The thread is in the other namespace until it ends."""
        try:
            try:
                _enter_network(self.pid)
            except OSError as error:
                raise NotAttached(
                    f"process {self.pid}: its network is another one, which this user cannot enter: {error.strerror}",
                    "be root, or run pyusdt inside of the container",
                ) from None
            made.append(socket.create_connection(address, timeout))
        except (OSError, NotAttached) as error:
            made.append(error)

    # --- its cookie ------------------------------------------------------------------------------

    def find_cookies(self) -> Iterator[bytes]:
        """Those that may be its cookie, the likeliest first: of the command line (where vm.args is, too), then of its user's files."""
        seen = set()
        given = [
            words[0] for words in self._each_option(b"-setcookie") if len(words) == 1 and words[0]
        ]
        for cookie in (*given, *self._read_cookie_files()):
            if cookie not in seen:
                seen.add(cookie)
                yield cookie

    def _read_cookie_files(self) -> Iterator[bytes]:
        homes = [*self._option(b"-home")[:1], self.environment.get(b"HOME", b"")]
        settings = self.environment.get(b"XDG_CONFIG_HOME", b"")
        for home in homes:
            folders = [home, os.path.join(settings or os.path.join(home, b".config"), b"erlang")]
            for folder in folders:
                if home.startswith(b"/") and (cookie := self._read_file(folder)):
                    yield cookie

    def _read_file(self, folder: bytes) -> bytes:
        path = os.path.join(folder, os.fsencode(_COOKIE_FILE))
        try:
            with _tracer.UserRights(*find_user(self.pid)):
                return _read_below(self.pid, path).rstrip(b"\n")
        except OSError:
            return b""

    def _option(self, name: bytes) -> list[bytes]:
        """The arguments of an option of erl's, where it is there."""
        return next(self._each_option(name), [])

    def _each_option(self, name: bytes) -> Iterator[list[bytes]]:
        for at, word in enumerate(self.words):
            if word == name:
                found = []
                for argument in self.words[at + 1 :]:
                    if argument.startswith((b"-", b"+")):
                        break
                    found.append(argument)
                yield found


_BY_HAND = 'call in the node: code:add_pathz("…/erlang_nif/ebin"), pyusdt_vm:enable().'


def _read_words(pid: int, name: str) -> list[bytes]:
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read(1 << 20).rstrip(b"\0").split(b"\0")
    except OSError:
        return []


def _read_listening(pid: int, is_ipv6: bool) -> Iterator[tuple[bytes, int, str]]:
    """(address in the order of the network, port, inode) of the listening sockets in the network of a process."""
    try:
        with open(f"/proc/{pid}/net/tcp{'6' if is_ipv6 else ''}", encoding="ascii") as file:
            rows = [line.split() for line in file][1:]
    except OSError:
        return
    for row in rows:
        if row[3] == _LISTENS:
            address, port = row[1].split(":")
            words = [int(address[i : i + 8], 16) for i in range(0, len(address), 8)]
            yield struct.pack(f"={len(words)}I", *words), int(port, 16), row[9]


def _find_reachable(address: bytes, is_ipv6: bool) -> str:
    """Of a socket that listens at all addresses, the loopback address."""
    if not any(address):
        return _LOOPBACK[is_ipv6]
    return socket.inet_ntop(socket.AF_INET6 if is_ipv6 else socket.AF_INET, address)


def _same_namespace(pid: int, kind: str) -> bool:
    try:
        return os.readlink(f"/proc/{pid}/ns/{kind}") == os.readlink(f"/proc/self/ns/{kind}")
    except OSError:
        return True


def _enter_network(pid: int) -> None:
    """Of the calling thread.  Raises OSError."""
    fd = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if sys.version_info >= (3, 12):
            os.setns(fd, _CLONE_NEWNET)
            return
        import ctypes

        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(fd, _CLONE_NEWNET):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    finally:
        os.close(fd)


def _read_below(pid: int, path: bytes) -> bytes:
    """A regular file below the root folder of a process; no link is followed, and no folder is left: from a root that is only a
    chroot's, ".." leads out."""
    names = [name for name in path.split(b"/") if name]
    if b".." in names:
        return b""
    with contextlib.ExitStack() as opened:

        def open_step(name: bytes | str, above: int | None, how: int) -> int:
            fd = os.open(name, how | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=above)
            opened.callback(os.close, fd)
            return fd

        process = open_step(f"/proc/{pid}", None, os.O_PATH)
        at = open_step("root/.", process, os.O_PATH)
        *folders, last = names
        for name in folders:
            at = open_step(name, at, os.O_PATH | os.O_DIRECTORY)
        file = open_step(last, at, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return b""
        return os.read(file, _MAX_COOKIE)


def read_own_pid(pid: int) -> int:
    """The id by which a process knows itself, in its own namespace."""
    return int(read_status(pid).get("NSpid", str(pid)).split()[-1])
