"""What Python's users expect of a tracing: start and stop, time limits, callbacks, files, keywords, pickles, decorators."""

import asyncio
import copy
import os
import pickle
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor

import pytest

import pyusdt

SCRIPT = "pyusdt*:::user_trace-i4s4 { trace(arg2); @ = count(); @by[arg2] = count(); }"
shop = pyusdt.Provider("use_shop")
order = shop.probe("order-placed", int, item=str, price=float)


def traced(script=SCRIPT, **more):
    return pyusdt.trace(script, pid=os.getpid(), **more)


def test_start_and_stop():
    t = traced().start()
    pyusdt.p(1)
    t.stop()
    t.stop()
    pyusdt.p(2)
    assert [rec[0] for rec in t] == [1] and t.finished
    with pytest.raises(RuntimeError, match="not begun"):
        traced().stop()


def test_records_within_a_time():
    with traced() as t:
        pyusdt.p(1)
        threading.Timer(0.2, pyusdt.p, (2,)).start()
        assert [rec[0] for rec in t.records(timeout=1)] == [1, 2]
        begun = time.monotonic()
        assert list(t.records(timeout=0.05)) == [] and time.monotonic() - begun < 5


def test_a_callback_for_each_record():
    seen = []
    with traced(on_record=lambda rec: seen.append((rec[0], t.aggregations[""].value))) as t:
        pyusdt.p(1)
        pyusdt.p(2)
        assert t.flush()
        assert [value for value, _ in seen] == [1, 2] and seen[-1][1] == 2
    assert list(t) == []

    def fail(rec):
        raise LookupError(rec[0])

    with pytest.raises(LookupError, match="7"), traced(on_record=fail):
        pyusdt.p(7)


def test_an_aggregation_is_cleared():
    with traced() as t:
        pyusdt.p(1)
        assert t.flush() and t.aggregations[""].value == 1
        t.aggregations.clear("")
        t.aggregations.clear("by")
        pyusdt.p(2)
        assert t.flush()
        assert t.aggregations[""].value == 1 and dict(t.aggregations["by"]) == {(1,): 0, (2,): 1}
        with pytest.raises(KeyError):
            t.aggregations.clear("nope")
    with pytest.raises(RuntimeError, match="over"):
        t.aggregations.clear("")


def test_recordings(tmp_path):
    with traced(record=tmp_path / "x.ev") as t:
        pyusdt.p(1)
        pyusdt.p(2)
    with pyusdt.trace(
        "pyusdt$target:::user_trace-i4s4 { trace(arg2 * 10); }", replay=tmp_path / "x.ev"
    ) as t:
        assert [rec[0] for rec in t] == [10, 20]
    for more in ({"pid": 1}, {"all": True}, {"cmd": "x"}, {"keep": "k"}, {"record": "y"}):
        with pytest.raises(TypeError, match="replay traces nothing"):
            pyusdt.trace(SCRIPT, replay="x", **more)


def test_a_session_is_kept():
    for expected in ([1, 2], [3, 4]):
        with pyusdt.trace(SCRIPT, all=True, keep="use_kept,60s", zdefs=True) as t:
            pyusdt.p(expected[0])
            pyusdt.p(expected[1])
            assert t.flush()
            assert [rec[0] for rec in t.available()][-2:] == expected
    with pyusdt.trace(
        SCRIPT + "tick-10ms { exit(0); }", all=True, keep="use_kept,60s", zdefs=True
    ) as t:
        t.wait(20)
    with pytest.raises(TypeError, match="all=True"):
        traced(keep="x")
    with pytest.raises(ValueError, match="keep needs NAME"):
        pyusdt.trace(SCRIPT, all=True, keep="")


def test_awatch():
    async def main():
        async with pyusdt.awatch("user_trace-i4s4", pid=os.getpid()) as t:
            pyusdt.p(5, "x")
            async for rec in t:
                return rec["i1"], rec["s1"]

    assert asyncio.run(asyncio.wait_for(main(), 20)) == (5, "x")


def test_probes_by_keyword():
    with pyusdt.watch("order-placed", pid=os.getpid()) as t:
        assert order(1, price=2.5, item="tea") and order(2, price=1.0) and order(item="x")
        for wrong in (
            lambda: order(1, "a", item="b"),
            lambda: order(1, colour=3),
            lambda: pyusdt.probe("user_trace-i4s4")(a=1),
        ):
            with pytest.raises(TypeError):
                wrong()
    assert [rec.values for rec in t] == [(1, "tea", 2.5), (2, "", 1.0), (0, "x", 0.0)]


def fire(probe):
    return probe.name, probe.provider, probe.max_arguments, probe(3, "in a child")


def test_probes_are_pickled():
    for probe in (order, pyusdt.probe("user_trace-n7"), pyusdt.probe("user_trace-s1")):
        again = pickle.loads(pickle.dumps(probe))
        assert (again.name, again.provider, again.max_arguments, again.path) == (
            probe.name,
            probe.provider,
            probe.max_arguments,
            probe.path,
        )
        assert copy.copy(probe).name == probe.name
    with pyusdt.watch("order-placed", pid=os.getpid()) as t:
        assert pickle.loads(pickle.dumps(order))(9, item="again")
    assert [rec[0] for rec in t] == [9]


def test_a_pickled_probe_fires_in_another_process():
    import multiprocessing

    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(fire, order).result(60) == ("order-placed", "use_shop", 3, False)


def test_tag_is_a_decorator():
    @pyusdt.tag("plain")
    def plain(value):
        """Doc."""
        return value, pyusdt.get_tag()

    @pyusdt.tag("generator")
    def generator():
        try:
            got = yield pyusdt.get_tag()
            yield got, pyusdt.get_tag()
        except KeyError:
            yield "caught", pyusdt.get_tag()
        return "end"

    @pyusdt.tag("task")
    async def task(value):
        await asyncio.sleep(0.001)
        return value, pyusdt.get_tag()

    async def main():
        return await asyncio.gather(task(1), task(2)), pyusdt.get_tag()

    with pyusdt.tag("outer"):
        assert plain(3) == (3, "plain") and plain.__doc__ == "Doc." and pyusdt.get_tag() == "outer"
        steps = generator()
        assert next(steps) == "generator" and pyusdt.get_tag() == "outer"
        assert steps.send(5) == (5, "generator") and pyusdt.get_tag() == "outer"
        assert steps.throw(KeyError) == ("caught", "generator")
        with pytest.raises(StopIteration, match="end"):
            next(steps)
        generator().close()
        assert asyncio.run(main()) == ([(1, "task"), (2, "task")], "outer")
    with pytest.raises(TypeError):
        pyusdt.tag("x")(3)


MARKED = """
import pytest, pyusdt

@pytest.mark.usdt("user_trace-i4s4", times=2, i1=1)
@pytest.mark.usdt("user_trace-s1", message="x")
def test_right():
    pyusdt.p(1); pyusdt.p(1); pyusdt.user_trace_s1("x")

@pytest.mark.usdt("user_trace-i4s4", times=0)
def test_wrong():
    pyusdt.p(1)

@pytest.mark.usdt("user_trace-i4s4", nope=0)
def test_no_such_value():
    pyusdt.p(1)

def test_fixture(usdt):
    with usdt() as fired:
        pyusdt.p(1)
    fired.expect(times=1)
"""


def test_markers_and_a_summary(tmp_path):
    (tmp_path / "test_marked.py").write_text(MARKED)
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "--strict-markers",
            "-p",
            "no:cacheprovider",
            "test_marked.py",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "2 failed, 2 passed" in run.stdout, run.stdout + run.stderr
    assert (
        "should have fired 0 times, did 1 times" in run.stdout and "has no value nope" in run.stdout
    )
    assert "usdt: 4 blocks traced, 6 records, none lost" in run.stdout
