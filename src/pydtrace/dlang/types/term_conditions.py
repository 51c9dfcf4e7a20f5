"""Which calls of functions an Erlang node itself can decide: `term(arg.params, 1, "country") == "at"`.

Input: the predicates of all clauses, before they are typed.
Output: for each description of an entry probe, alternatives of conditions on the parameters (program.Program.term_conditions).

- A node makes match specifications of them (erlang_nif/src/pyusdt_vm_conditions.erl), so calls that they reject make no event.
- The predicate is evaluated once more, so it can only be too many events.
"""

from __future__ import annotations

from pydtrace.dlang import ast

from .value_conditions import (
    ALWAYS,
    NUMBER,
    TEXT,
    Alternatives,
    PredicateReader,
    matches_pattern,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

PROBES = ("local-function-entry", "global-function-entry", "bif-entry", "nif-entry")
_PARAMS = "arg3"


class TermPredicateReader(PredicateReader):
    """The subject of a condition is the path into the parameters: a tuple of numbers and texts."""

    def __init__(self, strsize: int) -> None:
        super().__init__(lambda node, kind: None, (), strsize)

    def _find_subject(self, node: ast.Expr, kind: str) -> tuple[tuple, str, str] | None:  # type: ignore[override, type-arg]
        found = TEXT
        if _is_call(node, "strtoll") and len(node.args) == 1:  # type: ignore[attr-defined]
            node, found = node.args[0], NUMBER  # type: ignore[attr-defined]
        if not _is_call(node, "term") or not _is_params(node.args[0]):  # type: ignore[attr-defined]
            return None
        steps = tuple(_read_step(each) for each in node.args[1:])  # type: ignore[attr-defined]
        return None if None in steps or (found == TEXT) != (kind == TEXT) else (steps, "", found)


def _is_call(node: ast.Expr, name: str) -> bool:
    return (
        type(node) is ast.Call
        and type(node.name) is ast.Ident
        and node.name.name == name
        and len(node.args) > 0
    )


def _is_params(node: ast.Expr) -> bool:
    if type(node) is ast.Ident:
        return node.name == _PARAMS
    return (
        type(node) is ast.Select
        and type(node.base) is ast.Ident
        and (node.base.name, node.op, node.name) == ("arg", ".", "params")
    )


def _read_step(node: ast.Expr) -> int | bytes | None:
    if type(node) is ast.StrLit:
        return node.value
    return node.value if type(node) is ast.IntLit and 0 < node.value < 256 else None


class TermConditions:
    """Of all clauses of a program."""

    def __init__(self) -> None:
        self._clauses: list[tuple[Sequence[ast.ProbeDesc], Alternatives]] = []

    def add(
        self, probes: Sequence[ast.ProbeDesc], predicate: ast.Expr | None, strsize: int
    ) -> None:
        if any(_is_entry(each) for each in probes):
            read = TermPredicateReader(strsize).read
            self._clauses.append((probes, ALWAYS if predicate is None else read(predicate)))

    def rows(self) -> list[tuple[str, str, str, list[list[tuple[tuple, str, int | bytes]]]]]:  # type: ignore[type-arg]
        """[(name, module, function, alternatives of (path, operation, constant))]; none if nothing is decided."""
        if not any(all(alternatives) for _, alternatives in self._clauses):
            return []
        return [
            (probe.name, probe.module, probe.function, [
                [(each.subject, each.operation, each.constant) for each in conditions]  # type: ignore[misc]
                for conditions in alternatives
            ])
            for probes, alternatives in self._clauses
            for probe in probes
            if _is_entry(probe)
        ]  # fmt: skip


def _is_entry(probe: ast.ProbeDesc) -> bool:
    """Whether a description may match an entry of an Erlang function."""
    return any(not probe.name or matches_pattern(name, probe.name) for name in PROBES)
