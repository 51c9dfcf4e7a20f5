#!/usr/bin/env python3
"""What dyntrace:p/3 costs an Erlang program: off, against an empty NIF and OTP's own module; on; on 8 schedulers.

Input: nothing; builds erlang_nif/ and the peers.
Output: run.py's table. As there, every figure is the median over rounds in which all subjects are
asked in turn. Exit status 1 if a budget is exceeded.
"""

from __future__ import annotations

import argparse
import contextlib
import glob
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

import subjects
from comparison import Comparison
from run import ALL_TEN, BURST, PAUSE

NIF = os.path.join(subjects.ROOT, "erlang_nif")
NO_BUDGET = float("inf")


def erl(expression: str) -> str:
    command = ["erl", "-noshell", "-eval", f"io:put_chars({expression}), halt()."]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def build() -> str:
    """The node's modules and the empty NIF; returns their folder."""
    subprocess.run(["make", "-s", "-C", NIF], check=True)
    folder = os.path.join(subjects.BUILD, "erlang")
    sources = os.path.join(subjects.HERE, "erlang")
    os.makedirs(folder, exist_ok=True)
    include = os.path.join(erl("code:root_dir()"), "usr", "include")
    subjects.build(
        "erlang/empty_nif.so", ["erlang/empty_nif.c"], "-shared", "-fPIC", "-isystem", include
    )
    subprocess.run(
        ["erlc", "-o", folder, f"{sources}/empty_nif.erl", f"{sources}/bench_node.erl"], check=True
    )
    return folder


class Node:
    """A node with our dyntrace in the path, or, path being None, with OTP's own; more: other folders in it."""

    def __init__(
        self, folder: str, path: str | None, schedulers: int = 2, more: Sequence[str] = ()
    ):
        ours = [word for each in (path, *more) if each for word in ("-pa", each)]
        self.process = subprocess.Popen(
            [
                "erl",
                "-noshell",
                "+S",
                f"{schedulers}:{schedulers}",
                "-pa",
                folder,
                *ours,
                "-s",
                "bench_node",
                "main",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.asked = 0  # calls

    def per_call(self, operation: str, n: int, processes: int = 1) -> float:
        self.asked += n * processes * (operation == "p")
        print(operation, processes, n, file=self.process.stdin, flush=True)
        return int(self.process.stdout.readline()) / n / processes

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(timeout=30)


@contextlib.contextmanager
def traced(node: Node, script: str):
    """All arguments of the node's probes are read while the block runs, and each event arrives. One call first, which loads
    the library."""
    node.per_call("p", 10)
    tracer = subprocess.Popen(
        [subjects.PYDTRACE, "-q", "-b", "16m", "-n", script, "-p", str(node.process.pid)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while not enabled(node):
            assert tracer.poll() is None, "pydtrace has ended"
            time.sleep(0.05)
        before = node.asked
        yield
    finally:
        tracer.terminate()
        said = "".join(tracer.communicate(timeout=30))
    delivered = re.search(r"^delivered (\d+)$", said, re.MULTILINE)
    assert delivered and int(delivered[1]) >= node.asked - before and "drop" not in said, said


def enabled(node: Node) -> bool:
    """An event costs several times a call that is off."""
    return min(node.per_call("p", 100) for _ in range(5)) > 3 * min(
        node.per_call("empty", 1000) for _ in range(5)
    )


def measure_off(folder: str, rounds: int) -> list[Comparison]:
    samples: dict[str, list[float]] = {"empty": [], "ours": [], "otp": []}
    with (
        contextlib.closing(Node(folder, f"{NIF}/ebin")) as ours,
        contextlib.closing(Node(folder, None)) as otp,
    ):
        for kept in range(-5, rounds):
            figures = {
                "empty": ours.per_call("empty", 100_000),
                "ours": ours.per_call("p", 100_000),
                "otp": otp.per_call("p", 100_000),
            }
            if kept >= 0:
                for name, figure in figures.items():
                    samples[name].append(figure)
    return [
        Comparison(
            "Erlang dyntrace:p/3, off, tag set / empty NIF", 1.3, samples["ours"], samples["empty"]
        ),
        Comparison(
            "Erlang dyntrace:p/3, off, tag set / OTP's own", 0.7, samples["ours"], samples["otp"]
        ),
    ]


def measure_on(folder: str, rounds: int) -> list[Comparison]:
    on: list[float] = []
    empty: list[float] = []
    with (
        contextlib.closing(Node(folder, f"{NIF}/ebin")) as node,
        traced(node, ALL_TEN.replace("pyusdt", "erlang")),
    ):
        for _ in range(rounds):
            on.append(node.per_call("p", BURST))
            empty.append(node.per_call("empty", 10 * BURST))
            time.sleep(PAUSE)
    return [Comparison("Erlang dyntrace:p/3, on / empty NIF", NO_BUDGET, on, empty)]


def measure_parallel(folder: str, rounds: int) -> list[Comparison]:
    """Eight processes on eight schedulers; time of all for a call of one."""
    samples: dict[str, list[float]] = {"empty": [], "off": [], "on": []}
    with contextlib.closing(Node(folder, f"{NIF}/ebin", schedulers=8)) as node:
        for _ in range(rounds):
            samples["empty"].append(node.per_call("empty", 100_000, processes=8))
            samples["off"].append(node.per_call("p", 100_000, processes=8))
        with traced(node, ALL_TEN.replace("pyusdt", "erlang")):
            for _ in range(rounds):
                samples["on"].append(node.per_call("p", BURST, processes=8))
                time.sleep(8 * PAUSE)
    return [
        Comparison(
            "Erlang dyntrace:p/3, off, 8 schedulers / empty NIF",
            1.3,
            samples["off"],
            samples["empty"],
        ),
        Comparison(
            "Erlang dyntrace:p/3, on, 8 schedulers / empty NIF",
            NO_BUDGET,
            samples["on"],
            samples["empty"],
        ),
    ]


# What is switched on once for each operation of bench_node.erl.
EVENTS = {"send": "message-send", "called": "local-function-entry", "switched": "process-scheduled"}
RECON = "/usr/lib/rabbitmq/lib/rabbitmq_server-*/plugins/recon-*/ebin"  # where Debian has recon, which traces calls alone


def tell(node: Node, line: str) -> int:
    print(line, file=node.process.stdin, flush=True)
    return int(node.process.stdout.readline())


def per_event(node: Node, operation: str, rounds: int) -> list[float]:
    """Nanoseconds of an operation, in bursts that leave a tracer time to keep up."""
    found = []
    for _ in range(rounds):
        found.append(node.per_call(operation, BURST))
        time.sleep(PAUSE)
    return found


@contextlib.contextmanager
def offered(node: Node, clause: str, question: str = "armed"):
    """What the clause reads goes into a ring while the block runs; question: what the node answers with 1 when it does."""
    tracer = subprocess.Popen(
        [
            subjects.PYDTRACE,
            "-q",
            "-b",
            "16m",
            "-x",
            "engine=embedded",
            "-n",
            clause,
            "-p",
            str(node.process.pid),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while not tell(node, question):
            assert tracer.poll() is None, "pydtrace has ended"
            time.sleep(0.05)
        yield
    finally:
        tracer.terminate()
        said = tracer.communicate(timeout=30)[1]
    assert "drop" not in said, said


def measure_vm(folder: str, rounds: int) -> list[Comparison]:
    """The emulator's own probes against a tracer that is a process: what each adds to an operation."""
    found, recon = [], glob.glob(RECON)
    if not recon:
        print("left out: recon is not here (it is in Debian's rabbitmq-server)")
    with contextlib.closing(Node(folder, f"{NIF}/ebin", more=recon)) as node:
        tell(node, "offer")
        for operation, probe in EVENTS.items():
            off = statistics.median(per_event(node, operation, rounds))
            with offered(
                node, f"erlang*:::{probe} {{ @[copyinstr(arg0), copyinstr(arg1)] = count(); }}"
            ):
                ours = per_event(node, operation, rounds)
            while tell(node, "armed"):
                time.sleep(0.05)
            for tool in ("dbg", "recon") if recon and operation == "called" else ("dbg",):
                tell(node, f"{tool} {operation}")
                peer = per_event(node, operation, rounds)
                tell(node, f"{tool} none")
                found.append(
                    Comparison(
                        f"Erlang {probe} into a ring / {tool}'s tracer",
                        0.5,
                        [each - off for each in ours],
                        [each - off for each in peer],
                    )
                )
    return found


def measure_hooks(folder: str, rounds: int) -> list[Comparison]:
    """What pyusdt_instrument does in one request of Phoenix': three events of telemetry's, without telemetry itself."""
    clause = "http*:::request-done { @[copyinstr(arg0), arg1] = quantize(arg3); }"
    with contextlib.closing(Node(folder, f"{NIF}/ebin")) as node:
        tell(node, "instrument")
        empty, off = per_event(node, "empty", rounds), per_event(node, "request", rounds)
        with offered(node, clause, "wanted"):
            on = per_event(node, "request", rounds)
    return [
        Comparison("Erlang, a request of Phoenix', off / empty NIF", NO_BUDGET, off, empty),
        Comparison("Erlang, a request of Phoenix', on / empty NIF", NO_BUDGET, on, empty),
    ]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="few rounds: does it run at all?")
    rounds = 3 if options.parse_args().quick else 101
    if not shutil.which("erl"):
        print("no Erlang here: nothing measured")
        return 0
    folder = build()
    rows: list[Comparison] = []
    print(f"{'what / its peer':52} {'ns':>8} {'peer ns':>8} {'ratio':>7} {'budget':>7}")
    for measure in (measure_off, measure_on, measure_parallel, measure_vm, measure_hooks):
        for row in measure(folder, rounds):
            rows.append(row)
            print(row.row(), flush=True)
    return any(row.ratio > row.budget for row in rows)


if __name__ == "__main__":
    sys.exit(main())
