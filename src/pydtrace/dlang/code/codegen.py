"""Code generation: the typed, lowered tree -> program.Program.

Each clause is one eBPF program, which any engine can run by itself: it begins with the lookup of
the state block, ends with its record, and passes the verifier of Linux 5.15.
"""

from __future__ import annotations

from pydtrace.bpf.insn import R0, R6, jump_imm, load, store_imm
from pydtrace.dlang import ast
from pydtrace.dlang.beginner_hints import warn_of_characters
from pydtrace.program import program as p

from . import (
    assignments,
    float_expressions,
    integer_expressions,
    memory_objects,
    stack_demand,
    string_expressions,
    variable_storage,
)
from .argument_demand import clause_demand, walk_nodes
from .emitter import Emitter, EmitterTables, StringSlot
from .in_target_counting import can_count
from .layout import Layout
from .order_dependence import order_reason
from .statements import emit_body

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...bpf.insn import Insn
    from ...options import Options
    from ..front.source_text import Location
    from ..variable_table import Aggregation, Variable

_MAX_SOURCE_LINE = 120  # characters of the script's text that a view shows

_TABLES = EmitterTables(
    (
        integer_expressions,
        string_expressions,
        memory_objects,
        variable_storage,
        assignments,
        float_expressions,
    )
)


def generate_program(unit: ast.Unit, options: Options | None = None) -> p.Program:
    """The Program of a unit.  options: options.Options, or a dict like it."""
    program = p.Program()
    program.options = dict(options or {})
    program.strsize = program.options.get("strsize", program.strsize)
    clauses = [item for item in unit.items if type(item) is ast.Clause]
    layout = Layout(program.options, program.strsize)
    for clause in clauses:
        for node in walk_nodes(clause):
            layout.reserve_stack(stack_demand.find_stack_need(node, program.options))
    program.aggregations = place_symbols(clauses, layout)
    for index, clause in enumerate(clauses):
        budget = clause.loc.source.limits
        budget.location = clause.loc
        out = p.Clause(index, clause.probes, clause.loc)
        out.demand, uses = clause_demand(clause, program.strsize)
        out.stacks = frozenset(
            found[0]
            for node in walk_nodes(clause)
            if (found := stack_demand.find_stack_need(node, program.options))
        )
        program.uses |= uses
        _generate_clause(layout, clause, out)
        out.counting = _generate_counting(layout, clause, out)
        budget.count_code(clause.loc, len(out.code) + len(out.counting or ()))
        out.in_order = order_reason(clause, out)
        program.clauses.append(out)
        _note_destructive(program, clause)
        for node in walk_nodes(clause):
            program.warnings += warn_of_characters(node)
    program.speculates = layout.has_speculations
    program.maps = layout.finish_maps(unit.loc)
    program.variable_size = layout.variable_size
    program.stacks = layout.stacks
    program.this_area = (p.STATE_PROGRAM, layout.this_end - p.STATE_PROGRAM)
    program.zeros = (layout.zeros, layout.zeros_size)
    return program


def _note_destructive(program: p.Program, clause: ast.Clause) -> None:
    for node in walk_nodes(clause):
        if type(node) is ast.Call and is_destructive(node) and not program.destructive:
            program.destructive = True
            program.first_destructive = node.row.name, str(node.loc)


def is_destructive(node: ast.Node) -> bool:
    """Whether a node is the call of a destructive action or subroutine."""
    return type(node) is ast.Call and node.row.is_destructive


def place_symbols(clauses: list[ast.Clause], layout: Layout) -> list[p.AggDef]:
    """Give every symbol of the clauses its place; returns the AggDefs in the order of first use."""
    aggregations: list[p.AggDef] = []
    seen: set[Variable | Aggregation] = set()
    statements = _find_first_statements(clauses)
    for clause in clauses:
        for node in walk_nodes(clause):
            if type(node) is ast.Call and node.row.make_room:
                node.row.make_room(layout)
            if not isinstance(node, (ast.Var, ast.AssocRef, ast.AggRef)) or node.symbol in seen:
                continue
            seen.add(node.symbol)
            if isinstance(node, ast.AggRef):
                layout.place_aggregation(node.symbol)
                aggregations.append(_define_aggregation(layout, node.symbol, statements))
                continue
            symbol = node.symbol
            if type(node) is ast.AssocRef or symbol.scope == "self":
                layout.place_dynamic(symbol)
            elif symbol.scope == "this":
                layout.place_this(symbol)
            else:
                layout.place_global(symbol)
    layout.seal()
    _find_nullable(clauses, layout)
    return aggregations


def _find_first_statements(clauses: list[ast.Clause]) -> dict[Aggregation, ast.AggStmt]:
    """The first statement that adds to each aggregation."""
    found: dict[Aggregation, ast.AggStmt] = {}
    for clause in clauses:
        for statement in clause.body or ():
            if isinstance(statement, ast.AggStmt):
                found.setdefault(statement.agg.symbol, statement)
    return found


def _define_aggregation(
    layout: Layout, symbol: Aggregation, statements: dict[Aggregation, ast.AggStmt]
) -> p.AggDef:
    keys = layout.make_key(symbol.keys or (), symbol.loc).fields
    made = p.AggDef(symbol.name, symbol.ident, symbol.row, symbol.params, keys, symbol.placed_map)
    if statement := statements.get(symbol):
        made.argument = ", ".join(_source_line(arg.loc) for arg in statement.args)
        made.key_texts = tuple(_source_line(key.loc) for key in statement.agg.keys)
    return made


def _source_line(loc: Location) -> str:
    """What the script has there, as one short line."""
    text = loc.source.text[loc.start : min(loc.end, loc.start + 2 * _MAX_SOURCE_LINE)]
    line = " ".join(text.encode("latin-1").decode("utf-8", "replace").split())
    return line if len(line) <= _MAX_SOURCE_LINE else line[: _MAX_SOURCE_LINE - 1] + "…"


def _find_nullable(clauses: list[ast.Clause], layout: Layout) -> None:
    """Which string scalars may be NULL: those to which something is assigned that may be."""
    assigns = [
        node
        for clause in clauses
        for node in walk_nodes(clause)
        if type(node) is ast.Assign
        and node.type.is_string
        and not variable_storage.is_dynamic(node.target)
    ]
    before = -1
    while len(layout.nullable) != before:
        before = len(layout.nullable)
        layout.nullable.update(
            node.target.symbol
            for node in assigns
            if isinstance(node.target, ast.Var)
            and string_expressions.may_be_null(layout, node.value)
        )


def _generate_counting(layout: Layout, clause: ast.Clause, out: p.Clause) -> list[Insn] | None:
    """The code that does for as many firings as arg0 says what the clause's own does for each; None: there can be none."""
    if not can_count(clause, layout):
        return None
    at_once = p.Clause(out.index, out.probes, out.loc)
    _generate_clause(layout, clause, at_once, p.STATE_ARGS)
    return at_once.code


def _generate_clause(
    layout: Layout, clause: ast.Clause, out: p.Clause, many: int | None = None
) -> None:
    g = Emitter(layout, out, _TABLES)
    g.count_offset = many
    g.mark_location(clause.loc)
    g.emit_prologue()
    if layout.heap:
        _begin_heap(
            g, any(type(node) is ast.Call and node.row.allocates for node in walk_nodes(clause))
        )
    cpu = g.layout.only_cpu
    if cpu is not None:
        g.emit(load(4, R0, R6, p.STATE_CPU), jump_imm("jne", R0, cpu, g.end_label))
    if clause.predicate is not None:
        g.emit_branch(clause.predicate, g.end_label, False)
    emit_body(g, clause)
    g.finish()


def _begin_heap(g: Emitter, allocates: bool) -> None:
    """A clause begins: nothing of its memory is handed out, and nothing is in it that an earlier firing left."""
    layout = g.layout
    g.emit(store_imm(8, R6, layout.heap_top, layout.heap))
    if allocates:
        g.zero_slot(StringSlot(False, layout.heap, layout.heap_size))
