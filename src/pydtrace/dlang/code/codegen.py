# mypy: ignore-errors
"""Code generation: the typed, lowered tree -> program.Program.

In: the program's ast.Unit, its options.  Out: a Program, its code linked and complete.
Always: one eBPF program a clause, which any engine can run by itself: it begins with the state block's
lookup, ends with its record, and passes the verifier of Linux 5.15.
"""

from pydtrace.bpf.insn import R0, R6, jump_imm, load, store_imm
from pydtrace.dlang import ast
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
from .argument_demand import demand_of, walk
from .emitter import Emitter, Place, Tables
from .in_target_counting import can_count
from .layout import Layout
from .order_dependence import why_in_order
from .statements import clause_body

_TABLES = Tables(
    (
        integer_expressions,
        string_expressions,
        memory_objects,
        variable_storage,
        assignments,
        float_expressions,
    )
)


def generate(unit, options=None):
    """The Program of a unit.  options: options.Options, or a dict like it."""
    program = p.Program()
    program.options = dict(options or {})
    program.strsize = program.options.get("strsize", program.strsize)
    clauses = [item for item in unit.items if item.__class__ is ast.Clause]
    layout = Layout(program.options, program.strsize)
    for clause in clauses:
        for node in walk(clause):
            layout.need_stack(stack_demand.wanted(node, program.options))
    program.aggregations = place_symbols(clauses, layout)
    for index, clause in enumerate(clauses):
        budget = clause.loc.source.budget
        budget.place = clause.loc
        out = p.Clause(index, clause.probes, clause.loc)
        out.demand, uses = demand_of(clause, program.strsize)
        out.stacks = {
            found[0]
            for node in walk(clause)
            if (found := stack_demand.wanted(node, program.options))
        }
        program.uses |= uses
        _clause(layout, clause, out)
        out.counting = _counting(layout, clause, out)
        budget.take_code(clause.loc, len(out.code) + len(out.counting or ()))
        out.in_order = why_in_order(clause, out)
        program.clauses.append(out)
        program.destructive |= any(is_destructive(node) for node in walk(clause))
    program.speculates = layout.speculates
    program.maps = layout.finish(unit.loc)
    program.variable_size = layout.variable_size
    program.stacks = layout.stacks
    program.this_area = (p.STATE_PROGRAM, layout.this_end - p.STATE_PROGRAM)
    program.zeros = (layout.zeros, layout.zeros_size)
    return program


def is_destructive(node):
    """Whether a node is the call of a destructive action or subroutine."""
    return node.__class__ is ast.Call and node.row.destructive


def place_symbols(clauses, layout):
    """Give every symbol of the clauses its place; returns the AggDefs in the order of first use."""
    aggregations, seen = [], set()
    for clause in clauses:
        for node in walk(clause):
            cls = node.__class__
            if cls is ast.Call and node.row.place:
                node.row.place(layout)
            if cls not in (ast.Var, ast.AssocRef, ast.AggRef) or node.symbol in seen:
                continue
            symbol = node.symbol
            seen.add(symbol)
            if cls is ast.AggRef:
                layout.place_aggregation(symbol)
                keys = layout.key(symbol.keys or (), symbol.loc).fields
                aggregations.append(
                    p.AggDef(symbol.name, symbol.ident, symbol.row, symbol.params, keys, symbol.map)
                )
            elif cls is ast.AssocRef or symbol.scope == "self":
                layout.place_dynamic(symbol)
            elif symbol.scope == "this":
                layout.place_this(symbol)
            else:
                layout.place_global(symbol)
    layout.seal()
    _find_nullable(clauses, layout)
    return aggregations


def _find_nullable(clauses, layout):
    """Which string scalars may be NULL: those to which something is assigned that may be."""
    assigns = [
        node
        for clause in clauses
        for node in walk(clause)
        if node.__class__ is ast.Assign
        and node.type.is_string
        and not variable_storage.is_dynamic(node.target)
    ]
    before = -1
    while len(layout.nullable) != before:
        before = len(layout.nullable)
        layout.nullable.update(
            node.target.symbol
            for node in assigns
            if string_expressions.may_be_null(layout, node.value)
        )


def _counting(layout, clause, out):
    """The code that does for as many firings as arg0 says what the clause's own does for each; None: there can be none."""
    if not can_count(clause, layout):
        return None
    at_once = p.Clause(out.index, out.probes, out.loc)
    _clause(layout, clause, at_once, p.STATE_ARGS)
    return at_once.code


def _clause(layout, clause, out, many=None):
    g = Emitter(layout, out, _TABLES)
    g.many = many
    g.mark(clause.loc)
    g.prologue()
    if layout.heap:
        _begin_heap(
            g, any(node.__class__ is ast.Call and node.row.allocates for node in walk(clause))
        )
    cpu = g.layout.only_cpu
    if cpu is not None:
        g.emit(load(4, R0, R6, p.STATE_CPU), jump_imm("jne", R0, cpu, g.end))
    if clause.predicate is not None:
        g.branch(clause.predicate, g.end, False)
    clause_body(g, clause)
    g.finish()


def _begin_heap(g, allocates):
    """A clause begins: nothing of its memory is handed out, and nothing is in it that an earlier firing left."""
    layout = g.layout
    g.emit(store_imm(8, R6, layout.heap_top, layout.heap))
    if allocates:
        g.zero(Place(False, layout.heap, layout.heap_size))
