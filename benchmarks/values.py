#!/usr/bin/env python3
"""What values of Python functions cost: scripts that read them beside tools that take arguments as text.

    .venv/bin/python benchmarks/values.py [ROUNDS [PYTHON]]

Input: rounds (default 5), and an interpreter that has pyusdt (default: this one).  The tools of values.txt are
installed beside.
Output: for each program and way the nanoseconds that a call of a function takes longer than untraced, and the ratios of
docs/internals/DESIGN.md's budgets; values of 1 KB, 10,000 a second; what pyusdt dump --locals and py-spy dump --locals
take.

- All functions of a program are traced. The ways take turns within a round; a figure is the median of the rounds, each
  the best of six of the program's own processor time.
- Drops are printed: what is dropped costs less.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import time

from vm import ENTRY, Interpreter, left_out

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "values_programs.py")
ALL = ENTRY.format("")
UNMATCHED, EVENT, FALSE, INTEGERS, TEXT = (
    "no function matches",
    "an event",
    "false predicate",
    "two integers",
    "arguments as text",
)
# of variables that many functions have
PREDICATES = {"fib": "local.n > 1000"}
SCRIPTS = {
    UNMATCHED: f"{ENTRY.format('nowhere')} {{ @ = sum(arg2); }}",
    EVENT: f"{ALL} {{ @ = sum(arg2); }}",
    FALSE: f"{ALL} /PREDICATE/ {{ @ = sum(arg2); }}",
    INTEGERS: f"{ALL} {{ @ = sum(local.n + local.self); }}",
    TEXT: f"{ALL} {{ @ = sum(strlen(repr(local))); }}",
}
VIZTRACER, SETTRACE = "viztracer log_func_args", "settrace, repr"
PROGRAMS = ("fib", "richards", "django", "fastapi")
SECONDS, RATE = 4, 10_000


def make_ways(interpreter: Interpreter, name: str) -> dict[str, list[str]]:
    program = [interpreter.python, PROGRAM, name]
    predicate = PREDICATES.get(name, "local.self > 0")
    scripts = {way: text.replace("PREDICATE", predicate) for way, text in SCRIPTS.items()}
    return {
        "untraced": program,
        **{
            way: [
                interpreter.pydtrace,
                "-q",
                "-x",
                "bufsize=16m",
                "-n",
                text,
                "-c",
                " ".join(program),
            ]
            for way, text in scripts.items()
        },
        VIZTRACER: [*program, VIZTRACER],
        SETTRACE: [*program, SETTRACE],
    }


def print_program(interpreter: Interpreter, name: str, rounds: int) -> None:
    times, calls = interpreter.medians_of(make_ways(interpreter, name), rounds)
    base = times.pop("untraced")
    print(f"{name}: {calls} calls, {base / calls:.1f} ns each untraced")
    longer = {way: (each - base) / calls for way, each in times.items()}
    for way, each in longer.items():
        print(f"    {way:28} {each:9.1f} ns a call longer   {times[way] / base:7.2f} of untraced")
    for ours, peer, budget in (
        (FALSE, UNMATCHED, 1.5),
        (INTEGERS, EVENT, 1.3),
        (TEXT, VIZTRACER, 0.2),
        (TEXT, SETTRACE, None),
    ):
        if ours in times and peer in times:
            # budgets of a call are of the whole call, those of a tool of what it adds
            whole = budget is not None and budget > 1
            ratio = times[ours] / times[peer] if whole else longer[ours] / longer[peer]
            limit = (
                ""
                if budget is None
                else f"  budget {budget}: {'ok' if ratio <= budget else 'OVER'}"
            )
            print(f"    {ours} / {peer}: {ratio:.2f}{limit}", flush=True)


def print_whole_values(interpreter: Interpreter) -> None:
    """Whether all of them arrive, and what one costs the program."""
    program = f"{interpreter.python} {PROGRAM} send {SECONDS} {RATE}"
    script = "python$target::*send:function-entry { @ = count(); @size = avg(strlen(repr(local.value))); }"
    traced = [interpreter.pydtrace, "-q", "-x", "strsize=1k", "-n", script, "-c", program]
    done = subprocess.run(
        traced, env=interpreter.environment, capture_output=True, text=True, check=True
    )
    _, sent, used = re.search(r"sent (\d+) (\d+)", done.stdout)[0].split()
    alone = interpreter.output(program.split()).split()
    counted = [int(line) for line in done.stdout.splitlines() if line.strip().isdigit()]
    each, without = int(used) / int(sent), int(alone[2]) / int(alone[1])
    print(
        f"{sent} values in {SECONDS} s: {counted[0]} arrived with {counted[1]} bytes each; {done.stderr.strip() or 'no drops'}"
    )
    print(
        f"    {each - without:.0f} ns of the program's time for each ({each:.0f}, {without:.0f} untraced)"
    )


def measure_dump(command: list[str], environment: dict[str, str]) -> float:
    """Milliseconds."""
    times = []
    for _ in range(7):
        began = time.monotonic()
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        times.append((time.monotonic() - began) * 1e3)
    return statistics.median(times)


def print_dumps(interpreter: Interpreter) -> None:
    code = "def f(n, text):\n    return f(n - 1, text) if n else __import__('time').sleep(60)\nf(30, 'x' * 50)"
    spy = os.path.join(interpreter.environment["PYTHONPATH"], "bin", "py-spy")
    if not os.path.exists(spy):
        left_out("py-spy", "it is not installed")
        return
    with subprocess.Popen([interpreter.python, "-c", code]) as process:
        try:
            time.sleep(1)
            pid = str(process.pid)
            pyusdt = os.path.join(os.path.dirname(interpreter.python), "pyusdt")
            ours = measure_dump([pyusdt, "dump", "--locals", pid], interpreter.environment)
            theirs = measure_dump([spy, "dump", "--locals", "--pid", pid], interpreter.environment)
        finally:
            process.kill()
    print(
        f"a dump of 32 frames with locals: pyusdt {ours:.0f} ms, py-spy {theirs:.0f} ms, with the start of the command"
    )


def main() -> None:
    rounds = int((sys.argv[1:] or [5])[0])
    interpreter = Interpreter((sys.argv[2:] or [sys.executable])[0], "values")
    print(interpreter.output([interpreter.python, "-VV"]).strip(), flush=True)
    for name in PROGRAMS:
        print_program(interpreter, name, rounds)
    print_whole_values(interpreter)
    print_dumps(interpreter)


if __name__ == "__main__":
    main()
