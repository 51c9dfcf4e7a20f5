"""A connection to an Erlang node as a hidden node that listens nowhere, for calls of functions there.

- The node's answers are untrusted: their sizes are limited, and nothing is waited for longer than the timeout.
- Both sides prove that they know the cookie; it is never sent.
- The name of this side is always the same, as a node keeps the names of all nodes for ever.

Source: "Distribution Protocol" of the ERTS guide (the handshake of OTP 23 and later), kernel's rpc.erl.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import secrets
import socket
import struct
import time

from pydtrace.erlang_node import etf
from pydtrace.erlang_node.etf import Atom

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Connect = Callable[[tuple[str, int], float], socket.socket]

OWN_NAME = "pyusdt-attach"
EPMD_PORT = 4369
# What OTP 25 and 26 demand: references, pids and ports of today, funs, floats, maps, atoms in UTF-8, the handshake of OTP 23, UNLINK_ID
# and identifiers of 64 bits.  Not DFLAG_PUBLISHED: hidden.
_FLAGS = 0x4 | 0x10 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800 | 0x10000 | 0x20000 | 0x40000 | 0x1000000 | 0x2000000 | 0x400000000  # fmt: skip
_PASS_THROUGH = b"p"
_SEND, _REG_SEND, _SEND_SENDER = 2, 6, 22
_MAX_ANSWER = 16 << 20
_MAX_NAMES = 1 << 20  # bytes of an epmd's answer
_RETRY_DELAY = 0.05  # s
_EPMD_NAMES = 110
_NO_CREATION = 1


class DistributionError(Exception):
    """The node, or the mapper of names, does not do what is wanted; the message says what."""


class WrongCookie(DistributionError):
    """The node has another cookie."""


def list_names(connect: Connect, address: tuple[str, int], timeout: float) -> dict[str, int]:
    """{name without the host: port} of the nodes that an epmd knows.  It is untrusted: any user may have started it.  Raises OSError."""
    end = time.monotonic() + timeout
    with connect(address, timeout) as mapper:
        mapper.sendall(struct.pack(">HB", 1, _EPMD_NAMES))
        text = bytearray()
        while len(text) < _MAX_NAMES and (chunk := mapper.recv(1 << 16)):
            text += chunk
            if time.monotonic() > end:
                raise TimeoutError("it does not end its answer in time")
            mapper.settimeout(max(end - time.monotonic(), 0.001))
    found = {}
    for line in text[4:].decode("utf-8", "replace").splitlines():
        words = line.split()
        if len(words) == 5 and words[0] == "name" and words[4].isdigit():
            found[words[1]] = int(words[4])
    return found


class NodeConnection:
    """node: the full name that the node has given itself; own_name: that of this side.  connect: makes the socket; name: of this side,
    without the host.  All calls together take no longer than the timeout, unless they are allowed more time."""

    def __init__(
        self,
        address: tuple[str, int],
        host: str,
        cookie: bytes,
        timeout: float,
        connect: Connect = socket.create_connection,
        name: str = OWN_NAME,
    ) -> None:
        self._timeout = timeout
        self.allow_more_time()
        self.own_name = f"{name}@{host}"
        while True:
            self._socket = connect(address, timeout)
            with contextlib.suppress(OSError):  # `connect` may give one that is not TCP's
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                self.node = self._shake_hands(cookie)
                return
            except _Busy as busy:
                self.close()
                if time.monotonic() + _RETRY_DELAY > self._end:
                    raise DistributionError(str(busy)) from None
            except BaseException:
                self.close()
                raise
            time.sleep(_RETRY_DELAY)

    def __enter__(self) -> NodeConnection:  # noqa: PYI034
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.close()

    def allow_more_time(self) -> None:
        """The timeout begins again."""
        self._end = time.monotonic() + self._timeout

    def send_to_name(self, name: str, message: Any) -> None:
        """To a registered process; nothing says whether there is one.  Raises DistributionError."""
        pid = self._encode_identifier(">B", (88,), (1, 0, _NO_CREATION))
        self._send_message((_REG_SEND, pid, Atom(""), Atom(name)), message)

    def call(self, module: str, function: str, *arguments: Any) -> Any:
        """What the function returns.  Raises DistributionError if it does not return, or if its answer cannot be read."""
        reference = self._encode_identifier(">BH", (90, 1), (_NO_CREATION, secrets.randbits(18)))
        pid = self._encode_identifier(">B", (88,), (1, 0, _NO_CREATION))
        # as rpc:call/4 asks: a hidden node has no group leader to give
        request = (Atom("call"), Atom(module), Atom(function), list(arguments), Atom("user"))
        control = (_REG_SEND, pid, Atom(""), Atom("rex"))
        self._send_message(control, (Atom("$gen_call"), (pid, reference), request))
        while True:
            answer = self._receive_message()
            if isinstance(answer, tuple) and len(answer) == 2 and answer[0] == reference:
                break
        if isinstance(answer[1], tuple) and answer[1][:1] == ("badrpc",):
            raise DistributionError(f"{module}:{function}/{len(arguments)} ended by {answer[1][1]}")
        return answer[1]

    def _encode_identifier(
        self, layout: str, head: tuple[int, ...], numbers: tuple[int, ...]
    ) -> etf.Opaque:
        atom = etf.encode(Atom(self.own_name))[1:]
        return etf.Opaque(
            struct.pack(layout, *head) + atom + struct.pack(f">{len(numbers)}I", *numbers)
        )

    # --- messages ------------------------------------------------------------------------------

    def _send_message(self, control: Any, message: Any) -> None:
        body = _PASS_THROUGH + etf.encode(control) + etf.encode(message)
        self._send(struct.pack(">I", len(body)) + body)

    def _receive_message(self) -> Any:
        """The next message that a process is sent."""
        while True:
            (size,) = struct.unpack(">I", self._receive(4))
            if size > _MAX_ANSWER:
                raise DistributionError(f"it has sent {size} bytes at once")
            if not size:  # it asks whether this side still lives
                self._send(struct.pack(">I", 0))
                continue
            body = self._receive(size)
            try:
                control, rest = etf.decode_first(body[1:])
                if body[:1] == _PASS_THROUGH and control[0] in (_SEND, _SEND_SENDER):
                    return etf.decode(rest)
            except (ValueError, TypeError, IndexError) as error:
                raise DistributionError(f"it has sent what is no message: {error}") from None

    def _send(self, data: bytes) -> None:
        try:
            self._socket.settimeout(self._left())
            self._socket.sendall(data)
        except TimeoutError:
            raise DistributionError("it does not answer in time") from None
        except OSError as error:
            raise DistributionError(f"the connection has ended: {error.strerror}") from None

    def _receive(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            try:
                self._socket.settimeout(self._left())
                chunk = self._socket.recv(min(size - len(data), 1 << 20))
            except TimeoutError:
                raise DistributionError("it does not answer in time") from None
            except OSError as error:
                raise DistributionError(f"the connection has ended: {error.strerror}") from None
            if not chunk:
                raise _Closed("it has closed the connection")
            data += chunk
        return bytes(data)

    def _left(self) -> float:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    # --- the handshake ---------------------------------------------------------------------------

    def _shake_hands(self, cookie: bytes) -> str:
        """The node's name."""
        name = self.own_name.encode()
        self._send_step(struct.pack(">cQIH", b"N", _FLAGS, _NO_CREATION, len(name)) + name)
        status = self._receive_step(b"s").decode("latin-1")
        if status in (
            "nok",
            "alive",
        ):  # another attach at the same time, or one that has just ended
            raise _Busy("another `pyusdt attach` is connected to it")
        if status not in ("ok", "ok_simultaneous"):
            raise DistributionError(f"it refuses the connection: {status}")
        node, theirs = self._read_challenge(self._receive_step(b"N"))
        ours = secrets.randbits(32)
        self._send_step(struct.pack(">cI", b"r", ours) + _make_digest(cookie, theirs))
        try:
            digest = self._receive_step(b"a")
        except _Closed:
            raise WrongCookie("it has another cookie") from None
        if not hmac.compare_digest(digest, _make_digest(cookie, ours)):
            raise WrongCookie("it does not know the cookie itself")
        return node

    @staticmethod
    def _read_challenge(step: bytes) -> tuple[str, int]:
        head = struct.Struct(">QIIH")
        try:
            _, challenge, _, size = head.unpack_from(step)
        except struct.error:
            raise DistributionError("its handshake is not that of OTP 23 and later") from None
        return step[head.size : head.size + size].decode("utf-8", "replace"), challenge

    def _send_step(self, data: bytes) -> None:
        self._send(struct.pack(">H", len(data)) + data)

    def _receive_step(self, tag: bytes) -> bytes:
        (size,) = struct.unpack(">H", self._receive(2))
        step = self._receive(size)
        if step[:1] != tag:
            raise DistributionError("its handshake is not that of OTP 23 and later")
        return step[1:]


class _Closed(DistributionError):
    """The node has ended the connection."""


class _Busy(DistributionError):
    """The node still has a connection of this name."""


def _make_digest(cookie: bytes, challenge: int) -> bytes:
    return hashlib.md5(cookie + str(challenge).encode(), usedforsecurity=False).digest()
