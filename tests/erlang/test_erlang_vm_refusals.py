"""What a node refuses is said by the tracer, counts as its drop, and is --strict's status; too many events are dropped and counted."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import time
from collections.abc import Iterator

import pytest

from tests.support import harness

pytestmark = pytest.mark.xdist_group("erlang/test_erlang_vm")
ENTRIES = "erlang$target:refusing:price:local-function-entry"
MONITOR = "the probes of busy ports and long pauses stay off: another process, "
GO_ON = ". Start the tracer again to go on"


def make_node(erlang):
    """node(SETUP of programs/refusing.erl): context manager of a node that runs"""

    @contextlib.contextmanager
    def run(setup: str) -> Iterator:
        command = erlang.node("wait", setup, module="refusing")
        with harness.running(command, stdin=subprocess.PIPE) as started:
            assert started.stdout.readline() == "ready\n"
            yield started

    return run


node = pytest.fixture(make_node, name="node")


def is_new(erlang, release: int) -> bool:
    found = erlang.evaluate("io:put_chars(erlang:system_info(otp_release))").stdout
    return int(found) >= release


def strict(started, clause: str, seconds: float = 1.5) -> harness.Run:
    program = f"{clause} {{ @ = count(); }} tick-{int(seconds * 1000)}ms {{ exit(0); }}"
    command = [harness.PYDTRACE, "--strict", "-q", "-x", "engine=embedded", "-p", str(started.pid)]
    return harness.run([*command, "-n", program], timeout=60)


@pytest.mark.parametrize(
    ("setup", "clause", "said"),
    [
        ("none", "erlang$target:refusing:pricee:local-function-entry", "has no function refusing:pricee for local-function-entry"),
        ("none", "erlang$target:no_such_module:price:function-return", "has no module no_such_module for function-return"),
        ("none", "erlang$target:::local-function-entry", "local-function-entry of no module: name one in the clause, or modules in the option functions"),
        ("time", ENTRIES, "switched off: it has gone on for 300 ms, which the option time allows" + GO_ON),
    ],
)  # fmt: skip
def test_refusals(node, setup, clause, said):
    with node(setup) as started:
        run = strict(started, clause)
    assert run.status == 3 and run.stderr.splitlines() == [
        f"dtrace: process {started.pid}: {said}",
        "dtrace: 1 refusal by a traced process",
    ], run


@pytest.mark.parametrize(
    ("setup", "clause", "said", "release"),
    [
        ("monitor", "erlang$target:::process-long_gc", MONITOR, 28),
        ("monitor_later", "erlang$target:::process-long_gc", MONITOR, 28),
        ("tracer", ENTRIES, "1 functions are traced by another tool, or are not there, and left out: refusing:price/1", 27),
        ("tracer", "erlang$target:::process-scheduled", "1 processes are traced by another tool, and left to it", 27),
        ("clear", ENTRIES, "switched off: another tool has cleared what was traced" + GO_ON, 27),
    ],
)  # fmt: skip
def test_another_tool(erlang, node, setup, clause, said, release):
    if is_new(erlang, release):
        pytest.skip("host: trace sessions leave nothing to refuse")
    with node(setup) as started:
        run = strict(started, clause, 4)
    assert run.status == 3 and f"dtrace: process {started.pid}: {said}" in run.stderr, run


def test_what_is_there_is_not_refused(node):
    """A function, a BIF, a module that is not loaded yet, which is said at the end if nothing fired; and a tracer with other probes."""
    with node("monitor") as started:
        for clause in (ENTRIES, "erlang$target:erlang:phash2:bif-entry"):
            run = strict(started, clause)
            assert (run.status, run.stderr) == (0, ""), run
        run = strict(started, "erlang$target:xref:start:local-function-entry")
    assert run.status == 0 and run.stderr.splitlines() == [
        f"dtrace: process {started.pid} has not loaded the module xref yet, and traces xref:start as soon as it has"
    ], run


def test_all_processes(node):
    """One of many nodes that has no such function is no loss; it is said at the end if nothing fired."""
    with node("none") as started:
        # beside $target a pattern means all processes
        clause = "erlang*:refusing:pricee:local-function-entry,erlang$target:::user_trace-s1"
        run = strict(started, clause)
    assert run.status == 0, run
    assert (
        f"dtrace: process {started.pid} has no function refusing:pricee for local-function-entry"
        in run.stderr.splitlines()
    ), run


def test_a_node_that_another_node_prepared(erlang, epmd):
    """What the server logs belongs to this node, though a remote shell started it, and has gone."""
    options = ("-sname", "here@localhost", "-setcookie", "here")
    node = [
        "erl", "-noshell", *options, "-pa", erlang.ebin, "-pa", erlang.programs,
        "-eval", 'io:format("ready~n"), receive x -> x end',
    ]  # fmt: skip
    with harness.running(node) as started:
        assert started.stdout.readline() == "ready\n"
        asked = erlang.evaluate(
            "ok = erpc:call('here@localhost', pyusdt_vm, enable, [#{unsafe => true}])",
            *("-sname", "there@localhost", "-setcookie", "here"),
        )
        assert asked.status == 0, asked
        run = strict(started, "erlang$target:lists:no_such:local-function-entry")
        assert run.status == 3, run
        started.kill()
        printed = started.communicate()
    assert "this node has no function lists:no_such for local-function-entry" in "".join(printed)


def test_a_node_that_got_the_modules_as_binaries(erlang):
    """As another node loads them (code:load_binary/3), in embedded mode: the library is where a persistent term says."""
    run = erlang.evaluate(
        f'persistent_term:put({{pyusdt, priv}}, "{erlang.ebin}/../priv"),'
        ' [{module, _} = code:load_binary(list_to_atom(filename:basename(File, ".beam")), File, Binary)'
        f' || File <- filelib:wildcard("{erlang.ebin}/pyusdt*.beam"), {{ok, Binary}} <- [file:read_file(File)]],'
        ' io:format("~p ~p", [pyusdt_nif:available(), pyusdt_vm:enable()])',
        "-mode",
        "embedded",
    )
    assert run.stdout.endswith("true ok"), run


# ---- the rate ----


def until_reported(started, clause: str, *texts: str) -> harness.Run:
    """The tracer's Run, which ends when it has printed these texts, and has waited for more events."""
    command = [harness.PYDTRACE, "--strict", "-q", "-x", "engine=embedded", "-p", str(started.pid)]
    command += ["-n", f"{clause} {{ @ = count(); }} tick-60s {{ exit(0); }}"]
    read = ""
    with harness.running(command) as tracer:
        while not all(text in read for text in texts) and (line := tracer.stderr.readline()):
            read += line
        time.sleep(1)
        tracer.send_signal(signal.SIGINT)
        # not communicate(), which does not see what readline() has buffered
        read += tracer.stderr.read()
        return harness.Run(command, tracer.wait(60), tracer.stdout.read(), read)


def flood(node, clause: str) -> tuple[int, int, harness.Run]:
    """(events, drops, the tracer's Run) of one tracing of a node whose schedulers are busy with the functions."""
    with node("flood") as started:
        run = until_reported(started, clause, "switched off")
        assert f"dtrace: process {started.pid}: switched off: 2000 events in " in run.stderr, run
        assert "enable(#{rate => N})" in run.stderr and run.status == 3, run
    dropped = harness.count_drops(run.stderr)
    return int(run.stdout.split()[-1]), dropped, run


CLAUSES = [
    "erlang$target:refusing::local-function-entry",
    "erlang$target:refusing::local-function-entry,erlang$target:lists::local-function-entry,erlang$target:erl_eval::local-function-entry",
    "erlang$target:refusing::local-function-entry,erlang$target:::process-scheduled,erlang$target:::message-send",
]


@pytest.mark.parametrize("clause", CLAUSES)
@pytest.mark.parametrize("n", [1, pytest.param(20, marks=pytest.mark.long)])
def test_the_rate_holds_while_it_is_applied(node, clause, n):
    """Until everything is taken away, each event is a drop: none comes over the limit, which is 2000 in 100 ms of a scheduler.
    The event at the limit is the first drop."""
    for _ in range(n):
        events, dropped, run = flood(node, clause)
        assert events <= 64 * 2000 and dropped > 0, (events, dropped, run)


def test_each_call_over_the_rate_is_a_drop(node):
    """The node makes 10000 calls at once, in which its server cannot react: each is an event or a drop; the next calls are neither."""
    with node("burst") as started:
        run = until_reported(started, ENTRIES, "switched off")
        assert any(line == "called 10000\n" for line in started.stdout)
    events, dropped = int(run.stdout.split()[-1]), harness.count_drops(run.stderr)
    assert events + dropped == 10000 and 2000 <= events <= 64 * 2000, (events, dropped, run)


def test_the_next_tracer_begins_anew(node):
    with node("flood") as started:
        for _ in range(2):
            run = until_reported(started, CLAUSES[0], "switched off")
            assert "switched off" in run.stderr, run
        run = strict(started, "erlang$target:refusing:wait:local-function-entry")
        assert (run.status, run.stderr) == (0, ""), run


# ---- returns of loops ----


def stacks(started) -> list[int]:
    """The stacks of the processes that loop, of which one's code shows it, in words, as they are now."""
    started.stdin.write("stacks\n")
    started.stdin.flush()
    while (line := started.stdout.readline()) and not line.startswith("stacks"):
        pass
    return [int(words) for words in re.findall(r"\d+", line)]


RETURNS = (
    "erlang$target:refusing:loop:function-return,erlang$target:refusing:hidden:function-return"
)


def test_returns_of_loops_that_the_code_shows(node):
    """They are not traced, unless the node allows a function by name; its entries are."""
    with node("loop") as started:
        run = strict(started, "erlang$target:refusing:loop:function-return", 2)
        assert run.status == 3 and "the returns of refusing:loop/1 are not traced" in run.stderr, (
            run
        )
        entry = "erlang$target:refusing:loop:local-function-entry"
        run = strict(started, f"{entry} /n++ == 100/ {{ exit(0); }} {entry}", 60)
        assert run.status == 0 and int(run.stdout.split()[-1]) >= 100, run
        assert max(stacks(started)) < 20


@pytest.mark.parametrize("setup", ["loops", "depth"])
def test_returns_of_loops_are_bounded(node, setup):
    """What the code does not show, and what the node allows: the stack grows by 500 calls, and the node says so."""
    with node(setup) as started:
        said = ["the returns of refusing:hidden/1 are traced no more: <"]
        said += ["refusing:loop/1 are traced no more"] * (setup == "loops")
        run = until_reported(started, RETURNS, *said)
        assert run.status == 3 and all(text in run.stderr for text in said), run
        assert ("refusing:loop/1 are traced no more" in run.stderr) == (setup == "loops"), run
        sizes = stacks(started)
        assert 500 < sizes[1] < 500 * 12 and (sizes[0] > 500) == (setup == "loops"), sizes


def test_a_call_that_fails_is_closed(node):
    with node("loop") as started:
        program = (
            "erlang$target:refusing:fails:local-function-entry { self->n++; @entries = count(); }"
            "erlang$target:refusing:fails:function-return /self->n/ { self->n--; @returns = count(); }"
            "tick-6s { exit(0); }"
        )
        command = [harness.PYDTRACE, "--strict", "-q", "-x", "engine=embedded", "-p"]
        run = harness.run([*command, str(started.pid), "-n", program], timeout=60)
        entries, returns = map(int, run.stdout.split())
        assert run.status == 0 and entries > 100 and entries - returns in (0, 1), run
