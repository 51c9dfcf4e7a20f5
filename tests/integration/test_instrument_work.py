"""`pyusdt run`: probes in what does a program's work (caches, queues, pools, processes, event loops); counts are exact."""

from __future__ import annotations

import os

import pytest

from tests.support import harness
from tests.support.instrument_scripts import PYUSDT, fails_and_goes_on
from tests.support.servers import redis_server

pytestmark = pytest.mark.own_processes
COUNT = 5


def trace(script: str, name: str, *arguments: object, part: str) -> list[str]:
    run = harness.run(
        [
            harness.PYDTRACE,
            "-Zq",
            "-n",
            script,
            "-c",
            f"{PYUSDT} run {harness.program(name, *arguments)}",
        ],
        timeout=120,
        env={**os.environ, "PYUSDT_INSTRUMENT": part},
    )
    assert run.status == 0, run
    return sorted(filter(None, run.stdout.split("\n")))


CACHE = """cache*:::command-start { @started = count(); }
cache*:::command-done /arg3 > 0/ { @[copyinstr(arg0), copyinstr(arg1), (int)arg2, copyinstr(arg4)] = count(); }
END { printa("started %@d\\n", @started); printa("%s [%s] %d [%s] %@d\\n", @); }"""


def test_commands_of_redis():
    """Of both clients; a pipeline is one command; what AUTH carries is not told."""
    with redis_server.server() as socket:
        lines = trace(CACHE, "instrument_redis.py", socket, COUNT, part="redis")
    each = [
        "GET [here] 1 []",
        "GET [nowhere] 0 []",
        "HGET [shelf] 0 []",
        "LPUSH [here] -1 [ResponseError]",
        "SET [here] -1 []",
    ]
    once = [
        "AUTH [] -1 [AuthenticationError] 1",
        f"PIPELINE [] -1 [] {2 * COUNT}",
        f"started {len(each) * COUNT + 2 * COUNT + 1}",
    ]
    assert lines == sorted([*(f"{line} {COUNT}" for line in each), *once])


def test_commands_of_a_cluster_of_redis():
    """What its clients ask the nodes for themselves, the cluster's slots, is there as well."""
    with redis_server.cluster() as port:
        lines = trace(CACHE, "instrument_redis_cluster.py", port, COUNT, part="redis")
    each = [
        "GET [here] 1 []",
        "GET [nowhere] 0 []",
        "HGET [shelf] 0 []",
        "LPUSH [here] -1 [ResponseError]",
        "SET [here] -1 []",
    ]
    asked = [line for line in lines if not line.startswith(("COMMAND ", "CLUSTER ", "started "))]
    assert asked == sorted(
        [*(f"{line} {COUNT}" for line in each), f"PIPELINE [] -1 [] {2 * COUNT}"]
    ), lines


ARGUMENTS = """task*:::start { @arguments[copyinstr(arg2)] = count(); } END { printa("of %s %@d\\n", @arguments); }"""
TASKS = """task*:::start { @started[copyinstr(arg0)] = count(); }
task*:::done /arg2 > 0 && copyinstr(arg3) != ""/ { @[copyinstr(arg0), copyinstr(arg1)] = count(); }
END { printa("start %s %@d\\n", @started); printa("%s %s %@d\\n", @); }"""


def test_jobs_of_rq():
    with redis_server.server() as socket:
        lines = trace(TASKS + ARGUMENTS, "instrument_rq.py", socket, 6, part="rq")
    assert lines == [
        "instrument_rq.order FAILURE 2",
        "instrument_rq.order SUCCESS 4",
        *(f"of instrument_rq.order({number}) 1" for number in range(6)),
        "start instrument_rq.order 6",
    ]


POOLS = """pool*:::call-start /arg1 > 0/ { @started[copyinstr(arg0)] = count(); }
pool*:::call-done /arg1 > 0 && arg2 > 0/ { @[copyinstr(arg0), copyinstr(arg3)] = count(); }
process*:::start { @processes[copyinstr(arg0), copyinstr(arg1)] = count(); }
process*:::done /arg2 > 0/ { @ends[copyinstr(arg0), copyinstr(arg3), arg1] = count(); }
END { printa("start %s %@d\\n", @started); printa("%s [%s] %@d\\n", @); printa("process %s %s %@d\\n", @processes);
      printa("end %s %s %d %@d\\n", @ends); }"""


def test_calls_of_pools():
    """ProcessPoolExecutor.map() hands over chunks; multiprocessing's pools hand over function by function."""
    lines = trace(POOLS, "instrument_pools.py", COUNT, part="pools")
    of_a_pool = (
        COUNT - 1 + 2
    )  # by map, imap_unordered and starmap; a spawned process calls the main module __mp_main__
    assert lines == [
        "__main__.order [ZeroDivisionError] 3",
        f"__main__.order [] {COUNT - 1 + of_a_pool}",
        "__mp_main__.order [ZeroDivisionError] 1",
        f"__mp_main__.order [] {of_a_pool}",
        f"concurrent.futures.process._process_chunk [] {COUNT - 1}",
        f"start __main__.order {COUNT - 1 + of_a_pool + 3}",
        f"start __mp_main__.order {of_a_pool + 1}",
        f"start concurrent.futures.process._process_chunk {COUNT - 1}",
    ]


def test_processes():
    """One of the program's own, with what it exits with; those of pools, too, however it starts them."""
    lines = trace(POOLS, "instrument_pools.py", COUNT, part="multiprocessing")
    assert {"process seven sys.exit 1", "end seven sys.exit 7 1"} <= set(lines), lines
    assert any(line.startswith("process SpawnPoolWorker-") for line in lines), lines


LOOP = """loop*:::slow-callback /arg1 > 200000000/ { @slow[copyinstr(arg0)] = count(); }
loop*:::slow-callback /arg1 <= 100000000/ { @wrong[copyinstr(arg0)] = count(); }
loop*:::callback-done /arg1 >= 0/ { @all[copyinstr(arg0)] = count(); }
END { printa("slow %s\\n", @slow); printa("wrong %s\\n", @wrong); printa("all %s %@d\\n", @all); }"""


def test_slow_callbacks():
    """On a busy machine others may be slow, too, but none that took less than the loop's limit."""
    lines = trace(LOOP, "instrument_loop.py", part="asyncio")
    assert {"slow main", "slow time.sleep", "all main 4", "all time.sleep 1"} <= set(lines), lines
    assert not [line for line in lines if line.startswith("wrong")], lines


def test_slow_callbacks_of_requests():
    """They have the name of the application's function and its route, whatever wraps them."""
    lines = trace(LOOP, "instrument_slow_route.py", part="asyncio,starlette")
    assert "slow __main__.lazy /api/item/{number}" in lines, lines


def test_calls_of_anyio():
    assert trace(POOLS, "instrument_anyio.py", COUNT, part="pools") == [
        f"__main__.order [ZeroDivisionError] {COUNT}",
        f"__main__.order [] {COUNT}",
        f"start __main__.order {2 * COUNT}",
    ]


@pytest.mark.parametrize("line", ["pools.py 2", "loop.py"])
def test_hooks_that_fail(line):
    name, *arguments = f"instrument_{line}".split()
    fails_and_goes_on(name, *arguments)


@pytest.mark.parametrize("name", ["instrument_redis.py", "instrument_rq.py"])
def test_hooks_at_redis_that_fail(name):
    with redis_server.server() as socket:
        fails_and_goes_on(name, socket, 2)
