"""`pyusdt attach PID` of an Erlang node that was not prepared, `pyusdt detach`, and `pydtrace --attach`.

Input: a node with distribution, whose mapper of names belongs to the test.

- What a node is after `detach` is what it was before: modules, processes, threads, descriptors, atoms.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pydtrace.erlang_node.distribution import NodeConnection, list_names
from pydtrace.erlang_node.etf import Atom
from tests.support import harness

HOLD = 'F = fun F(N) -> lists:keysort(1, [{N, a}]), catch lists:keysort(0, N), timer:sleep(10), F(N + 1) end, io:format("ready~n"), F(1)'
# until the node has its breakpoint, and has called the function
CALLS = "erlang$target:lists:keysort:local-function-entry { @[probefunc] = count(); exit(0); } tick-30s { exit(1); }"
COOKIE = "kept-apart"


def pyusdt(*arguments: object, **more) -> harness.Run:
    command = [sys.executable, "-m", "pydtrace.cli.commands.main"]
    return harness.run([*command, *map(str, arguments)], timeout=60, **more)


def trace(pid: int, *options: str) -> harness.Run:
    return harness.run([harness.PYDTRACE, "-q", *options, "-n", CALLS, "-p", str(pid)], timeout=60)


@contextlib.contextmanager
def node(*options: str, before: tuple[str, ...] = (), **more):
    """A node that runs HOLD; before: the command that starts it."""
    command = [*before, "erl", "-noshell", *options, "-eval", HOLD]
    with harness.running(command, **more) as started:
        assert started.stdout.readline() == "ready\n"
        yield started


NAMED = ("-sname", "shop@localhost", "-setcookie", COOKIE)


@contextlib.contextmanager
def inside(cookie: str = COOKIE):
    """A connection, for what a node knows of itself."""
    mapper = ("127.0.0.1", int(os.environ["ERL_EPMD_PORT"]))
    port = list_names(socket.create_connection, mapper, 5)["shop"]
    with NodeConnection(("127.0.0.1", port), "localhost", cookie.encode(), 30) as connection:
        yield connection


def state(pid: int) -> dict[str, Any]:
    with inside() as connection:
        call = connection.call
        return {
            "modules": sorted(str(name) for name, _ in call("code", "all_loaded")),
            "processes": len(call("erlang", "processes")),
            "names": sorted(map(str, call("erlang", "registered"))),
            "atoms": call("erlang", "system_info", Atom("atom_count")),
            "settings": call("application", "get_all_env", Atom("pyusdt")),
            "persistent": call("persistent_term", "get", (Atom("pyusdt"), Atom("priv")), "none"),
            "threads": len(os.listdir(f"/proc/{pid}/task")),
            "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
        }


def settled(pid: int, before: dict[str, Any]) -> dict[str, Any]:
    """The node's state, once it is that of before, or after a while.  A process of OTP's own comes or goes: one is not counted."""
    for _ in range(100):
        found = state(pid)
        if abs(found["processes"] - before["processes"]) <= 1:
            found["processes"] = before["processes"]
        if found == before:
            break
        time.sleep(0.1)
    return found


@pytest.mark.parametrize("mode", ["interactive", "embedded"])
def test_nothing_is_left(erlang, epmd, mode):
    with node(*NAMED, "-mode", mode) as started:
        for command in ("attach", "detach"):
            run = pyusdt(command, started.pid)
            assert (run.status, run.stdout, run.stderr) == (0, "", ""), run
            trace(started.pid)  # the node loads modules of OTP, and learns atoms
        before = state(started.pid)
        for _ in range(5):
            for command in ("attach", "attach"):
                assert pyusdt(command, started.pid).status == 0
            assert "pyusdt_vm_server" in state(started.pid)["names"]
            run = trace(started.pid)
            assert run.stdout.split()[0] == "keysort" and run.status == 0, run
            assert pyusdt("detach", started.pid).status == 0
            assert settled(started.pid, before) == before
        run = pyusdt("detach", started.pid)
        assert run.status == 1 and "nothing was brought into it" in run.stderr, run


def test_a_tracer_brings_it_in_and_takes_it_out(erlang, epmd):
    with node(*NAMED) as started:
        run = trace(started.pid, "--attach")
        assert (run.status, run.stderr) == (0, "") and "keysort" in run.stdout, run
        assert "pyusdt_vm" not in state(started.pid)["modules"]
        assert pyusdt("attach", started.pid).status == 0
        run = trace(started.pid, "--attach")
        assert (run.status, run.stderr) == (0, ""), run
        assert "pyusdt_vm" in state(started.pid)["modules"], "what attach has brought in stays"


def listed(pid: int, description: str) -> harness.Run:
    command = [harness.PYDTRACE, "-l", "-x", "engine=embedded", "-n", description, "-p", str(pid)]
    return harness.run(command, timeout=60)


def test_functions_are_listed(erlang, epmd):
    """-l of a module's functions asks the node; a node that cannot be asked is named."""
    with node(*NAMED) as started:
        assert pyusdt("attach", started.pid).status == 0
        run = listed(started.pid, "erlang$target:lists:keys*:")
        rows = [line.split()[2:] for line in run.stdout.splitlines()[1:]]
        names = ("local-function-entry", "function-return", "global-function-entry", "bif-entry")
        assert ["lists", "keysort", names[0]] in rows and ["lists", "keysort", names[1]] in rows
        assert ["lists", "keysort", names[2]] in rows and ["lists", "keysearch", names[3]] in rows
        assert run.stderr == "" and all(row[1].startswith("keys") for row in rows), run
        run = listed(started.pid, "erlang$target:lists:no_such:bif-entry")
        assert "No probe matches description" in run.stderr, run
    enabled = ("-kernel", "logger_level", "error", "-s", "pyusdt_vm", "enable")
    with node("-pa", erlang.ebin, *enabled) as started:
        run = listed(started.pid, "erlang$target:lists:keysort:local-function-entry")
        assert "the functions of process" in run.stderr, run
        assert "without distribution" in run.stderr or "no epmd knows" in run.stderr, run


def test_functions_are_watched(erlang, epmd):
    """`pyusdt watch` brings the probes in, prints calls with results and exceptions, and takes them out."""
    command = [sys.executable, "-m", "pydtrace.cli.commands.main", "watch", "lists:keysort/2"]
    expected = {
        r"keysort\(\[1,\[\{\d+,a\}\]\]\) = \[\{\d+,a\}\]  \d+ us  from \S+",
        r"keysort\(\[0,\d+\]\) raised error: function_clause  \d+ us  from \S+",
    }
    with node(*NAMED) as started:
        with harness.running([*command, "-p", str(started.pid)]) as watching:
            while expected and (line := watching.stdout.readline()):
                expected -= {each for each in expected if re.fullmatch(each, line.strip())}
            watching.send_signal(signal.SIGINT)
            assert watching.wait(60) == 0 and not expected, (expected, watching.stderr.read())
        assert "pyusdt_vm" not in state(started.pid)["modules"]


def test_options_of_the_probes(erlang, epmd):
    with node(*NAMED) as started:
        wrong = pyusdt("attach", started.pid, "--enable", "#{no_such => 1}")
        assert wrong.status == 1 and "no options of pyusdt_vm:enable/1: [no_such]" in wrong.stderr
        wrong = pyusdt("attach", started.pid, "--enable", "#{")
        assert wrong.status == 1 and "no Erlang term" in wrong.stderr, wrong
        assert "pyusdt_vm" not in state(started.pid)["modules"]
        run = pyusdt("attach", started.pid, "--enable", "#{unsafe => true}")
        assert run.status == 0, run
        with inside() as connection:
            assert "process-spawn" in connection.call("pyusdt_vm", "info")[Atom("given")]


def test_a_node_with_the_application_keeps_it(erlang, epmd):
    with node(*NAMED, "-pa", erlang.ebin, "-mode", "embedded") as started:
        assert pyusdt("attach", started.pid).status == 0
        assert "keysort" in trace(started.pid).stdout
        assert pyusdt("detach", started.pid).status == 0
        after = state(started.pid)
        assert "pyusdt_vm" in after["modules"] and "pyusdt_vm_server" not in after["names"]
        with inside() as connection:
            assert connection.call("pyusdt_vm", "enable") == "ok"
        assert pyusdt("attach", started.pid).status == 0
        run = pyusdt("detach", started.pid)
        assert "nothing was brought into it" in run.stderr, run
        assert "pyusdt_vm_server" in state(started.pid)["names"], "the node has enabled it itself"


def test_a_process_that_runs_the_code_is_not_killed(erlang, epmd):
    with node(*NAMED) as started:
        assert pyusdt("attach", started.pid).status == 0
        with inside() as connection:
            (pid, _), _ = connection.call("erltrace_cluster", "start", Atom("visible"))
            run = pyusdt("detach", started.pid)
            assert run.status == 1 and "processes run code of [erltrace_cluster]" in run.stderr, run
            run = pyusdt("attach", started.pid)
            assert run.status == 1 and "processes run code of" in run.stderr, run
            assert connection.call("erlang", "is_process_alive", pid) is True
            connection.call("erlang", "exit", pid, Atom("kill"))
        assert pyusdt("detach", started.pid).status == 0
        assert "erltrace_cluster" not in state(started.pid)["modules"]


# ---- the way in ----


def test_the_cookie_of_the_user(erlang, epmd, tmp_path):
    (tmp_path / ".erlang.cookie").write_text(COOKIE)
    (tmp_path / ".erlang.cookie").chmod(0o400)
    environment = {**os.environ, "HOME": str(tmp_path)}
    with node("-sname", "shop@localhost", env=environment) as started:
        run = pyusdt("attach", started.pid)
        assert run.status == 0, run
        run = pyusdt("detach", "--node", "shop@localhost", env=environment)
        assert run.status == 0, run


def test_a_name_and_a_cookie_of_run_time(erlang, epmd, tmp_path):
    """As Elixir's Node.start() gives them."""
    (tmp_path / "cookie").write_text(COOKIE + "\n")
    start = (
        "{ok, _} = net_kernel:start(['shop@localhost', shortnames]),"
        f" true = erlang:set_cookie('{COOKIE}')"
    )
    with node("-eval", start, env={**os.environ, "HOME": str(tmp_path)}) as started:
        run = pyusdt("attach", started.pid)
        assert run.status == 1 and "the Erlang node has another cookie" in run.stderr, run
        assert "--cookie-file FILE" in run.stderr
        run = pyusdt("attach", started.pid, "--cookie-file", tmp_path / "cookie")
        assert run.status == 0, run


def test_a_node_by_its_name(erlang, epmd, tmp_path):
    (tmp_path / "cookie").write_text(COOKIE)
    options = ("--cookie-file", tmp_path / "cookie")
    with node(*NAMED) as started:
        run = pyusdt("attach", "--node", "shop@localhost", *options)
        assert run.status == 0, run
        assert "keysort" in trace(started.pid).stdout
        assert pyusdt("detach", "--node", "shop@localhost", *options).status == 0
        for name, said in (
            ("stop@localhost", "knows no node stop"),
            ("shop@127.0.0.1", "the node there calls itself shop@localhost"),
            ("shop", "is not the name of a node"),
        ):
            run = pyusdt("attach", "--node", name, *options)
            assert run.status == 1 and said in run.stderr, run


def test_a_node_without_distribution(erlang, epmd):
    with node() as started:
        run = pyusdt("attach", started.pid)
        assert run.status == 1 and "is an Erlang node without distribution" in run.stderr, run
        assert "hint: start it with -sname NAME" in run.stderr


def test_a_folder_without_the_application(erlang, epmd, tmp_path):
    with node(*NAMED) as started:
        run = pyusdt("attach", started.pid, "--erlang", tmp_path)
        assert run.status == 1 and "has no Erlang application" in run.stderr, run
    run = pyusdt("attach")
    assert run.status == 2 and "no process is named" in run.stderr, run


def test_another_users_node(erlang, epmd, monkeypatch):
    """The one user may not attach to the other's; root may, and the node loads what its own user may read."""
    if os.geteuid() != 0:
        pytest.skip("host: not root")
    monkeypatch.delenv("PYUSDT_RUNDIR", raising=False)  # the other user may not write there
    as_other = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    with node(
        *NAMED, before=as_other, cwd="/", env={**os.environ, "HOME": "/nonexistent"}
    ) as started:
        assert pyusdt("attach", started.pid).status == 0
        assert "keysort" in trace(started.pid).stdout
        assert pyusdt("detach", started.pid).status == 0
        left = [name for name in os.listdir("/tmp") if name.startswith(".pyusdt-")]
        assert [name for name in left if os.stat(f"/tmp/{name}").st_uid == 65534] == []
    with node(*NAMED) as started:
        run = harness.run(
            [
                *as_other,
                sys.executable,
                "-m",
                "pydtrace.cli.commands.main",
                "attach",
                str(started.pid),
            ],
            cwd="/",
        )
        assert run.status == 1 and (
            "no right to trace it" in run.stderr or "Permission" in run.stderr
        ), run


def test_a_container(erlang, tmp_path):
    """A network, and a file system without pyusdt, of its own; its mapper of names at the usual port."""
    if os.geteuid() != 0:
        pytest.skip("host: not root")
    if lacking := harness.tools("unshare", "ip", "epmd"):
        pytest.skip(f"no {lacking}")
    start = (
        f"ip link set lo up; mount -t tmpfs tmpfs {harness.ROOT}/erlang_nif; mount -t tmpfs tmpfs /tmp;"
        f" exec erl -noshell -sname shop@localhost -setcookie {COOKIE} -eval '{HOLD}'"
    )
    environment = {name: value for name, value in os.environ.items() if name != "ERL_EPMD_PORT"}
    command = ["unshare", "-mn", "--kill-child", "-f", "sh", "-ec", start]
    with harness.running(command, env=environment, cwd="/") as started:
        assert started.stdout.readline() == "ready\n"
        (pid,) = Path(f"/proc/{started.pid}/task/{started.pid}/children").read_text().split()
        run = pyusdt("attach", pid)
        assert run.status == 0, run
        assert "keysort" in trace(int(pid)).stdout
        assert os.listdir(f"/proc/{pid}/root/tmp") == []
        assert pyusdt("detach", pid).status == 0
        _end_mapper(started.pid)


def _end_mapper(holder: int) -> None:
    """The epmd that erl has started in the other network."""
    net = os.readlink(f"/proc/{holder}/ns/net")
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if (
                Path(f"/proc/{name}/comm").read_text() == "epmd\n"
                and os.readlink(f"/proc/{name}/ns/net") == net
            ):
                os.kill(int(name), 15)


def test_a_mix_release(erlang, epmd, tmp_path):
    """In embedded mode, with a cookie and a name of the release's own."""
    if lacking := harness.tools("mix"):
        pytest.skip(f"no {lacking}")
    environment = {**os.environ, "HOME": str(tmp_path), "MIX_ENV": "prod", "LC_ALL": "C.UTF-8"}
    made = harness.run(["mix", "new", "shop", "--sup"], cwd=tmp_path, env=environment, timeout=60)
    assert made.status == 0, made
    made = harness.run(
        ["mix", "release", "--quiet"], cwd=tmp_path / "shop", env=environment, timeout=120
    )
    assert made.status == 0, made
    command = [str(tmp_path / "shop/_build/prod/rel/shop/bin/shop"), "start"]
    environment |= {"RELEASE_NODE": "shop@localhost", "RELEASE_COOKIE": COOKIE}
    with harness.running(command, env=environment) as started:
        harness.wait_until(lambda: pyusdt("attach", started.pid).status == 0)
        with inside() as connection:
            assert connection.call("pyusdt_nif", "available") is True
        assert pyusdt("detach", started.pid).status == 0
