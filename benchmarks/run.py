#!/usr/bin/env python3
"""`make bench`: what pyusdt costs, side by side with its peers, as ratios beside the budgets of docs/internals/DESIGN.md.

Every figure is the median over rounds; in each round every subject is asked once, in turn, so that whatever else the
machine does hits all of them alike. Prints a table and writes it, with the absolute figures, to
benchmarks/results/DATE.json. Exit status 1 if a budget is exceeded.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import closing

import crowds
import full_speed
import interpreter
import kernel
import kernel_printf
import reading
import scaling
import subjects
import vm
import whole
import workers
from comparison import Comparison
from curve import Curve, chart

CHART = os.path.join(subjects.ROOT, "docs", "images", "growth.svg")

# A burst is small enough for the ring and is followed by a pause in which the consumer catches up: "on" means
# consumed live and nothing dropped. LTTng's tracepoint gets the same bursts and pauses.
BURST = 1000
PAUSE = 0.005
FILL = 300 * BURST  # events that fill a ring, whatever their size
BURSTS = 20  # for one figure of the consumer's CPU time
LARGE = 20 * BURST  # a burst in which waking up costs nothing
WARMING = 250  # bursts before the first figure: by then the ring of each subject has been full, and all its pages were touched

ALL_TEN = """pyusdt$target:::user_trace-i4s4 {
    this->a = copyinstr(arg0); this->b = copyinstr(arg1);
    this->c = copyinstr(arg6); this->d = arg7; this->e = arg8; this->f = arg9;
    @all[arg2, arg3, arg4, arg5, this->b, this->c] = count(); fired++; }
END { printf("delivered %d\\n", fired); }"""
WIDE = """pyusdt$target:::user_trace-i4s4 {
    this->a = copyinstr(arg0); this->b = copyinstr(arg1); this->c = copyinstr(arg6);
    this->d = copyinstr(arg7); this->e = copyinstr(arg8); this->f = copyinstr(arg9);
    @all[arg2, arg3, arg4, arg5, this->a, this->b, this->c, this->d, this->e, this->f] = count(); fired++; }
END { printf("delivered %d\\n", fired); }"""
OWN = 'bench$target:::fired { @[arg0, arg1, copyinstr(arg2)] = count(); fired++; } END { printf("delivered %d\\n", fired); }'
COUNT = 'pyusdt$target:::user_trace-i4s4 { @ = count(); fired++; } END { printf("delivered %d\\n", fired); }'
QUANTIZE = """pyusdt$target:::user_trace-i4s4 { @[copyinstr(arg6)] = quantize(arg2); fired++; }
END { printf("delivered %d\\n", fired); }"""

PRINTF = """pyusdt$target:::user_trace-i4s4 { printf("%d %d %s\\n", arg2, arg3, copyinstr(arg6)); fired++; }
END { printf("delivered %d\\n", fired); }"""


def per_event(subject, operation: str, n: int) -> float:
    return subject.ask(operation, n) / n


def measure_off(rounds: int) -> list[Comparison]:
    """Nobody traces: p and `if probe:` against the empty builtin, all in one process."""
    samples: dict[str, list[float]] = {
        name: []
        for name in (
            "empty",
            "p",
            "if probe",
            "if False",
            "lazy",
            "empty lambda",
            "own",
            "function",
            "wrapped",
            "put_tag",
            "set",
            *subjects.peers(),
        )
    }
    with closing(subjects.PythonSubject()) as subject:
        for operation in samples:  # warm up: CPython specialises code after some runs
            subject.ask(operation, 20_000)
        for _ in range(rounds):
            for operation, figures in samples.items():
                figures.append(per_event(subject, operation, 100_000))
    return [
        Comparison(
            'Python p(1, 2, "a"), off, tag set / empty builtin', 1.3, samples["p"], samples["empty"]
        ),
        Comparison(
            "Python `if probe:`, off / empty builtin", 0.6, samples["if probe"], samples["empty"]
        ),
        Comparison(
            "for comparison, `if` of a local False / empty builtin",
            None,
            samples["if False"],
            samples["empty"],
        ),
        Comparison(
            "probe.lazy(lambda: (1, 2)), off / empty(the same)",
            None,
            samples["lazy"],
            samples["empty lambda"],
        ),
        Comparison('own(1, 2, "a"), off / empty builtin', None, samples["own"], samples["empty"]),
        Comparison(
            "@probe.wrap'ped function, off / the function",
            None,
            samples["wrapped"],
            samples["function"],
        ),
        Comparison(
            "put_tag(text) / ContextVar.set(bytes), both new",
            None,
            samples["put_tag"],
            samples["set"],
        ),
        *(
            Comparison(
                f'own(1, 2, "a"), off / the same of PyPI\'s {name}',
                1.0,
                samples["own"],
                samples[name],
            )
            for name in ("stapsdt", "usdt")
            if name in samples
        ),
    ]


def measure_start(rounds: int) -> list[Comparison]:
    """import pyusdt in a new process against the empty extension: its time, and the memory of the whole process after."""
    ours, peer, provider = [], [], []
    for kept in range(-2, rounds):
        pair = subjects.start_cost("pyusdt"), subjects.start_cost("empty")
        made = subjects.provider_cost(20)
        if kept >= 0:
            ours.append(pair[0])
            peer.append(pair[1])
            provider.append(made)
    times, memories = (
        [[figures[i] for figures in samples] for samples in (ours, peer)] for i in (0, 1)
    )
    return [
        Comparison("import pyusdt / import of an empty extension", 5.0, *times),
        Comparison(
            "KiB of the process then, over the empty one's / 64",
            1.0,
            [a - b for a, b in zip(*memories)],
            [64],
        ),
        Comparison("Provider.probe(int, str) / import of an empty one", None, provider, times[1]),
    ]


def start_lttng(stack: contextlib.ExitStack) -> subjects.CSubject:
    """The C program with the tracepoint, in a session that ends with `stack`."""
    stack.callback(subjects.LttngSession().close)
    return run_lttng(stack, "lttng_fire")


def run_lttng(stack: contextlib.ExitStack, name: str, *flags: str) -> subjects.CSubject:
    """The same in the session that there is."""
    program = subjects.build(
        name,
        ["peers/lttng_fire.c"],
        f"-I{subjects.HERE}/peers",
        *flags,
        "-llttng-ust",
        "-ldl",
        "-pthread",
    )
    # the program waits until the session daemon has enabled the tracepoint
    return stack.enter_context(
        closing(subjects.CSubject([program], {"LTTNG_UST_REGISTER_TIMEOUT": "-1"}))
    )


def measure_on(rounds: int) -> list[Comparison]:
    """Traced, all ten arguments read: Python's p and the C core's fire against LTTng's tracepoint."""
    orders = {
        "p": "p",
        "own": "own",
        "core": "1",
        "lttng": "1",
        "wide": "p wide",
        "wide lttng": "1",
    }
    samples: dict[str, list[float]] = {name: [] for name in orders}
    with contextlib.ExitStack() as stack:
        subject = {
            "lttng": start_lttng(stack),
            "wide lttng": run_lttng(stack, "lttng_fire_wide", "-DWIDE"),
            "p": stack.enter_context(closing(subjects.TracedSubject(ALL_TEN))),
            "own": stack.enter_context(closing(subjects.TracedSubject(OWN))),
            "core": stack.enter_context(closing(subjects.TracedCoreSubject(ALL_TEN))),
            "wide": stack.enter_context(closing(subjects.TracedSubject(WIDE))),
        }
        for kept in range(-WARMING, rounds):
            for name, figures in samples.items():
                figure = per_event(subject[name], orders[name], BURST)
                time.sleep(PAUSE)
                if kept >= 0:
                    figures.append(figure)
    rows = (
        ('Python p(1, 2, "a")', 0.75, "p", "lttng"),
        ('own(1, 2, "a")', 0.75, "own", "lttng"),
        ("Python p with eight arguments and a tag", 0.8, "wide", "wide lttng"),
    )
    return [
        Comparison(f"{what}, on / LTTng-UST tracepoint", budget, samples[ours], samples[peer])
        for what, budget, ours, peer in rows
    ] + [
        Comparison(
            "the C core's firing, on / LTTng-UST tracepoint",
            0.35,
            samples["core"],
            samples["lttng"],
        ),
    ]


def measure_threads(rounds: int) -> list[Comparison]:
    """CPU time of one firing in each of 1, 2, 4 and 8 threads that fire at once."""
    counts = ("1", "2", "4", "8")
    ours: dict[str, list[float]] = {count: [] for count in counts}
    peer: dict[str, list[float]] = {count: [] for count in counts}
    with contextlib.ExitStack() as stack:
        lttng = start_lttng(stack)
        core = stack.enter_context(closing(subjects.TracedCoreSubject(ALL_TEN)))
        for kept in range(-5, rounds):
            for count in counts:
                pair = per_event(core, count, BURST), per_event(lttng, count, BURST)
                time.sleep(PAUSE * int(count))
                if kept >= 0:
                    ours[count].append(pair[0])
                    peer[count].append(pair[1])
    return [
        Comparison(
            f"the C core's firing, {count} threads / LTTng-UST, as many",
            1.0,
            ours[count],
            peer[count],
        )
        for count in counts
    ]


def measure_stopped(rounds: int) -> list[Comparison]:
    """What p costs the application while its tracer is stopped and the rings are full, and what a ring takes of memory."""
    live, stopped = [], []
    with closing(subjects.StoppedSubject(ALL_TEN)) as subject:
        for kept in range(-5, rounds):
            figure = per_event(subject, "p", BURST)
            time.sleep(PAUSE)
            subject.stop()
            subject.ask("p", FILL)
            memory = subject.shared_bytes()
            pair = figure, per_event(subject, "p", BURST)
            subject.resume()
            time.sleep(10 * PAUSE)
            if kept >= 0:
                live.append(pair[0])
                stopped.append(pair[1])
    return [
        Comparison("Python p, its tracer stopped / live", 1.0, stopped, live),
        Comparison(
            "KiB of a traced process's files / its rings' bound",
            1.1,
            [memory / 1024],
            [subjects.RINGS / 1024],
        ),
    ]


def measure_consumer(rounds: int) -> list[Comparison]:
    """CPU time of pydtrace for each event, from first to last: against LTTng's tracepoint in its producer, and printf's
    against fprintf of the same lines."""
    program = subjects.build("fprintf_lines", ["peers/fprintf_lines.c"], "-pthread")
    rows = []
    with contextlib.ExitStack() as stack:
        lttng = start_lttng(stack)
        lines = stack.enter_context(
            closing(subjects.CSubject([program, os.path.join(subjects.BUILD, "lines")]))
        )
        for what, (small, large), script, operation, peer in (
            ("@ = count() / LTTng", (1.0, 0.4), COUNT, "p", lttng),
            ("keyed quantize / LTTng", (2.0, 0.65), QUANTIZE, "p", lttng),
            ("by keys of 256 bytes / LTTng", (2.0, 2.0), QUANTIZE, "p 256", lttng),
            ("printf / fprintf", (3.0, 2.0), PRINTF, "p", lines),
        ):
            for burst, budget in ((BURST, small), (LARGE, large)):
                with closing(subjects.TracedSubject(script)) as subject:
                    found = consumer_samples(subject, operation, peer, rounds, burst)
                    rows.append(Comparison(f"consumer, bursts of {burst}: {what}", budget, *found))
    return rows


def measure_reading(rounds: int) -> list[Comparison]:
    """What a program pays that reads records: from dtrace's text, from the API."""
    return [Comparison(*row) for row in (*reading.parser(rounds), *reading.api(rounds))]


def measure_interpreter(_: int) -> list[Comparison]:
    """Machine instructions, which are the same in each round: of the clause, and of all that pydtrace does for its event."""
    events = [
        Comparison(f"interpreter (instr.), {what} / all", None, [ours], [total])
        for what, ours, total in interpreter.rows()
    ]
    return [
        *events,
        Comparison("a look that finds nothing (instr.) / 2,000", 1.0, [interpreter.idle()], [2000]),
    ]


def measure_full_speed(rounds: int) -> list[Comparison]:
    """Whether one thread that does nothing else is too fast for its tracer."""
    return [Comparison(*row) for row in full_speed.rows(rounds)]


def consumer_samples(
    subject, operation: str, peer, rounds: int, burst: int = BURST
) -> tuple[list[float], list[float]]:
    ours, theirs = [], []
    for kept in range(-5, rounds):
        before = subject.consumer_nanoseconds()
        for _ in range(BURSTS):
            subject.ask(operation, burst)
            time.sleep(max(PAUSE, burst * 1e-6))
        figure = (subject.consumer_nanoseconds() - before) / (BURSTS * burst)
        if kept >= 0:
            ours.append(figure)
            theirs.append(per_event(peer, "1", burst))
    return ours, theirs


def measure_growth(rounds: int) -> Iterator[Curve]:
    """What an event costs where a script is large, and where many trace or fire."""
    yield from scaling.curves(rounds)
    yield from crowds.curves(rounds)


def curves_of(rows: list[Comparison]) -> list[Curve]:
    return [row for row in rows if isinstance(row, Curve)]


def write_results(rows: list[Comparison]) -> str:
    folder = os.path.join(subjects.HERE, "results")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, time.strftime("%Y-%m-%d.json"))
    result = {
        "date": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "machine": f"{platform.machine()}, {os.cpu_count()} CPUs, Linux {platform.release()}, "
        f"{platform.python_implementation()} {platform.python_version()}",
        "nanoseconds": [
            {
                "what": row.title,
                "ours": round(row.ours, 1),
                "peer": round(row.peer, 1),
                "ratio": round(row.ratio, 3),
                "budget": row.budget,
            }
            for row in rows
        ],
        "growth": [curve.as_json() for curve in curves_of(rows)],
    }
    with open(path, "w") as file:
        json.dump(result, file, indent=1)
        file.write("\n")
    return path


def measure_workers(rounds: int) -> list[Comparison]:
    """Two consumers beside one, on what waits in the rings."""
    return [Comparison(title, None, ours, peer) for title, ours, peer in workers.rows(rounds)]


def measure_kernel(rounds: int) -> list[Comparison]:
    """The kernel engine beside bpftrace and the real dtrace; whole runs beside theirs."""
    quick = rounds < 5
    found = [Comparison(*row) for row in kernel.rows(rounds, quick)]
    if not found:
        return []
    return (
        found
        + [Comparison(*row) for row in kernel_printf.rows(1 if quick else 3, quick)]
        + whole.measure(rounds)
    )


def measure_vm(rounds: int) -> list[Comparison]:
    """The provider python: five programs untraced, traced, and under viztracer, cProfile, yappi, coverage and memray."""
    return vm.comparisons(sys.executable, rounds)


# What is measured and in how many rounds; `--only` takes these names.
PARTS = {
    "off": (measure_off, 101),
    "start": (measure_start, 31),
    "on": (measure_on, 301),
    "threads": (measure_threads, 101),
    "stopped": (measure_stopped, 21),
    "consumer": (measure_consumer, 21),
    "workers": (measure_workers, 9),
    "reading": (measure_reading, 21),
    "vm": (measure_vm, 5),
    "interpreter": (measure_interpreter, 1),
    "growth": (measure_growth, 5),
    "full": (measure_full_speed, 20),
    "kernel": (measure_kernel, 5),
}


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument(
        "--quick", action="store_true", help="few rounds, nothing written: does it run at all?"
    )
    options.add_argument(
        "--only",
        nargs="+",
        choices=PARTS,
        help="these parts; of `growth` the chart is written, no results",
    )
    given = options.parse_args()
    subjects.build_empty()
    rows: list[Comparison] = []
    print(f"{'what / its peer':52} {'ns':>8} {'peer ns':>8} {'ratio':>7} {'budget':>7}")
    for part in given.only or PARTS:
        measure, rounds = PARTS[part]
        for row in measure(3 if given.quick else rounds):
            rows.append(row)
            print(row.row(), flush=True)
    if not given.quick and curves_of(rows):
        with open(CHART, "w") as file:
            file.write(chart(curves_of(rows)))
    if not given.quick and not given.only:
        print("written to", os.path.relpath(write_results(rows), subjects.ROOT))
    return any(row.is_over() for row in rows)


if __name__ == "__main__":
    sys.exit(main())
