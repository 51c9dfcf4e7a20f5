"""pydtrace --hosts: clocks that differ, and what stands before what.

The hosts are namespaces of this machine: monotonic clocks 100,000 s apart; the wall clock of one is 49 s ahead, of another a day, of a
third a day behind.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

import pytest

from tests.support import harness
from tests.support.host_namespaces import options

pytestmark = pytest.mark.own_processes
DAY = 86_400
SKEWS = (0, 49, DAY, -DAY, 0)  # s, of web1 …
# CLOCK_REALTIME of the programs of one host: a time namespace has none of its own.
SKEWED = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static const long skews[] = {%s};
int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    char name[65] = "";
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int r = real(clock, now);
    gethostname(name, sizeof name - 1);
    if (clock == CLOCK_REALTIME && name[0] == 'w') now->tv_sec += skews[atoi(name + 3) - 1];
    return r;
}
"""
# A token goes from host to host, and each fires when it has it.
TURNS = """import os, sys, time, pyusdt
me, folder, rounds = int(os.uname().nodename[3:]) - 1, sys.argv[1], int(sys.argv[2])
assert abs(time.time() - os.stat(folder).st_mtime - SKEWS[me]) < 600, "its wall clock is not what it is to be"
come, go = (os.open(f"{folder}/{each % 5}", os.O_RDWR) for each in (me, me + 1))
for i in range(rounds):
    if i or me:
        os.read(come, 1)
    pyusdt.p(me, i)
    time.sleep(0.03)
    os.write(go, b"x")
"""
ROUNDS = 6


@pytest.mark.parametrize("mode", [[], ["-x", "hostmode=central"]], ids=["partial", "central"])
def test_clocks_that_differ(nodes, tmp_path, pydtrace, mode):
    """Counts are exact; what was fired one after the other stands so, or is marked as uncertain; times are the coordinator's."""
    (tmp_path / "skewed.c").write_text(SKEWED % ", ".join(map(str, SKEWS)))
    subprocess.run(
        ["gcc", "-shared", "-fPIC", tmp_path / "skewed.c", "-o", tmp_path / "skewed.so", "-ldl"],
        check=True,
    )
    program = tmp_path / "turns.py"
    program.write_text(TURNS.replace("SKEWS", str(SKEWS)))
    pipes = tmp_path / "pipes"
    pipes.mkdir()
    for i in range(5):
        os.mkfifo(pipes / str(i))
    script = """BEGIN { printf("begin %d %d", timestamp, walltimestamp); }
        pyusdt$target:::user_trace-i4s4 { printf("turn %s %d %d %d %d", host, arg2, arg3, timestamp, walltimestamp); @[host] = count(); }
        END { printf("end %d %d\\n", timestamp, walltimestamp); printa("count %s %@d\\n", @); }"""
    words = options(
        nodes,
        *mode,
        "-n",
        script,
        "-c",
        shlex.join([sys.executable, str(program), str(pipes), str(ROUNDS)]),
    )
    words[words.index("--via") + 1] = words[words.index("--via") + 1].replace(
        harness.PYDTRACE, f"env LD_PRELOAD={tmp_path}/skewed.so {harness.PYDTRACE}"
    )
    words.remove("-q")
    done = pydtrace(*words, timeout=120)
    lines = [line.split() for line in done.stdout.split("\n")]
    (begin,) = [
        tuple(map(int, line[line.index("begin") + 1 :])) for line in lines if "begin" in line
    ]
    (end,) = [tuple(map(int, line[line.index("end") + 1 :])) for line in lines if "end" in line]
    turns = [
        (line[0].endswith("~") or "~" in line[:3], *map(int, line[line.index("turn") + 1 :]))
        for line in lines
        if "turn" in line
    ]
    assert done.status == 0 and len(turns) == 5 * ROUNDS, done
    assert (
        sorted(line[-1] for line in lines if "count" in line) == [str(ROUNDS)] * 5
        and f"count {nodes[0]} {ROUNDS}" in done.stdout
    ), done
    wanted = [(nodes[me], me, i) for i in range(ROUNDS) for me in range(5)]
    found = [turn[1:4] for turn in turns]
    if not any(uncertain for uncertain, *_ in turns):
        assert found == wanted, done
    else:  # a machine so busy that the clocks are not known to 30 ms
        assert sorted(found) == sorted(wanted), done
    for _, _, _, _, monotonic, wall in turns:
        assert begin[1] <= wall + 10**9 and wall <= end[1] + 10**9, (begin, end, turns)
        if mode:
            assert begin[0] <= monotonic <= end[0], (begin, end, turns)
    walls = [wall for *_, wall in turns]
    if found == wanted:
        assert walls == sorted(walls), turns
