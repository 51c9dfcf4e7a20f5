"""A profile as speedscope's file."""

from __future__ import annotations

import fastjsonschema
import pytest

from pydtrace.profile.speedscope import make_speedscope
from pydtrace.profile.stack_profile import Profile
from tests.support.made_up.made_profiles import MAIN, NASTY, made
from tests.support.speedscope_schema import VALID, check_speedscope


def test_the_schema_refuses_what_is_wrong():
    file = make_speedscope(made(), "app")
    for wrong in (
        {**file, "profiles": 1},
        {**file, "profiles": [{**file["profiles"][0], "unit": "years"}]},
        {**file, "shared": {}},
    ):
        with pytest.raises(fastjsonschema.JsonSchemaException):
            VALID(wrong)


def test_speedscope():
    profile = made()
    profile.add_sample("worker", (NASTY, MAIN))
    file = make_speedscope(profile, "app")
    check_speedscope(file)
    first, second = file["profiles"]
    assert (first["name"], second["name"]) == ("app", "worker")
    assert sum(first["weights"]) == pytest.approx(0.10) == first["endValue"] and second[
        "weights"
    ] == [0.01]
    names = [frame["name"] for frame in file["shared"]["frames"]]
    assert [[names[number] for number in stack] for stack in first["samples"]] == [
        ["main", "work", "leaf"],
        ["main", "work", "work"],
        ["main"],
    ]
    assert file["shared"]["frames"][-1] == {"name": NASTY.function, "file": NASTY.file, "line": 3}


def test_speedscope_of_nothing():
    check_speedscope(make_speedscope(Profile(97, "all threads"), "nothing"))
