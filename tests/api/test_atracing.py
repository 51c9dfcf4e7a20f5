"""The consumer API for asyncio."""

import asyncio
import os

import pytest

import pyusdt

SCRIPT = "pyusdt*:::user_trace-i4s4 { trace(arg2); }"


def test_records_come_while_other_tasks_run():
    async def main():
        seen = []
        async with pyusdt.atrace(SCRIPT, pid=os.getpid()) as t:

            async def fire():
                for i in range(5):
                    pyusdt.p(i)
                    await asyncio.sleep(0.001)

            task = asyncio.create_task(fire())
            async for rec in t:
                seen.append(rec[0])
                if len(seen) == 5:
                    break
            await task
            assert t.engine == "embedded"
        return seen

    assert asyncio.run(asyncio.wait_for(main(), 20)) == [0, 1, 2, 3, 4]


def test_the_rest_comes_after_the_block():
    async def main():
        async with pyusdt.atrace(SCRIPT + " END { trace(-1); }", pid=os.getpid()) as t:
            pyusdt.p(8)
        return [rec[0] async for rec in t]

    assert asyncio.run(asyncio.wait_for(main(), 20)) == [8, -1]


def test_exit_ends_the_iteration():
    async def main():
        async with pyusdt.atrace("tick-10ms { trace(1); exit(2); }", all=True) as t:
            return [rec[0] async for rec in t], t.status

    assert asyncio.run(asyncio.wait_for(main(), 20)) == ([1], 2)


def is_traced():
    """Whether a session has this process.  (A probe may be on because somebody traces all processes of the machine.)"""
    return any(name.endswith(".area") for name in os.listdir(os.environ["PYUSDT_RUNDIR"]))


@pytest.mark.parametrize("entered", [True, False])
def test_a_cancelled_task_leaves_the_probes_off(entered):
    """Wherever it is: the thread that opens the session can not be cancelled, so it is closed behind it."""

    async def main():
        async def forever():
            async with pyusdt.atrace(SCRIPT, pid=os.getpid()) as t:
                async for _ in t:
                    pass

        task = asyncio.create_task(forever())
        await asyncio.sleep(0)
        while entered and not (pyusdt.p(1) and is_traced()):
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(main(), 60))  # which waits for the threads, too
    pyusdt.p(1)
    assert not is_traced()
