"""The queue before a server: connections that nobody has accepted, of a socket of this process."""

import os
import socket

import pytest

from pydtrace.why import accept_queue, report
from pydtrace.why.accept_queue import AcceptQueues, Queue, list_socket_inodes, read_listen_queues


@pytest.mark.parametrize(
    ("family", "host", "shown"),
    [(socket.AF_INET, "127.0.0.1", "127.0.0.1"), (socket.AF_INET6, "::1", "[::1]")],
)
def test_connections_that_wait_are_counted(family, host, shown):
    with socket.socket(family) as listener:
        try:
            listener.bind((host, 0))
        except OSError:
            pytest.skip("host: no IPv6")
        listener.listen(8)
        address = f"{shown}:{listener.getsockname()[1]}"
        clients = [socket.create_connection(listener.getsockname()[:2]) for _ in range(3)]
        inodes = list_socket_inodes(os.getpid())
        assert dict(read_listen_queues(os.getpid(), inodes))[address] == 3
        assert address not in dict(read_listen_queues(os.getpid(), {b"1"})), "another one's socket"
        listener.accept()[0].close()
        assert dict(read_listen_queues(os.getpid(), inodes))[address] == 2
        for each in clients:
            each.close()


def test_looks_are_limited_in_time_and_number(monkeypatch):
    found, queues = {"a": 0}, AcceptQueues()
    monkeypatch.setattr(accept_queue, "list_socket_inodes", lambda _: {b"1"})
    monkeypatch.setattr(accept_queue, "read_listen_queues", lambda *_: found.items())
    monkeypatch.setattr(accept_queue, "INTERVAL", 1000.0)
    queues.read_queues([7])
    found["a"] = 5
    queues.read_queues([7])
    assert queues.queues == {"a": Queue(1, 0, 0, 0)}
    monkeypatch.setattr(accept_queue, "INTERVAL", 0.0)
    monkeypatch.setattr(accept_queue, "_REST", 0)
    queues._next = 0.0
    queues.read_queues([7])
    assert queues.queues == {"a": Queue(2, 1, 5, 5)}
    found.update({str(number): 1 for number in range(200)})
    queues.read_queues([7])
    assert len(queues.queues) == 100 and queues.queues["a"] == Queue(3, 2, 10, 5)


def test_a_process_that_is_not_there_has_no_sockets():
    assert list_socket_inodes(2**22 + 1) == set()
    assert list(read_listen_queues(2**22 + 1, {b"1"})) == []


def test_only_long_queues_are_reported():
    queues = {"a:1": Queue(100, 40, 120, 9), "b:1": Queue(100, 9, 90, 50), "c:1": Queue(4, 4, 9, 1)}
    assert report.describe_queues(queues) == (
        "a:1: connections waited to be accepted in 40 % of 100 looks, 3.0 of them in the mean, 9 at most."
        " Their wait is in no time of a request.\n"
    )
