"""pyusdt.ray on a real cluster: `ray_cluster.py FILE`.  It prints what was counted and what must have been, as JSON.

A head, a second node on the same address, one on another address of this machine, which is another host to Ray, and to us another that sees the
same events.  Then the actors that carry are killed, a node joins on a third address, which is seen from then on, and goes.  FILE: where each task
writes down that it has fired."""

import contextlib
import json
import os
import signal
import sys

from dask_cluster import SCRIPT, until

PATIENCE = 240  # s: of a busy machine, where Ray takes a minute for an actor


def fire(task, path):
    import pyusdt

    for i in range(100):
        pyusdt.p(task, i)
    with open(path, "a") as file:
        file.write(f"{task}\n")
    return os.getpid()


def carriers():
    """The ids of the actors' processes."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
            if file.read().startswith(b"ray::_Carrier"):
                found.append(int(pid))
    return found


def main(path):
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray
    from ray.cluster_utils import Cluster

    import pyusdt.ray

    try:
        pyusdt.ray.trace("BEGIN { }")
    except ValueError as error:
        refused = str(error)
    node = {"num_cpus": 1, "object_store_memory": 80 << 20}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    cluster.add_node(**node)
    cluster.add_node(**node, node_ip_address="127.0.0.2")
    ray.init(address=cluster.address, log_to_driver=False)
    work = ray.remote(num_cpus=1, scheduling_strategy="SPREAD")(fire)
    tasks, pids, records = 0, set(), []

    def burst(count):
        nonlocal tasks
        pids.update(ray.get([work.remote(task, path) for task in range(tasks, tasks + count)]))
        tasks += count
        records.extend(tracing.available())

    def hosts():
        return {host for (host,) in tracing.aggregations["n"]}

    with pyusdt.ray.trace(SCRIPT, hostwait="110s") as tracing:
        burst(30)
        until(lambda: len(hosts()) == 2, PATIENCE)
        before, killed = hosts(), carriers()
        for pid, number in zip(
            killed, (signal.SIGTERM, signal.SIGKILL)
        ):  # who ends by the first kills its children
            os.kill(pid, number)
        burst(30)
        joined = cluster.add_node(**node, node_ip_address="127.0.0.3")
        until(lambda: burst(1) or "127.0.0.3" in hosts(), PATIENCE)
        cluster.remove_node(joined)
        burst(30)
        until(lambda: any("127.0.0.3 is lost" in fault for fault in tracing.faults), PATIENCE)
        live = len(records)
    records.extend(tracing.available())
    counted = {host: int(count) for (host,), count in tracing.aggregations["n"].items()}
    sums = {host: int(count) for (host,), count in tracing.aggregations["sum"].items()}
    with open(path) as file:
        fired = [int(line) for line in file]
    said = {
        host: sorted(record["task"] for record in records if record["host"] == host)
        == sorted(fired)
        for host in before
    }
    print(
        json.dumps(
            {
                "refused": refused,
                "before": sorted(before),
                "counts": counted,
                "sums": sums,
                "fired": 100 * len(fired),
                "sum": 100 * sum(fired),
                "records": said,
                "live": live,
                "workers": len(pids),
                "killed": len(killed),
                "faults": list(tracing.faults),
                "drops": tracing.drops,
            }
        )
    )
    ray.shutdown()
    cluster.shutdown()


if __name__ == "__main__":
    main(sys.argv[1])
