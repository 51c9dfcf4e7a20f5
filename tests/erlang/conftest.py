"""Fixtures: the Erlang application, built; nodes; the tracers.

- What a test starts ends with the test. Without Erlang the tests are skipped, which CI does not
  allow (tests/conftest.py).
"""

from __future__ import annotations

import glob
import os
import shutil
import socket
import subprocess

import pytest

from tests.support import harness

HERE = os.path.dirname(os.path.abspath(__file__))
NIF = os.path.join(harness.ROOT, "erlang_nif")
EBIN = os.path.join(NIF, "ebin")


class Erlang:
    """ebin: the application's modules; programs: those of programs/, compiled."""

    def __init__(self, ebin: str, programs: str):
        self.ebin, self.programs = ebin, programs

    def node(
        self,
        function: str,
        *arguments: object,
        options: tuple[str, ...] = (),
        module: str = "fires",
    ) -> list[str]:
        """The command line of a node that runs a function of a module of programs/."""
        return [
            "erl",
            "-noshell",
            *options,
            "-pa",
            self.ebin,
            "-pa",
            self.programs,
            "-run",
            module,
            function,
            *map(str, arguments or ["none"]),
        ]

    def evaluate(self, expressions: str, *options: str, timeout: float = 30, **more) -> harness.Run:
        return harness.run(
            ["erl", "-noshell", *options, "-eval", expressions + ", halt()."],
            timeout=timeout,
            **more,
        )


@pytest.fixture(scope="session")
def erlang(tmp_path_factory) -> Erlang:
    if lacking := harness.tools("erl", "erlc", "make"):
        pytest.skip(f"no {lacking}")
    made = harness.run(["make", "-C", NIF], timeout=120)
    assert made.status == 0, made
    programs = tmp_path_factory.mktemp("programs")
    subprocess.run(
        [
            "erlc",
            "+debug_info",
            "-Wall",
            "-Werror",
            "-o",
            programs,
            *glob.glob(os.path.join(HERE, "programs", "*.erl")),
        ],
        check=True,
    )
    return Erlang(EBIN, str(programs))


@pytest.fixture(scope="session")
def trace(erlang):
    """trace(D program, node's command line, pydtrace's options …) -> Run, with the node's own output in front

    -Z, since the probes are there only when the node has loaded the library; the first one fired is seen still.
    """

    def run(program: str, node: list[str], *options: str, timeout: float = 60) -> harness.Run:
        tracer = [harness.PYDTRACE, "-qZ", "-x", "engine=embedded", *options]
        return harness.run([*tracer, "-n", program, "-c", " ".join(node)], timeout=timeout)

    return run


@pytest.fixture(scope="session")
def oracle():
    """oracle(ARG …, timeout=…) -> Run of tests/oracle/oracle, which sees the Erlang installation too."""
    if os.geteuid() != 0:
        pytest.skip("host: not root")
    if not os.path.exists("/sys/kernel/tracing") or not os.path.exists("/sys/kernel/btf/vmlinux"):
        pytest.skip("host: a kernel without tracefs or BTF")
    installed = harness.run(
        ["erl", "-noshell", "-eval", "io:put_chars(code:root_dir()), halt()."]
    ).stdout
    binds = ":".join([harness.ROOT, os.path.dirname(harness.ROOT), "/tmp", installed])
    environment = {**os.environ, "ORACLE_BINDS": binds}
    made = harness.run([harness.ORACLE, "setup"], timeout=900, env=environment)
    assert made.status == 0, made

    def run(*arguments: str, timeout: float = 60) -> harness.Run:
        return harness.run([harness.ORACLE, *arguments], timeout=timeout, env=environment)

    return run


@pytest.fixture
def epmd(tmp_path, monkeypatch):
    """The mapper of node names that a test's nodes share with nobody."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("ERL_EPMD_PORT", str(port))
    with harness.running(
        [
            shutil.which("epmd") or "/usr/lib/erlang/bin/epmd",
            "-port",
            str(port),
            "-address",
            "127.0.0.1",
        ]
    ):
        yield
