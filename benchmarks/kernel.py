#!/usr/bin/env python3
"""The kernel engine beside bpftrace (Debian's and a current one) and the real dtrace, same target, one run; as root.

    benchmarks/kernel.py [--rounds N] [--events N]

In each round every tracer traces the same program once, in turn.  Printed: the medians, and ours over the best of the
others beside the budget.  An event's time is CPU time of the thread that fires, so that the machine's other work
counts little; what a subject can not do is left out.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
ORACLE = os.path.join(ROOT, "tests", "oracle", "oracle")
PYTHON = sys.executable
PYDTRACE = os.path.join(os.path.dirname(PYTHON), "pydtrace")
WORKER = os.path.join(HERE, "kernel_worker.py")

# what: (D, bpftrace's language)
CLAUSES = {
    "count": ("{ @ = count(); }", "{ @ = count(); }"),
    "false predicate": ("/arg2 == -1/ { @ = count(); }", "/arg2 == 99999999/ { @ = count(); }"),
    "keyed quantize": ("{ @[copyinstr(arg6)] = quantize(arg2); }", "{ @[str(arg6)] = hist(arg2); }"),
    "printf": ('{ printf("%d %d %s\\n", arg2, arg3, copyinstr(arg6)); }', '{ printf("%d %d %s\\n", arg2, arg3, str(arg6)); }'),
}
D_PROBE = "pyusdt$target:::user_trace-i4s4"


def module():
    """The file that has pyusdt's sites."""
    return subprocess.run([PYTHON, "-c", "import pyusdt._core as c; print(c.__file__)"], check=True,
                          capture_output=True, text=True).stdout.strip()


class Tracer:
    """name; command(clause of both languages, target's pid) -> argv."""

    def __init__(self, name, command):
        self.name, self.command = name, command


def tracers():
    site = f"usdt:{module()}:pyusdt:user_trace__i4s4 "
    found = [Tracer("pydtrace", lambda c, t: [PYDTRACE, "-q", "-x", "engine=kernel", "-n", D_PROBE + c[0], "-p", t])]
    if shutil.which("bpftrace"):
        found.append(Tracer("bpftrace", lambda c, t: ["bpftrace", "-e", site + c[1], "-p", t]))
    found.append(Tracer("bpftrace sid", lambda c, t: [ORACLE, "bpftrace", "-e", site + c[1], "-p", t]))
    found.append(Tracer("dtrace", lambda c, t: [ORACLE, "dtrace", "-q", "-n", D_PROBE + c[0], "-p", t]))
    return found


def measure(tracer, clause, events):
    """(ns of CPU an event, lines a second, lines, seconds of the whole run), or None where the tracer can not."""
    with tempfile.TemporaryDirectory(prefix="pyusdt-bench-") as folder:
        out = os.path.join(folder, "figures")
        worker = subprocess.Popen([PYTHON, WORKER, out, str(events)], stdout=subprocess.PIPE)
        worker.stdout.readline()  # it has its probes
        reaper = threading.Thread(target=worker.communicate)  # a zombie would keep the tracers waiting
        reaper.start()
        command = tracer.command(clause, str(worker.pid))
        with open(os.path.join(folder, "out"), "w+b") as printed:
            began = time.perf_counter()
            done = subprocess.run(command, check=False, stdout=printed, stderr=subprocess.PIPE, timeout=60)
            whole = time.perf_counter() - began
            if done.returncode:
                worker.kill()
            reaper.join()
            printed.seek(0)
            lines = sum(line.strip().endswith(b" a") for line in printed)
        try:
            with open(out) as file:
                each, wall = map(float, file.read().split())
        except FileNotFoundError:
            print(f"{tracer.name}: {done.stderr.decode()[-300:]}", file=sys.stderr)
            return None
        return each, lines / wall, lines, whole


def compare(what, events, rounds, subjects):
    samples = {tracer.name: [] for tracer in subjects}
    for _ in range(rounds):
        for tracer in subjects:
            figures = measure(tracer, CLAUSES[what], events)
            if figures:
                samples[tracer.name].append(figures)
    return {name: [statistics.median(column) for column in zip(*rows)] for name, rows in samples.items() if rows}


def report(what, events, found):
    ours, others = found.pop("pydtrace"), found
    texts = [f"{name} {figures[0]:.0f}" for name, figures in others.items()]
    line = f"{what:16} ns/event: pydtrace {ours[0]:.0f}, {', '.join(texts)}"
    if others:
        line += f"; ratio {ours[0] / min(f[0] for f in others.values()):.2f} (budget 0.85)"
    print(line)
    if what == "printf":
        rates = ", ".join(f"{name} {f[1]:,.0f}/s of which lost {1 - f[2] / events:.1%}" for name, f in others.items())
        print(f"{'':16} delivered: pydtrace {ours[1]:,.0f}/s lost {1 - ours[2] / events:.1%}, {rates}")
        if others:
            print(f"{'':16} ratio {ours[1] / max(f[1] for f in others.values()):.1f} (budget 5)")
    print(f"{'':16} whole run, s: pydtrace {ours[3]:.2f}, " + ", ".join(f"{n} {f[3]:.2f}" for n, f in others.items()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--only", choices=CLAUSES)
    arguments = parser.parse_args()
    subjects = tracers()
    for what in [arguments.only] if arguments.only else CLAUSES:
        report(what, arguments.events, compare(what, arguments.events, arguments.rounds, subjects))


if __name__ == "__main__":
    main()
