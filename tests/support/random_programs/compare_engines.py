"""Runs a random program by several engines, and finds the clauses of which they print different things.

- A clause's text stands alone on its line, so that one which is refused, or whose code the kernel
  refuses to the real dtrace, is taken out and told, and the others are compared.
"""

import collections
import concurrent.futures
import functools
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading

from tests.support import paths
from tests.support.random_programs.random_clauses import Generator, probe_of
from tests.support.random_programs.random_types import ARGUMENTS

FIRES = os.path.join(paths.TESTS, "differential", "fires.py")
ORACLE = [paths.ORACLE, "dtrace"]
PYDTRACE = [os.path.join(os.path.dirname(sys.executable), "pydtrace")]
ENGINES = {
    "dtrace": ORACLE,
    "embedded": [*PYDTRACE, "-x", "engine=embedded"],
    "kernel": [*PYDTRACE, "-x", "engine=kernel"],
}
FAILED = r"dtrace: (failed to compile script.*|could not enable.*|.*BPF.*failed.*|.*(?:Traceback|bug in).*)"
SECONDS = 400
LATE = f"not done after {SECONDS} s"


def comparable(text):
    """What a clause showed, with tables of bytes as the strings that they show, up to the NUL: the real dtrace prints a
    string of trace() or of a key so if in its buffer other bytes than zeros were left behind it."""
    table = r"\n {13}0  1 .*\n((?: *[0-9a-f]+: .*(?:\n|$))+)"

    def string(match):
        data = bytes.fromhex(
            "".join(line.partition(": ")[2][:48].strip() for line in match[1].splitlines())
        )
        return (
            data.partition(b"\0")[0].decode("latin-1") if any(data) else match[0]
        )  # zeros are tracemem()'s

    found = re.sub(r"0x[0-9a-f]+ = \*", "ADDRESS = *", re.sub(table, string, text))  # print()
    return re.sub(r"\s+", " ", found)


class Output:
    """What one run showed.  shown: {number: text}; faults: [(clause's index, message)]; refusal: the message if it did
    not run, else None; line: of the script that the refusal is about, or None."""

    __slots__ = ("faults", "line", "refusal", "shown", "status")

    def __init__(self, status, stdout, stderr):
        self.status = status
        self.shown = collections.defaultdict(str)
        parts = re.split(r"(?m)^#(\d+)\|", stdout)
        for number, text in zip(parts[1::2], parts[2::2]):
            self.shown[int(number)] += comparable(text).rstrip("\n") + "\n"
        # An address below a page is NULL; the real dtrace adds where in it it looked.
        stderr = re.sub(r"invalid address \(0x[0-9a-f]{1,3}\)", "invalid address (0x0)", stderr)
        self.faults = [
            (int(index), message)
            for index, message in re.findall(
                r"error in dt_clause_(\d+) for .*?: (.*?)(?: at BPF pc \d+)?$", stderr, re.MULTILINE
            )
        ]
        log = re.findall(r"(?m)^BPF: (?!processed|stack depth|verification time)(.*)$", stderr)
        failed = re.search(FAILED, re.sub(r"(failed to compile script) \S+:", r"\1:", stderr))
        silence = None if self.shown else f"nothing but: {stderr[-500:]}"
        self.refusal = LATE if status == -signal.SIGKILL else failed[1] if failed else silence
        if self.refusal and log:
            self.refusal += f" ({'; '.join(log[-2:])})"
        line = re.search(r" line (\d+): ", self.refusal or "")
        self.line = int(line[1]) if line else None


class Target:
    """A process that fires the events of a program's clauses; with no events, none.  arguments: for the tracer."""

    def __init__(self, program, numbers):
        self.process, self.arguments = None, []
        if program.events:
            probes = sorted({0, *(probe_of(number) for number in numbers)})
            command = [sys.executable, FIRES, *map(str, probes)]
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            self.process.stdout.readline()  # it is ready
            self.arguments = ["-p", str(self.process.pid)]

    def go(self):
        if self.process:
            print("go", file=self.process.stdin, flush=True)

    def end(self):
        if self.process:
            self.process.kill()
            self.process.communicate()


def run(program, numbers, engine):
    """The Output of a program's clauses."""
    target = Target(program, numbers)
    with (
        tempfile.NamedTemporaryFile("w", suffix=".d", dir="/tmp") as file,
        tempfile.TemporaryFile("w+", errors="replace") as errors,
    ):
        file.write(program.text(numbers))
        file.flush()
        command = [*ENGINES[engine], "-w", "-s", file.name, *target.arguments, *ARGUMENTS]
        tracer = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, errors="replace"
        )
        killer = threading.Timer(SECONDS, tracer.kill)
        killer.start()
        try:
            if tracer.stdout.readline():  # BEGIN's
                target.go()
            else:
                target.end()
            shown = tracer.stdout.read()
            tracer.wait()
        finally:
            killer.cancel()
            target.end()
        errors.seek(0)
        return Output(tracer.returncode, shown, errors.read())


class Difference:
    """engine: which one differs from the reference, the real dtrace unless another was asked for; number: of the clause;
    what: in words; source: the clause."""

    def __init__(self, engine, number, what, source):
        self.engine, self.number, self.what, self.source = engine, number, what, source

    def __str__(self):
        return f"{self.engine}: clause {self.number}: {self.what}\n    {self.source}"


def accepted(program, engines):
    """(numbers that every engine runs, their Outputs, Differences): clauses that are refused are taken out, and are no
    difference where all say the same of them."""
    numbers, refused = {number for number, _ in program.clauses}, []
    while True:
        with concurrent.futures.ThreadPoolExecutor(
            2
        ) as pool:  # the real dtrace waits for half of its time
            outputs = dict(
                zip(engines, pool.map(functools.partial(run, program, frozenset(numbers)), engines))
            )
        engine, output = next(
            ((engine, output) for engine, output in outputs.items() if output.refusal), (None, None)
        )
        if engine is None:
            return numbers, outputs, refused
        if output.refusal == LATE:  # a busy machine: nothing is known of the program
            return set(), {}, []
        # The kernel refuses the real dtrace's own code, or an assertion of its own fails.
        if engine == "dtrace" and re.search("BPF program load|Assertion", output.refusal):
            print(f"halved: {output.refusal}", file=sys.stderr, flush=True)
            its = sorted(
                number for number in numbers if f"{program.probe(number)}'" in output.refusal
            ) or sorted(numbers)
            numbers -= set(its[len(its) // 2 :])
            continue
        agreed = len({each.refusal for each in outputs.values()}) == 1
        for number in blamed(program, numbers, output):
            found = Difference(
                engine, number, f"refused: {output.refusal}", source_of(program, number)
            )
            if not agreed:
                refused.append(found)
            numbers.discard(number)
        print("by all, " * agreed + str(found), file=sys.stderr, flush=True)


def blamed(program, numbers, output):
    """The numbers whose clauses a refusal is about: the line's, the probe's, or all."""
    lines = [number for number, _ in program.clauses if number in numbers]
    if output.line is not None:
        return [lines[output.line - 1 - program.head.count("\n") - 1]]
    return [number for number in numbers if f"{program.probe(number)}'" in output.refusal] or list(
        numbers
    )


def source_of(program, number):
    return "\n    ".join(line for each, line in program.clauses if each == number)


def fault_number(program, numbers, index):
    """The number of the clause with that index; the first ones are the head's."""
    lines = [number for number, _ in program.clauses if number in numbers]
    return lines[index - program.FIRST] if 0 <= index - program.FIRST < len(lines) else 0


def compare(program, engines, reference="dtrace"):
    """(the numbers of the clauses that were compared, Differences)"""
    numbers, outputs, found = accepted(program, [reference, *engines])
    faults = {}
    for engine, output in outputs.items():
        faults[engine] = collections.defaultdict(list)
        for index, message in output.faults:
            faults[engine][fault_number(program, numbers, index)].append(message)
    if not numbers:
        return numbers, found
    expected = outputs[reference]
    for engine in engines:
        output = outputs[engine]
        if output.status != expected.status:
            found.append(
                Difference(
                    engine, 0, f"exit status {output.status}, not {expected.status}", program.tail
                )
            )
        for number in sorted(numbers):
            for kind, mine, its in (
                ("prints", output.shown[number], expected.shown[number]),
                ("faults", faults[engine][number], faults[reference][number]),
            ):
                if mine != its:
                    what = f"{kind} {mine!r}, {reference} {its!r}"
                    found.append(Difference(engine, number, what, source_of(program, number)))
    return numbers, found


KINDS = {
    "numbers": 200,
    "strings": 40,
    "events": 40,
}  # clauses that the real dtrace can have of a kind


def kind_of(seed):
    """Mostly numbers: strings and events take the kernel's verifier its time."""
    return {2: "strings", 4: "events", 7: "strings"}.get(seed % 10, "numbers")


def make(seed, counts, kind, size=None, ours=False, kernel=False, only=()):
    without = ["cleanpath"] if kernel else []  # no helper of the kernel cleans paths
    generator = Generator(
        random.Random(seed), counts, kind == "events", ours, kind == "numbers", without, only
    )
    return generator.program(size or KINDS[kind])


def covered(program, numbers):
    """What of the table of coverage these clauses of a program are."""
    return collections.Counter(key for number in (0, *numbers) for key in program.covered[number])
