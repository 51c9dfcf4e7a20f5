"""Who fired, and the tag: threads, tasks, contexts, executors, processes."""

import asyncio
import contextvars
import gc
import multiprocessing
import os
import re
import threading
import weakref
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest

import pyusdt


@pytest.fixture(autouse=True)
def fresh_tag():
    before = pyusdt.spread_tag(False)
    pyusdt.put_tag(None)
    yield
    pyusdt.restore_tag(before)


def test_put_and_get():
    assert pyusdt.get_tag() is None and pyusdt.get_tag_data() is None
    assert pyusdt.put_tag("ä") is None
    assert (pyusdt.get_tag(), pyusdt.get_tag_data()) == ("ä", b"\xc3\xa4")
    assert pyusdt.put_tag(b"\xff raw") == "ä"
    assert (pyusdt.get_tag(), pyusdt.get_tag_data()) == ("\ufffd raw", b"\xff raw")
    assert pyusdt.put_tag(17) == "\ufffd raw"
    assert pyusdt.get_tag() == "17"
    assert pyusdt.put_tag("x" * 2000 + "\0y") == "17"
    assert pyusdt.put_tag("cut\0here") == "x" * 1023
    assert pyusdt.put_tag(None) == "cut"
    assert pyusdt.get_tag() is None


def test_tag_is_shown(fired):
    pyusdt.put_tag("request 1")
    assert fired(lambda: pyusdt.p()).tag == b"request 1"
    pyusdt.put_tag("")
    assert fired(lambda: pyusdt.p()).tag == b""
    pyusdt.put_tag(None)
    assert fired(lambda: pyusdt.p()).tag is None


def test_tag_scopes():
    scope = pyusdt.tag("inner")
    pyusdt.put_tag("outer")
    with scope:
        assert pyusdt.get_tag() == "inner"
        with scope, pyusdt.tag(None):
            assert pyusdt.get_tag() is None
        assert pyusdt.get_tag() == "inner"
        pyusdt.put_tag("changed")
    assert pyusdt.get_tag() == "outer"
    with pytest.raises(ZeroDivisionError), pyusdt.tag("failing"):
        raise ZeroDivisionError
    assert pyusdt.get_tag() == "outer"


def test_a_scope_that_another_context_leaves():
    """Of a generator that somebody else closes: no error, and neither context's tag changes."""

    def tagged():
        with pyusdt.tag("inner"):
            yield pyusdt.get_tag()

    async def tagged_too():
        with pyusdt.tag("inner"):
            yield pyusdt.get_tag()

    async def close_elsewhere():
        generator = tagged_too()
        assert await anext(generator) == "inner"
        await asyncio.create_task(generator.aclose())
        assert pyusdt.get_tag() == "inner"

    pyusdt.put_tag("outer")
    generator = tagged()
    assert next(generator) == "inner"
    elsewhere = contextvars.Context()
    elsewhere.run(pyusdt.put_tag, "elsewhere")
    elsewhere.run(generator.close)
    assert elsewhere.run(pyusdt.get_tag) == "elsewhere" and pyusdt.get_tag() == "inner"
    asyncio.run(close_elsewhere())


def test_threads_start_untagged_contexts_inherit(tracer):
    pyusdt.put_tag("main")
    context = contextvars.copy_context()
    with tracer.attached("user_trace__i4s4") as events:
        for work in (lambda: pyusdt.p(1), lambda: context.run(pyusdt.p, 2)):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
    assert [(event.values[0], event.tag) for event in events] == [(1, None), (2, b"main")]


def test_who_is_the_thread(tracer):
    tids = []

    def work():
        tids.append(threading.get_native_id())
        pyusdt.p()
        pyusdt.p()

    with tracer.attached("user_trace__i4s4") as events:
        for _ in range(2):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        work()
    assert [event.who for event in events] == [
        f"<{os.getpid()}.{tid}>".encode() for tid in tids for _ in range(2)
    ]


def test_who_in_a_forked_child(tracer):
    read, write = os.pipe()
    with tracer.attached("user_trace__i4s4") as events:
        pyusdt.p()
        child = os.fork()
        if child == 0:
            try:
                tracer.collected.clear()
                tracer.count.value = 0
                pyusdt.p()
                os.write(write, tracer.collect()[0].who)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        pyusdt.p()
    assert os.read(read, 100) == f"<{child}.{child}>".encode()
    assert [event.who for event in events] == [f"<{os.getpid()}.{os.getpid()}>".encode()] * 2
    os.close(read)
    os.close(write)


def unnumbered(who):
    """<pid.tid.number.name> without the number, which no other task has."""
    return re.sub(rb"^(<\d+\.\d+)\.\d+", rb"\1", who)


def test_tasks_have_names_and_their_own_tags(tracer):
    async def work(n):
        pyusdt.put_tag(f"tag {n}")
        for _ in range(3):
            await asyncio.sleep(0)
            pyusdt.p(n)

    async def main():
        pyusdt.put_tag("parent")
        await asyncio.gather(
            *(asyncio.create_task(work(n), name=f"worker-{n}") for n in range(100))
        )
        pyusdt.p(-1)
        await asyncio.to_thread(pyusdt.p, -2)
        asyncio.get_running_loop().call_soon(pyusdt.p, -3)
        await asyncio.sleep(0.01)

    with tracer.attached("user_trace__i4s4") as events:
        asyncio.run(main())
    me = f"{os.getpid()}.{threading.get_native_id()}"
    assert len(events) == 303
    for event in events[:300]:
        n = event.values[0]
        assert (unnumbered(event.who), event.tag) == (
            f"<{me}.worker-{n}>".encode(),
            f"tag {n}".encode(),
        )
    parent, thread, callback = events[300:]
    assert unnumbered(parent.who).startswith(f"<{me}.Task-".encode()) and parent.tag == b"parent"
    assert thread.who.count(b".") == 1 and thread.tag == b"parent"
    assert callback.who == f"<{me}>".encode()


@pytest.mark.parametrize(
    "name", ["plain", "späte Aufgabe", "x" * 3000, "é" * 3000, "\ud800", "with\0nul"]
)
def test_task_names(name, fired):
    async def main():
        asyncio.current_task().set_name(name)
        return pyusdt.p()

    who = fired(lambda: asyncio.run(main())).who
    me, start = (
        f"<{os.getpid()}.{threading.get_native_id()}.".encode(),
        re.match(rb"<\d+\.\d+\.\d+\.", who)[0],
    )
    room = 1023 - len(start) - 1
    shown = name.split("\0")[0].encode("utf-8", "replace")[:room].decode("utf-8", "ignore").encode()
    assert start.startswith(me) and who == start + shown + b">"


def test_task_that_has_no_name(fired):
    class Nameless(asyncio.Task):
        def get_name(self):
            raise RuntimeError("no name")

    def run():
        loop = asyncio.new_event_loop()
        loop.set_task_factory(lambda loop, coro, **keywords: Nameless(coro, loop=loop, **keywords))

        async def main():
            return pyusdt.p()

        try:
            return loop.run_until_complete(main())
        finally:
            loop.close()

    who = fired(run).who
    assert (
        re.fullmatch(rb"(<\d+\.\d+)\.\d+>", who)
        and unnumbered(who) == f"<{os.getpid()}.{threading.get_native_id()}>".encode()
    )


def test_tasks_of_one_name_are_told_apart(tracer):
    """At once, one after the other where the last one was in memory, and in forked children that go on from one parent."""

    async def work(n):
        for _ in range(3):
            pyusdt.p(n)
            await asyncio.sleep(0)

    async def main(numbers):
        for n in numbers:
            await asyncio.create_task(work(n), name="same")
        await asyncio.gather(*(asyncio.create_task(work(-n - 1), name="same") for n in numbers))

    read, write = os.pipe()
    with tracer.attached("user_trace__i4s4") as events:
        asyncio.run(main(range(200)))
        for _ in range(2):
            child = os.fork()
            if child == 0:
                try:
                    tracer.collected.clear()
                    tracer.count.value = 0
                    asyncio.run(main(range(5)))
                    os.write(
                        write,
                        b"".join({event.who.split(b".")[2] + b"\n" for event in tracer.collect()}),
                    )
                finally:
                    os._exit(0)
            os.waitpid(child, 0)
    os.close(write)
    with open(read, "rb") as file:
        in_children = file.read().split()
    whose = {}
    for event in events:
        whose.setdefault(event.who, set()).add(event.values[0])
    assert (
        len(events) == 1200 and len(whose) == 400 and all(len(each) == 1 for each in whose.values())
    )
    numbers = [who.split(b".")[2] for who in whose] + in_children
    assert len(in_children) == 20 and len(set(numbers)) == 420, (
        "no number is given again, in children of one parent neither"
    )


def test_nothing_is_kept_of_tasks_that_have_ended(tracer):
    def numbered():
        """The dictionaries of numbers that have any: {address: (number, weak reference, name)}"""
        found = [each for each in gc.get_objects() if type(each) is dict and each]
        return [
            each
            for each in found
            if all(
                type(value) is tuple
                and len(value) == 3
                and type(value[1]) is weakref.ref
                and type(value[1]()) is asyncio.Task
                for value in each.values()
            )
        ]

    async def fire():
        pyusdt.p()

    async def main():
        await asyncio.gather(*(asyncio.create_task(fire()) for _ in range(100)))
        pyusdt.p()
        (found,) = numbered()
        return found

    with tracer.attached("user_trace__i4s4") as events:
        found = asyncio.run(main())
        gc.collect()
    assert len(events) == 101 and found == {}


def test_greenlets_are_told_apart(tracer):
    """By numbers: raw greenlets have no name, gevent's have an attribute of that name.  A thread's first greenlet is the thread."""
    greenlet = pytest.importorskip("greenlet", reason="requirements-dev.txt has it")

    class Named(greenlet.greenlet):
        name = "job"

    def work(n):
        for _ in range(2):
            pyusdt.p(n)
            greenlet.getcurrent().parent.switch()

    with tracer.attached("user_trace__i4s4") as events:
        waiting = [kind(work) for kind in (greenlet.greenlet, Named) * 50]
        for turn in range(2):
            for n, each in enumerate(waiting):
                each.switch(*() if turn else (n,))
        pyusdt.p(-1)
    me = f"<{os.getpid()}.{threading.get_native_id()}"
    assert len(events) == 201 and events[-1].who == f"{me}>".encode()
    assert {unnumbered(event.who) for event in events[:-1:2]} == {f"{me}>".encode()}
    assert {unnumbered(event.who) for event in events[1:-1:2]} == {f"{me}.job>".encode()}
    whose = {}
    for event in events[:-1]:
        whose.setdefault(event.who, []).append(event.values[0])
    assert sorted(whose.values()) == [[n, n] for n in range(100)]


def test_a_task_within_a_greenlet_is_the_task(fired):
    greenlet = pytest.importorskip("greenlet", reason="requirements-dev.txt has it")

    async def main():
        asyncio.current_task().set_name("task")
        return greenlet.greenlet(pyusdt.p).switch()

    assert (
        unnumbered(fired(lambda: asyncio.run(main())).who)
        == f"<{os.getpid()}.{threading.get_native_id()}.task>".encode()
    )


def report(queue=None):
    """The tag where this runs."""
    data = pyusdt.get_tag_data()
    if queue is not None:
        queue.put(data)
    return data


def test_spread_to_threads_and_executors():
    found = []
    before = pyusdt.spread_tag(True)
    assert before == (False, None)
    pyusdt.put_tag("spread")
    with ThreadPoolExecutor(1) as pool:

        def nested():
            thread = threading.Thread(target=lambda: found.append(report()))
            thread.start()
            thread.join()

        thread = threading.Thread(target=nested)
        thread.start()
        thread.join()
        assert found == [b"spread"]
        assert pool.submit(report).result() == b"spread"
        pyusdt.put_tag("second")
        assert pool.submit(report).result() == b"second"
        assert list(pool.map(len, ["ab"])) == [2]
        assert pyusdt.restore_tag(before) is True
        assert pyusdt.get_tag() is None
        assert pool.submit(report).result() is None


def test_spread_to_subclasses_of_thread():
    class Worker(threading.Thread):
        def run(self):
            self.found = report()

    pyusdt.spread_tag(True)
    pyusdt.put_tag("worker")
    worker = Worker()
    worker.start()
    worker.join()
    assert worker.found == b"worker" and "run" not in vars(worker)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_spread_to_processes(method):
    processes = multiprocessing.get_context(method)
    queue = processes.SimpleQueue()
    pyusdt.spread_tag(True)
    pyusdt.put_tag("to a process")
    process = processes.Process(target=report, args=(queue,))
    process.start()
    process.join()
    assert queue.get() == b"to a process"
    with ProcessPoolExecutor(1, mp_context=processes) as pool:
        assert pool.submit(report).result() == b"to a process"


def test_a_thread_that_can_not_start_is_as_before():
    pyusdt.spread_tag(True)
    thread = threading.Thread(target=report)
    thread.start()
    thread.join()
    with pytest.raises(RuntimeError):
        thread.start()
    assert "run" not in vars(thread)
