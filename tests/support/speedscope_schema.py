"""The published schema of speedscope's files."""

from __future__ import annotations

import json

import fastjsonschema

from tests.support.paths import TESTS

with open(f"{TESTS}/unit/profile/speedscope/file-format-schema.json") as published:
    VALID = fastjsonschema.compile(json.load(published))


def check_speedscope(file: dict) -> None:
    """speedscope's own schema (of the npm package speedscope 1.25.0, unchanged) accepts it; and what a schema can not say."""
    VALID(json.loads(json.dumps(file)))
    assert file["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    for each in file["profiles"]:
        assert each["type"] == "sampled" and len(each["samples"]) == len(each["weights"])
        assert all(
            0 <= number < len(file["shared"]["frames"])
            for stack in each["samples"]
            for number in stack
        )
