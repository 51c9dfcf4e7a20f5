"""A profile as speedscope's file."""

from __future__ import annotations

import fastjsonschema
import pytest

from pydtrace.profile.sample_order import SampleOrder
from pydtrace.profile.speedscope import make_speedscope
from pydtrace.profile.stack_profile import Profile
from tests.support.made_up.made_profiles import LEAF, MAIN, NASTY, made
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
    profile.add_sample((("thread", "worker"),), (NASTY, MAIN))
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


def test_order_of_time():
    """A profile for each thread of each process, all on one axis; a thread without a sample has an empty stack."""
    profile = Profile(100, "running threads", separated=())
    profile.order = SampleOrder()
    first = (("process", "python 1"), ("thread", "MainThread 1"))
    early = (("process", "sh 1"), ("thread", "sh 1"))
    second = (("process", "python 1"), ("thread", "worker 2"))
    samples = [(0, early, LEAF), (1, first, LEAF), (2, first, MAIN), (5, first, LEAF)]
    for turn, labels, place in [*samples, (3, second, MAIN), (4, second, LEAF)]:
        profile.add_sample(labels, (place,), 1, 1000.0 + turn / 100)
    file = make_speedscope(profile, "app")
    check_speedscope(file)
    names = [frame["name"] for frame in file["shared"]["frames"]]
    shown = {
        each["name"]: [
            ("".join(names[number] for number in stack), round(weight, 6))
            for stack, weight in zip(each["samples"], each["weights"], strict=True)
        ]
        for each in file["profiles"]
    }
    assert shown == {
        "process python 1, MainThread 1": [
            ("leaf", 0.02),
            ("main", 0.01),
            ("", 0.02),
            ("leaf", 0.01),
        ],
        "process python 1, worker 2": [("", 0.03), ("main", 0.01), ("leaf", 0.01)],
    }


def test_more_samples_than_have_a_time(monkeypatch):
    monkeypatch.setattr("pydtrace.profile.sample_order.MAX_SAMPLES", 2)
    profile = Profile(100, "running threads")
    profile.order = SampleOrder()
    for turn in range(5):
        profile.add_sample((), (MAIN,), 1, turn / 100)
    file = make_speedscope(profile, "app")
    check_speedscope(file)
    assert [each["name"] for each in file["profiles"]] == ["app", "app: samples without a time"]
    assert [sum(each["weights"]) for each in file["profiles"]] == pytest.approx([0.02, 0.03])


def test_speedscope_of_nothing():
    check_speedscope(make_speedscope(Profile(97, "all threads"), "nothing"))
