"""@probe.wrap: what is fired around functions, coroutines and generators; what goes through; what it looks like."""

import asyncio
import inspect
import os
import pickle
import time

import pytest

import pyusdt

probe = pyusdt.probe("user_trace-n77")
own = pyusdt.Provider("wrapping").probe("function-run", int, str, str)


def events(
    function, wanted="pyusdt$1:::user_trace-n77", body="arg2, copyinstr(arg6), copyinstr(arg7)"
):
    """[(duration, name, what)] of what is fired while the function runs."""
    script = f'{wanted} {{ printf("%d %s %s", {body}); }}'
    with pyusdt.trace(script, os.getpid(), pid=os.getpid(), zdefs=True) as t:
        function()
    return [record.values for record in t]


def whats(found):
    return [(name.rpartition(".")[2], what) for _, name, what in found]


@probe.wrap
def add(a, b=2, *, c=3):
    """Adds."""
    return a + b + c


@probe.wrap
def fail():
    raise KeyError("x")


@probe.wrap
def generate(n):
    got = yield 1
    for i in range(n):
        got = yield got
    return "end"


@probe.wrap
async def wait(value):
    await asyncio.sleep(0.01)
    return value


@probe.wrap
async def generate_later():
    try:
        got = yield 1
        yield got
    except ValueError:
        yield "caught"


class Something:
    @probe.wrap
    def method(self):
        return self

    @classmethod
    @probe.wrap
    def of_class(cls):
        return cls

    @staticmethod
    @probe.wrap
    def static():
        return 5


class Inside:
    @probe.wrap
    @staticmethod
    def static(n):
        return n

    @probe.wrap
    @classmethod
    def of_class(cls, n):
        return cls, n


def test_around_a_staticmethod_or_classmethod():
    """It stays one: the wrapped static() had the instance as its argument."""
    assert Inside.static(1) == Inside().static(1) == 1 and Inside.of_class(2) == Inside().of_class(
        2
    ) == (Inside, 2)
    found = events(lambda: (Inside().static(1), Inside().of_class(2)))
    assert whats(found) == [
        ("static", "entry"),
        ("static", "return"),
        ("of_class", "entry"),
        ("of_class", "return"),
    ]


def test_off():
    something = Something()
    assert add(1) == 6 and add(1, 1, c=1) == 3 and something.method() is something
    assert Something.of_class() is Something and Something.static() == 5 and something.static() == 5
    assert list(generate(0)) == [1] and asyncio.run(wait(4)) == 4
    with pytest.raises(KeyError):
        fail()


def test_function():
    def run():
        assert add(1, c=0) == 3 and Something().method() and Something.of_class() is Something
        with pytest.raises(KeyError):
            fail()

    found = events(run)
    assert whats(found) == [
        ("add", "entry"),
        ("add", "return"),
        ("method", "entry"),
        ("method", "return"),
        ("of_class", "entry"),
        ("of_class", "return"),
        ("fail", "entry"),
        ("fail", "raise"),
    ]
    assert (
        found[2][1] == "Something.method" and found[0][0] == 0 and 0 < found[1][0] < 1_000_000_000
    )


def test_coroutine():
    """Its own time: others run while it waits."""

    async def main():
        assert await asyncio.gather(wait(1), wait(2)) == [1, 2]
        task = asyncio.create_task(wait(3))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    found = events(lambda: asyncio.run(main()))
    assert whats(found) == [
        ("wait", each) for each in ("entry", "entry", "return", "return", "entry", "raise")
    ]
    assert found[2][0] >= 9_000_000


def test_generator():
    def run():
        made = generate(1)
        assert next(made) == 1 and made.send("sent") == "sent"
        with pytest.raises(StopIteration) as stopped:
            next(made)
        assert stopped.value.value == "end"
        made = generate(9)
        next(made)
        made.close()
        made = generate(9)
        next(made)
        with pytest.raises(OSError):
            made.throw(OSError())

    assert [what for _, _, what in events(run)] == [
        "entry",
        "return",
        "entry",
        "close",
        "entry",
        "raise",
    ]


def test_asynchronous_generator():
    async def main():
        made = generate_later()
        assert await made.__anext__() == 1 and await made.asend("sent") == "sent"
        with pytest.raises(StopAsyncIteration):
            await made.__anext__()
        made = generate_later()
        await made.__anext__()
        assert await made.athrow(ValueError()) == "caught"
        await made.aclose()
        made = generate_later()
        await made.__anext__()
        with pytest.raises(OSError):
            await made.athrow(OSError())
        assert [each async for each in generate_later()] == [1, None]

    found = events(lambda: asyncio.run(main()))
    assert [what for _, _, what in found] == [
        "entry",
        "return",
        "entry",
        "close",
        "entry",
        "raise",
        "entry",
        "return",
    ]


def test_switched_while_it_runs():
    """A run that began while the probe was off fires nothing at its end."""
    made = generate(2)
    next(made)
    assert events(lambda: list(made)) == []


def test_own_provider():
    def run():
        own.wrap(lambda: None)()

    found = events(run, "wrapping$1:::function-run", "arg0, copyinstr(arg1), copyinstr(arg2)")
    assert [what for _, _, what in found] == ["entry", "return"] and found[0][1].endswith(
        "<lambda>"
    )


def test_message_probe():
    message = pyusdt.probe("user_trace-s1")

    @message.wrap
    def told():
        pass

    found = events(told, "pyusdt$1:::user_trace-s1", '0, copyinstr(arg0), "x"')
    assert [text.partition(" ")[0] for _, text, _ in found] == ["entry", "return"]


def test_it_looks_like_what_it_wraps():
    assert (add.__name__, add.__doc__, add.__module__, add.__qualname__) == (
        "add",
        "Adds.",
        __name__,
        "add",
    )
    assert str(inspect.signature(add)) == "(a, b=2, *, c=3)" and add.__wrapped__(1) == 6
    assert inspect.iscoroutinefunction(wait) and asyncio.iscoroutinefunction(wait)
    assert inspect.isgeneratorfunction(generate) and inspect.isasyncgenfunction(generate_later)
    assert pickle.loads(pickle.dumps(add)) is add
    add.note = 1
    assert add.note == 1 and "add" in repr(add)
    with pytest.raises(AttributeError):
        add.nothing  # noqa: B018
    for wrong in (5, None, "x"):
        with pytest.raises(TypeError, match="wrap\\(\\) takes a function"):
            probe.wrap(wrong)


def test_off_cost():
    """A call of the wrapped function costs little more than one of the function: far from a Python frame more."""

    def empty():
        pass

    def python_wrapper(*args, **keywords):
        return empty(*args, **keywords)

    def cost(function):
        best = float("inf")
        for _ in range(7):
            start = time.perf_counter()
            for _ in range(20_000):
                function()
            best = min(best, time.perf_counter() - start)
        return best

    assert cost(probe.wrap(empty)) < cost(python_wrapper)
