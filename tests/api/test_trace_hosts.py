"""pyusdt.trace(hosts=…): the "hosts" are this machine, several times; each runs pydtrace --serve."""

import asyncio
import os
import re
import signal
import sys
import time

import pytest

import pyusdt
from tests.support import harness

pytestmark = pytest.mark.own_processes
VIA = f"env HOST={{host}} {harness.PYDTRACE} --serve"
PATIENT = {"hostwait": "110s"}  # a busy machine
LOAD = "import pyusdt\nfor i in range(50): pyusdt.p(i, 0, 0, 0, 'key')"
COUNT = 'pyusdt$target:::user_trace-i4s4 { printf("host=%s n=%d", host, arg2); @[host] = count(); @s = sum(arg2); }'


def test_one_answer_of_several_hosts():
    """Records with their values, those of a host in order, merged aggregations; END fires here."""
    with pyusdt.trace(
        COUNT + 'END { printf("here=%s", host); }',
        cmd=[sys.executable, "-c", LOAD],
        hosts=["web1", "web2"],
        via=VIA,
        **PATIENT,
    ) as t:
        assert "on web1,web2 by the remote engine" in repr(t)
        records = list(t)
    assert {key: int(value) for key, value in t.aggregations[""].items()} == {
        ("web1",): 50,
        ("web2",): 50,
    }
    assert int(t.aggregations["s"][()]) == 2 * sum(range(50)) and t.returncode is None
    assert records.pop()["here"] == ""
    for host in ("web1", "web2"):
        assert [record["n"] for record in records if record["host"] == host] == [*range(50)]
    assert all("the order of two records" in fault for fault in t.faults)


@pytest.mark.filterwarnings("ignore:.*the order of two records")
def test_the_order_of_two_hosts_at_one_time_is_uncertain():
    """Their intervals overlap: a record beside one of the other host says so, and no record of one host alone."""
    script = 'pyusdt*:::user_trace-n1 { printf("host=%s n=%d", host, arg2); }'
    for hosts in ("a,b", "a"):
        by_event, fired = {}, 0
        with pyusdt.trace(script, pid=os.getpid(), hosts=hosts, via=VIA, **PATIENT) as t:
            deadline = time.monotonic() + 60
            while len(by_event) < 5 and time.monotonic() < deadline:
                fired += 1
                pyusdt.pn(1, fired)
                time.sleep(0.02)
                for record in t.available():
                    by_event.setdefault(record["n"], []).append(record.uncertain)
        both = [
            uncertain for uncertain in by_event.values() if len(uncertain) == 2
        ]  # each host sees each event
        assert (
            (both and all(second for _, second in both))
            if hosts == "a,b"
            else set(map(tuple, by_event.values())) == {(False,)}
        )


def test_a_host_that_can_not_be_reached():
    """The others go on, and it is told; none at all is an error."""
    via = f"sh -c 'test {{host}} = good && exec {harness.PYDTRACE} --serve; exit 255' --serve"
    tracing = pyusdt.trace(
        COUNT, cmd=[sys.executable, "-c", LOAD], hosts="good,bad", via=via, **PATIENT
    )
    with pytest.warns(pyusdt.TraceWarning, match="bad is given up at"), tracing as t:
        t.wait(60)
    assert dict(t.aggregations[""]) == {("good",): 50} and re.fullmatch(
        "bad is given up at .*: the line to it is closed", *t.faults
    )
    with (
        pytest.raises(pyusdt.EngineError, match="bad1 is given up"),
        pyusdt.trace(COUNT, all=True, hosts="bad[1-2]", via=via),
    ):
        pass


@pytest.mark.parametrize(
    ("more", "error", "message"),
    [
        ({"hosts": "a[2-1]"}, ValueError, "'2-1' is no range of numbers"),
        ({"hosts": []}, ValueError, "no host is named"),
        ({"hosts": "a", "via": "ssh"}, ValueError, "--via needs {host}"),
        ({"hosts": "a", "cpp": True}, ValueError, "cpp does not work with hosts"),
        ({"via": "ssh {host}"}, TypeError, "via and relay are how hosts are reached: name hosts"),
    ],
)
def test_what_can_not_be_had(more, error, message):
    with pytest.raises(error) as caught:
        pyusdt.trace(COUNT, all=True, **more)
    assert message in str(caught.value)


def test_a_script_that_needs_one_memory():
    with pytest.raises(pyusdt.CompileError, match="x cannot be used by the hosts"):
        pyusdt.trace("BEGIN { x = 1; } user_trace-n1 { trace(x); }", all=True, hosts="a")


def test_async():
    async def main():
        async with pyusdt.atrace(
            COUNT, cmd=[sys.executable, "-c", LOAD], hosts="a", via=VIA, **PATIENT
        ) as t:
            return [record["n"] async for record in t]

    assert asyncio.run(main()) == [*range(50)]


def test_names_of_all_lengths():
    """A record of theirs has one layout on all hosts and here; a name is compared, and is a key, as it is."""
    names = ["a", "seven77", "eight888", "host-of-a-long-name.example.org"]
    script = (
        'BEGIN { printf("host=<%s>", host); } pyusdt$target:::user_trace-i4s4 /arg2 == 7/ { printf("host=<%s> n=%d", host, arg2); '
        '@[host == "eight888", strlen(host)] = count(); @by[host] = count(); }'
    )
    with pyusdt.trace(
        script, cmd=[sys.executable, "-c", LOAD], hosts=names, via=VIA, **PATIENT
    ) as t:
        records = list(t)
    assert sorted(record["host"] for record in records) == sorted(["", *names]) and [
        key for (key,) in sorted(t.aggregations["by"])
    ] == sorted(names)
    assert {key: int(value) for key, value in t.aggregations[""].items()} == {
        (name == "eight888", len(name)): 1 for name in names
    }


@pytest.mark.filterwarnings("ignore:.*the order of two records")
@pytest.mark.parametrize("mode", [{}, {"hostmode": "central"}])
def test_what_the_hosts_have_seen_up_to_now(mode):
    """flush() waits for it, and clear() begins after it."""
    options = {"pid": os.getpid(), "hosts": ["web1", "web2"], "via": VIA, **PATIENT, **mode}
    with pyusdt.trace(COUNT, **options) as t:
        for fired in range(10):
            pyusdt.p(fired, 0, 0, 0, "key")
        assert t.flush(60)
        assert dict(t.aggregations["s"]) == {(): 2 * sum(range(10))}
        t.aggregations.clear("s")
        assert dict(t.aggregations["s"]) == {(): 0}
        pyusdt.p(7, 0, 0, 0, "key")
        assert t.flush(60) and dict(t.aggregations["s"]) == {(): 14}


@pytest.mark.filterwarnings("ignore:.*is late")
def test_a_host_that_does_not_answer_in_time(tmp_path):
    """flush() says so, and takes no longer than it may."""
    via = f"sh -c 'echo $$ > {tmp_path}/{{host}}; exec {harness.PYDTRACE} --serve'"
    with pyusdt.trace(COUNT, pid=os.getpid(), hosts=["web1"], via=via, **PATIENT) as t:
        host = int((tmp_path / "web1").read_text())
        os.kill(host, signal.SIGSTOP)
        try:
            begun = time.monotonic()
            assert t.flush(2) is False and 2 <= time.monotonic() - begun < 20
        finally:
            os.kill(host, signal.SIGCONT)
        assert t.flush(60) is True
