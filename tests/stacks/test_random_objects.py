"""Values read out of another process, against what the process says about how it made them."""

from __future__ import annotations

import json
import os

import pytest

from pydtrace.cli.commands.dump_values import encode_value, format_value
from pydtrace.program.secret_names import SecretNames
from pydtrace.remote_python.remote_python import RemotePython
from pydtrace.remote_python.remote_values import RemoteValues, ValueBudget, ValueLimits
from tests.support import stacks_harness as harness

SEEDS = int(os.environ.get("PYUSDT_VALUE_SEEDS", "1"))
COUNT = int(os.environ.get("PYUSDT_VALUE_OBJECTS", "300"))


def sorted_cut(value):
    """JSON without what depends on the order of attributes: which of more than the limit are shown."""
    if isinstance(value, list):
        return [sorted_cut(each) for each in value]
    if not isinstance(value, dict):
        return value
    found = {name: sorted_cut(each) for name, each in value.items()}
    if found.get("cut") == "items" and "attributes" in found:
        found["attributes"] = len(found["attributes"])
    return found


def first_difference(found, wanted, path=""):
    """Where two trees of JSON differ first, and how, or None."""
    if isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted):
        pairs = zip(range(len(found)), found, wanted, strict=True)
    elif isinstance(found, dict) and isinstance(wanted, dict) and found.keys() == wanted.keys():
        pairs = ((name, found[name], wanted[name]) for name in found)
    else:
        same = found == wanted and type(found) is type(wanted)
        return None if same else (path, found, wanted)
    for name, one, other in pairs:
        if difference := first_difference(one, other, f"{path}/{name}"):
            return difference
    return None


@pytest.mark.parametrize("limits", [(3, 12, 120), (1, 3, 20)], ids=["wide", "narrow"])
@pytest.mark.parametrize("python", harness.INTERPRETERS, ids=harness.name_of)
def test_random_objects(python, limits):
    for seed in range(SEEDS):
        with harness.running(python, "random_objects.py", seed, COUNT, *limits) as subject:
            lines = [subject.said]
            while lines[-1] != "ready":
                lines.append(subject.hear())
            reader = RemoteValues(
                RemotePython(subject.pid),
                SecretNames(),
                ValueLimits(*limits, nodes=100_000),
                ValueBudget(10**9, 10**9, 600),
            )
            for line in lines[:-1]:
                address, wanted = json.loads(line)
                value = reader.read_named("made", lambda address=address: address)
                found = json.loads(json.dumps(encode_value(value)))
                difference = first_difference(sorted_cut(found), sorted_cut(wanted))
                assert difference is None, (seed, difference)
                assert format_value(value).isprintable()
            subject.write_line()
            assert subject.hear() == "0"
