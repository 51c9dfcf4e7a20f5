"""-x workers (docs/internals/consumers.md): several consumers give what one gives, and who keeps them from it is told."""

import os
import re
import sys

import pytest

pytestmark = pytest.mark.own_processes

EACH, THREADS = 8000, 4
FIRES = f"""import pyusdt, sys, threading
def fire(k):
    for i in range({EACH}):
        pyusdt.p(i, k, "key%d" % (i % 50))
threads = [threading.Thread(target=fire, args=(k,)) for k in range({THREADS})]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
EVENTS = EACH * THREADS
P = "pyusdt$target:::user_trace-i4s4"
AGGREGATIONS = f"""{P} {{ @n = count(); @by[arg3] = count(); @q[copyinstr(arg6)] = quantize(arg2); @s = sum(arg2); @a = avg(arg2);
    @min = min(arg2); @max = max(arg2); @d[arg3] = stddev(arg2); @l = lquantize(arg2, 0, {EACH}, 1000); @p[probename, execname] = count(); @c = percentiles(arg2 - 4000); }}
{P} /arg2 > 10/ {{ this->x = arg2 % 7; @t[this->x, strjoin("a", copyinstr(arg6))] = llquantize(arg2, 10, 0, 4, 20); }}
END {{ printa("n %@d\\n", @n); printa("by %d %@d\\n", @by); printa("%s %@d\\n", @q); printa("s %@d\\n", @s); printa("a %@d\\n", @a);
    printa("%@d %@d\\n", @min, @max); printa("%d %@d\\n", @d); printa("%@d\\n", @l); printa("%d %s %@d\\n", @t); }}"""


@pytest.fixture
def fires(tmp_path):
    """A command that fires from several threads; of another text, where one is given."""

    def command(text=FIRES):
        path = tmp_path / "fires.py"
        path.write_text(text)
        return f"{sys.executable} {path}"

    return command


@pytest.fixture
def traced(pydtrace, fires):
    def trace(script, *options, command=FIRES, workers="2", **more):
        done = pydtrace(
            "-q", "-x", f"workers={workers}", *options, "-n", script, "-c", fires(command), **more
        )
        assert (done.status, done.stderr) == (0, ""), done
        return done.stdout

    return trace


def test_several_give_what_one_gives(traced):
    found = [
        traced(AGGREGATIONS, "-x", "pyusdt", "-x", "bufsize=16m", workers=n)
        for n in ("1", "2", "7")
    ]
    assert f"n {EVENTS}\n" in found[0]
    assert found[0] == found[1] == found[2]


def test_what_reads_aggregations_meanwhile(traced):
    """Ticks: all events before them were seen, none twice; what was cleared stays so; what is taken out is gone in all."""
    found = traced(
        f"""{P} {{ @n = count(); @k[copyinstr(arg6)] = sum(1); @top[arg2] = count(); }}
        tick-20ms {{ printa("%@d\\n", @n); clear(@n); printa("k %s %@d\\n", @k); trunc(@k); trunc(@top, 5); }}
        END {{ printa("%@d\\n", @n); printa("k %s %@d\\n", @k); }}""",
        "-x",
        "bufsize=16m",
    )
    lines = [line.split() for line in found.splitlines()]
    assert sum(int(line[0]) for line in lines if len(line) == 1) == EVENTS
    assert sum(int(line[2]) for line in lines if len(line) == 3) == EVENTS


def test_several_processes(pydtrace, tmp_path):
    """Forked workers: processes that the session does not know yet, and probes that they make while they are traced."""
    program = tmp_path / "workers.py"
    program.write_text("""import os, pyusdt
for child in range(6):
    if os.fork() == 0:
        own = pyusdt.Provider("own_" + "abcdef"[child])
        for late in range(5):
            probe = own.probe(f"late{late}", int)
            for i in range(1000):
                probe(i)
                pyusdt.p(i, child)
        os._exit(0)
for child in range(6):
    os.wait()
""")
    scripts = "own_*:::late* { @late[probename] = count(); } pyusdt*:::user_trace-i4s4 { @p[arg3] = sum(arg2); }"
    done = pydtrace(
        "-q",
        "-Z",
        "-x",
        "workers=3",
        "-x",
        "bufsize=16m",
        "-n",
        scripts
        + """
        END { printa("%s %@d\\n", @late); printa("%d %@d\\n", @p); }""",
        "-c",
        f"{sys.executable} {program}",
    )
    assert (done.status, done.stderr) == (0, ""), done
    found = sorted(filter(None, done.stdout.splitlines()))
    assert found == sorted(
        [f"late{n} {6 * 1000}" for n in range(5)] + [f"{n} {5 * 499500}" for n in range(6)]
    )


def test_places_are_learnt(pydtrace, tmp_path):
    """Functions of Python, each a probe that is met while the consumers run; with stacks as keys, whose places are met so, too."""
    program = tmp_path / "calls.py"
    program.write_text("""import threading
def many(k):
    for i in range(300):
        exec(compile(f"def f{k}_{i}(n): return n", f"f{k}.py", "exec"), space := {})
        f = space[f"f{k}_{i}"]
        for n in range(20):
            f(n)
threads = [threading.Thread(target=many, args=(k,)) for k in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
""")
    script = """python$target::f?_*:function-entry /arg2 > 0/ { @[probefunc] = count(); @stack[jstack(2)] = count(); @n = count(); }
        END { printa("%@d\\n", @n); printa("%s %@d\\n", @); }"""
    each = {f"f{k}_{i} 20" for k in range(3) for i in range(300)}
    for workers in ("1", "3"):
        done = pydtrace(
            "-q",
            "-x",
            f"workers={workers}",
            "-x",
            "bufsize=16m",
            "-n",
            script,
            "-c",
            f"{sys.executable} {program}",
        )
        assert (done.status, done.stderr) == (0, ""), done
        lines = done.stdout.split("\n")
        assert int(lines[0]) == 3 * 300 * 20
        assert {line for line in lines if line[:1] == "f" and line[-3:] == " 20"} == each


def told(done):
    """What was said of faults, without the process and which of them came first."""
    return sorted(re.sub(r"\d+:_core|0x\w+|\[\w+\]", "", line) for line in done.stderr.splitlines())


def test_faults_are_told(pydtrace, fires):
    """What a clause of any consumer can not do is said as by one."""
    done = [
        pydtrace(
            "-q",
            "-x",
            f"workers={n}",
            "-x",
            "bufsize=16m",
            "-n",
            f"{P} /arg2 % 1000 == 7/ {{ @[copyinstr(arg2)] = count(); }} {P} {{ @n = count(); }}",
            "-c",
            fires(),
        )
        for n in ("1", "2")
    ]
    assert done[0].stdout == done[1].stdout and str(EVENTS) in done[0].stdout
    assert done[0].stderr.count("invalid address (0x") > 3, done[0]
    assert told(done[0]) == told(done[1])


@pytest.mark.parametrize(
    "script, why",
    [
        (f"{P} {{ @ = count(); }}", "2"),
        (f"{P} {{ @[ustack()] = count(); }} tick-1s {{ n++; printa(@); }}", "2"),
        (f'{P} {{ printf("%d", arg2); }}', "1 (clause 1 has actions)"),
        (f"{P} {{ @ = count(); }} {P} {{ n++; }}", "1 (clause 2 uses n)"),
        (f"{P} /!self->x/ {{ @ = count(); }}", "1 (clause 1 uses self->x)"),
        (f"BEGIN {{ seen[1] = 1; }} {P} {{ @ = sum(seen[tid]); }}", "1 (clause 2 uses seen)"),
        (f"{P} {{ @n = count(); clear(@n); }}", "1 (clause 1 has actions)"),
        (f'{P} {{ @[strtok(copyinstr(arg6), "k")] = count(); }}', "1 (clause 1 calls strtok())"),
        (f"{P} {{ @ = count(); }} ERROR {{ exit(1); }}", "1 (clause 2 is about errors)"),
        (P, "1 (clause 1 has actions)"),
    ],
)
def test_who_keeps_it_at_one(pydtrace, fires, script, why):
    done = pydtrace(
        "-e",
        "-v",
        "-x",
        "engine=embedded",
        "-x",
        "workers=2",
        "-n",
        script,
        "-c",
        fires("import pyusdt"),
    )
    assert f"consumers: {why}\n" in done.stderr, done


def test_recordings_have_one(pydtrace, fires, tmp_path):
    done = pydtrace(
        "-q",
        "-v",
        "-x",
        "workers=2",
        "--record",
        tmp_path / "r",
        "-n",
        f"{P} {{ @ = count(); }}",
        "-c",
        fires(),
    )
    assert done.status == 0 and "consumers: 1 (--record)\n" in done.stderr, done
    done = pydtrace(
        "-q", "-v", "-x", "workers=2", "--replay", tmp_path / "r", "-n", f"{P} {{ @ = count(); }}"
    )
    assert (
        done.status == 0
        and "consumers: 1 (--replay)\n" in done.stderr
        and str(EVENTS) in done.stdout
    ), done


@pytest.mark.parametrize("value", ["=0", "=65", "=two", "=-1"])
def test_numbers_that_can_not_be(pydtrace, value):
    done = pydtrace("-x", f"workers{value}", "-n", "BEGIN { exit(0); }")
    assert done.status != 0 and "workers" in done.stderr, done


def test_as_many_as_there_are_processors(pydtrace, fires):
    done = pydtrace(
        "-e", "-v", "-x", "workers", "-n", f"{P} {{ @ = count(); }}", "-c", fires("import pyusdt")
    )
    assert f"consumers: {len(os.sched_getaffinity(0))}\n" in done.stderr, done
