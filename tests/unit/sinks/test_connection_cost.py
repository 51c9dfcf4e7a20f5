"""What others' connections cost is theirs: counted by who makes them, cut off above a share, and no part of -x maxcpu."""

import http.client
import os
import threading

import pytest

from pydtrace.driver.sink import Sink
from pydtrace.sinks.http import connection_cost, http_server
from pydtrace.sinks.http.connection_cost import BURST, REFUSAL_TIME, SHARE, ConnectionCost
from pydtrace.sinks.tee import Tee

OWN, USER, OTHER = ("uid", os.geteuid()), ("uid", 64123), ("address", "10.0.0.7")


@pytest.fixture
def clock(monkeypatch):
    """A list of one number: the time."""
    now = [1000.0]
    monkeypatch.setattr(connection_cost.time, "monotonic", lambda: now[0])
    return now


def test_who_takes_more_than_his_share(clock):
    told = []
    found = ConnectionCost(told.append)
    for _ in range(100):
        found.add_seconds(OWN, 1.0)
    assert (found.others_seconds, told, found.is_refused(OWN)) == (0.0, [], False)
    for _ in range(200):  # within it
        found.add_seconds(OTHER, SHARE / 2)
        clock[0] += 1
    assert not told
    found.add_seconds(USER, BURST + 0.1)
    assert found.is_refused(USER) and not found.is_refused(OTHER) and not found.is_refused(OWN)
    assert told == [
        "connections of user 64123 are refused for 60 s: they have taken more than 5 % of a processor"
    ]
    found.add_seconds(USER, 0.1)
    assert len(told) == 1 and found.others_seconds == pytest.approx(200 * SHARE / 2 + BURST + 0.2)
    clock[0] += REFUSAL_TIME + 1
    assert not found.is_refused(USER)


def test_who_is_remembered_is_bounded(clock):
    found = ConnectionCost()
    for number in range(5000):
        found.add_seconds(("address", f"10.{number}"), 1.0)
    assert len(found._budgets) <= 1024 and len(found._refused_until) <= 1024


class _Handler(http_server.Handler):
    def answer(self):
        if self.path == "/token":
            self.server.mark_trusted()
        sum(range(200_000))
        self.send_answer(200, b"hello", "text/plain")


@pytest.mark.parametrize(("path", "counts"), [("/", True), ("/token", False)])
def test_connections(path, counts, monkeypatch):
    """Of another user: they are served, until they have taken too much; who has the token is the tracing's."""
    monkeypatch.setattr(connection_cost, "BURST", 0.02)
    monkeypatch.setattr(http_server, "identify_peer", lambda theirs, ours: USER)
    served, told, refused = http_server.Server("127.0.0.1", 0, _Handler), threading.Event(), 0
    served.connection_cost.report = lambda text: told.set()
    served.start()
    try:
        for _ in range(200):
            connection = http.client.HTTPConnection("127.0.0.1", served.server_port, timeout=20)
            try:
                connection.request(
                    "GET",
                    path,
                    headers={"Host": f"127.0.0.1:{served.server_port}", "Connection": "close"},
                )
                assert connection.getresponse().read() == b"hello"
            except (http.client.HTTPException, OSError):
                refused += 1
                break
            finally:
                connection.close()
            if not counts and served.connection_cost.others_seconds > 0.015:
                break
        assert bool(refused) == told.is_set() == counts, (
            refused,
            served.connection_cost.others_seconds,
        )
    finally:
        served.stop()


def test_of_all_sinks():
    class Served(Sink):
        def other_users_time(self):
            return 2.0

    assert (
        Sink().other_users_time() == 0.0
        and Tee(Served(), Served(), Sink()).other_users_time() == 4.0
    )
