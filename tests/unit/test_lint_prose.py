"""The rules of prose: each finds what it is there for, and nothing in plain sentences."""

from __future__ import annotations

import runpy
import textwrap
from pathlib import Path

import pytest

from tests.support import harness

LINT = runpy.run_path(str(Path(harness.ROOT, ".ci", "lint-prose")))


def page(markdown: str) -> list[tuple[int, str]]:
    return list(LINT["page_faults"](textwrap.dedent(markdown)))


def test_plain_sentences_have_no_fault():
    assert (
        page(
            """
            # What is a heading
            pydtrace prints a warning. What does it do? It counts `what can not be said`.

            - Events that do not fit are dropped; [a link](where.md) is its text.

            | limit | default |
            | --- | --- |
            | events | 5 |

            ```console
            $ echo nobody
            ```
            """
        )
        == []
    )


@pytest.mark.parametrize(
    ("markdown", "line", "fault"),
    [
        ("a\n\nIt can\nnot.", 3, "'can not': cannot"),
        ("Dead locks.", 1, "'Dead locks': deadlock"),
        ("| a |\n| --- |\n| nobody |", 3, "'nobody': name the actor"),
        ("It is. Of Erlang, it is.", 1, "begins with 'Of': Of Erlang, it is."),
        ("- a\n- What does not fit is dropped.", 2, "begins with 'What'"),
        ("w " * 26, 1, "a sentence of 26 words"),
        ("w " * 25 + "`a b`", 1, "a sentence of 26 words"),
        ("| " + "w " * 16 + "|", 1, "a cell of 16 words"),
    ],
)
def test_a_fault_is_found(markdown, line, fault):
    (found,) = page(markdown)
    assert found[0] == line and fault in found[1]


def test_messages_are_strings_of_three_words_but_no_docstrings():
    source = '"""It can not be."""\nraise ValueError(f"{x} can not be")\nname = "nobody"\n'
    assert list(LINT["message_faults"](source)) == [(2, "'can not': cannot")]


def test_what_is_pending_is_there_and_has_faults(monkeypatch, capsys, tmp_path):
    pending = tmp_path / "pending"
    monkeypatch.setitem(LINT["main"].__globals__, "PENDING", pending)
    monkeypatch.setitem(LINT["main"].__globals__, "all_files", lambda: ["a.md", "b.md"])
    monkeypatch.setitem(
        LINT["main"].__globals__, "faults", lambda path: ["b.md:1: x"] if path == "b.md" else []
    )
    for text, printed in (
        ("b.md", ""),
        ("", "b.md:1: x\n"),
        ("a.md b.md", "a.md: follows the rules: take it out of .ci/prose-pending.txt\n"),
        ("b.md c.md", "c.md: listed in .ci/prose-pending.txt, but not there\n"),
    ):
        pending.write_text(text)
        assert LINT["main"]([]) == bool(printed) and capsys.readouterr().out == printed
