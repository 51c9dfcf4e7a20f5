"""What a host's messages change at the coordinator."""

import json
import re
from types import SimpleNamespace

import pytest

from pydtrace.hosts.host_messages import OPENED, Host

pytestmark = pytest.mark.own_processes


class Coordinator:
    """What a host needs of it: which texts it made."""

    program = SimpleNamespace(aggregations=[])

    def __init__(self):
        self.told = []

    def hosts_behind(self, name):
        return []

    def host_began(self, host):
        pass

    def host_returned(self, host):
        self.told.append(host.missing_counts)


class Line:
    """The other end of a link, with what it sends."""

    def __init__(self, *lines):
        self.lines = lines

    def receive(self):
        lines, self.lines = self.lines, ()
        return [json.dumps(line).encode() for line in lines]

    def read_stderr(self):
        return []

    def send(self, type, **what):
        pass


HELLO, EPOCH = (
    {"type": "hello", "schema": 2, "aggregations": []},
    {"type": "heartbeat", "epoch": 0, "time": 1},
)


def test_a_host_is_back_when_its_probes_are_on():
    """Its first epoch says so; one that is lost before has never been back, and what was lost begins where it was lost first."""
    told = Coordinator()
    host = Host("h", 0, told, None)
    for lines, number in (((HELLO, EPOCH), 0), ((HELLO,), 0), ((HELLO,), 0), ((HELLO, EPOCH), 1)):
        host.connect_again(Line(*lines))
        host.state = OPENED
        host.take_lines()
        assert len(told.told) == number
    assert re.fullmatch(r"what it has counted since \S+, the end of its epoch 0", told.told[0])


def test_names_have_a_bound():
    told = Coordinator()
    host = Host("h", 0, told, None)
    host.note_names((7, b"bytes", "a", ("a", "b")))
    with pytest.raises(ValueError, match="too many names"):
        for number in range(1 << 20):
            host.note_names((f"{number}" + "x" * 1000,))
    assert sum(map(len, host._names)) < 34 << 20
