"""What many hosts are made one by: lists of names, clocks, the order of records, aggregations that grow by what strangers send."""

import json
import os
import random
import re
import struct
import subprocess
import sys
from time import process_time
from types import SimpleNamespace

import pytest

from pydtrace.aggregation.int64 import wrap_int64
from pydtrace.aggregation.merge_values import merge_words
from pydtrace.dlang.builtins.registry import AGGREGATIONS
from pydtrace.hosts import engine as remote
from pydtrace.hosts import merged_aggregations
from pydtrace.hosts.clock_offset import DRIFT, UNKNOWN_ERROR, ClockOffset
from pydtrace.hosts.connection import HostConnection, HostError, parse_line
from pydtrace.hosts.host_messages import OPENED, Host
from pydtrace.hosts.hostlist import MAX_HOSTS, BadHostList, parse_hosts
from pydtrace.hosts.merged_aggregations import MergedAggregation
from pydtrace.hosts.reconnect import ReconnectSchedule
from pydtrace.hosts.record_order import RecordOrder
from pydtrace.program import program
from pydtrace.program.program import AggDef
from pydtrace.results import records
from tests.support import pip_packages
from tests.support.paths import ROOT

pytestmark = pytest.mark.own_processes

S = 1_000_000_000


@pytest.fixture
def alone(monkeypatch):
    """Without ClusterShell, wherever the tests run."""
    monkeypatch.setitem(__import__("sys").modules, "ClusterShell.NodeSet", None)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a", "a"),
        ("a,b,a", "a b"),
        ("web[1-3,7],db", "web1 web2 web3 web7 db"),
        ("n[08-11]", "n08 n09 n10 n11"),
        ("n[8-11]", "n8 n9 n10 n11"),
        ("r[1-2]n[1-2].x", "r1n1.x r1n2.x r2n1.x r2n2.x"),
        ("me@host-1.example.org:22", "me@host-1.example.org:22"),
        ("a,,b", "a b"),
        ("pod/web-5f[0-1]", "pod/web-5f0 pod/web-5f1"),
    ],
)
def test_lists_of_hosts(text, names, alone):
    assert parse_hosts(text) == names.split()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no host is named"),
        (",", "no host is named"),
        ("a[1-", "'a[1-' is no name of a host"),
        ("a[3-1]", "a[3-1]: '3-1' is no range"),
        ("a[x]", "a[x]: 'x' is no range"),
        ("a b", "'a b' is no name"),
        ("-oProxyCommand=x", "is no name"),
        ("a;b", "is no name"),
        ("$(x)", "is no name"),
        ("@web", "@web: groups need ClusterShell"),
        ("a[1-999999999]", f"more than {MAX_HOSTS} hosts"),
        ("a[1-9999999999]", "is no range"),
    ],
)
def test_what_is_no_list(text, message, alone):
    with pytest.raises(BadHostList) as caught:
        parse_hosts(text)
    assert message in str(caught.value)


def test_cluster_shell_reads_the_list_where_it_is(monkeypatch):
    """A stand-in: the package is none of ours."""
    made = SimpleNamespace(NodeSet=lambda text: ["x1", "x2"] if text == "@web" else 1 / 0)
    monkeypatch.setitem(sys.modules, "ClusterShell.NodeSet", made)
    monkeypatch.setitem(sys.modules, "ClusterShell", SimpleNamespace(NodeSet=made))
    assert parse_hosts("@web") == ["x1", "x2"]
    with pytest.raises(BadHostList, match="@other: ClusterShell can not read it: division by zero"):
        parse_hosts("@other")


@pytest.mark.long
def test_cluster_shell_itself(tmp_path):
    """Lists, and groups out of its own file; what it can not read, for whatever reason, is a message."""
    (tmp_path / "groups.conf").write_text(
        '[Main]\ndefault: mine\n[mine]\nmap: [ $GROUP = web ] && echo "web[1-3]"\nlist: echo web\n'
    )
    folder = pip_packages.folder_of(
        os.path.join(os.path.dirname(__file__), "clustershell_readers.txt"), depends=True
    )
    ask = "import sys\nfrom pydtrace.hosts.hostlist import BadHostList, parse_hosts\ntry: print(*parse_hosts(sys.argv[1]))\nexcept BadHostList as error: print(error)"

    def said(text):
        environment = {**os.environ, "PYTHONPATH": folder, "CLUSTERSHELL_CFGDIR": str(tmp_path)}
        return subprocess.run(
            [sys.executable, "-c", ask, text],
            capture_output=True,
            text=True,
            env=environment,
            check=True,
            timeout=60,
        ).stdout.strip()

    assert said("web[1-3,7-9/2],db[01-03]!db02") == "db01 db03 web1 web2 web3 web7 web9"
    assert said("@web,db1") == "db1 web1 web2 web3"
    for text, why in (
        ("a[", "missing bracket"),
        ("@none", "ClusterShell can not read it"),
        ("@other:web", "ClusterShell can not read it"),
        ("$(x)", "is no name"),
    ):
        assert why in said(text), (text, said(text))


def test_a_clock_is_known_to_half_the_way_there_and_back():
    """Whatever either way took, the true difference lies within the error; the best ping counts, and grows old."""
    offset = ClockOffset()
    assert offset.estimate(0) == (0, UNKNOWN_ERROR)
    true = -100_000 * S
    for sent, there, back in ((0, 900, 100), (10 * S, 10, 30), (20 * S, 5000, 1)):
        offset.add_sample(sent, sent + there - true, sent + there + back)
        found, error = offset.estimate(sent + there + back)
        assert abs(found - true) <= error
    assert (
        offset.estimate(20 * S + 5001)[1] == 2501
    )  # the better one of ten seconds before is not so sure any more
    assert offset.estimate(1000 * S)[1] >= 900 * S * DRIFT


def released(order, until, now=0):
    return order.release_records(until, now).decode()


def test_records_are_in_order_of_time():
    order = RecordOrder(timeout=2 * S)
    for time, host, text in ((30, 0, b"c"), (10, 1, b"a"), (20, 0, b"b"), (40, 1, b"d")):
        order.add_record(time, 1, host, text, 0)
    assert released(order, 30) == "abc" and released(order, 39) == "" and released(order, 40) == "d"
    assert (order.late, order.unsure, order.held_bytes) == (0, 0, 0)


def test_who_has_waited_enough_does_not_wait_for_a_silent_host():
    order = RecordOrder(timeout=2 * S)
    order.add_record(10, 1, 0, b"a", S)
    order.add_record(20, 1, 0, b"b", 2 * S)
    assert (
        released(order, 0, 2 * S) == ""
        and released(order, 0, 3 * S) == "a"
        and released(order, 0, 4 * S) == "b"
    )


def test_what_comes_too_late_is_shown_and_counted():
    order = RecordOrder(timeout=S)
    order.add_record(20, 0, 0, b"b", 0)
    assert released(order, 20) == "b"
    order.add_record(10, 0, 1, b"a", 0)
    assert (
        order.release_records(20, 0).startswith(b"a") and order.late == 1
    )  # the rest of it is the mark


def test_an_order_that_is_not_certain_is_marked_and_counted():
    """Of records of one host it is; of two hosts where the intervals do not overlap: with any that stands before, not the last alone."""
    order = RecordOrder(timeout=S)
    times = (
        (100, 5, 0),
        (101, 5, 0),
        (111, 4, 1),
        (200, 5, 0),
        (210, 5, 1),
        (300, 90, 0),
        (301, 1, 2),
        (380, 1, 2),
        (395, 1, 2),
        (396, 1, 1),
        (398, 1, 1),
        (399, 1, 3),
    )
    for time, error, host in times:
        order.add_record(time, error, host, struct.pack("=IIQ", 16, 3, time), 0)
    marked = {
        time: clause
        for _, clause, time in struct.iter_unpack("=IIQ", order.release_records(1000, 0))
    }
    assert list(marked) == [time for time, _, _ in times]
    assert {time for time, clause in marked.items() if clause == 3 | program.RECORD_UNSURE} == {
        210,
        300,
        301,
        380,
        396,
        399,
    }
    assert {*marked.values()} == {3, 3 | program.RECORD_UNSURE} and order.unsure == 6


def test_a_record_that_is_marked_is_of_its_clause():
    """Alerts and exemplars know records by that: they passed over those whose order was not certain."""
    order = RecordOrder(timeout=S)
    for time, host in ((100, 0), (101, 1)):
        order.add_record(
            time, 5, host, struct.pack("=IIIIQII", 32, 3, 7, 0, time, 40 + host, 50), 0
        )
    split = list(records.iter_records(marked := order.release_records(1000, 0)))
    assert order.unsure == 1 and marked[36:40] == struct.pack("=I", 3 | program.RECORD_UNSURE)
    assert [found for _, *found in split] == [[3, 7, 40, 50], [3, 7, 41, 50]]


def test_the_latest_of_each_other_host_counts():
    """One's own long interval hides no other's."""
    order = RecordOrder(timeout=S)
    for time, error, host in ((100, 50, 0), (101, 20, 1), (110, 1, 0), (119, 1, 0), (125, 1, 0)):
        order.add_record(time, error, host, struct.pack("=IIQ", 16, 3, time), 0)
    assert [
        time
        for _, clause, time in struct.iter_unpack("=IIQ", order.release_records(1000, 0))
        if clause != 3
    ] == [101, 110, 119]


def tries_of(returns, host, until, step=S // 10):
    """When it is tried, in tenths of a second, if each try fails."""
    found = []
    for now in range(0, until, step):
        if returns.take_due(now):
            found.append(now * 10 // S)
            returns.note_failure(host, now)
    return found


def test_a_lost_host_is_tried_seldom_and_then_not_at_all():
    returns = ReconnectSchedule(100 * S, 10 * S)
    returns.add_lost("a", 0)
    assert tries_of(returns, "a", 300 * S) == [5, 15, 35, 75, 155, 315, 615, 915, 1215]
    assert not returns.take_due(10**6 * S)


def test_a_try_that_takes_too_long_has_its_turn_again():
    returns = ReconnectSchedule(100 * S, 10 * S)
    returns.add_lost("a", 0)
    assert [returns.take_due(now * S) for now in (0, 1, 2, 10, 11)] == [[], ["a"], [], [], ["a"]]


def test_one_that_is_lost_again_and_again_is_tried_as_seldom():
    """Unless it was back for a while."""
    returns = ReconnectSchedule(600 * S, 10 * S)
    for at, delay in ((0, 0.5), (10, 1), (20, 2), (30, 4), (100, 0.5)):
        returns.add_lost("a", at * S)
        due = int((at + delay) * S)
        assert not returns.take_due(due - 1) and returns.take_due(due) == ["a"]
        returns.note_return("a", due)
        assert not returns.take_due(due + 10**6 * S)


def test_not_all_are_tried_at_once():
    returns = ReconnectSchedule(600 * S, 10 * S)
    for number in range(20):
        returns.add_lost(number, 0)
    assert [len(returns.take_due(S)) for _ in range(4)] == [8, 8, 4, 0]
    returns.stop_retrying()
    assert not returns.take_due(100 * S)


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


def test_values_that_wait_have_a_bound(counts, monkeypatch):
    """Those of many keys, each of which has few."""
    monkeypatch.setattr(merged_aggregations, "_WAITING_LIMIT", 1000)
    for _ in range(50):
        counts.add_rows([[[], [1, 5]]], 0, lambda key: b"")
        assert counts._waiting_bytes <= 1000 and sum(map(len, counts._slots.values())) < 10
    assert counts.items() == [(b"", (50).to_bytes(8, "little") + (250).to_bytes(8, "little"))]


def test_lines_of_many_hosts_that_wait_have_a_bound(monkeypatch):
    """The host with most of them is given up, the others go on."""
    monkeypatch.setattr(remote, "_WAITING_LIMIT", 1000)
    engine = SimpleNamespace(
        _waiting=0,
        _hosts=[],
        _give_up_host=lambda host, why: (given_up.append(host), host.drop_epoch()),
    )
    given_up = []
    engine._hosts = [SimpleNamespace(waiting_bytes=0) for _ in range(3)]
    for host in engine._hosts:
        host.drop_epoch = lambda host=host: setattr(host, "waiting_bytes", 0)
    one, two, three = engine._hosts
    one.waiting_bytes, two.waiting_bytes = 500, 400
    remote.RemoteEngine.check_waiting(engine, two)
    three.waiting_bytes = 200
    remote.RemoteEngine.check_waiting(engine, three)
    assert given_up == [one]
    three.waiting_bytes = 700
    with pytest.raises(HostError, match="most of them its"):
        remote.RemoteEngine.check_waiting(engine, three)


def test_names_have_a_bound():
    told = Coordinator()
    host = Host("h", 0, told, None)
    host.note_names((7, b"bytes", "a", ("a", "b")))
    with pytest.raises(ValueError, match="too many names"):
        for number in range(1 << 20):
            host.note_names((f"{number}" + "x" * 1000,))
    assert sum(map(len, host._names)) < 34 << 20


@pytest.fixture
def counts():
    """One without keys, of sum(); its room is of no account."""
    return MergedAggregation(AggDef("a", 1, AGGREGATIONS["sum"], (), [], 3), 1)


def test_rows_of_several_hosts_add_up(counts):
    for _ in range(200):
        assert (
            counts.add_rows([[[], [1, 5]]], 0, lambda key: b"")
            + counts.add_rows([[[], [2, 6]]], 1, lambda key: b"")
            == 0
        )
    ((key, value),) = counts.items()
    assert (key, value) == (b"", (600).to_bytes(8, "little") + (2200).to_bytes(8, "little"))
    counts.clear()
    assert counts.items() == [(b"", bytes(16))]
    counts.add_rows([[[], [1, 7]]], 0, lambda key: b"")
    assert counts.items() == [(b"", (1).to_bytes(8, "little") + (7).to_bytes(8, "little"))]


@pytest.mark.parametrize(("name", "head"), [("quantize", 1), ("percentiles", 2)])
def test_rows_of_distributions_add_up(name, head):
    """As merge_words() has it of all buckets, looks and all; one that a stranger names twice counts twice; counts wrap."""
    row, chosen = AGGREGATIONS[name], random.Random(7)
    size = row.count_words(())
    merged, whole = MergedAggregation(AggDef("a", 1, row, (), [], 3), 1), []
    for number in range(300):
        heads = [chosen.randrange(1, 1000) for _ in range(head)]
        pairs = [
            (chosen.randrange(size - head), chosen.choice((-3, 1, 5, 2**63 - 1)))
            for _ in range(chosen.randrange(5))
        ] + [(9, 1), (9, 2)]
        assert (
            merged.add_rows(
                [[[], heads + [part for pair in pairs for part in pair]]], number, lambda key: b""
            )
            == 0
        )
        dense = [*heads, *[0] * (size - head)]
        for bucket, count in pairs:
            dense[head + bucket] = wrap_int64(dense[head + bucket] + count)
        whole = [merge_words(row, [*whole, dense])]
        if number % 97 == 0:
            assert merged.items() == [(b"", struct.pack(f"={size}q", *whole[0]))]
    assert merged.items() == [(b"", struct.pack(f"={size}q", *whole[0]))]
    merged.clear()
    assert merged.items() == [(b"", bytes(8 * size))]


def test_no_host_takes_the_room_of_others():
    from pydtrace.program import d_types as t
    from pydtrace.program.program import Data

    merged = MergedAggregation(
        AggDef("a", 1, AGGREGATIONS["count"], (), [Data(t.INT64, 0, 8)], 3), 2
    )

    def pack(key):
        return key[0].to_bytes(8, "little", signed=True)

    assert merged.add_rows([[[i], [1]] for i in range(10)], 7, pack) == 8
    assert (
        merged.add_rows([[[5], [1]], [[0], [1]], [[6], [1]]], 8, pack) == 0
    )  # a key that is there takes no room
    assert merged.add_rows([[[9], [1]]], 8, pack) == 1
    assert {
        int.from_bytes(key, "little"): int.from_bytes(value, "little")
        for key, value in merged.items()
    } == {0: 2, 1: 1, 5: 1, 6: 1}
    merged.remove([pack((0,)), pack((1,))])
    assert merged.add_rows([[[3], [1]]], 7, pack) == 0
    assert len(merged.items()) == 3


def test_a_thousand_simulated_hosts():
    """They vanish, and say things twice: benchmarks/hosts.py compares what the coordinator has with the whole epochs."""
    simulator = os.path.join(ROOT, "benchmarks", "hosts.py")
    done = subprocess.run(
        [sys.executable, simulator, "1000", "5", "8"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and done.stdout.count(" of a core") == 6, done
