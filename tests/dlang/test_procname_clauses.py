"""procname(): the clauses that it needs, and its errors."""

from __future__ import annotations

import pytest

from pydtrace.dlang.compile import Compiler, compile_program
from pydtrace.dlang.compile_errors import CompileError


def descriptions(text: str) -> list[str]:
    """Of each clause."""
    compiler = Compiler()
    tree = compiler.compile_text(text)
    return [
        ",".join(map(str, item.probes)) for item in tree.items if type(item).__name__ == "Clause"
    ]


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("erlang42:::message-send { trace(procname(copyinstr(arg0))); }", ["erlang42"]),
        ("BEGIN { trace(procname(\"x\")); }", ["erlang*"]),
        ("erlang1:::a,erlang2:::b,erlang1:::c { } BEGIN { trace(procname(\"x\")); }", ["erlang1", "erlang2"]),
    ],
)  # fmt: skip
def test_the_nodes_that_the_script_names(text, nodes):
    names = ",".join(f"{node}:::process-name" for node in nodes)
    assert descriptions(text)[-2:] == [names, names]


def test_its_clauses_come_last():
    """So that errors name the script's clauses by their own numbers."""
    assert descriptions('BEGIN { trace(procname("x")); } END { }')[:2] == [":::BEGIN", ":::END"]
    assert len(descriptions("BEGIN { } END { }")) == 2


def test_any_expression():
    assert compile_program(
        'BEGIN { this->p = "x"; @[procname(strjoin(this->p, "y")), procname(procname("z"))] = count(); }'
    )


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("BEGIN { trace(procname()); }", "D_PROTO_LEN"),
        ("BEGIN { trace(procname(\"a\", \"b\")); }", "D_PROTO_LEN"),
        ("BEGIN { trace(procname(1)); }", "D_PROTO_ARG"),
    ],
)  # fmt: skip
def test_errors(text, tag):
    with pytest.raises(CompileError) as raised:
        compile_program(text)
    assert raised.value.tag == tag
