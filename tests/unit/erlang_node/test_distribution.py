"""The connection to an Erlang node: what a node, or what pretends to be one, may answer."""

from __future__ import annotations

import contextlib
import hashlib
import socket
import struct
import threading

import pytest

from pydtrace.erlang_node import etf
from pydtrace.erlang_node.distribution import DistributionError, NodeConnection, WrongCookie
from pydtrace.erlang_node.etf import Atom

COOKIE = b"tea"


class FakeNode:
    """A node's side of one connection, as the test says."""

    def __init__(self, side: socket.socket):
        self.side = side

    def read(self, layout: str) -> bytes:
        (size,) = struct.unpack(layout, self._read_exactly(struct.calcsize(layout)))
        return self._read_exactly(size)

    def _read_exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            data += self.side.recv(size - len(data)) or pytest.fail("closed")
        return data

    def step(self, data: bytes) -> None:
        self.side.sendall(struct.pack(">H", len(data)) + data)

    def challenge(self, name: bytes = b"shop@here", status: bytes = b"sok") -> bytes:
        """The answer to the challenge."""
        assert self.read(">H")[:1] == b"N"
        self.step(status)
        self.step(struct.pack(">cQIIH", b"N", 0, 7, 1, len(name)) + name)
        return self.read(">H")

    def let_in(self, cookie: bytes = COOKIE) -> None:
        answer = self.challenge()
        (theirs,) = struct.unpack(">I", answer[1:5])
        self.step(b"a" + hashlib.md5(cookie + str(theirs).encode()).digest())

    def answer(self, *values: object) -> None:
        """A call's, by the reference that it came with."""
        request = self.read(">I")
        _, rest = etf.decode_first(request[1:])
        _, (pid, reference), _ = etf.decode(rest)
        body = b"p" + etf.encode((2, Atom(""), pid)) + etf.encode((reference, *values))
        self.side.sendall(struct.pack(">I", 0) + struct.pack(">I", len(body)) + body)


@contextlib.contextmanager
def connected(serve, timeout: float = 5.0):
    """A connection to what serve(FakeNode) pretends to be."""
    ours, theirs = socket.socketpair()

    def run() -> None:
        with contextlib.suppress(OSError, pytest.fail.Exception):
            serve(FakeNode(theirs))

    thread = threading.Thread(target=run)
    thread.start()
    try:
        with NodeConnection(("", 0), "here", COOKIE, timeout, lambda *_: ours) as node:
            yield node
    finally:
        with contextlib.suppress(OSError):
            theirs.shutdown(socket.SHUT_RDWR)  # wakes the thread up
        theirs.close()
        thread.join()


def test_a_call():
    def serve(node: FakeNode) -> None:
        node.let_in()
        node.answer({Atom("a"): [1, 2.5, b"x"]})
        node.read(">I")  # that this side still lives

    with connected(serve) as node:
        assert node.node == "shop@here"
        assert node.call("lists", "seq", 1, 2) == {Atom("a"): [1, 2.5, b"x"]}


@pytest.mark.parametrize(
    ("serve", "said"),
    [
        (
            lambda node: node.challenge(status=b"snot_allowed"),
            "it refuses the connection: not_allowed",
        ),
        (lambda node: node.step(b"x"), "not that of OTP 23"),
        (lambda node: node.step(b""), "not that of OTP 23"),
        (lambda node: (node.step(b"sok"), node.step(b"Nshort")), "not that of OTP 23"),
        (lambda node: node.side.close(), "ended|closed"),
    ],
)
def test_a_handshake_that_fails(serve, said):
    with pytest.raises(DistributionError, match=said), connected(serve):
        pass


def test_wrong_cookies():
    def close_at_once(node: FakeNode) -> None:
        node.challenge()
        node.side.shutdown(socket.SHUT_RDWR)

    with pytest.raises(WrongCookie, match="another cookie"), connected(close_at_once):
        pass
    with (
        pytest.raises(WrongCookie, match="does not know"),
        connected(lambda node: node.let_in(b"")),
    ):
        pass


def test_a_node_that_stays_busy():
    def serve(node: FakeNode) -> None:
        node.challenge(status=b"salive")

    with pytest.raises(DistributionError, match="another `pyusdt attach`"), connected(serve, 0.04):
        pass


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (struct.pack(">I", 1 << 30), "sent 1073741824 bytes at once"),
        (struct.pack(">I", 3) + b"p\x83\x68", "no message"),
        (struct.pack(">I", 4) + b"p\x83\x6a\x6a", "no message"),
        (struct.pack(">I", 3) + b"\x00\x00\x00", "no message"),
        (struct.pack(">I", 5000 * 5 + 2) + b"p\x83" + b"l\x00\x00\x00\x01" * 5000, "too deep"),
        (b"", "does not answer in time"),
    ],
)
def test_hostile_answers(message, said):
    def serve(node: FakeNode) -> None:
        node.let_in()
        node.side.sendall(message)
        node.side.recv(1 << 16)
        node.side.recv(1 << 16)

    with connected(serve, 1.0) as node, pytest.raises(DistributionError, match=said):
        node.call("erlang", "node")


def test_a_call_that_ends_badly():
    def serve(node: FakeNode) -> None:
        node.let_in()
        node.answer((Atom("badrpc"), Atom("nodedown")))

    with (
        connected(serve) as node,
        pytest.raises(DistributionError, match=r"a:b/0 ended by nodedown"),
    ):
        node.call("a", "b")
