"""Tags that follow messages and spawned processes, by an option of the node."""

from __future__ import annotations

import pytest

from tests.support import harness

EVENTS = """erlang$target:::user_trace-i4s4 { printf("%s|%s\\n", arg1 ? copyinstr(arg1) : "-", copyinstr(arg6)); }"""
TAGGED = ["front", "call", "cast", "spawned", "spawned again", "timer", "last call"]


@pytest.mark.parametrize(
    ("options", "argument", "follows"),
    [
        ((), "no", False),
        ((), "call", True),
        (("-pyusdt", "follow_tags", "true"), "no", True),
        (("-pyusdt", "follow_tags", "true", "-eval", "application:start(pyusdt)"), "no", True),
        (("-pyusdt", "follow_tags", "false"), "no", False),
    ],
)
def test_tags_follow(erlang, trace, options, argument, follows):
    run = trace(EVENTS, erlang.node("run", argument, module="followed", options=options))
    expected = {
        f"{'order 17' if follows or text in ('front', 'timer') else '-'}|{text}" for text in TAGGED
    }
    assert set(run.stdout.split("\n")) - {""} == expected | {"-|untagged call"}, run


def test_elixirs_tasks_and_servers(erlang, trace, monkeypatch):
    if harness.tools("elixir"):
        pytest.skip("no elixir")
    program = f"{harness.ROOT}/tests/erlang/programs/followed.exs"
    monkeypatch.setenv("ELIXIR_ERL_OPTIONS", "-pyusdt follow_tags true")
    run = trace(EVENTS, ["elixir", "-pa", erlang.ebin, program], timeout=120)
    texts = ["front", "call", "cast", "task", "agent", "stream 1", "stream 2"]
    assert set(run.stdout.split("\n")) - {""} == {f"order 17|{text}" for text in texts}, run
