"""Each script of scripts/erl-*.d, the work that it looks at, and what it must print."""

from __future__ import annotations

import os
import re

from tests.support import harness
from tests.support.erlang_output import found

SCRIPTS = os.path.join(harness.ROOT, "scripts")


def total(output: str, heading: str) -> int:
    """Of the counts of a histogram."""
    part = output[output.index(heading) :].split("\n\n")[0]
    return sum(int(match[1]) for match in re.finditer(r"\|[@ ]* (\d+) *$", part, re.MULTILINE))


def wakeups(run, n):
    assert total(run.stdout, "nanoseconds from the first message") >= 2 * n, run


def slow_calls(run, n):
    me = re.escape(found(run, r"(<[\d.]+>) slept")[0][1])
    assert (
        len(found(run, rf" *\d\d+ ms  scripted:nap/1  {me}")) == n and "quick" not in run.stdout
    ), run


def moves(run, n):
    _, _, echo = (
        re.escape(text) for text in found(run, r"(<[\d.]+>) (<[\d.]+>) (<[\d.]+>)")[0].groups()
    )
    runs, moved = map(int, found(run, rf"\d+ +{echo} +(\d+) +(\d+)")[0].groups())
    assert runs >= n // 2 and 0 <= moved < runs, run  # one run may answer two


def births(run, n):
    assert found(run, rf"  born  vm:nap/0 +{n}") and found(run, rf"  died  nap_is_over +{n}"), run
    seconds = [(int(match[1]), int(match[2])) for match in found(run, r"(\d+) born, (\d+) died")]
    assert all(n <= sum(counts) <= n + 100 for counts in zip(*seconds, strict=True)), run


def mailbox(run, n):
    assert total(run.stdout, "clerk waited") == total(run.stdout, "clerk worked") == n + 2, run


def hot(run, _n):
    pid = re.escape(found(run, r"(<[\d.]+>) worked")[0][1])
    assert 50_000 < int(found(run, rf"\d+ +{pid} +\d+ +(\d+)")[0][1]), run


def collections(run, n):
    pid = re.escape(found(run, r"(<[\d.]+>) (<[\d.]+>)")[0][1])
    count, longest, together = map(int, found(run, rf"\d+ +{pid} +(\d+) +(\d+)  (\d+)")[0].groups())
    assert n <= count <= n + 5 and longest <= together, run


def tables(run, n):
    for call, calls in (("insert", n), ("lookup", n)):
        assert found(
            run, rf"orders +ets:{call}/2 +calls +{calls}  slow +{calls}  longest +\d+ us"
        ), run


def files(run, n):
    assert found(run, rf"order 7 +WRITE +{n} +0 +\d+ +{5 * n}") and found(
        run, r"order 7 +OPEN +1 +0 +\d+ +0"
    ), run
    assert found(run, r"- +DELETE +1 +1 +\d+ +0"), run


def traffic(run, n):
    cat, port = found(run, r"(#Port<[\d.]+>) (\d+) sent")[0].groups()
    assert found(run, rf"#Port<[\d.]+> +127\.0\.0\.1:{port} +prim_inet:send/3 +{n} +{5 * n}"), run
    assert found(run, rf"{re.escape(cat)} +cat +{n} +{5 * n}"), run


def requests(run, n):
    here, there, front, worker = found(run, r"(\d+) (\d+) (<[\d.]+>) (<[\d.]+>)")[0].groups()
    steps = [
        (here, front, "front: begins"),
        (here, worker, "worker: asks the store"),
        (there, None, "store: answers"),
        (here, front, "front: ends"),
    ]
    for i in range(1, n + 1):
        seen = [
            match.groups()
            for match in found(run, rf"order {i} +(\d+) us  node (\d+) (<[\d.]+>) +(.*)")
        ]
        assert [
            (node, pid if node == here else None, step) for _, node, pid, step in seen
        ] == steps, run
        assert sorted(int(since) for since, *_ in seen) == [int(since) for since, *_ in seen], run


# script: its arguments, module and function of programs/, how often, what it prints
CASES = {
    "erl-wakeups": ([], "vm", "messages", 30, wakeups),
    "erl-slow-calls": (["1", "scripted"], "scripted", "slow", 5, slow_calls),
    "erl-moves": ([], "vm", "schedules", 20, moves),
    "erl-births": ([], "vm", "spawns", 50, births),
    "erl-mailbox": ([], "served", "serves", 20, mailbox),
    "erl-hot": ([], "scripted", "busy", 1, hot),
    "erl-gc": ([], "vm", "collects", 20, collections),
    "erl-ets": (["0"], "vm", "tables", 20, tables),
    "erl-files": ([], "scripted", "tagged", 20, files),
    "erl-traffic": ([], "scripted", "traffic", 20, traffic),
    "erl-request": ([], "scripted", "requests", 3, requests),
}


def finds(erlang, name):
    arguments, module, function, n, check = CASES[name]
    check(
        harness.run(
            [
                harness.PYDTRACE,
                "-qZ",
                "-x",
                "engine=embedded",
                "-s",
                f"{SCRIPTS}/{name}.d",
                "-c",
                " ".join(erlang.node(function, n, module=module)),
                *arguments,
            ],
            timeout=120,
        ),
        n,
    )
