"""erltrace from outside: who dies how, and the dtrace engine. The rest is erlang_nif/test/erltrace_SUITE.erl."""

from __future__ import annotations

import os
import re
import signal
import sys
import time

import pytest

from tests.support import harness, mounts

TRACED = (
    '{ok, H} = erltrace:open(#{%s}), ok = erltrace:compile(H, "erlang$target:::user_trace-i4s4 { trace(arg2); @ = sum(arg2); }"),'
    " ok = erltrace:go(H), {links, L} = process_info(H, links),"
    " [P] = [P || P <- L, is_port(P)], {os_pid, Pid} = erlang:port_info(P, os_pid),"
)


@pytest.fixture
def path(monkeypatch):
    monkeypatch.setenv("PATH", os.path.dirname(harness.PYDTRACE) + os.pathsep + os.environ["PATH"])


def is_there(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + 30
    while is_there(pid):
        assert time.monotonic() < deadline, f"{pid} is still there"
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_orphan_of_a_killed_node(erlang, path, number):
    """pydtrace ends, and takes its session back: the run directory has none of it."""
    command = [
        "erl",
        "-noshell",
        "-pa",
        erlang.ebin,
        "-eval",
        TRACED % "" + 'io:format("~w~n", [Pid]), receive never -> ok end.',
    ]
    with harness.running(command) as node:
        tracer = int(node.stdout.readline())
        assert is_there(tracer)
        os.kill(node.pid, number)
        node.wait(timeout=30)
        wait_until_gone(tracer)
    assert not [name for name in os.listdir(os.environ["PYUSDT_RUNDIR"]) if name.endswith(".area")]


NEWS = """{ok, H} = erltrace:script("%s:::user_trace-i4s4 { trace(arg2); }"), ok = erltrace:go(H), true = dyntrace:p(7),
    timer:sleep(300), {ok, Items} = erltrace:consume(H), io:format("~p ~p~n", [length([7 || {probe, _, 7} <- Items]),
    [Text || {error, Text} <- Items]])"""


@pytest.mark.parametrize("provider, told", [("erlang$target", False), ("erlang*", True)])
def test_news_of_others_directories(erlang, path, monkeypatch, provider, told):
    """What is wrong with another user's directory is nothing to who traces his own node: a message more than he waits for.  In
    a mount namespace, with nobody's directories but these."""
    if os.geteuid() != 0:
        pytest.skip("host: not root")
    monkeypatch.delenv("PYUSDT_RUNDIR")
    place = f"{mounts.empty('/dev/shm', '/tmp')} && mkdir -m 755 /dev/shm/pyusdt-54321"
    evaluated = f"true = dyntrace:available(), {NEWS % provider}, halt()."
    run = harness.run(
        [
            "unshare",
            "-m",
            "sh",
            "-c",
            f'{place} && exec "$@"',
            "sh",
            "erl",
            "-noshell",
            "-pa",
            erlang.ebin,
            "-eval",
            evaluated,
        ]
    )
    assert run.stdout.startswith("1 ") and ("uid 54321" in run.stdout) == told, run
    assert told or run.stdout == "1 []\n", run


def test_example_takes_what_comes_in_one_message(erlang, path, monkeypatch, tmp_path):
    """Each item twice, as if something else had come with it: the example waited for a message of just one."""
    (tmp_path / "pydtrace").write_text(
        f"#!{sys.executable}\n"
        + """import sys
from pydtrace.erltrace_port import port, port_session as session
add = session.Session._queue_term
session.Session._queue_term = lambda self, term: (add(self, (port.Atom("error"), "news")), add(self, term))
sys.exit(port.main())
"""
    )
    (tmp_path / "pydtrace").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    run = harness.run(["escript", "examples/own_node.escript"], timeout=30, cwd=harness.ROOT)
    assert run.status == 0 and run.stdout.endswith("12 of quince\n"), run


@pytest.mark.long  # the real dtrace takes its time to let go of a node
def test_dtrace_engine(erlang, path, oracle, monkeypatch):
    """The same calls, and the same answers."""
    monkeypatch.setenv("PYUSDT_DTRACE", f"{harness.ORACLE} dtrace")
    monkeypatch.setenv(
        "ORACLE_BINDS", os.pathsep.join([harness.ROOT, "/tmp", os.path.dirname(erlang.ebin)])
    )
    options = 'options => #{"engine" => "dtrace"}, pids => self'
    run = erlang.evaluate(
        "true = dyntrace:available(), "
        + TRACED % options
        + " [begin dyntrace:p(7), timer:sleep(20) end || _ <- lists:seq(1, 50)],"
        " timer:sleep(500), {ok, [{probe, Probe, 7} | _]} = erltrace:consume(H), ok = erltrace:stop(H),"
        ' {ok, [{sum, [], Sum}]} = erltrace:walk(H), io:format("~p ~p~n", [Probe, Sum rem 7])',
        "-pa",
        erlang.ebin,
        timeout=180,
    )
    assert re.fullmatch(
        r'\["erlang\d+",".*","user_trace-i4s4"\] 0\n', run.stdout.replace("\n ", "")
    ), run
