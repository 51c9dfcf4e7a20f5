"""The engine of many hosts: bounds on what waits, and a thousand simulated hosts."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from pydtrace.hosts import engine as remote
from pydtrace.hosts.connection import HostError
from tests.support.paths import ROOT

pytestmark = pytest.mark.own_processes


def test_lines_of_many_hosts_that_wait_have_a_bound(monkeypatch):
    """The host with most of them is given up, the others go on."""
    monkeypatch.setattr(remote, "_WAITING_LIMIT", 1000)
    engine = SimpleNamespace(
        _waiting=0,
        _hosts=[],
        _give_up_host=lambda host, why: (given_up.append(host), host.drop_epoch()),
    )
    given_up = []
    engine._hosts = [SimpleNamespace(waiting_bytes=0) for _ in range(3)]
    for host in engine._hosts:
        host.drop_epoch = lambda host=host: setattr(host, "waiting_bytes", 0)
    one, two, three = engine._hosts
    one.waiting_bytes, two.waiting_bytes = 500, 400
    remote.RemoteEngine.check_waiting(engine, two)
    three.waiting_bytes = 200
    remote.RemoteEngine.check_waiting(engine, three)
    assert given_up == [one]
    three.waiting_bytes = 700
    with pytest.raises(HostError, match="most of them its"):
        remote.RemoteEngine.check_waiting(engine, three)


def test_a_thousand_simulated_hosts():
    """They vanish, and say things twice: benchmarks/hosts.py compares what the coordinator has with the whole epochs."""
    simulator = os.path.join(ROOT, "benchmarks", "hosts.py")
    done = subprocess.run(
        [sys.executable, simulator, "1000", "5", "8"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and done.stdout.count(" of a core") == 6, done
