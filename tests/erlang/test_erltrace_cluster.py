"""erltrace:cluster/2: three Erlang nodes and one that joins, traced from one of them as one."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import tempfile
from pathlib import Path

import pytest

from tests.support import harness

pytestmark = pytest.mark.own_processes


def test_nodes_are_traced_as_one(erlang, epmd, monkeypatch):
    """Counts, sums, distributions of all; one that joins, one that goes; END fires once; nothing is left."""
    monkeypatch.setenv("PATH", os.path.dirname(harness.PYDTRACE) + os.pathsep + os.environ["PATH"])
    left, used, others = (
        Path(tempfile.mkdtemp(prefix=f"pyusdt-cluster-{kind}-", dir="/tmp"))
        for kind in ("left", "used", "others")
    )
    others.chmod(0o755)
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(3)]
        for each, folder in zip(sockets, (left, used, others), strict=True):
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            each.bind(str(folder / "socket"))
        sockets[1].listen()
        traced_as_one(erlang)
        assert [folder.exists() for folder in (left, used, others)] == [
            False,
            True,
            True,
        ]  # a killed node's is taken away


def traced_as_one(erlang):
    done = harness.run(
        erlang.node(
            "run",
            "none",
            module="clustered",
            options=(
                "-kernel",
                "logger_level",
                "error",
                "-kernel",
                "prevent_overlapping_partitions",
                "false",
            ),
        ),
        120,
    )
    lines = done.stdout.splitlines()
    assert done.status == 0 and lines[:2] == ["counts [200]", "hosts true"], done
    assert (
        lines[2]
        == f"sum {3 * 20 * 55} avg 5.5 buckets [{{{{1,1}},60}},{{{{2,3}},120}},{{{{4,7}},240}},{{{{8,15}},180}}]"
    ), done
    assert lines[3:11] == [
        "items 60",
        "requests true",
        "first true",
        "joined true",
        "gone true",
        "ends [1]",
        "folder 1",
        "folder []",
    ], done
    for line, told in zip(
        [line for line in lines[11:] if re.match("option|none of|erltrace: ", line)],
        (
            "it is visible, or a list of nodes",
            "it is visible, or a list of nodes",
            "it is visible, or a list of nodes",
            "options nodes and pids",
            "none of these nodes is there",
            "x cannot be used by the hosts",
        ),
        strict=True,
    ):
        assert told in line, done
