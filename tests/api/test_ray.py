"""pyusdt.ray on a real cluster of four nodes at three addresses: the sum of what the tasks fire, exactly."""

import json
import os
import subprocess
import sys

import pytest

from tests.support import harness, pip_packages

pytestmark = [pytest.mark.own_processes, pytest.mark.long]
HERE = os.path.dirname(os.path.abspath(__file__))


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="host: Ray has no wheels for this Python")
def test_a_cluster_whose_actors_are_killed_and_whose_nodes_come_and_go(tmp_path):
    """Each event once at each address that stays; records come live; a node that joins is seen, and told when it goes."""
    folder = pip_packages.folder_of(os.path.join(HERE, "ray_readers.txt"), depends=True)
    done = subprocess.run(
        [sys.executable, os.path.join(harness.PROGRAMS, "ray_cluster.py"), str(tmp_path / "fired")],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
        env={**os.environ, "PYTHONPATH": folder},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    assert found["refused"] == "there is no cluster: ray.init() comes first"
    assert len(found["before"]) == 2 and found["killed"] == 2 and found["workers"] > 1, found
    for host in found["before"]:
        assert (
            found["counts"][host] == found["fired"]
            and found["sums"][host] == found["sum"]
            and found["records"][host]
        ), found
        assert not any(
            fault.startswith((f"{host} is lost", f"{host} is given up"))
            for fault in found["faults"]
        ), found
    assert 0 < found["counts"]["127.0.0.3"] < found["fired"] and found["live"], found
    assert any(
        "127.0.0.3" in fault and "lost is what it has counted since" in fault
        for fault in found["faults"]
    ), found
    assert not any(count for kind, count in found["drops"].items() if kind != "host"), found
