"""Dumps of the compiler's stages for people: --dump=ast, types, bpf."""

from __future__ import annotations

from . import ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..program.program import Program


def format_tree(node: ast.Unit) -> str:
    """A tree, one node a line, indented by its depth."""
    lines: list[str] = []
    _format_node(node, "", 0, lines)
    return "\n".join(lines)


def _format_node(node: ast.Node, label: str, depth: int, lines: list[str]) -> None:
    kind = getattr(node, "type", None)
    plain, below = [], []
    for field in node.fields:
        value = getattr(node, field)
        if isinstance(value, ast.Node):
            below.append((f"{field}: ", value))
        elif type(value) is list and any(isinstance(item, ast.Node) for item in value):
            below += [(f"{field}[{i}]: ", item) for i, item in enumerate(value)]
        elif value is not None and value != []:
            plain.append(f"{field}={getattr(value, 'name', value)!s}")
    text = f"{'  ' * depth}{label}{type(node).__name__}"
    if plain:
        text += f" {' '.join(plain)}"
    if kind is not None:
        text += f"  <{kind}>"
    lines.append(text)
    for name, value in below:
        if isinstance(value, ast.Node):
            _format_node(value, name, depth + 1, lines)


def format_code(program: Program) -> str:
    """The eBPF of all clauses."""
    from pydtrace.bpf.disasm import disassemble

    parts = []
    for clause in program.clauses:
        probes = ", ".join(str(probe) for probe in clause.probes)
        parts.append(
            f"; clause {clause.index}: {probes}\n{disassemble(clause.code, [m.name for m in program.maps])}"
        )
    return "\n\n".join(parts)
