"""`pyusdt profile PID` of an Erlang node: shares of functions, processes and callbacks; what the node is afterwards.

Input: programs/profiled.erl in a node with distribution, whose mapper of names belongs to the test.
"""

from __future__ import annotations

import contextlib
import gzip
import re
import signal
import sys
import time

import pytest

from pydtrace.attach.beam_sampler import BeamSampler, BeamSamples
from pydtrace.cli.commands.profile_erlang import find_callback, format_function
from pydtrace.erlang_node.etf import Atom
from pydtrace.profile import pprof_schema
from tests.erlang.test_erlang_attach import NAMED, inside, pyusdt, settled, state
from tests.support import harness

SECONDS = 1


@contextlib.contextmanager
def node(erlang, function: str = "main", argument: int = 20):
    command = ["erl", "-noshell", *NAMED, "-pa", erlang.programs]
    with harness.running([*command, "-run", "profiled", function, str(argument)]) as started:
        assert started.stdout.readline() == "ready\n"
        yield started


def profile(pid: int, *options: str) -> harness.Run:
    return pyusdt("profile", "-d", SECONDS, *options, pid)


def share(run: harness.Run, pattern: str) -> float:
    """In percent, the first number of the line."""
    found = re.search(rf"^ *([\d.]+)% .*{pattern}", run.stdout, re.MULTILINE)
    return float(found[1]) if found else 0.0


@pytest.mark.parametrize("others", [20, pytest.param(2000, marks=pytest.mark.more)])
def test_shares(erlang, epmd, others):
    """Of 2,000 processes a round looks at 600, and at those that run; the shares are the same."""
    with node(erlang, argument=others) as started:
        run = profile(started.pid)
    heavy, light = share(run, r"profiled:heavy/1"), share(run, r"profiled:light/1")
    assert run.status == 0 and heavy > 0 and light > 0, run
    assert 0.6 < heavy / (heavy + light) < 0.9, run
    assert "(pyusdt_profile)" not in run.stdout, run
    assert share(run, r"shop$") > 50 and share(run, r"profiled:handle_call/3$") > 50, run
    scope = run.stdout.splitlines()[-2]
    assert ("each of them in each round" in scope) == (others == 20), run
    assert "those that seldom run are estimated" in scope or others == 20, run


def test_flame_graph_labels_and_folded_stacks(erlang, epmd, tmp_path):
    with node(erlang) as started:
        page, pprof = tmp_path / "flame.html", tmp_path / "node.pb.gz"
        run = profile(
            started.pid, "--folded", "--lines", "--threads", "--tasks",
            "--flamegraph", str(page), "--pprof", str(pprof),
        )  # fmt: skip
    row = re.search(
        r"^shop, callback profiled:handle_call/3;proc_lib:.*;profiled:handle_call/3 \(.*profiled\.erl:\d+\);profiled:heavy/1 \(.*:\d+\).* \d+$",
        run.stdout, re.MULTILINE,
    )  # fmt: skip
    assert run.status == 0 and row, run
    assert "not seen: the functions of C" in run.stderr and "not seen" not in run.stdout
    assert "profiled:heavy/1" in page.read_text()
    message = pprof_schema.load_profile_message()()
    message.ParseFromString(gzip.decompress(pprof.read_bytes()))
    strings = message.string_table
    labels = [
        {strings[each.key]: strings[each.str] for each in sample.label} for sample in message.sample
    ]
    wanted = {"thread": "shop", "callback": "profiled:handle_call/3"}
    assert any(wanted.items() <= each.items() for each in labels), labels


@pytest.mark.more
def test_deep_stacks_are_cut(erlang, epmd):
    with node(erlang, "deep", 500) as started:
        run = profile(started.pid, "--frames", "10")
        assert re.search(
            r"^\d+ samples? of stacks that were deeper than --frames", run.stdout, re.MULTILINE
        ), run
        run = profile(started.pid)
        assert "deeper than --frames" in run.stdout, run


def depth() -> int:
    with inside() as connection:
        before = connection.call("erlang", "system_flag", Atom("backtrace_depth"), 8)
        connection.call("erlang", "system_flag", Atom("backtrace_depth"), before)
        return before


def test_nothing_is_left(erlang, epmd):
    """Also of a tracer that is killed."""
    command = [sys.executable, "-m", "pydtrace.cli.commands.main", "profile"]
    with node(erlang) as started:
        assert profile(started.pid).status == 0  # the node learns atoms
        before = state(started.pid)
        assert "pyusdt_profile" not in before["modules"] and depth() == 8
        assert profile(started.pid).status == 0
        assert settled(started.pid, before) == before and depth() == 8
        for kind in (signal.SIGKILL, signal.SIGINT):
            with harness.running([*command, str(started.pid)]) as sampling:
                while depth() == 8:
                    time.sleep(0.05)
                assert "pyusdt_profile" in state(started.pid)["names"]
                sampling.send_signal(kind)
                sampling.wait(30)
                out = sampling.stdout.read()
            assert ("profiled:heavy/1" in out) == (kind == signal.SIGINT)
            assert settled(started.pid, before) == before and depth() == 8


@pytest.mark.more
def test_beside_attach(erlang, epmd):
    """What `pyusdt attach` has brought in stays, and can be brought in meanwhile."""
    with node(erlang) as started:
        assert pyusdt("attach", started.pid).status == 0
        assert profile(started.pid).status == 0
        assert "pyusdt_profile" in state(started.pid)["modules"]
        assert pyusdt("detach", started.pid).status == 0
        sampler = BeamSampler(started.pid, 5, "", 64, False)
        try:
            assert pyusdt("attach", started.pid).status == 0
            busy = profile(started.pid)
            assert busy.status == 1 and "is connected to it" in busy.stderr, busy
        finally:
            sampler.close()
        assert pyusdt("detach", started.pid).status == 0
        assert "pyusdt_process_name" not in state(started.pid)["modules"]


def test_errors(erlang, epmd):
    with harness.running(["erl", "-noshell", "-eval", 'io:format("ready~n")']) as started:
        assert started.stdout.readline() == "ready\n"
        run = profile(started.pid)
        assert run.status == 1 and (
            "without distribution" in run.stderr or "no epmd" in run.stderr
        ), run
        for option in ("--gil", "--native"):
            run = profile(started.pid, option)
            assert run.status == 2 and f"{option} is for Python" in run.stderr, run


COUNTS = dict.fromkeys(("rounds", "missed", "processes", "looked", "cut", "unread"), 0)


@pytest.mark.parametrize(
    "answer",
    [
        ("error", "ended"),
        {},
        {**COUNTS, "rounds": -1},
        {**COUNTS, "samples": [(b"shop", [], "many")]},
        {**COUNTS, "samples": [("shop", [], 1)]},
        {**COUNTS, "samples": [(b"shop", [("lists", "sort")], 1)]},
        {**COUNTS, "samples": [(b"shop", [("lists", "sort", 1.5, "", 0)], 1)]},
    ],
)
def test_answers_are_untrusted(answer):
    with pytest.raises(ValueError, match=r"the node gives no|has ended"):
        BeamSamples(answer)


def test_callbacks():
    def frames(*texts):
        return [(*text.split(":"), 3, "", 0) for text in texts]

    shop = frames(
        "lists:sort",
        "shop:price",
        "shop:handle_call",
        "gen_server:try_handle_call",
        "proc_lib:init_p",
    )
    assert find_callback(shop)[1] == "handle_call"
    assert find_callback(frames("lists:sort", "shop:loop")) is None
    assert find_callback(frames("gen_server:loop", "proc_lib:init_p")) is None
    assert find_callback([]) is None
    assert format_function(("Elixir.Shop.Cart", "add!", 1, "", 0)) == "Shop.Cart.add!/1"
