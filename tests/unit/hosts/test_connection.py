"""The line to a host: lines without an end, and of many parts."""

import os
from time import process_time

import pytest

from pydtrace.hosts.connection import HostConnection, HostError, parse_line

pytestmark = pytest.mark.own_processes


def test_a_line_without_an_end_costs_little():
    """It is not copied and looked through again with each byte that comes."""
    (inside, to), (out, outside), (err, errors) = os.pipe(), os.pipe(), os.pipe()
    link = HostConnection(to, out, err)
    taken, rest = [], b"x" * (7 << 20)
    try:
        while rest:
            rest = rest[os.write(outside, rest[:4096]) :]
            taken += link.receive()
            assert not link.got_fragment
        began = process_time()
        for _ in range(3000):
            os.write(outside, b"x")
            taken += link.receive()
            assert link.got_fragment
        assert process_time() - began < 3  # 3,000 copies of 7 MiB take more
        os.write(outside, b'x"\n{"type":"pong"}\n{"ty')
        taken += link.receive()
        os.write(outside, b'pe":"a"}\n')
        assert [*link.receive()] == [b'{"type":"a"}'] and not link.got_fragment
        assert [len(line) for line in taken] == [(7 << 20) + 3002, len('{"type":"pong"}')]
        os.write(outside, b"y" * 60000)
        for _ in range(200):
            [*link.receive()]
            os.write(outside, b"y" * 60000)
    except HostError as error:
        assert "a line of more than 8388608 bytes" in str(error)
    else:
        pytest.fail("it has no end")
    finally:
        link.close()
        for fd in (inside, outside, errors):
            os.close(fd)


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"delta","rows":[%s]}' % b",".join([b"[]"] * 300_000),
        b'{"type":"a","b":[%s]}' % b",".join([b"1"] * 1_100_000),
    ],
)
def test_a_line_of_many_parts(line):
    with pytest.raises(HostError, match="more parts than there is room for"):
        parse_line(line)
