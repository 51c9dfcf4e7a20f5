"""Each script of scripts/ over a program that has the problem it is about (shop.py)."""

import glob
import os
import re
import subprocess
import sys

import pytest

from pydtrace.engine.dtrace.output_items import Distribution
from pydtrace.engine.dtrace.output_parser import Parser

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPTS = os.path.join(HERE, os.pardir, os.pardir, "scripts")
NAMES = sorted(os.path.basename(path)[:-2] for path in glob.glob(os.path.join(SCRIPTS, "*.d")))
PYDTRACE = os.path.join(os.path.dirname(sys.executable), "pydtrace")


def bar(value, count):
    """A histogram's line with this count."""
    return rf"^ +{value} \|@*  *{count} *$"


class Slow:
    """At least so many values from `low` on, in the histograms of a key (None: of any).  A busy machine makes them slower."""

    def __init__(self, key, low, count):
        self.key, self.low, self.count = key, low, count

    def check(self, output):
        parser = Parser()
        items = parser.feed(output.encode()) + parser.close()
        counts = [
            count
            for item in items
            if isinstance(item, Distribution) and (self.key is None or self.key in item.keys)
            for label, count in item.buckets
            if isinstance(label, int) and label >= self.low
        ]
        assert sum(counts) >= self.count, f"{self.key} from {self.low}\n{output}"


CASES = {  # script: (part of shop.py, arguments, regular expressions that the output has, in this order, and Slow ones)
    "latency-by-route": ("operations", [], [Slow("/slow", 16, 3)]),
    "percentiles": ("operations", [], [Slow("/slow", 20, 3)]),
    "slow-calls": (
        "operations",
        ["20"],
        [r"^ +\d\d+ ms  /slow  order 10$", r"^ +\d\d+ ms  /slow  order 12$"],
    ),
    "slowest": ("operations", [], [r"^  /slow +order 1[012] +\d\d+ ms$"] * 3),
    "errors": ("operations", [], [r"^  /broken +500 +3$", r"^operations: 15, failed: 3 \(20 %\)$"]),
    "throughput": ("operations", [], [r"in all: 15$"]),
    "in-flight": (
        "overlapping",
        [],
        [r"running when another starts", bar(5, 1), r"most at once +5$"],
    ),
    "unfinished": ("overlapping", [], [r"^  /a +0$", r"^  /lost +1$"]),
    "sizes": ("operations", [], [r"/index.html +average +500  largest +900  in all +4500$"]),
    "satisfaction": (
        "operations",
        ["5"],
        [r"^satisfied 12, tolerating 0, frustrated 3: apdex 0\.80$"],
    ),
    "before-the-error": (
        "operations",
        [],
        [r"^/slow start$", r"^/slow end 200$", r"^/broken start$", r"^/broken end 500$"],
    ),
    "pauses": ("operations", [], [r"milliseconds between", Slow(None, 16, 3)]),
    "who": ("operations", [], [r"^  python\S* +\d+  <\d+\.\d+> +30$"]),
    "startup": (
        "operations",
        [],
        [
            r"^ +0 ms  probe user_trace-i4s4     0 /index.html$",
            r"probe user_trace-i4s4     1 /broken",
        ],
    ),
    "queue-depth": ("queue", [], [r"^  jobs ", bar(0, 19), bar(30, 1), r"^  jobs +deepest +30$"]),
    "queue-wait": ("queue", [], [Slow("jobs", 16, 30)]),
    "cache-hits": (
        "cache",
        [],
        [r"^  users +asked +10  hits +8$", r"^missed most:$", r"^  users +user 9 +2$"],
    ),
    "retry-storms": (
        "retries",
        ["3"],
        [
            r"^payment: attempt 3 after error 503$",
            r"^payment: attempt 5 after error 503$",
            r"^  payment +error 503: 3 late attempts$",
        ],
    ),
    "message-latency": ("messages", [], [Slow("orders", 16, 2)]),
    "py-func-time": (
        "code",
        [],
        [
            r"^microseconds, exclusive$",
            r"^  __main__\.code\.<locals>\.lookup +\d{5,}$",
            r"^microseconds, inclusive$",
            r"^  __main__\.code\.<locals>\.basket +\d{5,}$",
        ],
    ),
    "py-func-slower": (
        "code",
        ["20"],
        [r"^ +\d\d+ ms  __main__\.code\.<locals>\.lookup  \S+shop\.py:\d+$"],
    ),
    "py-lines": ("code", [], [r"^  \S+shop\.py:\d+ +255$"]),
    "py-exceptions": ("code", [], [r"^  LookupError +__main__\.code\.<locals>\.failing:\d+ +4$"]),
    "py-gc": (
        "code",
        [],
        [
            r"^microseconds that a collection of generation 2 took",
            r"^generation 2: \d+ objects collected$",
        ],
    ),
    "py-alloc": ("code", [], [r"^  LookupError +4 +\d+$", r"^where$"]),
    "py-imports": ("code", [], [r"^  colorsys +\d+ us$"]),
    "py-tasks": (
        "tasks",
        [],
        [
            r"^  tasks\.<locals>\.blocks +\d{5,} +2 +\d{5,}$",
            r"^  tasks\.<locals>\.blocks +Task-4 +\d\d+ ms$",
        ],
    ),
    "py-tasks-forgotten": (
        "tasks",
        [],
        [
            r"^  tasks\.<locals>\.fails +1  LookupError +1$",
            r"^  tasks\.<locals>\.blocks +0$",
            r"^  tasks\.<locals>\.endless +1$",
        ],
    ),
    "py-waits": (
        "waits",
        [],
        [
            r"^milliseconds, waits, in which call, of which line$",
            r"^ +\d\d+ +2\n(Semaphore\.)?acquire .*\n(waits\.<locals>\.)?take \(\S+shop\.py:\d+\)$",
        ],
    ),
    "py-awaits": (
        "awaits",
        [],
        [
            r"^ +\d\d+ +2  (awaits\.<locals>\.)?fetch > sleep > _asyncio\.Future$",
            r"^ +\d\d+ +1  (awaits\.<locals>\.)?main > (awaits\.<locals>\.)?main > (awaits\.<locals>\.)?page$",
        ],
    ),
    "py-flow": (
        "code",
        ["code.<locals>.basket"],
        [
            r"^-> __main__\.code\.<locals>\.basket$",
            r"^  -> __main__\.code\.<locals>\.lookup$",
            r"^  <- __main__\.code\.<locals>\.lookup  shop\.py:\d+$",
            r"^<- __main__\.code\.<locals>\.basket  shop\.py:\d+$",
        ],
    ),
}


def run(name):
    part, arguments, _ = CASES[name]
    command = [
        PYDTRACE,
        "-q",
        "-s",
        os.path.join(SCRIPTS, name + ".d"),
        "-c",
        f"{sys.executable} {os.path.join(HERE, 'shop.py')} {part}",
        *arguments,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    return done


SINCE = {"py-alloc": (3, 13)}  # the version of CPython that has its probes first


@pytest.mark.parametrize("name", CASES)
def test_finds_the_problem(name):
    if sys.version_info < SINCE.get(name, (3, 10)):
        pytest.skip(f"host: CPython before {'.'.join(map(str, SINCE[name]))}")
    done = run(name)
    at = 0
    for expression in CASES[name][2]:
        if isinstance(expression, Slow):
            expression.check(done.stdout)
            continue
        match = re.compile(expression, re.MULTILINE).search(done.stdout, at)
        assert match, f"{expression}\n{done.stdout}\n{done.stderr}"
        at = match.end()


def test_every_script_has_a_case_and_says_what_it_is_for():
    elsewhere = {
        "latency",
        "latency-percentiles",
        "failures",
        "queries",
        "request-lines",  # tests/integration/test_why.py
    }  # test_scripts_command.py; and tests/erlang/test_erlang_scripts.py
    assert [name for name in NAMES if not name.startswith("erl-")] == sorted({*CASES, *elsewhere})
    assert len(NAMES) >= 15
    with open(os.path.join(SCRIPTS, "README.md")) as file:
        readme = file.read()
    for name in NAMES:
        with open(os.path.join(SCRIPTS, name + ".d")) as file:
            comment = file.read().partition("*/")[0]
        assert f"pydtrace -q -s scripts/{name}.d" in comment
        assert "Prints, for instance:" in comment
        assert f"[{name}.d]({name}.d)" in readme


def test_a_quiet_program_gives_no_bars():
    """The cases above can fail: without the slow operations nothing is that slow."""
    command = [
        PYDTRACE,
        "-q",
        "-s",
        os.path.join(SCRIPTS, "latency-by-route.d"),
        "-c",
        f"{sys.executable} {os.path.join(HERE, 'shop.py')} overlapping",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    with pytest.raises(AssertionError, match="/slow from 16"):
        Slow("/slow", 16, 1).check(done.stdout)
