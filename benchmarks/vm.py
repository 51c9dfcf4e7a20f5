#!/usr/bin/env python3
"""What the provider python costs: a program of calls and one of objects, untraced, with the provider in it, and traced.

    .venv/bin/python benchmarks/vm.py [ROUNDS [PYTHON]]

In:      nothing but this file, which is also the program that is measured.
Out:     for each program and way its time as a ratio to the untraced one, and nanoseconds for each call of a function.
Always:  the ways take turns within a round; a figure is the median of the rounds, each the best of five.
"""

import os
import statistics
import subprocess
import sys
import time

PYDTRACE = os.path.join(os.path.dirname(sys.executable), "pydtrace")
BOTH = "python$target:{0}::function-entry, python$target:{0}::function-return"


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


class Task:
    """Objects that hand packets around, after the benchmark richards."""

    def __init__(self, following):
        self.following, self.held = following, 0

    def take(self, packet):
        self.held += packet
        return self.give() if packet > 1 else self.held

    def give(self):
        self.held -= 1
        return self.following.take(self.held % 7) if self.following else 0


def packets():
    last = None
    for _ in range(20):
        last = Task(last)
    for packet in range(6000):
        last.take(packet % 11)


PROGRAMS = {"fib": lambda: fib(20), "packets": packets}


def calls(work):
    count = 0

    def profile(_frame, event, _argument):
        nonlocal count
        count += event == "call"

    sys.setprofile(profile)
    work()
    sys.setprofile(None)
    return count


def measured(name):
    """Prints the best time, in nanoseconds."""
    times = []
    for _ in range(6):
        began = time.perf_counter_ns()
        PROGRAMS[name]()
        times.append(time.perf_counter_ns() - began)
    print("best", min(times[1:]), flush=True)


def ways(python, name):
    program = [python, os.path.abspath(__file__), "--program", name]

    def traced(script):
        return [PYDTRACE, "-q", "-n", script, "-c", " ".join(program)]

    return {
        "untraced": program,
        "the provider in it": [python, "-m", "pyusdt", *program[1:]],
        "traced, no function matches": traced(BOTH.format("nowhere") + " { @ = count(); }"),
        "entries counted": traced("python$target:__main__::function-entry { @[probefunc] = count(); }"),
        "entries and returns counted": traced(BOTH.format("__main__") + " { @[probefunc] = count(); }"),
        "entries and returns, file and line read": traced(BOTH.format("__main__") + " { @[probefunc, copyinstr(arg0), arg2] = count(); }"),
    }


def best(command):
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    dropped = [line for line in done.stderr.splitlines() if "drop" in line]
    found = next(int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("best"))
    return found, len(dropped)


def report(python, rounds):
    for name, work in PROGRAMS.items():
        made = ways(python, name)
        times = {way: [] for way in made}
        drops = dict.fromkeys(made, 0)
        for _ in range(rounds):
            for way, command in made.items():
                found, dropped = best(command)
                times[way].append(found)
                drops[way] += dropped
        number = calls(work)
        base = statistics.median(times["untraced"])
        print(f"{name}: {number} calls, {base / number:.0f} ns each")
        for way, each in times.items():
            value = statistics.median(each)
            lost = "  (events were dropped, and told)" if drops[way] else ""
            print(f"  {way:42s} {value / base:5.2f}  {(value - base) / number:+6.0f} ns a call{lost}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--program"]:
        measured(sys.argv[2])
    else:
        report((sys.argv[2:] or [sys.executable])[0], int((sys.argv[1:] or [5])[0]))
