#!/usr/bin/env python3
"""What the provider python costs: five programs untraced, with the provider in them, traced, and under other tools.

    .venv/bin/python benchmarks/vm.py [ROUNDS [PYTHON]]

Input: rounds (default 5), and an interpreter that has pyusdt (default: this one); the other
tools, pinned in vm.txt, are put beside.
Output: for each program and way its time as a ratio to the untraced one, nanoseconds for each
call of a function, and that as a part of viztracer's; CPython's own probes, where the machine's
Python has them; how long until the first event comes; what the sleeping watcher takes. Who is
left out is told on standard error, and why.

- The ways take turns within a round; a figure is the median of the rounds, each the best of six
  of the program's own processor time.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

import subjects
import vm_programs
from comparison import Comparison

HERE = os.path.dirname(os.path.abspath(__file__))
ENTRY, RETURN = "python$target:{0}::function-entry", "python$target:{0}::function-return"
EVENT = "{ this->by = 1; @[probefunc] = count(); }"  # a variable of the clause: it is not counted in the program
LOADED, UNMATCHED, COUNTED, EVENTS, READ = (
    "pyusdt, nobody traces",
    "no function matches",
    "entries counted",
    "entry, return",
    "file, line read",
)
SCRIPTS = {
    UNMATCHED: f"{ENTRY.format('nowhere')} {EVENT}",
    COUNTED: f"{ENTRY.format('')} {{ @[probefunc] = count(); }}",
    "entry": f"{ENTRY.format('')} {EVENT}",
    EVENTS: f"{ENTRY.format('')}, {RETURN.format('')} {EVENT}",
    READ: f"{ENTRY.format('')}, {RETURN.format('')} {{ @[probefunc, copyinstr(arg0), arg2] = count(); }}",
}
FIRST = 'BEGIN { begun = timestamp; } python$target:::function-entry { printf("%d", timestamp - begun); exit(0); }'
SYSTEM = "/usr/bin/python3.11"  # Debian's, which has CPython's own probes, for a 3.11 that has none
OWN_PROBES = "usdt:{0}:python:function__entry {{ @ = count(); }} usdt:{0}:python:function__return {{ @ = count(); }}"
IDLE = "import time; began = time.process_time_ns(); time.sleep(4); print(time.process_time_ns() - began)"


def tools(python: str, name: str = "vm") -> dict[str, str]:
    """The environment in which this interpreter finds the packages of vm.txt, or of another such file."""
    version = subprocess.run(
        [python, "-c", "import sys; print(sys.implementation.cache_tag)"],
        capture_output=True,
        text=True,
        check=True,
    )
    folder = os.path.join(subjects.BUILD, name, version.stdout.strip())
    if not os.path.exists(folder):
        os.makedirs(folder + ".new", exist_ok=True)
        with open(os.path.join(HERE, f"{name}.txt")) as file:
            for wanted in (
                file.read().splitlines()
            ):  # one by one: an interpreter may be too new for some of them
                done = subprocess.run(
                    [
                        python,
                        "-m",
                        "pip",
                        "install",
                        "--quiet",
                        "--disable-pip-version-check",
                        "--prefer-binary",
                        "--target",
                        folder + ".new",
                        wanted,
                    ],
                    stderr=subprocess.DEVNULL,
                    check=False,
                )
                if done.returncode != 0:
                    left_out(wanted, "there is no wheel of it for this interpreter")
        os.rename(folder + ".new", folder)
    return {
        **os.environ,
        "PYTHONPATH": folder,
        "PYTHONHASHSEED": "0",
    }  # with it dictionaries are alike in every run


def left_out(what: str, why: str) -> None:
    print(f"left out: {what}: {why}", file=sys.stderr, flush=True)


class Interpreter:
    def __init__(self, python: str, packages: str = "vm"):
        self.python, self._meeting = (
            python,
            tempfile.TemporaryDirectory(prefix="pyusdt-bench-", dir="/dev/shm"),
        )
        self.environment = {
            **tools(python, packages),
            "PYUSDT_RUNDIR": self._meeting.name,
        }  # another's tracer of python* sees none of these
        self.pydtrace = os.path.join(os.path.dirname(python), "pydtrace")

    def output(self, command: list[str], **more: str) -> str:
        return subprocess.run(
            command, env={**self.environment, **more}, capture_output=True, text=True, check=True
        ).stdout

    def measured(self, command: list[str]) -> dict[str, int]:
        found = next(
            line for line in self.output(command).splitlines() if line.startswith("measured")
        )
        return json.loads(found.removeprefix("measured"))

    def ways(self, name: str) -> dict[str, list[str]]:
        program = [self.python, os.path.join(HERE, "vm_programs.py"), name]

        def traced(script: str) -> list[str]:
            return [self.pydtrace, "-q", "-n", script, "-c", " ".join(program)]

        return {
            "untraced": program,
            LOADED: [self.python, "-m", "pyusdt", *program[1:]],
            **{way: traced(script) for way, script in SCRIPTS.items()},
            **{tool: [*program, tool] for tool in vm_programs.TOOLS},
        }

    def medians(self, name: str, rounds: int) -> tuple[dict[str, float], int]:
        """(nanoseconds of each way, calls)"""
        return self.medians_of(self.ways(name), rounds)

    def medians_of(self, ways: dict[str, list[str]], rounds: int) -> tuple[dict[str, float], int]:
        runs: dict[str, list[int]] = {way: [] for way in ways}
        calls = 0
        for _ in range(rounds):
            for way in list(runs):
                try:
                    found = self.measured(ways[way])
                except (
                    subprocess.CalledProcessError
                ) as error:  # a tool that this interpreter is too old or too new for
                    left_out(way, ((error.stderr or "").splitlines() or ["failed"])[-1])
                    del runs[way]
                    continue
                runs[way].append(found["best"])
                calls = found["calls"] or calls
        return {way: statistics.median(times) for way, times in runs.items()}, calls

    def first_event(self) -> float:
        """Milliseconds from BEGIN, before anything is enabled, to the first event of a program that calls all the time."""
        loop = [self.python, "-m", "pyusdt", "-c", "def f(): pass\nwhile True: f()"]
        with subprocess.Popen(loop, env=self.environment) as program:
            try:
                return (
                    float(self.output([self.pydtrace, "-Zqn", FIRST, "-p", str(program.pid)])) / 1e6
                )
            finally:
                program.kill()

    def idle(self) -> float:
        """Processor time of a sleeping program with the watcher, less that without it: millionths of the time."""
        return (
            int(self.output([self.python, "-c", IDLE], PYUSDT_VM="1"))
            - int(self.output([self.python, "-c", IDLE]))
        ) / 4000


def has_notes(python: str) -> bool:
    """Whether the interpreter itself has USDT notes for functions."""
    if not os.path.exists(python):
        return False
    notes = subprocess.run(
        ["readelf", "-n", os.path.realpath(python)], capture_output=True, text=True, check=False
    ).stdout
    return "function__entry" in notes


def own_probes(interpreter: Interpreter, rounds: int) -> list[Comparison]:
    """fib under CPython's own USDT, where 3.11's entries fire for no call of Python code by Python code, and under ours."""
    python = interpreter.python
    if (
        not has_notes(python)
        and interpreter.output(
            [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        ).strip()
        == "3.11"
    ):
        python = SYSTEM
    lacks = [
        why
        for why, so in (
            ("not root", os.geteuid() != 0),
            ("no bpftrace", shutil.which("bpftrace") is None),
            (f"{python} has no probes of functions", not has_notes(python)),
        )
        if so
    ]
    if lacks:
        left_out("CPython's own USDT", lacks[0])
        return []
    program = f"{python} {os.path.join(HERE, 'vm_programs.py')} fib"
    times, calls = interpreter.medians_of(
        {
            "untraced": program.split(),
            "ours": [interpreter.pydtrace, "-q", "-n", SCRIPTS[EVENTS], "-c", program],
            "theirs": [
                "bpftrace",
                "-e",
                OWN_PROBES.format(os.path.realpath(python)),
                "-c",
                program,
            ],
        },
        rounds,
    )
    if len(times) < 3:
        return []
    ours, theirs = ((times[who] - times["untraced"]) / calls for who in ("ours", "theirs"))
    return [
        Comparison("fib: entry, return / CPython's own USDT (ns a call)", None, [ours], [theirs])
    ]


def quiet(interpreter: Interpreter) -> list[Comparison]:
    """What is no matter of calls."""
    return [
        Comparison(
            "ms from tracer to first event / 100",
            None,
            [interpreter.first_event() for _ in range(5)],
            [100],
        ),
        Comparison(
            "us a second of the watcher asleep / 1,000",
            1.0,
            [interpreter.idle() for _ in range(3)],
            [1000],
        ),
    ]


def comparisons(python: str, rounds: int) -> list[Comparison]:
    """The rows of `make bench`."""
    interpreter, found = Interpreter(python), []
    monitors = (
        interpreter.output([python, "-c", "import sys; print(hasattr(sys, 'monitoring'))"]).strip()
        == "True"
    )
    for name in vm_programs.PROGRAMS:
        times, calls = interpreter.medians(name, rounds)
        base = times["untraced"]

        def row(
            title: str, budget: float | None, ours: float, peer: float, name: str = name
        ) -> None:
            found.append(Comparison(f"{name}: {title}", budget, [ours], [peer]))

        row(f"{LOADED} / untraced (us)", 1.01, times[LOADED] / 1e3, base / 1e3)
        row(
            f"{UNMATCHED} / untraced (us)",
            1.01 if monitors else None,
            times[UNMATCHED] / 1e3,
            base / 1e3,
        )
        peer = (times.get("viztracer", base) - base) / calls
        for way, budget in (
            (COUNTED, 0.4),
            ("entry", None),
            (EVENTS, 0.8),
            (READ, None),
            *((tool, None) for tool in vm_programs.TOOLS),
        ):
            if way in times and peer > 0 and way != "viztracer":
                row(f"{way} / viztracer (ns a call)", budget, (times[way] - base) / calls, peer)
    return [*found, *own_probes(interpreter, rounds), *quiet(interpreter)]


def main() -> None:
    python = (sys.argv[2:] or [sys.executable])[0]
    for row in comparisons(python, int((sys.argv[1:] or [5])[0])):
        print(row.row(), flush=True)


if __name__ == "__main__":
    main()
