"""Firing with little stack left: in a signal handler on an alternate stack of MINSIGSTKSZ, as it does untraced."""

import subprocess

import pytest

from tests.support.core.code_locations import pydtrace

WAYS = {
    "plain": "alt$target:::hit { @[copyinstr(arg1)] = count(); }",
    "stack": "alt$target:::hit { @[ustack(100)] = count(); }",
    "place": "alt$target:::place { @[probefunc] = count(); }",
    "event": "alt$target:::place { this->x = 1; @[probefunc] = count(); }",
    "fork": "alt*:::hit { @[ustack()] = count(); @n = count(); }",
    "full": "alt$target:::hit { @[ustack(100)] = count(); }",
}


@pytest.fixture(autouse=True)
def bound_functions(world, monkeypatch):
    """At the first call of a library's function the dynamic linker saves all registers: on some processors more than such a stack has."""
    monkeypatch.setitem(world.env, "LD_BIND_NOW", "1")


def depth(text):
    return int(text.split()[0])


@pytest.mark.parametrize("way", WAYS)
def test_each_way_to_fire(world, way):
    """The first firing, others, and one that looks for the tracer after 200 ms: each takes less than 1 KiB."""
    how = "place" if way == "event" else way
    program = world.build.program("altstack_main")
    untraced = subprocess.run(
        [program, how], env=world.env, check=True, capture_output=True, text=True
    )
    got = pydtrace(
        world,
        "-x",
        "engine=embedded",
        "-x",
        "bufsize=64k",
        "-qZn",
        WAYS[way],
        "-c",
        f"{program} {how}",
    )
    numbers = [int(word) for word in got.stdout.split() if word.isdigit()]
    assert any(number >= 15 for number in numbers), got  # it was traced
    assert depth(got.stdout) <= depth(untraced.stdout) + 1024, (got.stdout, untraced.stdout)
    assert "bad" not in got.stderr


def test_a_tracer_that_is_killed(world):
    """The firing that finds it dead undoes what it wanted."""
    program = world.build.program("altstack_main")
    reader = world.reader("all", "alive", "want=alt*:hit", "die=5")
    reader.stdout.readline()
    child = world.start([program, "plain", "40"])
    out = child.communicate(timeout=60)[0]
    assert child.returncode == 0 and depth(out) <= 1400
    assert [name for name in world.files() if not name.endswith(".session")] == []
