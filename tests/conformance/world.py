#!/usr/bin/env python3
"""Scripts of the world, unchanged, under the real dtrace and under pydtrace: a table of what each does.  As root.

    tests/conformance/world.py FOLDER [--load CMD] [--seconds N] [--of PATTERN] [--markdown FILE] [--only WORD]

FOLDER: anything with D scripts in it, at any depth: *.d, files that begin with #!…dtrace, and shell scripts that call
dtrace. Nothing of them is in this repository; docs/internals/scripts.md says what was looked at.

In two steps. First each script is compiled by both (`-e`), with the pid of the load for $1 to $9 and $target. Those that
both take are then run by both, at the same time. When neither has anything left to do the load runs (a
script of $target starts its own); then both are ended by Ctrl-C. What they printed is compared line by line, with numbers
and blanks made alike, since times and pids differ. A script that shows all of a busy machine shows each what happened while
it looked: --of says which lines are of the load, and those alone are compared, with their numbers.

With --waiting the load is a program that runs before the tracers begin: it reads the FIFO of $WORLD_GO to its end before it
does its work, and once more before it ends. Its pid is what the scripts are given, and -p. dtrace 2.0 finds the probes of
such a process under its pid alone: a provider with a pattern, as `python*`, is read as `python$target` in both, in a copy of
the script, where --targets says so.

- Both are started as /usr/sbin/dtrace in a mount namespace of the one command, in the oracle's
  chroot, since scripts name that path; so the scripts are not changed, nor is this machine.
"""

from __future__ import annotations

import argparse
import collections
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
ORACLE = os.path.join(ROOT, "tests", "oracle", "oracle")
PYDTRACE = os.path.join(ROOT, ".venv", "bin", "pydtrace")
# What `dtrace` is for a script. $1, in the namespace: a folder for the real one.
REAL = (
    'LD_PRELOAD=/opt/keep_types.so exec "{folder}/real/dtrace" -xsyslibdir=/opt/dlib {flags} "$@"'
)
OURS = 'exec {pydtrace} {flags} "$@"'
ALONE = '''mkdir -p "{0}/real" && touch "{0}/real/dtrace" && mount --bind /usr/sbin/dtrace "{0}/real/dtrace" &&
mount --bind "$0" /usr/sbin/dtrace && exec "$@"'''
COMPILING = 60  # seconds
ENDING = 60  # seconds that a tracer has to end: taking away the probes of all system calls is slow
STARTING = 40  # seconds that both have to begin
RESTING = 0.1  # seconds of work in two from which on a tracer is taken to wait


def scripts(folder: str) -> list[str]:
    """The paths of the scripts below a folder, sorted; links are not followed."""
    found = []
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            if not os.path.islink(path) and is_script(path):
                found.append(path)
    return sorted(found)


def text_of(path: str) -> str:
    with open(path, encoding="latin-1") as file:
        return file.read()


def is_script(path: str) -> bool:
    text = text_of(path)
    first = text.split("\n", 1)[0]
    if "dtrace" in first and first.startswith("#!"):
        return True
    if path.endswith(".d"):
        return "{" in text and not re.search(r"^\s*provider\s+\w+\s*\{", text, re.MULTILINE)
    shell = first.startswith("#!") and first.rstrip().endswith("sh")
    return shell and re.search(r"^\s*(/usr/s?bin/)?dtrace\s", text, re.MULTILINE) is not None


def command_of(path: str, load: str, pid: int, grabbed: bool) -> list[str]:
    """How the script is called.  grabbed: with the pid as its target."""
    text = text_of(path)
    first = text.split("\n", 1)[0]
    if first.startswith("#!") and "dtrace" in first:
        flags = first.partition("dtrace")[2].split()
        command = ["/usr/sbin/dtrace", *flags, path]
    elif first.startswith("#!"):
        return ["bash", path, *(["-p", str(pid)] if "-p PID" in text else [])]
    else:
        command = ["/usr/sbin/dtrace", "-s", path]
    if grabbed:
        command += ["-p", str(pid)]
    elif "$target" in text:
        command += ["-c", load]
    words = [int(n) for n in re.findall(r"(?<!\$)\$\$?([1-9])\b", without_comments(text))]
    return command + [str(pid)] * max(words, default=0)


def without_comments(text: str) -> str:
    return re.sub(r"(?s)/\*.*?\*/", "", text)


class Tracer:
    """One of the two commands that are called dtrace, on one script.  folder: for its own files."""

    def __init__(self, kind: str, folder: str, flags: str):
        self.folder = os.path.join(folder, kind)
        os.makedirs(self.folder, exist_ok=True)
        self.shim = os.path.join(self.folder, "dtrace")
        with open(self.shim, "w", encoding="utf-8") as file:
            line = REAL if kind == "dtrace" else OURS
            file.write(
                "#!/bin/sh\n"
                + line.format(folder=self.folder, flags=flags, pydtrace=PYDTRACE)
                + "\n"
            )
        os.chmod(self.shim, 0o755)

    def start(self, command: list[str], binds: str, cwd: str) -> subprocess.Popen[str]:
        words = [ORACLE, "run", "sh", "-c", ALONE.format(self.folder), self.shim, *command]
        environment = {**os.environ, "ORACLE_BINDS": binds}
        with open(os.path.join(self.folder, "output"), "w", encoding="latin-1") as output:
            return subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                text=True,
                env=environment,
                cwd=cwd,
                start_new_session=True,
            )

    def output(self) -> str:
        return text_of(os.path.join(self.folder, "output"))


def finish(process: subprocess.Popen[str], seconds: float, number: int = signal.SIGTERM) -> int:
    """Its exit status; after that time the signal goes to all of its processes, and at last SIGKILL."""
    for each in (number, signal.SIGKILL):
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, each)
            seconds = ENDING
    return process.wait()


def cpu_seconds(process: subprocess.Popen[str]) -> float:
    """What a command and all that it started have computed so far."""
    ticks = 0
    for name in os.listdir("/proc"):
        try:
            fields = (
                text_of(f"/proc/{name}/stat").rpartition(")")[2].split() if name.isdigit() else []
            )
        except OSError:
            continue  # it has ended
        if fields and int(fields[3]) == process.pid:  # the session that it leads
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def lines_of(output: str) -> collections.Counter[str]:
    """The lines, with numbers, blanks and distributions' bars made alike."""
    found: collections.Counter[str] = collections.Counter()
    for line in output.split("\n"):
        alike = re.sub(r"@+", "@", re.sub(r"[0-9a-f]*\d[0-9a-f.]*", "0", line))
        alike = " ".join(alike.split())
        found[alike] += bool(alike)
    return found


def common(left: str, right: str) -> float:
    """The share of the kinds of lines of both that are in both."""
    one, other = set(+lines_of(left)), set(+lines_of(right))
    return len(one & other) / len(one | other) if one | other else 1.0


def message(output: str) -> str:
    """What a refusal is about, without the script's name and place."""
    found = re.search(r"(?m)^(?:dtrace: (.*)|pydtrace: (.*)|\S+?:\d+: (.*))$", output)
    words = next(filter(None, found.groups())) if found else output.strip().split("\n")[0]
    return re.sub(
        r'^(failed to compile script \S+?: |invalid probe specifier .*?: )?("\S+", )?(line \d+: )?',
        "",
        words,
    ).strip()


class World:
    def __init__(self, options: argparse.Namespace):
        self.options, self.binds = (
            options,
            os.pathsep.join([os.path.abspath(options.folder), *options.bind]),
        )

    def row(self, path: str) -> tuple[str, str]:
        """(kind of outcome, why)"""
        with tempfile.TemporaryDirectory(dir="/tmp", prefix="world-") as folder:
            self.go = os.path.join(folder, "go")
            os.mkfifo(self.go)
            os.chmod(folder, 0o755)  # the load may be another user's
            load = (
                subprocess.Popen(
                    shlex.split(self.options.load),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env={**os.environ, "WORLD_GO": self.go},
                )
                if self.options.waiting
                else None
            )
            try:
                command = command_of(
                    self.copy(path, folder),
                    self.options.load,
                    load.pid if load else os.getpid(),
                    grabbed=bool(load),
                )
                statuses = self.both(path, folder, command, "-e", COMPILING)
                if any(status for status, _ in statuses):
                    return refused(*statuses)
                if not self.options.seconds:
                    return "compiled", ""
                return self.compared(path, folder, command)
            finally:
                if load:
                    load.kill()
                    load.wait()

    def copy(self, path: str, folder: str) -> str:
        """The script, with the target's provider in the place of a pattern if that is wanted."""
        if not self.options.targets:
            return path
        copied = os.path.join(folder, os.path.basename(path))
        with open(copied, "w", encoding="latin-1") as file:
            file.write(re.sub(rf"\b({self.options.targets})\*:", r"\1$target:", text_of(path)))
        return copied

    def both(
        self, path: str, folder: str, command: list[str], flags: str, seconds: float
    ) -> list[tuple[int, str]]:
        """[(exit status, output)] of dtrace and of pydtrace, run at the same time."""
        tracers = [Tracer(kind, folder, flags) for kind in ("dtrace", "pydtrace")]
        running = [tracer.start(command, self.binds, os.path.dirname(path)) for tracer in tracers]
        if flags != "-e":
            self.let_it_work(running)
            seconds = 0.1
        statuses = [
            finish(process, seconds, signal.SIGINT if flags != "-e" else signal.SIGTERM)
            for process in running
        ]
        return [(status, tracer.output()) for status, tracer in zip(statuses, tracers)]

    def let_it_work(self, running: list[subprocess.Popen[str]]) -> None:
        """Wait until the tracers have begun, have the load run once, and let what it did be seen."""
        until = time.monotonic() + STARTING
        spent = [-1.0]
        while time.monotonic() < until and not all(
            process.poll() is not None for process in running
        ):
            time.sleep(1)
            spent = [*spent[-2:], sum(map(cpu_seconds, running))]
            if spent[0] > 0 and spent[-1] - spent[0] < RESTING:
                break
        if self.options.waiting:
            with open(self.go, "w"):
                pass
        else:
            subprocess.run(
                shlex.split(self.options.load),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=False,
                timeout=120,
            )
        time.sleep(self.options.seconds)

    def compared(self, path: str, folder: str, command: list[str]) -> tuple[str, str]:
        (status, theirs), (our_status, ours) = self.both(
            path, folder, command, "", self.options.seconds
        )
        if self.options.keep:
            for kind, text in (("dtrace", theirs), ("pydtrace", ours)):
                with open(
                    os.path.join(self.options.keep, f"{os.path.basename(path)}.{kind}"),
                    "w",
                    encoding="latin-1",
                ) as file:
                    file.write(text)
        if status != our_status:
            return (
                "differ",
                f"exit status {our_status}, not {status}: {message(ours if our_status else theirs)}",
            )
        if self.options.of:
            left, right = (
                sorted(
                    " ".join(line.split())
                    for line in text.split("\n")
                    if re.search(self.options.of, line)
                )
                for text in (theirs, ours)
            )
            if left or right:
                return (
                    ("same" if left == right else "runs"),
                    f"of the load {len(left)} and {len(right)} lines, {len(set(left) & set(right))} the same",
                )
        one, other = lines_of(theirs), lines_of(ours)
        if not +one and not +other:
            return "silent", "neither printed anything"
        if one == other:
            return "same", f"{one.total()} lines"
        return (
            "runs",
            f"{one.total()} and {other.total()} lines, {common(theirs, ours):.0%} of their kinds in both",
        )


def refused(theirs: tuple[int, str], ours: tuple[int, str]) -> tuple[str, str]:
    (status, said), (our_status, we_said) = theirs, ours
    if status and our_status:
        return "neither", message(said) if message(said) == message(
            we_said
        ) else f"{message(said)} / ours: {message(we_said)}"
    return ("only here", message(said)) if status else ("only dtrace", message(we_said))


WORDS = {
    "same": "the same output",
    "runs": "runs",
    "silent": "runs, prints nothing",
    "differ": "another end",
    "neither": "refused by both",
    "only dtrace": "refused here",
    "only here": "refused by dtrace",
    "compiled": "taken by both",
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument(
        "--load",
        default="sh -c 'ls / >/dev/null; sleep 0.1; cat /etc/passwd >/dev/null'",
        help="what the scripts trace",
    )
    parser.add_argument(
        "--waiting",
        action="store_true",
        help="the load runs before the tracers do, and waits for them",
    )
    parser.add_argument(
        "--targets",
        help="a pattern of providers, such as python|ruby, that are the target's in a copy of the script",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=2,
        help="how long a script still runs after the load; 0: it is only compiled",
    )
    parser.add_argument(
        "--bind",
        action="append",
        default=[],
        help="a folder that the load needs, shown in the chroot",
    )
    parser.add_argument(
        "--of",
        help="a pattern of the lines that are of the load, which alone are compared, with their numbers",
    )
    parser.add_argument("--only", default="", help="only scripts whose path has this word")
    parser.add_argument("--keep", help="a folder for what both printed")
    parser.add_argument("--markdown", help="write the table to this file")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # what a shell starts in the background ignores it, and so would the tracers
    subprocess.run([ORACLE, "setup"], check=True)
    folder, world, rows = os.path.abspath(options.folder), World(options), []
    for path in scripts(folder):
        name = os.path.relpath(path, folder)
        if options.only in name:
            kind, why = world.row(path)
            rows.append(f"| {name} | {WORDS[kind]} | {why.replace('|', chr(92) + '|')} |")
            print(rows[-1], flush=True)
    if options.markdown:
        with open(options.markdown, "w", encoding="utf-8") as file:
            file.write("\n".join(["| script | | |", "| --- | --- | --- |", *rows, ""]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
