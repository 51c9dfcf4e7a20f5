"""pydtrace --relay: hosts that reach a share of the others, and merge what these count.

Hosts and relays are this machine, several times: each host sees every event.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shlex
import signal
import subprocess
import sys

import pytest

from pydtrace.hosts.request import build_version
from tests.support import harness
from tests.support.host_namespaces import (
    COUNT,
    FOREVER,
    PATIENT,
    Session,
    counted,
    is_whole,
    serving,
)

pytestmark = pytest.mark.own_processes
VIA = f"env HOST={{host}} {harness.PYDTRACE} --serve"
LOAD = "import pyusdt\nfor i in range(300): pyusdt.p(i % 7, i, 0, 0, 'key %d' % (i % 5))"
HOSTILE = os.path.join(harness.PROGRAMS, "hostile_host.py")


def options(hosts="web[1-5]", relay="gw[1-2]", via=VIA):
    return ["-q", *PATIENT, "--hosts", hosts, "--relay", relay, "--via", via]


def test_the_answer_is_that_of_the_hosts(pydtrace):
    """Sums, a distribution, keys of a host; what prints, ticks and steers is done once; a record's clause reads what all have counted."""
    script = """BEGIN { printf("begin %s.\\n", host); }
        pyusdt$target:::user_trace-i4s4 { @n = count(); @s = sum(arg3); @q = quantize(arg2); @by[copyinstr(arg6), host] = count(); }
        pyusdt$target:::user_trace-i4s4 /arg3 == 299/ { printf("last of %s\\n", host); }
        END { printf("end\\n"); printa("n %@d\\n", @n); printa("s %@d\\n", @s); printa("%s %s %@d\\n", @by); printa(@q); }"""
    done = pydtrace(
        *options(), "-n", script, "-c", shlex.join([sys.executable, "-c", LOAD]), timeout=120
    )
    lines = [line for line in done.stdout.split("\n") if line]
    assert done.status == 0 and lines[0] == "begin ." and lines.count("end") == 1, done
    assert sorted(lines[1:6]) == [f"last of web{i}" for i in range(1, 6)], done
    assert lines[7:9] == ["n 1500", f"s {5 * sum(range(300))}"], done
    assert sorted(line for line in lines if line.startswith("key")) == sorted(
        f"key {i} web{j} 60" for i in range(5) for j in range(1, 6)
    )
    assert sum(int(line.split()[-1]) for line in lines if "|@" in line) == 1500


def test_records_of_hosts_behind_relays_are_in_order_or_marked():
    """Of one host they are in order; the same event on two hosts of one relay is marked, since their times are not certain."""
    program = "import pyusdt, time\nfor i in range(10**9):\n    time.sleep(0.1)\n    pyusdt.p(i)"
    script = 'pyusdt*:::user_trace-i4s4 { printf("host=%s n=%d", host, arg2); }'
    with (
        harness.running([sys.executable, "-c", program]),
        harness.running(
            [harness.PYDTRACE, "--json", "--ready", *options("a,b", "gw"), "-Z", "-n", script]
        ) as traced,
    ):
        found = []
        while len(found) < 20:
            line = json.loads(traced.stdout.readline())
            if line["type"] == "record":
                found.append(line)
        traced.send_signal(signal.SIGINT)
        harness.finish(traced, 120)
    for host in "ab":
        numbers = [line["values"][1] for line in found if line["values"][0] == host]
        assert numbers == sorted(numbers), found
    pairs = [
        (first, second)
        for first, second in itertools.pairwise(found)
        if first["values"][1] == second["values"][1]
    ]
    assert pairs and all(second.get("uncertain") for _, second in pairs), found


def test_a_relay_and_a_host_behind_one_are_killed(tmp_path):
    """What they have lost is told by their names, and they come back; what the others count is exact."""
    program, end = tmp_path / "forever.py", tmp_path / "end"
    program.write_text(FOREVER)
    mark = f"relays{os.getpid()}-"
    hosts = {i: f"{mark}{i}" for i in range(1, 6)}
    words = options(
        ",".join(map(str, hosts)),
        "gw1,gw2,gw3",
        f"env HOST={mark}{{host}} {harness.PYDTRACE} --serve",
    )
    with harness.running([sys.executable, str(program), str(end)]) as load:
        session = Session(tmp_path, *words, *COUNT, "-Z")
        for host in hosts:  # 1 and 4 are behind gw1, 2 and 5 behind gw2, 3 behind gw3
            session.wait(rf"(^|\n){host}=[1-9]")
        os.kill(serving(f"{mark}gw1"), signal.SIGKILL)
        session.wait(
            r"gw1 is lost at \S+: the line to it is closed; lost is what it has counted since \S+, the end of its epoch \d+",
            session.err,
        )
        os.kill(serving(hosts[2]), signal.SIGKILL)
        session.wait(
            r"gw2: 2 is lost at \S+: the line to it is closed; lost is what it has counted since",
            session.err,
        )
        session.wait(r"gw1 is back at", session.err)
        session.wait(r"gw2: 2 is back at", session.err)
        for host in (1, 4, 2):
            session.wait(r"tick\n(.*\n)*tick\n")
            before = _shown(session, host)
            harness.wait_until(lambda: _shown(session, host) > before, 60)  # noqa: B023
        end.touch()
        fired = int(harness.finish(load, 60).stdout)
        ends = counted(session.end())
    assert [host for host in hosts if is_whole(ends[host], fired)] == [3, 5], (ends, fired)
    for count, first, last in ends.values():
        assert count <= last - first + 1 and last == fired - 1, (ends, fired)


def _shown(session, host):
    return int(re.findall(rf"(?:^|\n){host}=(\d+)", session.out.read_text())[-1])


def test_a_host_behind_a_relay_that_lies_spoils_only_its_own(pydtrace):
    script = """BEGIN { printf("begin\\n"); } pyusdt*:::user_trace-i4s4, lie { @[copyinstr(arg6)] = count(); printf("%s", ""); }
        END { printa("%s=%@d\\n", @); }"""
    via = shlex.join([sys.executable, HOSTILE, "{host}", "--serve"])
    done = pydtrace(
        *options("honest1,epoch-again,deep,huge-number", "honest-gw", via),
        "-Z",
        "-n",
        script,
        "-c",
        shlex.join([sys.executable, "-c", LOAD]),
        timeout=120,
    )
    assert (
        done.status == 0
        and [f"key {i}=60" in done.stdout for i in range(5)] == [True] * 5
        and "lie=" not in done.stdout
    ), done
    for name, why in (
        ("epoch-again", "of epoch 0"),
        ("deep", "too deep"),
        ("huge-number", "1 words of 64 bits"),
    ):
        assert re.search(rf"honest-gw: {name} is given up at .*{why}", done.stderr), done


def test_a_relay_that_lies_spoils_only_its_own(pydtrace):
    """What is behind the other one is exact."""
    via = shlex.join([sys.executable, HOSTILE, "{host}", "--serve"])
    done = pydtrace(
        *options("honest1,honest2,honest3", "honest-gw,epoch-again,negative-origin", via),
        "-Z",
        "-n",
        'BEGIN { } pyusdt*:::user_trace-i4s4, lie { @[copyinstr(arg6)] = count(); printf("%s", ""); } END { printa("%s=%@d\\n", @); }',
        "-c",
        shlex.join([sys.executable, "-c", LOAD]),
        timeout=120,
    )
    assert (
        done.status == 0
        and all(f"key {i}=60\n" in done.stdout for i in range(5))
        and "lie=" not in done.stdout
    ), done
    for name, why in (("epoch-again", "of epoch 0"), ("negative-origin", "no number")):
        assert re.search(rf"{name} is given up at .*{why}", done.stderr), done


@pytest.mark.parametrize(
    ("line", "allowed"),
    [("", False), ("relay: ssh -T {host}", False), ("relay: THIS", True), ("relay: any", True)],
)
def test_a_policy_says_how_a_host_may_relay(line, allowed, tmp_path, pydtrace):
    via = f"env HOST={{host}} {harness.PYDTRACE} --serve={tmp_path}/policy"
    (tmp_path / "policy").write_text(f"audit: no\n{line.replace('THIS', via)}\n")
    done = pydtrace(
        *options("a", "gw", via),
        "-Z",
        "-n",
        "user_trace-i4s4 { @ = count(); } tick-10ms { exit(0); }",
        timeout=120,
    )
    assert (done.status == 0) == allowed, done
    assert (
        "this host's policy does not allow to relay to other hosts so" in done.stderr
    ) != allowed, done


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--relay", "gw"], "--relay needs --hosts"),
        (["--hosts", "a", "--relay", "b;c"], "'b;c' is not a host name"),
        (["--hosts", "a", "--relay", ","], "--hosts a --relay ,: no host is named"),
    ],
)
def test_what_can_not_be_had(words, message, pydtrace):
    done = pydtrace(*words, "-n", "BEGIN { exit(0); }", timeout=120)
    assert done.status == 1 and message in done.stderr, done


def test_a_request_to_relay_that_is_none():
    """Whoever has a key may ask."""
    for hosts, via in (
        (["a;b"], ["x", "{host}"]),
        ([], ["x"]),
        (["a"], []),
        (["a"] * 20_000, ["x"]),
        (5, ["x"]),
    ):
        request = {
            "type": "trace",
            "schema": 2,
            "release": build_version(),
            "host": "gw",
            "requests": [],
            "operands": [],
            "pids": [],
            "command": None,
            "width": 9,
            "options": {},
            "interval": 1,
            "hosts": hosts,
            "via": via,
            "wait": 10**9,
            "retry": 0,
        }
        done = subprocess.run(
            [harness.PYDTRACE, "--serve"],
            input=json.dumps(request) + "\n",
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert (
            done.returncode == 1
            and json.loads(done.stdout)["type"] == "refused"
            and not done.stderr
        ), done


def test_three_levels(tmp_path):
    """Relays behind relays: each event is counted once; what a killed one takes along is said with its hosts, and is again there when it is
    back; records of hosts that are behind different relays are told apart."""
    program, end = tmp_path / "forever.py", tmp_path / "end"
    program.write_text(FOREVER)
    mark = f"levels{os.getpid()}-"
    words = options(
        "1,2,3,4", "top1,top2 low1,low2,low3", f"env HOST={mark}{{host}} {harness.PYDTRACE} --serve"
    )
    with harness.running([sys.executable, str(program), str(end)]) as load:
        session = Session(
            tmp_path, *words, *COUNT, "-Z"
        )  # top1: low1 (1), low3 (3); top2: low2 (2, 4)
        for host in range(1, 5):
            session.wait(rf"(^|\n){host}=[1-9]")
        os.kill(serving(f"{mark}low2"), signal.SIGKILL)
        session.wait(
            r"top2: low2 is lost at \S+: the line to it is closed; lost is what it has counted since \S+, the end of its epoch \d+, for \[2,4\]; it is tried",
            session.err,
        )
        session.wait(
            r"top2: low2 is back at \S+: lost is what it has counted since \S+, the end of its epoch \d+, for \[2,4\], up to now",
            session.err,
        )
        for host in (2, 4):
            before = _shown(session, host)
            harness.wait_until(lambda: _shown(session, host) > before, 60)  # noqa: B023
        end.touch()
        fired = int(harness.finish(load, 60).stdout)
        session.wait(r"tick\n(.*\n)*tick\n")
        ends = counted(session.end())
    assert [host for host in range(1, 5) if is_whole(ends[host], fired)] == [1, 3], (ends, fired)
    assert all(
        count < last - first + 1 and last == fired - 1 for count, first, last in (ends[2], ends[4])
    ), (ends, fired)


def test_three_levels_count_as_one(pydtrace):
    """A sum, a key of a host, a record of each, over ten hosts."""
    script = """pyusdt$target:::user_trace-i4s4 { @n = count(); @s = sum(arg3); @by[host] = count(); }
        pyusdt$target:::user_trace-i4s4 /arg3 == 299/ { printf("last of %s\\n", host); }
        END { printa("n %@d\\n", @n); printa("s %@d\\n", @s); printa("%s %@d\\n", @by); }"""
    done = pydtrace(
        *options("web[01-10]", "a[1-2] b[1-4]"),
        "-n",
        script,
        "-c",
        shlex.join([sys.executable, "-c", LOAD]),
        timeout=120,
    )
    lines = [line for line in done.stdout.split("\n") if line]
    assert done.status == 0 and sorted(lines[:10]) == [
        f"last of web{i:02}" for i in range(1, 11)
    ], done
    assert lines[10:12] == ["n 3000", f"s {10 * sum(range(300))}"] and sorted(lines[12:]) == [
        f"web{i:02} 300" for i in range(1, 11)
    ], done
