"""The engine of -x hostmode=central (hosts/central_engine.py, c/recording/merged_replay.c), on one recording that several hosts send.

All hosts send the same bytes, so that their processes and threads have the same ids.
"""

from __future__ import annotations

import itertools
import struct
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from pydtrace import _tracer
from pydtrace.dlang import host_placement as many
from pydtrace.dlang.compile import Compiler
from pydtrace.hosts import central_engine, placement
from pydtrace.hosts import engine as remote
from pydtrace.hosts.central_engine import CentralEngine
from pydtrace.hosts.connection import HostError
from pydtrace.hosts.host_messages import RUNNING, Host
from pydtrace.hosts.request import Request
from pydtrace.options import Options
from pydtrace.program import program as p
from tests.support.made_up import made_recordings as made

pytestmark = pytest.mark.own_processes

EVENTS = 200
SECOND = 10**9
SCRIPT = """user_trace-i4s4 { n++; self->n++; @[host] = max(self->n); @sum = sum(arg3); printf("%s %d %d %d", host, n, arg3, timestamp); }"""
PROGRAM = f"import pyusdt\nfor i in range({EVENTS}): pyusdt.p(i % 7, i, 0, 0, 'key')"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The bytes of a recording."""
    path = tmp_path_factory.mktemp("many") / "recorded"
    pydtrace = Path(sys.executable).parent / "pydtrace"
    subprocess.run(
        [
            pydtrace,
            "-q",
            "--record",
            path,
            "-n",
            "pyusdt$target:::user_trace-i4s4 /0/ { }",
            "-c",
            f'{sys.executable} -c "{PROGRAM}"',
        ],
        check=True,
        timeout=120,
    )
    return path.read_bytes()


class World:
    """A coordinator, whose hosts' clocks are shifted by so many ns, and known to `error`."""

    def __init__(self, shifts, error=1000, script=SCRIPT):
        compiler = Compiler(Options(hostmode="central"))
        many.declare_host(compiler, "", 9, "test")
        compiler.compile_text(script)
        names = [f"h{i}" for i in range(len(shifts))]
        self.program = many.finish_program(compiler, placement.clause_placement, placement.HOSTS)
        self.engine = CentralEngine(
            self.program, {"hosts": Request(names, ["x"], {"pids": [], "command": None})}
        )
        self.hosts = [Host(name, i, self.engine, None) for i, name in enumerate(names)]
        self.engine._hosts += self.hosts
        self.engine._messages = []
        for host, shift in zip(self.hosts, shifts):
            now = time.monotonic_ns()
            host.offset.add_sample(now - error, now - error // 2 - shift, now + error)
            self.engine.host_began(host)
            host.state = RUNNING
            host.complete_until = 1 << 62

    def rows(self, clause=0):
        """(host, n, number, timestamp, whether it is uncertain) of the records that come now; of another clause: what it records."""
        from pydtrace.hosts.host_protocol import data_of
        from pydtrace.results.aggregations import make_key_reader
        from pydtrace.results.records import iter_records

        read = make_key_reader(data_of(self.program.clauses[clause]), None)
        place = slice(p.RECORD_CLAUSE, p.RECORD_CLAUSE + 4)
        mark = (
            (lambda _: ())
            if clause
            else lambda record: (
                bool(int.from_bytes(record[place], sys.byteorder) & p.RECORD_UNSURE),
            )
        )
        return [
            (*read(record), *mark(record))
            for record, *_ in iter_records(self.engine._run_events(1 << 62))
        ]


def test_portions_of_any_size(recorded):
    """What comes in pieces is what came as a whole."""
    world = World([0])
    rows = []
    for at in range(0, len(recorded), 37):
        world.engine.take_events(world.hosts[0], recorded[at : at + 37])
        rows += world.rows()
    assert [(host, n, number) for host, n, number, _, _ in rows] == [
        ("h0", i + 1, i) for i in range(EVENTS)
    ]


def test_hosts_whose_clocks_differ(recorded):
    """By our clock each one's events come before the next one's; threads of the same ids have variables of their own; times are ours."""
    began = int.from_bytes(recorded[16:24], sys.byteorder)
    world = World([second * SECOND - began for second in (100, 200, 600)])
    for host in reversed(world.hosts):
        world.engine.take_events(host, recorded)
    rows = world.rows()
    assert [(host, n, number) for host, n, number, _, _ in rows] == [
        (f"h{i // EVENTS}", i + 1, i % EVENTS) for i in range(3 * EVENTS)
    ]
    times = [when for _, _, _, when, _ in rows]
    assert times == sorted(times) and times[EVENTS] - times[0] == pytest.approx(
        100 * SECOND, abs=5000
    ), times
    assert not any(unsure for *_, unsure in rows) and world.engine._count_drops() == (0, 0)
    assert {
        key.split(b"\0")[0]: int.from_bytes(value[:8], sys.byteorder)
        for key, value in world.engine.items(world.program.aggregations[0].map)
    } == {b"h0": EVENTS, b"h1": EVENTS, b"h2": EVENTS}


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
    world.engine._disconnect = lambda host, state: setattr(host, "state", state)
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
    assert (
        "h1 is given up" in world.engine._messages[-1]
        and "its events cannot be read" in world.engine._messages[-1]
    )


def test_events_of_a_time_to_come(recorded):
    """A host that says so would hold them back for ever."""
    world = World([0, 10_000 * SECOND])
    world.engine._disconnect = lambda host, state: setattr(host, "state", state)
    for host in world.hosts:
        world.engine.take_events(host, recorded)
    world.engine._release_records()
    world.engine._release_records()  # now it is first
    assert [host.state == RUNNING for host in world.hosts] == [True, False]
    assert (
        "h1 is given up" in world.engine._messages[-1]
        and "of a time to come" in world.engine._messages[-1]
    )


def test_a_host_that_comes_back(recorded):
    """What had come of it is run, and its memory given back; one that does so without end has none."""
    world = World([0])
    host, engine = world.hosts[0], world.engine
    engine.take_events(host, recorded[:-100])
    engine.host_began(host)
    engine.take_events(host, recorded)
    assert engine._merged_replay.unread_bytes(0) > 0
    assert [n for _, n, *_ in world.rows()] == list(
        range(1, 2 * EVENTS)
    )  # the last one of the first line was cut off
    assert engine._merged_replay.unread_bytes(0) == engine._merged_replay.unread_bytes(1) == 0
    with pytest.raises(HostError, match="come back too often"):
        for _ in range(1000):
            engine.host_began(host)
    assert 50 < len(engine._sources) < 200


def test_a_host_that_tells_of_too_much(recorded, monkeypatch):
    world = World([0])
    monkeypatch.setattr(
        central_engine, "_KEPT_LIMIT", world.engine._merged_replay.retained_bytes(0) + 100
    )
    with pytest.raises(HostError, match="too many probes and places"):
        world.engine.take_events(world.hosts[0], recorded)


class Flood:
    """The line to a host that sends an event whenever it is read, and never ends."""

    out, has_ended, got_fragment = 0, False, False

    def __init__(self, engine, host):
        self.most, self._engine, self._host, self._parts = (
            0,
            engine,
            host,
            itertools.repeat(made.event(0, 100, at=1)),
        )

    def select(self, timeout):
        return [(SimpleNamespace(data=self._host), 1)]

    def receive(self):
        for event in itertools.islice(self._parts, 20):
            self._engine.take_events(self._host, event)
        self.most = max(self.most, self._engine._held_bytes())
        return ()

    def read_stderr(self):
        return ()

    def send(self, *_, **what):
        pass

    flush = close = unregister = send


@pytest.mark.parametrize("action", ["n++", "exit(0)"])
def test_a_host_that_sends_without_end_when_it_is_to_end(action, monkeypatch):
    """What waits has a bound meanwhile: it is run, or after exit() not kept.  The host is given up."""
    for module in (central_engine, remote):
        monkeypatch.setattr(module, "_HELD_LIMIT", 10_000)
    world = World([0], script=f"made*:::fired {{ {action}; }}")
    engine, host = world.engine, world.hosts[0]
    begun(world, 0)
    send(world, 0, made.place(0, 1, "f"), made.event(0, 100, at=1))
    run(world)
    host.link = engine._selector = flood = Flood(engine, host)
    engine._host_timeout, engine._ping_hosts = SECOND // 2, lambda: None
    engine.end()
    while engine.drain_end():
        pass
    assert (
        flood.most < 3 * 10_000
        and "h0 is given up" in engine._messages[-1]
        and "does not end" in engine._messages[-1]
    )


# --- stacks, and samples ------------------------------------------------------------------------------------
STACKS = """made*:::fired { @[host, jstack()] = count(); }"""


def frames_of(world):
    """{(host, texts of the frames): count} of the only aggregation."""
    from pydtrace.aggregation.int64 import unpack_words
    from pydtrace.driver.address_symbolizer import AddressSymbolizer

    (aggregation,) = world.program.aggregations
    host, stack = aggregation.keys
    symbols = AddressSymbolizer({}, name_of=world.engine.name_of, code_of=world.engine.code_of)
    return {
        (
            key[host.offset : host.offset + host.size].split(b"\0")[0].decode(),
            *symbols.name_frames(key[stack.offset : stack.offset + stack.size]),
        ): unpack_words(value)[0]
        for key, value in world.engine.items(aggregation.map)
    }


def send(world, host, *blocks):
    world.engine.take_events(world.hosts[host], b"".join(blocks))


def run(world):
    return world.engine._run_events(1 << 62)


def begun(world, host, processes=1, name="fired"):
    send(
        world,
        host,
        made.HEADER,
        made.table(0, "made", name),
        *(made.target(i, 0, 100 + i) for i in range(processes)),
    )


def test_no_host_takes_the_names_of_others():
    """Words of frames have room for 65,536 processes: who tells of more has frames without a name, and the others' keep theirs."""
    world = World([0, 0], script=STACKS)
    begun(world, 0, processes=65_536)
    for number in (0, 65_535):
        send(
            world,
            0,
            made.place(number, 1, f"lie{number}"),
            made.event(number, 1, stack=[1 << 32 | 5, 1 << 32 | made.ENTRY | 6]),
        )
    run(world)
    begun(world, 1, processes=3)
    send(
        world,
        1,
        *(made.place(i, 1, f"true{i}") for i in range(3)),
        *(made.event(i, 2, stack=[1 << 32 | made.ENTRY | 7]) for i in range(3)),
    )
    run(world)
    assert frames_of(world) == {
        ("h0", "lie0 (lie.py:5)", "lie0 (lie.py:6)"): 1,
        ("h0", "?", "?"): 1,
        **{("h1", f"true{i} (lie.py:7)"): 1 for i in range(3)},
    }
    assert (
        world.engine._merged_replay.place(_tracer.FRAME_TARGETS // 16, 1)[1] == "true0"
    )  # behind the share of h0


def test_frames_that_can_not_be():
    """No places, files of the coordinator, names that command a terminal."""
    world = World([0], script=STACKS.replace("jstack", "ustack"))
    begun(world, 0)
    send(
        world,
        0,
        made.place(0, 1, "red\x1b[31m\n", "/etc/passwd"),
        made.event(
            0,
            1,
            stack=[
                0,
                77 << 32 | 1,
                1 << 32 | 0xFFFFF,
                1 << 32 | made.CODE | 16,
                (1 << 64) - 1 & ~made.CODE,
            ],
        ),
    )
    run(world)
    ((_, *frames),) = frames_of(world)
    assert (
        frames[:3] == ["?", "?", "red\\x1b[31m\\n (/etc/passwd:1048575)"]
        and frames[3].startswith("0x")
        and frames[4] == "?"
    ), frames


def test_frames_without_end():
    """What is kept of their names is bounded, and all have theirs."""
    world = World([0], script=STACKS)
    begun(world, 0)
    send(world, 0, made.place(0, 1, "f"))
    texts = set()
    for line in range(200_000):
        texts.add(
            world.engine.name_of(
                0, p.FRAME_MARK << p.FRAME_MARK_SHIFT | 1 << p.FRAME_PLACE_SHIFT | line
            )
        )
        if line == 0:
            send(world, 0, made.event(0, 1, stack=[1 << 32 | 1]))
            run(world)
    assert len(texts) == 200_000 and len(world.engine._names._names_by_word) <= 2 << 16


def test_probes_at_places_without_end():
    """What one host makes the coordinator tell apart leaves room for the others."""
    world = World([0, 0], script="made*:::fired { @[host, probefunc] = count(); }")
    begun(world, 0, processes=65_536)
    send(
        world,
        0,
        *(
            part
            for i in range(65_536)
            for part in (made.place(i, 1, "lie"), made.event(i, i, at=1))
        ),
    )
    run(world)
    begun(world, 1)
    send(world, 1, made.place(0, 1, "true"), made.event(0, 70_000, at=1))
    run(world)
    (aggregation,) = world.program.aggregations
    assert any(
        key.startswith(b"h1\0") and b"true\0" in key
        for key, _ in world.engine.items(aggregation.map)
    )


def test_what_places_take_is_counted():
    """A host that has one place in each of many processes takes more than the bytes that it sends."""
    world = World([0], script=STACKS)
    begun(world, 0, processes=1000)
    before = world.engine._merged_replay.retained_bytes(0)
    send(world, 0, *(made.place(i, 1, "f") for i in range(1000)), made.event(0, 1))
    run(world)
    assert world.engine._merged_replay.retained_bytes(0) - before > 1000 * 1500


SAMPLED = """made*:::fired { self->n++; n++; } profile-97 { printf("%s %d %d %d %s", host, n, self->n, arg1 != 0, execname); @[host, jstack()] = count(); }"""


def sample(when, frames, tid=1, pid=100, name="profile-97", comm="python"):
    return [name, when, pid, tid, 0, 0, comm, frames]


def test_samples_among_events():
    """In the order of their times; self-> is the thread's that both are of."""
    world = World([0, 0], script=SAMPLED)
    world.hosts[0].heard_at = world.hosts[1].heard_at = 1000
    begun(world, 0)
    send(world, 0, *(made.event(0, when) for when in (10, 20, 40)))
    world.engine.take_samples(
        world.hosts[0],
        ["f (a.py:1)", "g (a.py:2)"],
        [sample(5, [0]), sample(30, [0, 1]), sample(5000, [])],
    )
    world.engine.take_samples(world.hosts[1], ["h (b.py:1)"], [sample(31, [0])])
    assert world.rows(1) == [
        ("h0", 0, 0, 1, "python"),
        ("h0", 2, 2, 1, "python"),
        ("h1", 2, 0, 1, "python"),
        ("h0", 3, 3, 0, "python"),
    ]
    assert frames_of(world) == {
        ("h0", "f (a.py:1)"): 1,
        ("h0", "f (a.py:1)", "g (a.py:2)"): 1,
        ("h0",): 1,
        ("h1", "h (b.py:1)"): 1,
    }


def test_a_sample_says_who_works_there():
    """It may be anything that a host says; one that says nothing is nobody's."""
    world = World([0], script="""profile-97 { printf("%s", arg2 ? copyinstr(arg2) : "nobody"); }""")
    world.hosts[0].heard_at = 1000
    begun(world, 0)
    rows = [
        [*sample(when, []), who] for when, who in ((5, "<1.2.3.Task-1>"), (6, "\ud800"), (7, ""))
    ]
    world.engine.take_samples(world.hosts[0], [], [*rows, sample(8, [])])
    assert [row[0] for row in world.rows(0)] == ["<1.2.3.Task-1>", "?", "nobody", "nobody"]
    with pytest.raises(ValueError):
        world.engine.take_samples(world.hosts[0], [], [[*sample(9, []), "x" * 2000]])


def test_a_host_without_samples_is_waited_for():
    """Whether it has none or they are on their way is known when it has come so far."""
    world = World([0, 0], error=0, script=SAMPLED)
    for host in world.hosts:
        host.heard_at = time.monotonic_ns() + SECOND
        host.complete_until = 0
    begun(world, 0)
    begun(world, 1)
    now = time.monotonic_ns()
    send(world, 0, made.event(0, now - 50))
    send(world, 1, made.event(0, now - 40))
    world.engine._release_records()
    assert world.engine._last_time == 0  # of host 1's samples nothing is known
    world.engine.take_samples(world.hosts[0], [], [sample(now - 45, [])])
    world.hosts[0].complete_until, world.hosts[1].complete_until = now - 43, now - 42
    world.engine._release_records()
    assert world.engine._last_time == now - 45
    world.hosts[0].complete_until = world.hosts[1].complete_until = now
    world.engine._release_records()
    assert world.engine._last_time == now - 40 and world.engine._count_drops() == (0, 0)


@pytest.mark.parametrize(
    ("names", "rows"),
    [
        (["x" * 1025], []),
        ([5], []),
        (["f"] * 20_001, []),
        ([], [sample(1, [0])]),
        ([], [sample(1, [], name="profile-98")]),
        ([], [sample("1", [])]),
        ([], [sample(1, [], tid=-1)]),
        ([], [sample(1, [], pid=1 << 32)]),
        ([], [sample(1, [], comm="x" * 100)]),
        ([], [sample(1, [], comm=5)]),
        ([], [[]]),
        (5, []),
        ([], 5),
        (["f"], [sample(1, ["a"])]),
    ],
)
def test_samples_that_are_none(names, rows):
    """As host.py catches it: it costs the host."""
    world = World([0], script=SAMPLED)
    with pytest.raises((ValueError, TypeError, LookupError, AttributeError)):
        world.engine.take_samples(world.hosts[0], names, rows)


def test_samples_that_nobody_has_asked_for():
    world = World([0], script=STACKS)
    with pytest.raises(ValueError, match="samples were not requested"):
        world.engine.take_samples(world.hosts[0], [], [sample(1, [])])


def test_names_of_samples_have_a_bound():
    """Of all incarnations of a host together; another host has its own."""
    world = World([0, 0], script=SAMPLED)
    world.hosts[0].heard_at = world.hosts[1].heard_at = 1000
    for incarnation in range(3):
        world.engine.take_samples(
            world.hosts[0],
            [f"f{incarnation} {i}" for i in range(15_000)],
            [sample(1 + incarnation, [14_999])],
        )
        run(world)
        world.engine.host_began(world.hosts[0])
    world.engine.take_samples(world.hosts[1], ["true"], [sample(9, [0], comm="é" * 15)])
    run(world)
    assert frames_of(world) == {("h0", "f0 14999"): 1, ("h0", "?"): 2, ("h1", "true"): 1}
