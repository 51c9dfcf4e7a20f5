"""pyusdt.dask on a real LocalCluster: the sum of what the tasks fire, exactly."""

import json
import os
import subprocess
import sys

import pytest

import pyusdt.dask
from tests.support import harness, pip_packages

pytestmark = pytest.mark.own_processes
HERE = os.path.dirname(os.path.abspath(__file__))


def of_cluster(kind):
    folder = pip_packages.folder_of(os.path.join(HERE, "dask_readers.txt"), depends=True)
    done = subprocess.run(
        [sys.executable, os.path.join(harness.PROGRAMS, "dask_cluster.py"), kind],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "PYTHONPATH": folder},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def check(found):
    assert (
        found["counts"]["127.0.0.1"] == found["fired"]
        and found["sums"]["127.0.0.1"] == found["sum"]
    ), found
    assert found["records"] and not any(
        count for kind, count in found["drops"].items() if kind != "host"
    ), found


def test_a_cluster():
    """Two workers on one host: one tracer, each event once; records come live."""
    found = of_cluster("static")
    check(found)
    assert (
        found["counts"].keys() == {"127.0.0.1"}
        and found["fired"] == 2000
        and not found["faults"]
        and not found["drops"]["host"]
    ), found


@pytest.mark.long
def test_workers_that_come_and_go():
    """Adaptive scaling, a worker that is killed, one that joins on another host, and goes: nothing is missing of the host that stays,
    nothing counts twice, and of the other it is told."""
    found = of_cluster("adaptive")
    check(found)
    assert found["workers"] > 1 and 0 < found["counts"]["127.0.0.2"] <= found["fired"], found
    assert any(
        "127.0.0.2" in fault and "lost is what it has counted since" in fault
        for fault in found["faults"]
    ), found
    assert not any(
        fault.startswith(("127.0.0.1 is lost", "127.0.0.1 is given up"))
        for fault in found["faults"]
    ), found


def test_a_client_that_can_not_be_waited_for():
    class Client:
        asynchronous = True

    with pytest.raises(ValueError, match="an asynchronous Client cannot be waited for"):
        pyusdt.dask.trace(Client(), "BEGIN { }")
