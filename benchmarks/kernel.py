#!/usr/bin/env python3
"""The kernel engine beside bpftrace (Debian's and a current one) and the real dtrace, same target, one run; as root.

    benchmarks/kernel.py [--rounds N] [--events N] [--only WHAT]

run.py asks rows() for what `make bench` shows of it; printf() is kernel_printf.py's.  In each round every tracer traces
the same program once, in turn.  Printed: the medians, and ours over the best of the others beside the budget.  An event's time is CPU time of the thread that fires, so that the machine's other work
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

from subjects import PYDTRACE

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
ORACLE = os.path.join(ROOT, "tests", "oracle", "oracle")
DTRACE = [
    ORACLE,
    "run",
    "dtrace",
    "-xsyslibdir=/opt/dlib",
]  # as it is: the tests' ends sooner (tests/oracle/keep_types.c)
PYTHON = sys.executable
MORE_PROBES = {"BPFTRACE_MAX_PROBES": "4000", "BPFTRACE_MAX_BPF_PROGS": "4000"}
WORKER = os.path.join(HERE, "kernel_worker.py")

# what: (D, bpftrace's language)
CLAUSES = {
    "count": ("{ @ = count(); }", "{ @ = count(); }"),
    "false predicate": ("/arg2 == -1/ { @ = count(); }", "/arg2 == 99999999/ { @ = count(); }"),
    "keyed quantize": (
        "{ @[copyinstr(arg0)] = quantize(arg2); }",
        "{ @[str(arg0)] = hist(arg2); }",
    ),  # Debian's has arg0 to arg5
}
D_PROBE = "pyusdt$target:::user_trace-i4s4"
FOREIGN = "foreign"  # count() on a C program's probe, made by systemtap's header
START = "start"  # from the command line to the end, one probe attached, a tick ends it
ALL = "all probes"  # the same with user_trace-n0 … n950
PATIENCE = 40  # s; who takes longer is taken to have taken so long


def module():
    """The file that has pyusdt's sites."""
    return subprocess.run(
        [PYTHON, "-c", "import pyusdt._core as c; print(c.__file__)"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()


class Tracer:
    """name; command(probe, clause, both of both languages, the target's pid) -> argv."""

    def __init__(self, name, command):
        self.name, self.command = name, command


def tracers():
    def dtrace_like(*words):
        return lambda probe, clause, pid: [*words, "-q", "-n", probe[0] + clause[0], "-p", pid]

    def bpftrace_like(*words):
        return lambda probe, clause, pid: [*words, "-p", pid, "-e", f"{probe[1]} {clause[1]}"]

    found = [Tracer("pydtrace", dtrace_like(PYDTRACE, "-x", "engine=kernel"))]
    if shutil.which("bpftrace"):
        found.append(Tracer("bpftrace", bpftrace_like("bpftrace")))
    return [
        *found,
        Tracer("bpftrace sid", bpftrace_like(ORACLE, "bpftrace")),
        Tracer("dtrace", dtrace_like(*DTRACE)),
    ]


OURS = (D_PROBE, f"usdt:{module()}:pyusdt:user_trace__i4s4")


def foreign_program(folder):
    """Builds the C program; its probe in both languages."""
    path = os.path.join(folder, "foreign")
    subprocess.run(
        ["gcc", "-O2", "-o", path, os.path.join(HERE, "peers", "kernel_foreign.c")], check=True
    )
    return path, ("foreign$target:::fired", f"usdt:{path}:foreign:fired")


def measure(tracer, probe, clause, worker, events):
    """(ns of CPU an event, seconds of the whole run), or None where the tracer can not."""
    with tempfile.TemporaryDirectory(prefix="pyusdt-bench-") as folder:
        out = os.path.join(folder, "figures")
        worker = subprocess.Popen([*worker, out, str(events)], stdout=subprocess.PIPE)
        worker.stdout.readline()  # it has its probes
        reaper = threading.Thread(
            target=worker.communicate
        )  # a zombie would keep the tracers waiting
        reaper.start()
        with open(os.path.join(folder, "out"), "wb") as printed:
            began = time.perf_counter()
            try:
                done = subprocess.run(
                    tracer.command(probe, clause, str(worker.pid)),
                    check=False,
                    stdout=printed,
                    stderr=subprocess.PIPE,
                    timeout=PATIENCE,
                    env={**os.environ, **MORE_PROBES},
                )
            except subprocess.TimeoutExpired:
                print(f"{tracer.name}: not done after {PATIENCE} s", file=sys.stderr)
                worker.kill()
                reaper.join()
                return None if events else (0, PATIENCE)
            whole = time.perf_counter() - began
            if done.returncode or not events:
                worker.kill()
            reaper.join()
        if not events:
            if done.returncode:
                print(f"{tracer.name}: {reason(done)}", file=sys.stderr)
            return None if done.returncode else (0, whole)
        try:
            with open(out) as file:
                each, _ = map(float, file.read().split())
        except FileNotFoundError:
            print(f"{tracer.name}: {reason(done)}", file=sys.stderr)
            return None
        return each, whole


def reason(done):
    """Why a tracer failed, in one line of its own."""
    lines = [line for line in done.stderr.decode(errors="replace").splitlines() if line.strip()]
    return next(
        (line for line in lines if "ERROR" in line),
        lines[-1] if lines else f"exit status {done.returncode}",
    )[:200]


def case(what, events, folder):
    """(probe, clause, the traced command, events)"""
    worker = [PYTHON, WORKER]
    ends = ("{ @ = count(); } tick-1ms { exit(0); }", "{ @ = count(); } interval:ms:1 { exit(); }")
    if what == FOREIGN:
        path, probe = foreign_program(folder)
        return probe, CLAUSES["count"], [path], events
    if what == START:
        return OURS, ends, worker, 0
    if what == ALL:
        return tuple(text.replace("i4s4", "n*") for text in OURS), ends, worker, 0
    return OURS, CLAUSES[what], worker, events


def compare(probe, clause, worker, events, rounds, subjects):
    samples = {tracer.name: [] for tracer in subjects}
    for _ in range(rounds):
        for tracer in subjects:
            figures = measure(tracer, probe, clause, worker, events)
            if figures:
                samples[tracer.name].append(figures)
    return {name: rows for name, rows in samples.items() if rows}


def rows(rounds, quick=False):
    """(title, budget, our figures, those of the best of the others), in ns; nothing where this machine can not."""
    if os.geteuid() != 0 or not os.path.exists("/sys/kernel/btf/vmlinux"):
        return
    subjects = tracers()
    with tempfile.TemporaryDirectory(prefix="pyusdt-bench-") as folder:
        for what in [*CLAUSES, FOREIGN, START, ALL]:
            probe, clause, worker, events = case(what, 5_000 if quick else 200_000, folder)
            found = compare(probe, clause, worker, events, 1 if what == ALL else rounds, subjects)
            ours = found.pop("pydtrace", None)
            for title, budget, figure in FIGURES[what]:
                each = {name: [figure(row) for row in samples] for name, samples in found.items()}
                if ours and each:
                    best = min(each, key=lambda name: statistics.median(each[name]))
                    yield f"{title} / {best}", budget, [figure(row) for row in ours], each[best]


def _per_event(row):
    return row[0]


def _whole(row):
    return row[1] * 1e9


# what: (title, budget, the figure of a row of measure())
FIGURES = {
    **{
        what: [(f"kernel: {what}", 0.9 if "keyed" in what else 0.85, _per_event)]
        for what in CLAUSES
    },
    FOREIGN: [("kernel: count on a foreign binary", 1.0, _per_event)],
    START: [("kernel: whole run, one probe", 0.35, _whole)],
    ALL: [("kernel: whole run, 951 probes", 0.2, _whole)],
}


def report(what, events, samples):
    found = {
        name: [statistics.median(column) for column in zip(*rows)] for name, rows in samples.items()
    }
    ours, others = found.pop("pydtrace"), found
    if not events:
        texts = [f"{name} {figures[1]:.3f}" for name, figures in others.items()]
        best = min((f[1] for f in others.values()), default=0)
        print(
            f"{what:16} whole run, s: pydtrace {ours[1]:.3f}, {', '.join(texts)}; ratio {ours[1] / best if best else 0:.2f}"
        )
        return
    texts = [f"{name} {figures[0]:.0f}" for name, figures in others.items()]
    line = f"{what:16} ns/event: pydtrace {ours[0]:.0f}, {', '.join(texts)}"
    if others:
        line += f"; ratio {ours[0] / min(f[0] for f in others.values()):.2f} (budget {FIGURES[what][0][1]})"
    print(line)
    print(
        f"{'':16} whole run, s: pydtrace {ours[1]:.2f}, "
        + ", ".join(f"{n} {f[1]:.2f}" for n, f in others.items())
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--events", type=int, default=200_000)
    names = [*CLAUSES, FOREIGN, START, ALL]
    parser.add_argument("--only", choices=names)
    arguments = parser.parse_args()
    subjects = tracers()
    with tempfile.TemporaryDirectory(prefix="pyusdt-bench-") as folder:
        for what in [arguments.only] if arguments.only else names:
            probe, clause, worker, events = case(what, arguments.events, folder)
            report(what, events, compare(probe, clause, worker, events, arguments.rounds, subjects))


if __name__ == "__main__":
    main()
