#!/usr/bin/env python3
"""What a call of a function takes more under the provider python, and under other tools, in machine instructions (callgrind).

    .venv/bin/python benchmarks/vm_instructions.py [PROGRAM … [--python PYTHON]]

Input: programs of vm_programs.py (default: all), and an interpreter that has pyusdt, and pydtrace
beside it (default: this one); valgrind; the tools of vm.txt.
Output: for each program the instructions of a call untraced, those that each way adds to it, and
that as a part of what viztracer adds. Who is left out is told on standard error, and why.

- Of the traced process alone, so a busy machine changes little; a run of three rounds less one of
  a single round, so that no start or end is in it. What the kernel does, and so a USDT tracer's
  trap, is in none of it.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys

import vm
import vm_programs

CALLGRIND = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={os.devnull}"]
RUNS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "vm_programs.py")


class Counted(vm.Interpreter):
    def ways_in(self, name: str, rounds: int) -> dict[str, list[str]]:
        program = [*CALLGRIND, self.python, RUNS, f"--rounds={rounds}", name]

        def traced(
            script: str,
        ) -> list[str]:  # a pattern: valgrind is the process that -c starts, whatever it becomes
            return [
                self.pydtrace,
                "-q",
                "-n",
                script.replace("$target", "*"),
                "-c",
                " ".join(program),
            ]

        provided = [
            *CALLGRIND,
            "--trace-children=yes",
            self.python,
            "-m",
            "pyusdt",
            *program[4:],
        ]  # it becomes the program by exec
        return {
            "untraced": program,
            vm.LOADED: provided,
            **{way: traced(script) for way, script in vm.SCRIPTS.items()},
            **{tool: [*program, tool] for tool in vm_programs.TOOLS},
        }

    def instructions(self, command: list[str]) -> int:
        run = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, check=True
        )
        return int(re.findall(r"Collected : (\d+)", run.stderr)[-1])

    def a_round(self, name: str) -> dict[str, int]:
        """Instructions of a round by each way."""
        found = {}
        many, one = self.ways_in(name, 3), self.ways_in(name, 1)
        for way in many:
            try:
                found[way] = (self.instructions(many[way]) - self.instructions(one[way])) // 2
            except (
                subprocess.CalledProcessError
            ) as error:  # a tool that this interpreter is too old or too new for
                vm.left_out(way, ((error.stderr or "").strip().splitlines() or ["failed"])[-1])
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("programs", nargs="*", default=list(vm_programs.PROGRAMS))
    parser.add_argument("--python", default=sys.executable)
    chosen = parser.parse_args()
    interpreter = Counted(chosen.python)
    for name in chosen.programs:
        found, calls = (
            interpreter.a_round(name),
            interpreter.measured([chosen.python, RUNS, name])["calls"],
        )
        base = found.pop("untraced")
        peer = found.get("viztracer", 0) - base
        print(f"{name}: {calls} calls a round, {base / calls:.0f} instructions a call untraced")
        for way, taken in found.items():
            part = f"{(taken - base) / peer:8.2f} of viztracer's" if peer > 0 else ""
            print(
                f"  {way:25} {(taken - base) / calls:+8.0f} a call  {taken / base:6.3f} of untraced {part}",
                flush=True,
            )


if __name__ == "__main__":
    main()
