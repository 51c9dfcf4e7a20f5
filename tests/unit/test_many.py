"""The engine of -x hostmode=central (engine/remote/central.py, c/tracer/many.c), on one recording that several hosts send.

All hosts send the same bytes, so that their processes and threads have the same ids.
"""

from __future__ import annotations

import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pyusdt.dlang import sides as many
from pyusdt.dlang.compile import Compiler
from pyusdt.engine.remote import central, sides
from pyusdt.engine.remote.central import CentralEngine
from pyusdt.engine.remote.host import RUNNING, Host
from pyusdt.engine.remote.link import Broken
from pyusdt.engine.remote.request import Request
from pyusdt.options import Options

EVENTS = 200
SECOND = 10**9
SCRIPT = """user_trace-i4s4 { n++; self->n++; @[host] = max(self->n); @sum = sum(arg3); printf("%s %d %d %d", host, n, arg3, timestamp); }"""
PROGRAM = f"import pyusdt\nfor i in range({EVENTS}): pyusdt.p(i % 7, i, 0, 0, 'key')"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The bytes of a recording."""
    path = tmp_path_factory.mktemp("many") / "recorded"
    pydtrace = Path(sys.executable).parent / "pydtrace"
    subprocess.run([pydtrace, "-q", "--record", path, "-n", "pyusdt$target:::user_trace-i4s4 /0/ { }", "-c", f"{sys.executable} -c \"{PROGRAM}\""],
                   check=True, timeout=120)
    return path.read_bytes()


class World:
    """A coordinator, whose hosts' clocks are shifted by so many ns, and known to `error`."""

    def __init__(self, shifts, error=1000):
        compiler = Compiler(Options(hostmode="central"))
        many.declare(compiler, "", 9, "test")
        compiler.add(SCRIPT)
        names = [f"h{i}" for i in range(len(shifts))]
        self.program = many.finish(compiler, sides.of_clause, sides.THERE)
        self.engine = CentralEngine(self.program, {"hosts": Request(names, ["x"], {"pids": [], "command": None})})
        self.hosts = [Host(name, i, self.engine, None) for i, name in enumerate(names)]
        self.engine._hosts += self.hosts
        self.engine._texts = []
        for host, shift in zip(self.hosts, shifts):
            now = time.monotonic_ns()
            host.offset.sample(now - error, now - error // 2 - shift, now + error)
            self.engine.began(host)
            host.state = RUNNING
            host.until = 1 << 62

    def rows(self):
        """(host, n, number, timestamp, whether it is uncertain) of the records that come now."""
        from pyusdt.data import program as p
        from pyusdt.data.records import split
        from pyusdt.data.snapshot import key_reader
        from pyusdt.data.wire import data_of

        clause = self.program.clauses[0]
        read = key_reader(data_of(clause), None)
        return [(*read(record), bool(number & p.RECORD_UNSURE)) for record, number, *_ in split(self.engine._run(1 << 62))]


def test_portions_of_any_size(recorded):
    """What comes in pieces is what came as a whole."""
    world = World([0])
    rows = []
    for at in range(0, len(recorded), 37):
        world.engine.take_events(world.hosts[0], recorded[at : at + 37])
        rows += world.rows()
    assert [(host, n, number) for host, n, number, _, _ in rows] == [("h0", i + 1, i) for i in range(EVENTS)]


def test_hosts_whose_clocks_differ(recorded):
    """By our clock each one's events come before the next one's; threads of the same ids have variables of their own; times are ours."""
    began = int.from_bytes(recorded[16:24], sys.byteorder)
    world = World([second * SECOND - began for second in (100, 200, 600)])
    for host in reversed(world.hosts):
        world.engine.take_events(host, recorded)
    rows = world.rows()
    assert [(host, n, number) for host, n, number, _, _ in rows] == [(f"h{i // EVENTS}", i + 1, i % EVENTS) for i in range(3 * EVENTS)]
    times = [when for _, _, _, when, _ in rows]
    assert times == sorted(times) and times[EVENTS] - times[0] == pytest.approx(100 * SECOND, abs=5000), times
    assert not any(unsure for *_, unsure in rows) and world.engine._lost() == (0, 0)
    assert {key.split(b"\0")[0]: int.from_bytes(value[:8], sys.byteorder) for key, value in world.engine.items(world.program.aggregations[0].map)} == {
        b"h0": EVENTS, b"h1": EVENTS, b"h2": EVENTS}


def test_what_could_be_the_other_way_round_is_marked(recorded):
    """Two hosts at one time: all but what was before anything of the other one."""
    world = World([0, 5_000], error=10**9)
    for host in world.hosts:
        world.engine.take_events(host, recorded)
    rows = world.rows()
    assert len(rows) == 2 * EVENTS and [row[3] for row in rows] == sorted(row[3] for row in rows)
    first = next(i for i, row in enumerate(rows) if row[0] != rows[0][0])
    assert [row[4] for row in rows] == [False] * first + [True] * (2 * EVENTS - first), rows
    assert world.engine._order.unsure == 2 * EVENTS - first


def test_what_is_damaged_costs_its_host(recorded):
    """What was whole before it counts."""
    world = World([0, 0])
    world.engine._hang_up = lambda host, state: setattr(host, "state", state)
    world.engine.take_events(world.hosts[0], recorded)
    broken, at, events = bytearray(recorded), 128, 0
    while events < EVENTS // 2:
        kind, size = struct.unpack_from("=II", broken, at)
        events += kind == 3
        at += 8 + size
    struct.pack_into("=I", broken, at, 99)
    world.engine.take_events(world.hosts[1], bytes(broken))
    rows = world.rows()
    of = {host: [number for name, _, number, _, _ in rows if name == host] for host in ("h0", "h1")}
    assert of["h0"] == list(range(EVENTS)) and of["h1"] == list(range(EVENTS // 2))
    assert "h1 is given up" in world.engine._texts[-1] and "its events can not be read" in world.engine._texts[-1]


def test_events_of_a_time_to_come(recorded):
    """A host that says so would hold them back for ever."""
    world = World([0, 10_000 * SECOND])
    world.engine._hang_up = lambda host, state: setattr(host, "state", state)
    for host in world.hosts:
        world.engine.take_events(host, recorded)
    world.engine._released()
    world.engine._released()  # now it is first
    assert [host.state == RUNNING for host in world.hosts] == [True, False]
    assert "h1 is given up" in world.engine._texts[-1] and "of a time to come" in world.engine._texts[-1]


def test_a_host_that_comes_back(recorded):
    """What had come of it is run, and its memory given back; one that does so without end has none."""
    world = World([0])
    host, engine = world.hosts[0], world.engine
    engine.take_events(host, recorded[:-100])
    engine.began(host)
    engine.take_events(host, recorded)
    assert engine._many.waits(0) > 0
    assert [n for _, n, *_ in world.rows()] == list(range(1, 2 * EVENTS))  # the last one of the first line was cut off
    assert engine._many.waits(0) == engine._many.waits(1) == 0
    with pytest.raises(Broken, match="come back too often"):
        for _ in range(1000):
            engine.began(host)
    assert 50 < len(engine._sources) < 200


def test_a_host_that_tells_of_too_much(recorded, monkeypatch):
    world = World([0])
    monkeypatch.setattr(central, "_KEPT", world.engine._many.kept(0) + 100)
    with pytest.raises(Broken, match="more probes and places than there is room for"):
        world.engine.take_events(world.hosts[0], recorded)
