"""The Erlang application under the kernel engine: the probes of a library that the node loads itself."""

from __future__ import annotations

import os

import pytest

from tests.support import harness


@pytest.fixture
def root():
    if os.geteuid() != 0 or not os.path.exists("/sys/kernel/btf/vmlinux"):
        pytest.skip("host: not root, or a kernel without BTF")


def test_a_running_node(erlang, root):
    """Attached to before it fires: 20 rounds, all of them, with their arguments."""
    program = (
        'erlang$target:::user_trace-i4s4 { printf("%s %s %s %d %d\\n", copyinstr(arg1), copyinstr(arg6), copyinstr(arg7), '
        "arg2, arg4); } erlang$target:::user_trace-s1 { @[copyinstr(arg0)] = count(); }"
    )
    with harness.running(erlang.node("wait", 20)) as node:
        assert node.stdout.readline() == "ready\n"
        run = harness.run(
            [harness.PYDTRACE, "-q", "-x", "engine=kernel", "-n", program, "-p", str(node.pid)]
        )
        lines = run.stdout.splitlines()
        assert lines[:20] == ["GGOOOAAALL!!!!! one four 7 9"] * 20, run
        assert lines[-1].split() == ["a", "message", "20"], run
        assert harness.finish(node, 20).status == 0
