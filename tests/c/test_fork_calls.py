"""Children by each call that makes one, and libraries that are unloaded, while a tracer is there."""

import re

import pytest

from tests.support.core.code_locations import pydtrace

ROUNDS, EVENTS = 50, 10  # of children_main


def test_children_of_each_kind(world):
    """Every event arrives, and no child harms its parent: one of vfork() runs in its memory, and others are made behind the C library."""
    got = pydtrace(
        world,
        "-x",
        "engine=embedded",
        "--strict",
        "-qZn",
        "children*:::hit { @[arg0] = count(); }",
        "-c",
        world.build.program("children_main"),
    )
    assert "whole" in got.stdout
    assert {
        int(way): int(n) for way, n in re.findall(r"^ +(\d+) +(\d+)$", got.stdout, re.MULTILINE)
    } == dict.fromkeys(range(1, 6), ROUNDS * EVENTS)


@pytest.mark.parametrize("how", [[], ["watch"]])
def test_a_library_that_is_unloaded(world, how):
    """dlclose() of a library that is traced: what it has begun finds its code afterwards, and later events arrive, too."""
    command = " ".join(
        [world.build.program("unload_main"), world.build.library("unload_library"), *how]
    )
    got = pydtrace(
        world,
        "-x",
        "engine=embedded",
        "--strict",
        "-qZn",
        "unload$target:::hit { @ = count(); }",
        "-c",
        command,
    )
    fired = int(re.search(r"^fired (\d+)$", got.stdout, re.MULTILINE)[1])
    assert fired > 0
    assert int(re.search(r"^ +(\d+)$", got.stdout, re.MULTILINE)[1]) == fired
