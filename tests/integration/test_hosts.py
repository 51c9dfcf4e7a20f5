"""pydtrace --hosts: a script on many hosts, and one answer.

The hosts are namespaces of this machine: process ids, mounts, names, networks and clocks of their own, these 100,000 s apart.  What must
have been counted is what the programs say that they have fired.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import resource
import runpy
import shlex
import shutil
import signal
import subprocess
import sys
import time
from math import isqrt

import pytest

from pydtrace.hosts.request import build_version
from tests.support import harness
from tests.support.host_namespaces import (
    BACK,
    COUNT,
    FOREVER,
    LOST,
    PATIENT,
    Session,
    counted,
    is_whole,
    options,
)

pytestmark = pytest.mark.own_processes
HOSTILE = os.path.join(harness.PROGRAMS, "hostile_host.py")
RETURNING = os.path.join(harness.PROGRAMS, "returning_host.py")
_TABLES = runpy.run_path(HOSTILE)
LIES, ENDLESS = (
    {name: message for name, (message, _) in _TABLES["LIES"].items()},
    _TABLES["ENDLESS"],
)
LOAD = """import sys, pyusdt
fired = 0
for i in range(int(sys.argv[1])):
    fired += pyusdt.p(i % 7, i, 0, 0, f"key {i % 5}")
print("fired", fired, file=sys.stderr)
"""


@pytest.fixture
def load(tmp_path):
    """load(N): the command of a program that fires N times."""
    path = tmp_path / "load.py"
    path.write_text(LOAD)
    return lambda count: f"{sys.executable} {path} {count}"


SUMS = """pyusdt$target:::user_trace-i4s4 { @n = count(); @s = sum(arg3); @m = max(arg3); @a = avg(arg3); @d = stddev(arg3);
    @q = quantize(arg2); @by[copyinstr(arg6)] = count(); @where[host] = count(); }
END { printa("n %@d\\n", @n); printa("s %@d\\n", @s); printa("m %@d\\n", @m); printa("a %@d\\n", @a); printa("d %@d\\n", @d);
    printa("%s %@d\\n", @by); printa("host %s %@d\\n", @where); printa(@q); }"""


def test_five_hosts_count_as_one_session(nodes, pydtrace, load):
    """What is computed of all events: sums, a mean, a deviation, a distribution."""
    count = 20_000
    done = pydtrace(*options(nodes, "-n", SUMS, "-c", load(count)), timeout=120)
    assert done.status == 0 and done.stderr.count(f"fired {count}\n") == 5, done
    lines = done.stdout.split("\n")
    assert lines[:3] == [f"n {5 * count}", f"s {5 * sum(range(count))}", f"m {count - 1}"], done
    deviation = isqrt(sum(i * i for i in range(count)) // count - (sum(range(count)) // count) ** 2)
    assert lines[3:5] == [f"a {sum(range(count)) // count}", f"d {deviation}"]
    of_values = [(0, 0), (1, 1), (2, 3), (4, 6)]
    buckets = [5 * sum(low <= i % 7 <= high for i in range(count)) for low, high in of_values]
    assert [int(line.split()[-1]) for line in lines if "|@" in line] == buckets
    assert sorted(line for line in lines if line.startswith("host")) == sorted(
        f"host {node} {count}" for node in nodes
    )
    assert [line for line in lines if line.startswith("key")] == [
        f"key {i} {count}" for i in range(5)
    ]


def test_what_prints_and_steers_runs_at_the_coordinator(nodes, pydtrace, load):
    """BEGIN, a tick and END fire once, on what is merged; trunc() keeps the greatest of all; one host's exit() ends all."""
    script = """BEGIN { printf("begin %s.\\n", host); }
        pyusdt$target:::user_trace-i4s4 { @[copyinstr(arg6), host] = count(); }
        pyusdt$target:::user_trace-i4s4 /arg3 == 999/ { printf("last of %s\\n", host); @n = sum(1000); printa("n %@d\\n", @n); }
        END { trunc(@, 0); printa(@); normalize(@n, 10); printa("normalized %@d\\n", @n); clear(@n); printf("end\\n"); }"""
    done = pydtrace(*options(nodes[:2], "-n", script, "-c", load(1000)), timeout=120)
    lines = [line for line in done.stdout.split("\n") if line]
    assert lines[0] == "begin ." and lines[-1] == "end", done
    assert sorted(line for line in lines if line.startswith("last")) == sorted(
        f"last of {node}" for node in nodes[:2]
    )
    assert lines[-2] == "normalized 200"
    assert "n 2000" in lines, done


def test_a_tick_waits_for_the_hosts_epochs(nodes, pydtrace, load):
    """What fired before the tick is in what it prints, though hosts send by themselves once a second."""
    script = 'pyusdt$target:::user_trace-i4s4 { @ = count(); } tick-10ms { printa("%@d\\n", @); clear(@); } END { printa("%@d\\n", @); }'
    done = pydtrace(*options(nodes, "-n", script, "-c", load(3000)), timeout=120)
    assert sum(map(int, done.stdout.split())) == 5 * 3000, done


def slow(milliseconds, rate):
    """--via of namespaces, behind a line that takes so long each way and carries so many bytes a second."""
    relay = os.path.join(harness.PROGRAMS, "slow_link.py")
    return f"env -u PYUSDT_RUNDIR {sys.executable} {relay} {milliseconds} {rate} nsenter -a -t {{host}} {harness.PYDTRACE} --serve"


@pytest.mark.parametrize("mode", ["partial", "central"])
def test_slow_lines(nodes, pydtrace, load, mode):
    """500 ms each way and 2 MB/s: nothing is missing at the end, and nobody is given up."""
    words = options(
        nodes[:3],
        "-x",
        f"hostmode={mode}",
        "-n",
        SUMS,
        "-n",
        'tick-300ms { printa("so far %@d\\n", @n); }',
        "-c",
        load(5000),
    )
    words[words.index("--via") + 1] = slow(500, 2_000_000)
    done = pydtrace(*words, timeout=120)
    assert done.status == 0 and f"\nn {3 * 5000}\n" in "\n" + done.stdout, done
    assert f"\ns {3 * sum(range(5000))}\n" in done.stdout and "given up" not in done.stderr, done


TOGETHER = """import os, sys, time, pyusdt
open(os.path.join(sys.argv[1], os.uname().nodename), "w").close()
while len(os.listdir(sys.argv[1])) < 2:
    time.sleep(0.001)
for i in range(50):
    pyusdt.p(0, i)
"""


@pytest.mark.parametrize("more", [[], ["--json=2"]])
def test_an_order_that_is_not_certain_is_told(nodes, pydtrace, tmp_path, more):
    """Of hosts whose clocks are known to half a second, whose programs fire at the same time; the records of one are in order."""
    program, barrier = tmp_path / "together.py", tmp_path / "barrier"
    program.write_text(TOGETHER)
    barrier.mkdir()
    script = 'pyusdt$target:::user_trace-i4s4 { printf("%s %d\\n", host, arg3); }'
    words = options(nodes[:2], *more, "-n", script, "-c", f"{sys.executable} {program} {barrier}")
    words[words.index("--via") + 1] = slow(500, 2_000_000)
    done = pydtrace(*words, timeout=120)
    lines = done.stdout.splitlines()
    if more:
        records = [each for each in map(json.loads, lines) if each["type"] == "record"]
        assert any(each.get("uncertain") for each in records) and "uncertain" not in records[0], (
            done
        )
        lines = ["{} {}".format(*each["values"]) for each in records]
    for node in nodes[:2]:
        assert [line for line in lines if line.startswith(f"{node} ")] == [
            f"{node} {i}" for i in range(50)
        ], done
    assert re.search(
        r"\d+ times? the order of two records of different hosts is not certain: their clocks are not known so well",
        done.stderr,
    ), done


@contextlib.contextmanager
def loads(nodes, tmp_path):
    """A program that fires its numbers, from 0 on, in each host; stop() -> {node: how often it has, be it traced or not}: whoever else traces
    the programs of this machine changes nothing."""
    program, end = tmp_path / "forever.py", tmp_path / "end"
    program.write_text(FOREVER)
    with contextlib.ExitStack() as stack:
        found = [
            stack.enter_context(
                harness.running(
                    [
                        "env",
                        "-u",
                        "PYUSDT_RUNDIR",
                        "nsenter",
                        "-a",
                        "-t",
                        str(node),
                        sys.executable,
                        str(program),
                        str(end),
                    ]
                )
            )
            for node in nodes
        ]

        def stop():
            end.touch()
            return {node: int(harness.finish(each, 60).stdout) for node, each in zip(nodes, found)}

        yield stop


def sessions(node):
    """The ids of pydtrace --serve in a host, as we see them: two where one of them has not noticed yet that its line is closed."""
    found = []
    own = os.readlink(f"/proc/{node}/ns/pid")
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if (
                os.readlink(f"/proc/{pid}/ns/pid") == own
                and b"--serve" in open(f"/proc/{pid}/cmdline", "rb").read()  # noqa: SIM115
            ):
                found.append(int(pid))
    return found


def served(node):
    """That where there is one."""
    (found,) = sessions(node)
    return found


def ended(pid):
    """Gone, or waiting for its parent: the first process of these hosts looks after no child."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return not file.read()
    except OSError:
        return True


def test_a_host_that_is_killed_comes_back(nodes, tmp_path):
    """It is told, with its name, the time and what is lost, and traces again; the others' counts are exact."""
    with loads(nodes, tmp_path) as stop:
        session = Session(tmp_path, *options(nodes, *COUNT, "-Z", "--ready"))
        session.wait("ready", session.err)
        for node in nodes:
            session.wait(rf"{node}=[1-9]")
        os.kill(served(nodes[2]), signal.SIGKILL)
        session.wait(LOST.format(nodes[2]), session.err)
        before = int(re.findall(rf"{nodes[2]}=(\d+)", session.out.read_text())[-1])
        session.wait(BACK.format(nodes[2]), session.err)
        harness.wait_until(
            lambda: int(re.findall(rf"{nodes[2]}=(\d+)", session.out.read_text())[-1]) > before
        )
        fired = stop()
        session.wait("tick\n(.*\n)*tick\n")
        text = session.end()
    ends = counted(text)
    assert [node for node in nodes if is_whole(ends[node], fired[node])] == [
        *nodes[:2],
        *nodes[3:],
    ], (fired, text)
    count, first, last = ends[nodes[2]]
    assert before < count < last - first + 1 and last == fired[nodes[2]] - 1, (fired, text)
    assert (
        session.err.read_text().count("is lost at")
        == session.err.read_text().count("is back at")
        == 1
    )


def of_returning(tmp_path, *more):
    """pydtrace on a made-up host that breaks off in the middle of its third epoch, three times, and once ends as it is to."""
    (tmp_path / "times").touch()
    script = 'made { @ = count(); } END { printa("%@d\\n", @); }'
    return [
        "-q",
        "--hosts",
        "one",
        "--via",
        shlex.join([sys.executable, RETURNING, str(tmp_path / "times"), "{host}", "--serve"]),
        "-Z",
        "-n",
        script,
        *more,
    ]


def test_a_host_that_comes_back_counts_nothing_twice_and_loses_what_is_told(tmp_path, pydtrace):
    """Of four incarnations all whole epochs, each once, and no other."""
    done = pydtrace(*of_returning(tmp_path), timeout=120)
    assert (done.status, done.stdout) == (0, f"{4 * (1000 + 200)}\n\n"), done
    told = [line for line in done.stderr.split("\n") if " one is " in line]
    assert [re.search(r"is (lost|back) at", line)[1] for line in told] == ["lost", "back"] * 3, done
    assert all(
        re.search(
            r"lost is what it has counted since \d\d:\d\d:\d\d, the end of its epoch 1[;,]", line
        )
        for line in told
    ), done


def test_a_host_that_does_not_come_back(tmp_path, pydtrace):
    """After -x hostretry it is given up; hostretry=0 does not try."""
    done = pydtrace(*of_returning(tmp_path, "-x", "hostretry=0"), timeout=120)
    assert (
        re.search(
            r"one is given up at \S+: the line to it is closed; lost is what it has counted since \S+, the end of its epoch 1\n",
            done.stderr,
        )
        and done.stdout == "1200\n\n"
    ), done
    (tmp_path / "times").write_text("refuse")
    done = pydtrace(*of_returning(tmp_path, "-x", "hostretry=10ms"), timeout=120)
    assert (
        re.search(
            r"one is lost at .*\n(.*\n)?.*one is given up at \S+: it does not come back: it is not yet there; lost is what it has counted since "
            r"\S+, the end of its epoch 1\n",
            done.stderr,
        )
        and done.stdout == "1200\n\n"
    ), done


def test_a_host_that_is_stopped_for_a_while(nodes, tmp_path):
    """The others go on; it is told; when it goes on, nothing is missing and nothing counts twice."""
    with loads(nodes[:2], tmp_path) as stop:
        session = Session(tmp_path, *options(nodes[:2], *COUNT, "-Z", "--ready"))
        session.wait("ready", session.err)
        session.wait(rf"{nodes[0]}=[1-9]")
        session.wait(rf"{nodes[1]}=[1-9]")
        pid = served(nodes[0])
        os.kill(pid, signal.SIGSTOP)
        try:
            session.wait(
                rf"{nodes[0]} is late: what is shown lacks what it has counted since", session.err
            )
            session.wait(
                rf"{nodes[0]} has said nothing for 5 s: missing is what it has counted since",
                session.err,
            )
        finally:
            os.kill(pid, signal.SIGCONT)
        session.wait(f"{nodes[0]} answers again", session.err)
        fired = stop()
        text = session.end()
    assert all(is_whole(counted(text)[node], fired[node]) for node in nodes[:2]), (
        fired,
        text,
        session.err.read_text(),
    )


EVENTS = 8  # of a session
STACKS = [
    "-n",
    r"""pyusdt*:::user_trace-i4s4 { @stacks[host, jstack()] = count(); } profile-19 { @samples[host, jstack(1)] = count(); }
    END { printa("stack of %s%k =%@d\n", @stacks); printa("sample of %s%k =%@d\n", @samples); }""",
]


@pytest.mark.long
@pytest.mark.parametrize("mode", ["partial", "central"])
def test_hosts_lines_and_coordinators_are_killed_and_stopped_at_any_time(nodes, tmp_path, mode):
    """PYUSDT_TEST_ROUNDS rounds, EVENTS in a session of five hosts, at random moments from its start on: SIGKILL of a host's session or of
    the line to it (two hosts), SIGSTOP of either for a while (two others), and at the end of each fourth session SIGKILL of the
    coordinator.  What the hosts count that are not killed is exact; of the others it is never more than they fired, what is lost is told,
    and they count again; where the coordinator is killed no session is left.  In central mode each event has its stack, with its name, and
    there are samples."""
    rounds, seed = (
        int(os.environ.get("PYUSDT_TEST_ROUNDS", "200")),
        int(os.environ.get("PYUSDT_TEST_SEED", "7")),
    )
    for number in range(-(-rounds // EVENTS)):
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            _session_of_kills(
                nodes,
                folder,
                mode,
                random.Random(f"{seed} {number}"),
                number % 4 == 3,
                (seed, number),
            )
        finally:
            _wake(nodes)
        print(f"{EVENTS * (number + 1)} rounds", file=sys.stderr)


def _session_of_kills(nodes, folder, mode, chosen, kills_coordinator, where):
    shuffled = chosen.sample(nodes, 5)
    killed, stopped = shuffled[:2], shuffled[2:4]
    with loads(nodes, folder) as stop, contextlib.ExitStack() as woken:
        words = options(
            nodes, *COUNT, *(STACKS if mode == "central" else []), "-Z", "-x", f"hostmode={mode}"
        )
        words[words.index("--via") + 1] = slow(0, 100_000_000)
        session = Session(folder, *words)
        woken.callback(session.process.kill)
        harness.wait_until(lambda: all(map(_is_served, nodes)), 120)
        for _ in range(EVENTS):
            time.sleep(chosen.random())
            node = chosen.choice(killed + stopped)
            pid = chosen.choice((_is_served, lambda node: line_to(session, node)))(node)
            if not pid:
                continue  # it is away just now
            with contextlib.suppress(
                ProcessLookupError
            ):  # it has ended since, as who has lost its line does
                os.kill(pid, signal.SIGSTOP if node in stopped else signal.SIGKILL)
            if node in stopped:
                woken.callback(_go_on, pid)
                time.sleep(chosen.random())
                _go_on(pid)
        if kills_coordinator:
            time.sleep(chosen.random())
            session.process.kill()
            session.process.wait()
            harness.wait_until(lambda: not any(map(sessions, nodes)), 60)
            stop()
            return
        for node in nodes:
            harness.wait_until(
                lambda: (
                    f"{node} is given up" in session.err.read_text()  # noqa: B023
                    or f"{node}=" in session.out.read_text()  # noqa: B023
                ),
                120,
            )
        harness.wait_until(
            lambda: all(_is_back(session.err.read_text(), node) for node in killed), 60
        )
        fired = stop()
        text, told = session.end(), session.err.read_text()
    ends = counted(text)
    if mode == "central":
        stacks = re.findall(r"stack of (\d+)\n<module> \(\S+/forever\.py:\d+\)\n =(\d+)\n", text)
        assert sorted((int(node), int(count)) for node, count in stacks) == sorted(
            (node, end[0]) for node, end in ends.items()
        ), (where, text, told)
        assert "sample of " in text and not re.search(r"\? =|0x", text), (where, text)
    for node in nodes:
        is_lost = re.search(rf"{node} is (lost|given up) at \d\d:\d\d:\d\d: ", told)
        count, first, last = ends.get(node, (0, 0, -1))
        if is_lost:
            assert node in killed and count <= last - first + 1 <= fired[node], (
                where,
                node,
                fired,
                text,
                told,
            )
            if re.findall(rf"{node} is (lost|back|given up) at", told)[-1] == "back":
                assert last == fired[node] - 1, (where, node, fired, text, told)
        else:
            assert is_whole(ends[node], fired[node]), (where, node, fired, text, told)
        counts = [int(count) for count in re.findall(rf"(?:^|\n){node}=(\d+)", text)]
        assert counts == sorted(counts), (where, node, counts)


def _go_on(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


def _wake(nodes):
    """nsenter stops itself when what it has started is stopped, and nobody else wakes it."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().split(b"\0")
            if words[:3] == [b"nsenter", b"-a", b"-t"] and words[3].decode() in map(str, nodes):
                _go_on(int(pid))


def _is_back(told, node):
    found = re.findall(rf"{node} is (lost|back|given up) at", told)
    return not found or found[-1] != "lost"


def line_to(session, node):
    """The id of the process that carries a host's line, or 0."""
    with contextlib.suppress(OSError):
        with open(f"/proc/{session.process.pid}/task/{session.process.pid}/children") as file:
            children = file.read().split()
        for child in children:
            with open(f"/proc/{child}/cmdline", "rb") as file:
                if f"\0-t\0{node}\0".encode() in file.read():
                    return int(child)
    return 0


def _is_served(node):
    """Its id, or 0."""
    found = sessions(node)
    return found[0] if len(found) == 1 else 0


def test_the_coordinator_is_killed(nodes, tmp_path):
    """The hosts end by themselves: no session stays, and the programs go on."""
    with loads(nodes[:1], tmp_path) as stop:
        session = Session(tmp_path, *options(nodes[:1], *COUNT, "-Z", "--ready"))
        session.wait(rf"{nodes[0]}=[1-9]")
        pid = served(nodes[0])
        session.process.kill()
        session.process.wait()
        harness.wait_until(lambda: ended(pid))
        assert stop()[nodes[0]] > 0


def _with_little_memory():
    resource.setrlimit(resource.RLIMIT_DATA, (256 << 20, 256 << 20))


def beside_liars(names, pydtrace, load, **options):
    """What the honest one has counted is exact, whatever the others say; each of them is named."""
    script = """BEGIN { printf("begin\\n"); } pyusdt*:::user_trace-i4s4, lie { @[copyinstr(arg6)] = count(); printf("%s", ""); }
        END { printa("%s=%@d\\n", @); }"""
    via = shlex.join([sys.executable, HOSTILE, "{host}", "--serve"])
    done = pydtrace(
        "-q",
        "--hosts",
        ",".join(["honest", *names]),
        "--via",
        via,
        *PATIENT,
        "-Z",
        "-n",
        script,
        "-c",
        load(500),
        timeout=120,
        **options,
    )
    assert done.status == 0, done
    for i in range(5):
        assert f"key {i}=100\n" in done.stdout, done
    assert "honest is given up" not in done.stderr and "bug in pydtrace" not in done.stderr, done
    assert "lie=" not in done.stdout, done
    return done


def test_hosts_that_lie_spoil_only_their_own(pydtrace, load):
    """All at once, each in its own way."""
    done = beside_liars(LIES, pydtrace, load)
    for name, message in LIES.items():
        (told,) = [
            line
            for line in done.stderr.split("\n")
            if line.startswith(f"dtrace: {name} is given up at ")
        ]
        assert message in told


@pytest.mark.parametrize("name", ENDLESS)
def test_a_host_without_end_spoils_only_its_own(name, pydtrace, load):
    done = beside_liars([name], pydtrace, load, preexec_fn=_with_little_memory)
    assert [
        line
        for line in done.stderr.split("\n")
        if line.startswith(f"dtrace: {name}") and ENDLESS[name] in line
    ], done


def test_a_host_that_can_not_be_reached(pydtrace, load):
    """The others go on; where there is none, that is the error."""
    via = [
        "--via",
        "sh -c 'test {host} = good && exec "
        + harness.PYDTRACE
        + " --serve; echo no route >&2; exit 255' --serve",
    ]
    script = [
        "-q",
        "-n",
        'pyusdt$target:::user_trace-i4s4 { @ = count(); } END { printa("%@d\\n", @); }',
        "-c",
        load(10),
    ]
    done = pydtrace("--hosts", "good,bad", *via, *script, timeout=120)
    assert (done.status, done.stdout) == (0, "10\n\n"), done
    assert re.search(
        r"bad: no route\n.*bad is given up at .*: the line to it is closed\n", done.stderr
    ), done
    done = pydtrace("--hosts", "bad[1-2]", *via, *script, timeout=120)
    assert done.status == 1 and "bad1: no route" in done.stderr, done


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (
            "BEGIN { x = 1; } user_trace-n1 { trace(x); }",
            "x cannot be used by the hosts: it is assigned by the coordinator (line 1)",
        ),
        (
            "user_trace-n1 { x++; } END { trace(x); }",
            "x cannot be used by the coordinator: it is assigned by the hosts (line 1)",
        ),
        (
            "user_trace-n1 { a[1] = 1; } tick-1s { trace(a[1]); }",
            "a cannot be used by the coordinator: it is assigned by the hosts (line 1)",
        ),
        ("user_trace-n1 { raise(9); }", "raise() does not work in a clause that runs on the hosts"),
        (
            'user_trace-n1 { system("x"); }',
            "system() does not work in a clause that runs on the hosts",
        ),
        (
            'user_trace-n1 { freopen("x"); }',
            "freopen() does not work in a clause that runs on the hosts",
        ),
    ],
)
def test_a_script_that_needs_one_memory_is_told(script, message, pydtrace):
    done = pydtrace("--hosts", "a", "--via", "false {host}", "-n", script, timeout=120)
    assert done.status == 1 and message in done.stderr and "hint: " in done.stderr, done


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--hosts", "a[1-"], "--hosts a[1-: 'a[1-' is not a host name"),
        (
            ["--hosts", "a[2-1]"],
            "--hosts a[2-1]: a[2-1]: '2-1' is no range of numbers: 1-40, or 01-40",
        ),
        (["--hosts", "a;b"], "--hosts a;b: 'a;b' is not a host name"),
        (["--hosts", "-oProxyCommand=x"], "'-oProxyCommand=x' is not a host name"),
        (
            ["--hosts", "a", "--via", "ssh"],
            "--via needs {host} where the name of a host is to stand",
        ),
        (["--hosts", "a", "--replay", "x"], "--hosts cannot be used with --replay"),
        (["--hosts", "a", "-C"], "--hosts cannot be used with -x cpp"),
        (["--hosts", "a", "-l"], "--hosts is for tracing: it cannot be used with -l, -h, -G"),
        (["--hosts", "a", "--attach"], "--hosts cannot be used with --attach"),
        (["--hosts"], "--hosts needs the names of hosts"),
    ],
)
def test_what_can_not_be_had(words, message, pydtrace):
    done = (
        pydtrace(*words, "-n", "BEGIN { exit(0); }")
        if words != ["--hosts"]
        else pydtrace("-n", "BEGIN { exit(0); }", *words)
    )
    assert done.status == 1 and message in done.stderr, done


def test_serve_is_for_coordinators(pydtrace):
    """Somebody at a terminal is told what it is."""
    done = pydtrace("--serve", stdin=subprocess.DEVNULL, timeout=120)
    assert done.status == 1 and "pydtrace --serve is started by pydtrace --hosts" in done.stdout, (
        done
    )


@pytest.fixture
def policy(tmp_path, pydtrace):
    """policy(TEXT, WORD …) -> Run of a coordinator whose one host has that policy; policy.audit(): what was written down."""
    (tmp_path / "allowed.d").write_text(ALLOWED)

    def run(text, *words):
        path = tmp_path / "policy"
        path.write_text(f"audit: {tmp_path}/audit\n{text.replace('FOLDER', str(tmp_path))}\n")
        return pydtrace(
            "-q",
            "--hosts",
            "one",
            "--via",
            f"env HOST={{host}} {harness.PYDTRACE} --serve={path}",
            *words,
            timeout=120,
        )

    run.write_audit = lambda: (tmp_path / "audit").read_text()
    return run


ALLOWED = "pyusdt*:::user_trace-i4s4 { @ = count(); } END { printa(@); }"
ANY = ["-Z", "-n", "user_trace-i4s4 { @ = count(); } tick-10ms { exit(0); }"]


@pytest.mark.parametrize(
    ("text", "words", "why"),
    [
        ("scripts: FOLDER/*.d", ANY, "does not allow that script: only those of its own files"),
        ("options: strsize", ["-x", "bufsize=1m", *ANY], "does not allow -x bufsize"),
        ("", ["-c", "true", *ANY], "does not allow -c"),
        ("processes: nothing-is-called-so", ANY, "no process runs that this host's policy allows"),
        ("processes: nothing-is-called-so", ["-p", "1", *ANY], "does not allow process 1"),
        ("", ["-w", *ANY], "does not allow destructive actions"),
        (
            "",
            ["-Z", "-n", "#pragma D option destructive\nuser_trace-i4s4 { @ = count(); }"],
            "does not allow destructive actions",
        ),
        ("destructive: maybe", ANY, "so nothing is allowed: destructive: maybe"),
        ("maxcpu: much", ANY, "so nothing is allowed: maxcpu: much"),
        ("allow everything", ANY, "so nothing is allowed: allow everything"),
    ],
)
def test_what_a_host_does_not_allow(text, words, why, policy):
    """The coordinator is told; the audit has it, but where the file itself is wrong."""
    done = policy(text, *words)
    assert done.status == 1 and why in done.stderr and "one is given up" in done.stderr, done
    if "so nothing is allowed" not in why:
        assert re.fullmatch(
            r"\S+ \[\d+\] pydtrace --serve: uid=\d+ from=- script=[0-9a-f]{16} .*refused: .*\n",
            policy.write_audit(),
        ), policy.write_audit()


def test_what_a_host_allows(policy, tmp_path, load):
    """A script of its own files, options, a command; one line in the audit each."""
    text = "scripts: FOLDER/*.d\noptions: strsize  # and no other\ncommands: yes\nmaxcpu: 1000\nmemory: 2g\ntime: 1h"
    done = policy(text, "-x", "strsize=64", "-s", str(tmp_path / "allowed.d"), "-c", load(100))
    assert (done.status, done.stdout.split()) == (0, ["100"]), done
    assert re.fullmatch(
        r".*script=[0-9a-f]{16} pids=- command=\['.*load.py 100'\] options=\['strsize'\] allowed\n",
        policy.write_audit(),
    )
    assert policy("destructive: yes", "-w", *ANY).status == 0


def test_what_can_not_be_written_down_does_not_run(policy, tmp_path, load):
    """A full disk, say; /dev/full is one, as a link is not opened."""
    done = policy(
        "commands: yes\naudit: /dev/full", "-n", "user_trace-n1 { @ = count(); }", "-c", load(10)
    )
    assert (
        done.status == 1
        and "pydtrace cannot log this run in /dev/full and does not start it: No space left on device"
        in done.stderr
    ), done


def test_a_host_ends_it_when_its_time_is_over(policy):
    for seconds in (2, 4, 8, 16):  # compiling counts, and takes longer on a slow machine
        done = policy(
            f"time: {seconds}s",
            "-Z",
            "-n",
            'user_trace-i4s4 { @ = count(); } END { printf("over"); }',
        )
        if done.status == 0:
            break
    assert (done.status, done.stdout.strip()) == (0, "over"), done


def test_a_policy_that_others_could_have_written(policy, tmp_path):
    path = tmp_path / "policy"
    path.touch()
    path.chmod(0o666)
    done = policy("", *ANY)
    assert (
        done.status == 1
        and "can be written by others than root and the user of pydtrace --serve" in done.stderr
    ), done


def test_a_name_that_is_no_name_is_not_compiled():
    """A coordinator may be anybody who has a key: the name of the host becomes a text of D."""
    request = {
        "type": "trace",
        "schema": 2,
        "release": build_version(),
        "host": 'a"; user_trace-n1 { x = 1; } inline string y = "',
        "requests": [],
        "operands": [],
        "pids": [],
        "command": None,
        "width": 9,
        "options": {},
        "interval": 1,
    }
    done = subprocess.run(
        [harness.PYDTRACE, "--serve"],
        input=json.dumps(request) + "\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1 and "is not a host name" in json.loads(done.stdout)["why"], done


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (
            {"release": "9.9\x1b[m"},
            r"the coordinator has pyusdt 9\.9\\x1b\[m, and this is pyusdt \S+.*: they do not understand each other",
        ),
        ({}, "the coordinator has pyusdt None, and this is"),
        (
            {"schema": 3, "release": "9.9"},
            "serves requests of schema 2: the coordinator's is of another version",
        ),
    ],
)
def test_a_coordinator_of_another_version(more, why):
    request = json.dumps({"type": "trace", "schema": 2, "host": "a", **more})
    done = subprocess.run(
        [harness.PYDTRACE, "--serve"],
        input=request + "\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1 and re.search(why, json.loads(done.stdout)["why"]), done


@pytest.fixture(scope="module")
def ssh(nodes, tmp_path_factory):
    """ssh(NODE, LINE) -> --via of OpenSSH's client and server in that host; LINE: what stands before the key in authorized_keys."""
    found = shutil.which(
        "sshd", path="/usr/sbin:" + os.path.expanduser("~/.cache/pyusdt-sshd/usr/sbin")
    )
    if not found or harness.tools("ssh", "ssh-keygen", "ip"):
        pytest.skip("host: no OpenSSH (.ci/setup caches unpacks Debian's server)")
    folder = tmp_path_factory.mktemp("ssh")
    for name in ("host", "user"):
        made = harness.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        )
        assert made.status == 0, made
    (folder / "passwd").write_text(
        open("/etc/passwd").read()  # noqa: SIM115
        + "sshd:x:64999:65534::/run/sshd:/usr/sbin/nologin\n"
    )
    (folder / "config").write_text(f"""Port 2222
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/keys
PidFile none
UsePAM no
StrictModes no
""")
    begin = (
        f"ip link set lo up && mount -t tmpfs tmpfs /run && mkdir /run/sshd && mount --bind {folder}/passwd /etc/passwd "
        f"&& exec {found} -D -e -f {folder}/config"
    )
    with contextlib.ExitStack() as stack:
        for node in nodes[:2]:
            server = stack.enter_context(
                harness.running(["nsenter", "-a", "-t", str(node), "sh", "-c", begin])
            )
            assert "listening" in server.stderr.readline(), harness.finish(server, 10)

        def via(line=""):
            (folder / "keys").write_text(f"{line} {(folder / 'user.pub').read_text()}")
            return (
                f"nsenter -n -t {{host}} ssh -T -F none -p 2222 -i {folder}/user -o BatchMode=yes -o StrictHostKeyChecking=no "
                f"-o UserKnownHostsFile=/dev/null -o LogLevel=ERROR root@127.0.0.1 {harness.PYDTRACE} --serve"
            )

        yield via


def test_through_a_real_sshd(ssh, nodes, pydtrace, load):
    done = pydtrace(
        "-q",
        "--hosts",
        ",".join(map(str, nodes[:2])),
        "--via",
        ssh(),
        "-n",
        SUMS,
        "-c",
        load(2000),
        timeout=120,
    )
    assert (
        done.status == 0
        and done.stdout.startswith("n 4000\n")
        and done.stderr.count("fired 2000\n") == 2
    ), done


def test_a_forced_command_with_a_policy(ssh, nodes, pydtrace, load, tmp_path):
    """Whatever the client asks ssh to run, it gets --serve with the host's own policy, and the audit names where it came from."""
    policy = tmp_path / "policy"
    policy.write_text(f"commands: yes\naudit: {tmp_path}/audit\n")
    via = ssh(f'restrict,command="{harness.PYDTRACE} --serve={policy}"')
    words = [
        "-q",
        "--hosts",
        str(nodes[0]),
        "--via",
        via.replace(f"{harness.PYDTRACE} --serve", "touch /tmp/not-this --serve"),
        "-n",
        SUMS,
    ]
    done = pydtrace(*words, "-c", load(100), timeout=120)
    assert done.status == 0 and done.stdout.startswith("n 100\n"), done
    done = pydtrace("-w", *words, "-c", load(100), timeout=120)
    assert (
        done.status == 1 and "this host's policy does not allow destructive actions" in done.stderr
    ), done
    allowed, refused = (tmp_path / "audit").read_text().splitlines()
    assert "from=127.0.0.1" in allowed and allowed.endswith(" allowed") and "refused: " in refused


def test_ssh_is_killed(ssh, nodes, tmp_path):
    """The line to one host breaks: it is told, and that host ends by itself."""
    with loads(nodes[:2], tmp_path) as stop:
        session = Session(
            tmp_path, "-q", "--hosts", ",".join(map(str, nodes[:2])), "--via", ssh(), *COUNT, "-Z"
        )
        for node in nodes[:2]:
            session.wait(rf"{node}=[1-9]")
        pid = served(nodes[0])
        with open(f"/proc/{session.process.pid}/task/{session.process.pid}/children") as file:
            line = next(int(child) for child in file.read().split() if _in(child, nodes[0]))
        os.kill(line, signal.SIGKILL)
        session.wait(LOST.format(nodes[0]), session.err)
        harness.wait_until(lambda: ended(pid))
        session.wait(BACK.format(nodes[0]), session.err)
        fired = stop()
        text = session.end()
    assert is_whole(counted(text)[nodes[1]], fired[nodes[1]]), (fired, text)


def _in(pid, node):
    """Whether a process is in the network of a host."""
    return os.readlink(f"/proc/{pid}/ns/net") == os.readlink(f"/proc/{node}/ns/net")
