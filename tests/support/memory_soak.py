"""Resident memory of a target and of both tracers while tracing goes on: the API's and pydtrace's, on the embedded engine.

What waits for a tracer takes memory, up to the size of the rings and to `buffer` records, and Python keeps what it once took.  So
the tracers are stopped for a while at first, that the queues are long before memory is looked at.  A machine that lets them wait
in other ways still shows as steps (tests/results); a leak grows with the events.
"""

import os
import signal
import statistics
import subprocess
import sys
import time

from tests.support import harness

PYDTRACE = os.path.join(os.path.dirname(sys.executable), "pydtrace")
SCRIPT = r"""
int64_t seen[int64_t];
self int spec;
pyusdt*:::user_trace-i4s4 {
    n++;
    self->last = arg2;
    seen[arg2 % 100] += arg3;
    printf("i=%d route=%s\n", arg2, copyinstr(arg6));
    @by[copyinstr(arg6), arg2 % 10] = quantize(arg3);
    @lin = lquantize(arg3, 0, 1000, 10);
    @log[copyinstr(arg7)] = llquantize(arg2, 10, 0, 6, 20);
    @mean = avg(arg3);
    @dev = stddev(arg3);
}
pyusdt*:::user_trace-i4s4 /arg2 % 50 == 0/ { self->spec = speculation(); }
pyusdt*:::user_trace-i4s4 /self->spec/ { speculate(self->spec); trace(arg2); }
pyusdt*:::user_trace-i4s4 /self->spec && arg2 % 100 == 0/ { commit(self->spec); self->spec = 0; }
pyusdt*:::user_trace-i4s4 /self->spec/ { discard(self->spec); self->spec = 0; }
pyusdt*:::user_trace-i4s4 { @top[arg2] = count(); }
tick-1s { trunc(@top, 10); printa("%d %@d\n", @top); trunc(@top); }
END { printf("delivered %d\n", n); }
"""
TARGET = """import sys, time, pyusdt
seconds, rate = float(sys.argv[1]), int(sys.argv[2])
sys.stdin.readline()
begun, fired = time.monotonic(), 0
while (passed := time.monotonic() - begun) < seconds:
    while fired < passed * rate:
        pyusdt.p(fired, fired * 7919 % 1000, "/route/%d" % (fired % 7), "method %d" % (fired % 3))
        fired += 1
    time.sleep(0.02)
print(fired, flush=True)
sys.stdin.readline()
"""
API = """import sys, warnings, pyusdt
sys.stdin.close()
warnings.simplefilter("ignore")
with pyusdt.trace(open(sys.argv[1]).read(), pid=int(sys.argv[2]), bufsize=sys.argv[3], buffer=5000) as t:
    print("ready", flush=True)
    taken = 0
    for rec in t:
        taken += rec.names == ("i", "route")
        if taken % 10_000 == 0:
            len(t.aggregations["by"]), t.aggregations["mean"].value, t.drops
print(taken, t.drops["principal"], flush=True)
"""
STALL = (
    0.02,
    0.04,
)  # of the time: so late, and so long, the tracers are stopped, but for no longer than
STALL_MOST = 60  # s
WARM = 0.25  # of the time: caches fill, and each aggregation gets its keys
GROWTH = 512  # KiB from the second quarter's median to the last's: 0.1 of a byte for each event of an hour


def resident(pid):
    """KiB."""
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def soak(seconds, rate, folder, bufsize="8m"):
    """(samples: {name: [(time, KiB)]}, {name: (events got, dropped)}, events fired)"""
    script = os.path.join(folder, "soak.d")
    with open(script, "w") as file:
        file.write(SCRIPT)
    python = [sys.executable, "-c"]
    target = subprocess.Popen(
        [*python, TARGET, str(seconds), str(rate)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    api = subprocess.Popen(
        [*python, API, script, str(target.pid), bufsize],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    output = os.path.join(folder, "output")
    command = f"{PYDTRACE} -q -x bufsize={bufsize} -p {target.pid} -s {script} | grep delivered > {output}"
    with open(os.path.join(folder, "errors"), "w+") as errors:
        shell = subprocess.Popen(
            ["bash", "-c", f"{command} & echo $!; wait"],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        try:
            api.stdout.readline()
            cli = _pydtrace_of(target.pid)
            time.sleep(1)  # pydtrace has no word for "I trace"
            pids = {"target": target.pid, "API": api.pid, "pydtrace": cli}
            samples = _watch(target, pids, seconds)
            fired = int(target.stdout.readline())
            target.stdin.close()
            target.wait(60)
            taken, drops = map(int, api.stdout.readline().split())
            shell.wait(60)
        finally:
            for process in (target, api, shell):
                process.kill()
        errors.seek(0)
        lost = harness.count_drops(errors.read())
    with open(output) as file:
        return (
            samples,
            {"API": (taken, drops), "pydtrace": (int(file.read().split()[-1]), lost)},
            fired,
        )


def _pydtrace_of(target):
    """The pid of the pydtrace that traces the target."""
    for _ in range(200):
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
            except OSError:
                continue
            if PYDTRACE.encode() in words and str(target).encode() in words:
                return int(pid)
        time.sleep(0.1)
    raise RuntimeError("pydtrace does not start")


def _watch(target, pids, seconds):
    """Let the target go, and look at everybody's memory until it is done."""
    target.stdin.write("go\n")
    target.stdin.flush()
    samples = {name: [] for name in pids}
    late, long = STALL[0] * seconds, min(STALL[1] * seconds, STALL_MOST)
    signals = [(late, signal.SIGSTOP), (late + long, signal.SIGCONT)]
    begun = time.monotonic()
    while (passed := time.monotonic() - begun) < seconds:
        while signals and passed >= signals[0][0]:
            _, number = signals.pop(0)
            for name in ("API", "pydtrace"):
                os.kill(pids[name], number)
        for name, pid in pids.items():
            samples[name].append((passed, resident(pid)))
        time.sleep(min(seconds / 100, 5))
    return samples


def growth(samples):
    """KiB between the median of the second quarter and that of the last."""
    end = samples[-1][0]
    second = [size for when, size in samples if WARM * end <= when < 2 * WARM * end]
    last = [size for when, size in samples if when >= (1 - WARM) * end]
    return statistics.median(last) - statistics.median(second)


def report(result, most=GROWTH):
    """(lines of the summary, what does not hold)  most: KiB that each may grow."""
    samples, got, fired = result
    lines = [
        f"{fired:,} events fired",
        *(f"{name} got {n:,}, dropped {lost:,}" for name, (n, lost) in got.items()),
    ]
    wrong = [
        f"{name} got {n} and dropped {lost} of {fired}"
        for name, (n, lost) in got.items()
        if n + lost != fired
    ]
    for name, found in samples.items():
        shown = [found[min(len(found) - 1, i * len(found) // 12)][1] for i in range(12)] + [
            found[-1][1]
        ]
        lines.append(
            f"{name}: KiB resident, at 13 moments: {' '.join(map(str, shown))}; growth {growth(found):+.0f}"
        )
        if growth(found) > most:
            wrong.append(f"{name} grew by {growth(found):.0f} KiB")
    return lines, wrong
