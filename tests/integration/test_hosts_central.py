"""pydtrace --hosts -x hostmode=central: the hosts send their events, and all clauses run at the coordinator, with one memory.

The hosts are namespaces of this machine, whose monotonic clocks are 100,000 s apart; or this machine, several times.
"""

from __future__ import annotations

import itertools
import os
import re
import shlex
import signal
import sys

import pytest

from tests.support import harness
from tests.support.host_namespaces import BACK, FOREVER, LOST, PATIENT, Session, options, serving

pytestmark = pytest.mark.own_processes
CENTRAL = ["-x", "hostmode=central"]
VIA = ["--via", f"env HOST={{host}} {harness.PYDTRACE} --serve"]
HOSTILE = os.path.join(harness.PROGRAMS, "hostile_host.py")
LOAD = "import pyusdt\nfor i in range(300): pyusdt.p(i % 7, i, 0, 0, 'key %d' % (i % 5))"

# A request goes from host to host: each says when it has it (arg2: which station, arg3: which request), and sends it on through a pipe.
STATION = """import os, sys, time, pyusdt
me, last, folder, count = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
come = open(f"{folder}/{me}") if me else None
go = open(f"{folder}/{me + 1}", "w") if me < last else None
for i in range(count):
    tag = int(come.readline()) if come else i
    pyusdt.p(me, tag)
    time.sleep(0.1)
    if go:
        go.write(f"{tag}\\n")
        go.flush()
"""
JOINED = """int at[int64_t]; string from[int64_t]; uint64_t since[int64_t];
BEGIN { begun = timestamp; wall = walltimestamp; }
pyusdt$target:::user_trace-i4s4 /begun && timestamp >= begun && walltimestamp >= wall/ { @within = count(); }
pyusdt$target:::user_trace-i4s4 /arg2 > 0 && at[arg3] != arg2/ { printf("request %d was not at %d before\\n", arg3, arg2 - 1); }
pyusdt$target:::user_trace-i4s4 /arg2 > 0 && at[arg3] == arg2/ {
    @hops[from[arg3], host] = count(); @least = min(timestamp - since[arg3]); @all = count();
}
pyusdt$target:::user_trace-i4s4 {
    at[arg3] = arg2 + 1; from[arg3] = host; since[arg3] = timestamp; self->n++; @of_thread[host] = max(self->n);
    task->n++; @of_task[host] = max(task->n);
}
END { printa("%s -> %s %@d\\n", @hops); printa("all %@d\\n", @all); printa("least %@d\\n", @least); printa("within %@d\\n", @within);
    printa("thread of %s %@d\\n", @of_thread); printa("task of %s %@d\\n", @of_task); printf("end .%s.\\n", host); }"""
COUNT = 8


def test_a_request_is_followed_over_hosts(nodes, tmp_path, pydtrace):
    """By a tag, in arrays that are one for all hosts; a thread's and a task's variables are its own, though those of all hosts have the same ids; times
    are the coordinator's."""
    program = tmp_path / "station.py"
    program.write_text(STATION)
    for i in range(1, 5):
        os.mkfifo(tmp_path / str(i))
    words = shlex.join(
        [
            "sh",
            "-c",
            f"n=$(hostname); exec {sys.executable} {program} $((${{n#web}} - 1)) 4 {tmp_path} {COUNT}",
        ]
    )
    done = pydtrace(*options(nodes, *CENTRAL, "-n", JOINED, "-c", words), timeout=120)
    lines = done.stdout.split("\n")
    assert done.status == 0 and "was not at" not in done.stdout, done
    hops = [f"{a} -> {b} {COUNT}" for a, b in itertools.pairwise(nodes)]
    assert sorted(line for line in lines if " -> " in line) == sorted(hops), done
    assert f"all {4 * COUNT}" in lines and f"within {5 * COUNT}" in lines and "end .." in lines, (
        done
    )
    assert sorted(line for line in lines if line.startswith("thread")) == sorted(
        f"thread of {node} {COUNT}" for node in nodes
    ), done
    assert sorted(line for line in lines if line.startswith("task")) == sorted(
        f"task of {node} {COUNT}" for node in nodes
    ), done
    assert 50_000_000 < int(re.search(r"least (\d+)", done.stdout)[1]) < 60_000_000_000, done


def test_counts_are_those_of_one_session(pydtrace):
    """Sums, strings, a record that reads aggregations and one that ends it all, in the order of the events."""
    script = """pyusdt$target:::user_trace-i4s4 { n++; @n = count(); @s = sum(arg3); @by[copyinstr(arg6), host] = count(); }
        pyusdt$target:::user_trace-i4s4 /n % 100 == 0/ { printf("%d ", n); printa("%@d\\n", @n); }
        pyusdt$target:::user_trace-i4s4 /n == 900/ { exit(0); }
        END { printf("n %d\\n", n); printa("s %@d\\n", @s); printa("%s %s %@d\\n", @by); }"""
    done = pydtrace(
        "-q",
        *PATIENT,
        "--hosts",
        "a,b,c",
        *VIA,
        *CENTRAL,
        "-n",
        script,
        "-c",
        shlex.join([sys.executable, "-c", LOAD]),
        timeout=120,
    )
    lines = [line for line in done.stdout.split("\n") if line]
    assert done.status == 0 and lines[:11] == [
        *(f"{n} {n}" for n in range(100, 1000, 100)),
        "n 900",
        f"s {3 * sum(range(300))}",
    ], done
    assert sorted(lines[11:]) == sorted(f"key {i} {host} 60" for i in range(5) for host in "abc"), (
        done
    )


def test_stacks_have_the_names_of_their_hosts(pydtrace, tmp_path):
    """As keys, in records and cut; an address that is none of a frame is not looked for in a process of this machine."""
    program = tmp_path / "stacks.py"
    program.write_text(
        "import pyusdt\ndef inner(i):\n    pyusdt.p(i, 7)\ndef outer(i):\n    inner(i)\nfor i in range(20):\n    outer(i)\n"
    )
    script = f"""pyusdt$target:::user_trace-i4s4 {{ @[host, jstack()] = count(); @at[usym({id(print)}), umod({id(print)})] = count(); }}
        pyusdt$target:::user_trace-i4s4 /arg2 == 3/ {{ ustack(2); printf("%a\\n", {id(print)}); }}
        END {{ printa("%s %k %@d\\n", @); printa("%A %A %@d\\n", @at); }}"""
    done = pydtrace(
        "-q",
        *PATIENT,
        "--hosts",
        "a,b",
        *VIA,
        *CENTRAL,
        "-n",
        script,
        "-c",
        shlex.join([sys.executable, str(program)]),
        timeout=120,
    )
    frames = [f"inner ({program}:3)", f"outer ({program}:5)", f"<module> ({program}:7)"]
    lines = [line.strip() for line in done.stdout.split("\n") if line.strip()]
    plain = f"0x{id(print):x}"
    assert done.status == 0 and sorted(lines[:6]) == sorted(2 * [*frames[:2], plain]), done
    assert lines[6:] == ["a", *frames, "20", "b", *frames, "20", f"{plain} {plain} 40"], (
        done
    )  # what prints alike is one key


def test_samples_of_the_hosts(pydtrace, tmp_path):
    """profile-n is where the threads of each host's processes are, among its events: self-> is the thread's, task-> who works there, $target the
    host's."""
    program = tmp_path / "hot.py"
    program.write_text("""import time, pyusdt
def spin(until):
    while time.monotonic() < until: pass
def first(): spin(time.monotonic() + 1)
def second(): spin(time.monotonic() + 1)
for work in first, second:
    pyusdt.p("at", work.__name__)
    work()
""")
    script = """pyusdt$target:::user_trace-i4s4 { task->at = self->at = copyinstr(arg7); self->on = 1; }
        profile-97 /self->on/ { @[host, self->at, task->at, jstack(2)] = count(); @others[host] = sum(pid != $target || execname == ""); }
        BEGIN, END { printf("target %d\\n", $target); }
        END { printa("%s in %s, %s%k %@d\\n", @); printa("others of %s %@d\\n", @others); }"""
    done = pydtrace(
        "-q",
        *PATIENT,
        "--hosts",
        "a,b",
        *VIA,
        *CENTRAL,
        "-n",
        script,
        "-c",
        shlex.join([sys.executable, str(program)]),
        timeout=120,
    )
    assert done.status == 0 and "profile-n has no samples" not in done.stderr, done
    assert done.stdout.count("target 0\n") == 2 and all(
        f"others of {host} 0\n" in done.stdout for host in "ab"
    ), done
    for host, (name, line) in itertools.product("ab", [("first", 4), ("second", 5)]):
        found = re.search(
            rf"{host} in {name}, {name}\nspin \({program}:3\)\n{name} \({program}:{line}\)\n (\d+)",
            done.stdout,
        )
        assert found and int(found[1]) > 5, (host, name, done)


def test_a_host_is_killed(tmp_path):
    """It is told what is lost; it comes back as another incarnation; the others' events are all there, each once and in order."""
    program, end = tmp_path / "forever.py", tmp_path / "end"
    program.write_text(FOREVER)
    script = """int seen[string]; int last[string];
        pyusdt*:::user_trace-i4s4 /seen[host] && arg2 != last[host] + 1/ { @gaps[host] = count(); }
        pyusdt*:::user_trace-i4s4 { seen[host] = 1; last[host] = arg2; @[host] = count(); @first[host] = min(arg2); @last[host] = max(arg2); }
        tick-100ms { printa("%s=%@d\\n", @); printf("tick\\n"); }
        END { printa("end %s=%@d first %@d last %@d\\n", @, @first, @last); printa("gaps %s %@d\\n", @gaps); }"""
    mark = f"central{os.getpid()}-"
    via = ["--via", f"env HOST={mark}{{host}} {harness.PYDTRACE} --serve"]
    with harness.running([sys.executable, str(program), str(end)]) as load:
        session = Session(
            tmp_path, "-q", *PATIENT, "--hosts", "a,b", *via, *CENTRAL, "-Z", "-n", script
        )
        for host in "ab":
            session.wait(rf"{host}=[1-9]")
        os.kill(serving(f"{mark}a"), signal.SIGKILL)
        session.wait(LOST.format("a"), session.err)
        session.wait(BACK.format("a"), session.err)
        shown = re.findall(r"a=(\d+)", session.out.read_text())[-1]
        harness.wait_until(lambda: re.findall(r"a=(\d+)", session.out.read_text())[-1] != shown, 60)
        end.touch()
        fired = int(harness.finish(load, 60).stdout)
        session.wait("tick\n(.*\n)*tick\n")
        text = session.end()
    ends = {
        host: tuple(map(int, rest))
        for host, *rest in re.findall(r"end (\w)=(\d+) first (\d+) last (\d+)", text)
    }
    count, first, last = ends["b"]
    assert count == last - first + 1 and last == fired - 1, (ends, fired, text)
    count, first, last = ends["a"]
    assert count < last - first + 1 and last == fired - 1, (ends, fired, text)
    assert re.findall(r"gaps (\w) (\d+)", text) == [("a", "1")], text


def test_hosts_that_lie_spoil_only_their_own(pydtrace):
    """What is no event, and what nobody has asked for."""
    lies = {
        "events-that-are-none": "its events cannot be read: it is no recording",
        "events-no-text": "a line of type 'events' that is none",
        "samples-unasked": "samples were not requested",
        "long-value": "of a clause that hosts do not have",
        "events-cut": "its events cannot be read",
        "keys-without-end": "'_'",
    }
    script = """int n; BEGIN { printf("begin\\n"); } pyusdt*:::user_trace-i4s4, lie { n++; @[copyinstr(arg6)] = count(); printf("%s", ""); }
        END { printf("n %d\\n", n); printa("%s=%@d\\n", @); }"""
    via = shlex.join([sys.executable, HOSTILE, "{host}", "--serve"])
    done = pydtrace(
        "-q",
        "--hosts",
        ",".join(["honest", *lies]),
        "--via",
        via,
        *PATIENT,
        *CENTRAL,
        "-Z",
        "-n",
        script,
        "-c",
        shlex.join([sys.executable, "-c", LOAD]),
        timeout=120,
    )
    assert (
        done.status == 0
        and "n 300\n" in done.stdout
        and all(f"key {i}=60\n" in done.stdout for i in range(5))
    ), done
    assert "honest is given up" not in done.stderr and "lie=" not in done.stdout, done
    for name, why in lies.items():
        assert re.search(rf"{name} is given up at .*{re.escape(why)}", done.stderr), (name, done)


@pytest.mark.parametrize(
    ("script", "more", "message"),
    [
        (
            "user_trace-n1 { n++; trace(n); }",
            [],
            "with --hosts, n is assigned and read by the hosts: each its own, or one for all?",
        ),
        (
            "user_trace-n1 { a[arg2] = 1; } user_trace-n2 /a[arg2]/ { @ = count(); }",
            [],
            "a is assigned and read by the hosts",
        ),
        (
            "user_trace-n1 { @[$$target] = count(); }",
            CENTRAL,
            "$$target is not known when the script is compiled",
        ),
        ("user_trace-n1 { $target = 5; }", CENTRAL, "$target cannot be assigned"),
        (
            "user_trace-n1 { @[ppid] = count(); }",
            CENTRAL,
            "with -x hostmode=central, ppid does not work",
        ),
        (
            "user_trace-n1 { @[errno] = count(); }",
            CENTRAL,
            "with -x hostmode=central, errno does not work",
        ),
        (
            "pyusdt$target:::a, pyusdt*:::b { @ = count(); }",
            CENTRAL,
            "probes of $target do not work together with those of other processes",
        ),
        ('user_trace-n1 { host = "x"; }', CENTRAL, "host cannot be assigned"),
        (
            'user_trace-n1 { system("x"); }',
            CENTRAL,
            "system() does not work in a clause that runs on the hosts",
        ),
        (
            "user_trace-n1 { @ = count(); }",
            [*CENTRAL, "--relay", "b"],
            "-x hostmode=central needs -x engine=embedded, and does not work with --relay",
        ),
        (
            "user_trace-n1 { @ = count(); }",
            [*CENTRAL, "-x", "engine=kernel"],
            "-x hostmode=central needs -x engine=embedded",
        ),
    ],
)
def test_what_can_not_be_had(script, more, message, pydtrace):
    done = pydtrace("--hosts", "a", "--via", "false {host}", *more, "-n", script, timeout=120)
    assert done.status == 1 and message in done.stderr, done


@pytest.mark.parametrize(
    "script",
    [
        "user_trace-n1 { n++; } user_trace-n2 { n = 5; } BEGIN { exit(0); }",
        "user_trace-n1 { this->n = 1; trace(this->n); } BEGIN { exit(0); }",
    ],
)
def test_what_needs_no_choice(script, pydtrace):
    """What nobody reads, and what lasts no longer than a clause."""
    assert pydtrace("-q", "--hosts", "a", *VIA, "-Z", "-n", script, timeout=120).status == 0


@pytest.mark.parametrize(("line", "allowed"), [("scripts: any", True), ("scripts: SCRIPT", False)])
def test_a_policy_of_scripts_sends_no_events(line, allowed, tmp_path, pydtrace):
    """Who may only run what a file says gets what that makes of the events, not these."""
    script = tmp_path / "a.d"
    script.write_text("user_trace-i4s4 { @ = count(); } tick-10ms { exit(0); }")
    (tmp_path / "policy").write_text(f"audit: no\n{line.replace('SCRIPT', str(script))}\n")
    via = f"env HOST={{host}} {harness.PYDTRACE} --serve={tmp_path}/policy"
    for mode in ([], CENTRAL):
        done = pydtrace(
            "-q", "--hosts", "a", "--via", via, *mode, "-Z", "-s", str(script), timeout=120
        )
        assert (done.status == 0) == (allowed or not mode), done
    assert ("so that no events are sent" in done.stderr) != allowed, done
