"""pyusdt.dask on a real cluster: `dask_cluster.py static|adaptive`.  It prints what was counted and what must have been, as JSON.

static: two workers.  adaptive: one to four, whose tasks come in bursts; then one is killed at whatever it does, and a worker joins on another
address of this machine, which is another host to Dask, and to us another that sees the same events."""

import json
import os
import signal
import subprocess
import sys
import time

SCRIPT = """pyusdt*:::user_trace-i4s4 { @n[host] = count(); @sum[host] = sum(arg2); @pids[pid] = count(); }
    pyusdt*:::user_trace-i4s4 /arg3 == 0/ { printf("host=%s task=%d", host, arg2); }"""


def work(task, seconds):
    import pyusdt

    for i in range(100):
        pyusdt.p(task, i)
    time.sleep(seconds)
    return os.getpid()


def burst(client, first, tasks, seconds):
    return client.gather(client.map(work, range(first, first + tasks), seconds=seconds, pure=False))


def until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"not so after {seconds} s: {condition}")
        time.sleep(0.1)


def main(kind):
    from distributed import Client, LocalCluster

    import pyusdt.dask

    pids, said, joined = set(), {}, {}
    with (
        LocalCluster(
            n_workers=2 if kind == "static" else 1, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        if kind == "adaptive":
            cluster.adapt(
                minimum=1, maximum=4, interval="300ms", wait_count=3, target_duration="100ms"
            )
        with pyusdt.dask.trace(client, SCRIPT, hostwait="110s") as tracing:
            pids.update(burst(client, 0, 20, 0))
            tasks = 20
            if kind == "adaptive":
                for _ in range(3):
                    pids.update(burst(client, tasks, 100, 0.02))
                    tasks += 100
                    time.sleep(2)
                os.kill(client.gather(client.submit(os.getpid, pure=False)), signal.SIGKILL)
                command = [
                    sys.executable,
                    "-m",
                    "distributed.cli.dask_worker",
                    client.scheduler.address,
                    "--host",
                    "127.0.0.2",
                    "--no-dashboard",
                    "--nthreads",
                    "1",
                ]
                with subprocess.Popen(
                    command,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                ) as other:
                    until(
                        lambda: (
                            sum(
                                record["host"] == "127.0.0.2"
                                for record in seen(client, tracing, joined)
                            )
                            > 0
                        )
                    )
                    until(lambda: ("127.0.0.2",) in tracing.aggregations["n"])
                    os.killpg(other.pid, signal.SIGTERM)
            records = tracing.available()
        said = {host: int(count) for (host,), count in tracing.aggregations["n"].items()}
        sums = {host: int(count) for (host,), count in tracing.aggregations["sum"].items()}
        records += tracing.available()
    tasks_seen = sorted(
        record["task"]
        for record in [*records, *joined.get("records", [])]
        if record["host"] == "127.0.0.1"
    )
    fired = [*range(tasks), *joined.get("tasks", [])]
    print(
        json.dumps(
            {
                "counts": said,
                "sums": sums,
                "fired": len(fired) * 100,
                "sum": 100 * sum(fired),
                "records": tasks_seen == sorted(fired),
                "workers": len(pids),
                "faults": list(tracing.faults),
                "drops": tracing.drops,
            }
        )
    )


def seen(client, tracing, joined):
    """One more task, and the records since."""
    task = 10_000 + len(joined.setdefault("tasks", []))
    joined["tasks"].append(task)
    burst(client, task, 1, 0)
    joined.setdefault("records", []).extend(tracing.available())
    return joined["records"]


if __name__ == "__main__":
    main(sys.argv[1])
