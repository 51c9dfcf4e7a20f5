#!/usr/bin/env python3
"""printf() of three fields at full speed: how many lines a second each tracer delivers; as root (tests/oracle).

    benchmarks/kernel_printf.py [--rounds N] [--only ints|strings]

Threads of a C program fire as fast as they can (kernel_threads.c): one; as many as there are CPUs, which is full speed, since
the tracer has to find time then; and twice as many.  Each tracer has its default buffers, writes to a file, and is asked in
turn.  A line counts if it is in the file, whenever it came there, and the time
is from the first firing to the last line: what waits in a large buffer when the firing is over is not for nothing.  What a tracer loses
is told beside what it delivers, since who drops has an easier time.  The lines are either
two integers and a string, or three strings.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
import threading

import kernel

FIELDS = {  # what: (D, bpftrace's language)
    "ints": (
        '{ printf("%d %d %s\\n", arg2, arg3, copyinstr(arg6)); }',
        '{ printf("%d %d %s\\n", arg2, arg3, str(arg6)); }',
    ),
    "strings": (
        '{ printf("%s %s %s\\n", copyinstr(arg0), copyinstr(arg1), copyinstr(arg6)); }',
        '{ printf("%s %s %s\\n", str(arg0), str(arg1), str(arg6)); }',
    ),
}
END = b" user@example.org\n"  # of every line
FULL = max(2, os.cpu_count() or 1)  # threads
THREADS = (1, FULL, 2 * FULL)
MILLISECONDS = 1500
PATIENCE = 60  # s; the real dtrace prints 35,000 lines a second; who is killed then has delivered what is in the file
TITLES = {"ints": "two integers and a string", "strings": "three strings"}


def build(folder):
    path = os.path.join(folder, "kernel_threads")
    includes = [f"-I{os.path.join(kernel.ROOT, name)}" for name in ("include", "c", "c/generated")]
    sources = [
        os.path.join(kernel.HERE, "kernel_threads.c"),
        os.path.join(kernel.ROOT, "c", "target", "sites.c"),
    ]
    subprocess.run(
        ["gcc", "-O2", "-mno-red-zone", "-o", path, *includes, *sources, "-pthread"], check=True
    )
    return path


def lines_of(path):
    """How many lines of the clause's a file has; it may be large."""
    with open(path, "rb") as file:
        return sum(
            chunk.count(END) for chunk in iter(lambda: b"".join(file.readlines(1 << 20)), b"")
        )


def measure(tracer, program, fields, threads, milliseconds, folder):
    """(lines a second, share of the firings that is lost, ns of CPU a firing), or None where the tracer can not."""
    out, printed = os.path.join(folder, "figures"), os.path.join(folder, "printed")
    if os.path.exists(out):
        os.unlink(out)
    probe = kernel.D_PROBE, f"usdt:{program}:pyusdt:user_trace__i4s4"
    worker = subprocess.Popen(
        [program, out, str(milliseconds), str(threads)], stdout=subprocess.PIPE
    )
    worker.stdout.readline()
    reaper = threading.Thread(target=worker.communicate)  # a zombie would keep the tracers waiting
    reaper.start()
    with open(printed, "wb") as file:
        try:
            subprocess.run(
                tracer.command(probe, FIELDS[fields], str(worker.pid)),
                check=False,
                stdout=file,
                stderr=subprocess.DEVNULL,
                timeout=PATIENCE,
                env={**os.environ, **kernel.MORE_PROBES},
            )
        except subprocess.TimeoutExpired:
            worker.kill()
    reaper.join()
    if not os.path.exists(out):
        return None
    with open(out) as file:
        fired, each, began, ended = map(float, file.read().split())
    lines = lines_of(printed)
    return lines / (max(ended, os.stat(printed).st_mtime) - began), 1 - lines / fired, each


def compare(program, fields, threads, rounds, milliseconds, folder):
    """{tracer: [measure()'s]} of those that deliver anything"""
    found = {}
    for _ in range(rounds):
        for tracer in kernel.tracers():
            figures = measure(tracer, program, fields, threads, milliseconds, folder)
            if figures and figures[0]:
                found.setdefault(tracer.name, []).append(figures)
    return found


def median(samples, which):
    return statistics.median(row[which] for row in samples)


def best(found):
    """Which of the others delivers most."""
    return max(
        (name for name in found if name != "pydtrace"),
        key=lambda name: median(found[name], 0),
        default=None,
    )


def rows(rounds, quick=False):
    """As kernel.rows(): ns a delivered line, ours and the best other's; what was lost is in the title."""
    milliseconds = 200 if quick else MILLISECONDS
    with tempfile.TemporaryDirectory(prefix="pyusdt-bench-") as folder:
        program = build(folder)
        for fields in FIELDS:
            for threads, budget in ((1, None), (FULL, 0.2)):
                found = compare(program, fields, threads, rounds, milliseconds, folder)
                peer = best(found)
                if "pydtrace" in found and peer:
                    lost = [f"{median(found[name], 1):.0%} lost" for name in ("pydtrace", peer)]
                    yield (
                        f"kernel: printf, {fields}, {threads} threads, {lost[0]} / {peer}, {lost[1]}",
                        budget,
                        *[[1e9 / row[0] for row in found[name]] for name in ("pydtrace", peer)],
                    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=FIELDS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pyusdt-bench-") as folder:
        program = build(folder)
        for fields in [arguments.only] if arguments.only else FIELDS:
            for threads in THREADS:
                found = compare(program, fields, threads, arguments.rounds, MILLISECONDS, folder)
                texts = [
                    f"{name} {median(samples, 0):,.0f}/s (lost {median(samples, 1):.0%}, {median(samples, 2):.0f} ns a firing)"
                    for name, samples in found.items()
                ]
                peer = best(found)
                ratio = (
                    median(found["pydtrace"], 0) / median(found[peer], 0)
                    if peer and "pydtrace" in found
                    else 0
                )
                print(
                    f"{TITLES[fields]}, {threads} threads: {', '.join(texts)}: {ratio:.1f} times",
                    flush=True,
                )


if __name__ == "__main__":
    main()
