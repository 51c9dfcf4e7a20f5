"""printa(), clear(), trunc(), normalize() and denormalize(): actions on whole aggregations.

program.Action.args has the aggregations (variable_table.Aggregation). The consumer acts on a
snapshot.
"""

from __future__ import annotations

from pydtrace.dlang import ast
from pydtrace.dlang.compile_errors import refuse
from pydtrace.program import d_types as t
from pydtrace.program.fields import read_integer

from .action_base import Action
from .printf_actions import parse_format

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...program import program
    from ..variable_table import Aggregation


def require_aggregation(call: ast.Call, arg: ast.Expr, number: int, tag: str) -> Aggregation:
    """The symbols.Aggregation that an argument names; tag: of the error if it is something else."""
    if not isinstance(arg, ast.AggRef):
        message = f"{call.name}( ) argument #{number} is incompatible with prototype:\n"
        refuse(tag, call.loc, f"{message}\tprototype: aggregation\n\t argument: {arg.type}")
    symbol: Aggregation = arg.symbol
    return symbol


class Printa(Action):
    """printa([format,] @a, @b, …): all with the same keys."""

    name, prototype, doc = (
        "printa",
        "void(@, ...)",
        "prints aggregations, in a given format or in the default format",
    )
    takes_text = True

    def check(self, call: ast.Call) -> None:
        first = 1 if call.args[0].type.is_string else 0
        if first and type(call.args[0]) is not ast.StrLit:
            message = "printa( ) argument #1 is incompatible with prototype:\n\tprototype: string constant\n"
            refuse("D_PRINTF_ARG_FMT", call.loc, message + f"\t argument: {call.args[0].type}")
        if len(call.args) == first:
            refuse(
                "D_PRINTA_PROTO",
                call.loc,
                "printa( ) prototype mismatch: 1 args passed, 2 expected",
            )
        symbols = []
        for number, arg in enumerate(call.args[first:], first + 1):
            symbols.append(require_aggregation(call, arg, number, "D_PRINTA_AGGARG"))
        for other in symbols[1:]:
            _check_same_keys(call, symbols[0], other)
        if first:
            types: list[t.Type] = [
                t.FLOATS["double"] if symbol.row is not None and symbol.row.is_float else t.INT64
                for symbol in symbols
            ]
            parse_format(call, (), list(symbols[0].keys or ()), types)

    def recorded_values(self, call: ast.Call) -> list[Any]:
        return [arg for arg in super().recorded_values(call) if type(arg) is not ast.StrLit]

    def perform(self, run: Any, action: program.Action, record: bytes) -> None:
        found = run.aggregates
        aggdefs = [found.find_definition(symbol) for symbol in action.args]
        if action.fmt is None:
            text = found.render_printa(aggdefs)
        else:
            text = run.format_renderer.render_aggregations(
                action, found.read_joined(aggdefs), found.sort_order(), found.find_divisor
            )
        found.mark_printed(aggdefs)
        run.sink.text(text)


def _check_same_keys(call: ast.Call, a: Aggregation, b: Aggregation) -> None:
    mine, its = len(a.keys or ()), len(b.keys or ())
    if mine != its:
        counts = [f"@{s.name} has {n} key{'' if n == 1 else 's'}" for s, n in ((a, mine), (b, its))]
        message = f"printa( ): @{a.name} and @{b.name} do not have matching key signatures: {', '.join(counts)}"
        refuse("D_PRINTA_AGGKEY", call.loc, message)
    for number, (left, right) in enumerate(zip(a.keys or (), b.keys or ()), 1):
        if not t.are_compatible(left, right):
            message = f"printa( ): @{b.name}[ ] key #{number} is incompatible with @{a.name}:\n"
            message += f"{a.name:>9} key #{number}: {left}\n{b.name:>9} key #{number}: {right}"
            refuse("D_PRINTA_AGGPROTO", call.loc, message)


class _AggregationAction(Action):
    """An action on one aggregation.  tag: of the error where the argument is something else."""

    tag = ""

    def check(self, call: ast.Call) -> None:
        require_aggregation(call, call.args[0], 1, self.tag)

    def find_definition(self, run: Any, action: program.Action) -> Any:
        return run.aggregates.find_definition(action.args[0])


class Clear(_AggregationAction):
    name, prototype, doc = "clear", "void(@)", "sets an aggregation's values to zero"
    tag = "D_CLEAR_AGGARG"
    is_done_by_dtrace = True

    def perform(self, run: Any, action: program.Action, record: bytes) -> None:
        run.aggregates.clear(self.find_definition(run, action))


class Trunc(_AggregationAction):
    name, prototype, doc = (
        "trunc",
        "void(@, [int64_t])",
        "removes all keys of an aggregation, or keeps only the n greatest",
    )
    tag = "D_TRUNC_AGGARG"
    record_type = t.INT64
    is_done_by_dtrace = True

    def perform(self, run: Any, action: program.Action, record: bytes) -> None:
        run.aggregates.trunc(
            self.find_definition(run, action),
            read_integer(action.data[0], record) if action.data else 0,
        )


class Normalize(_AggregationAction):
    name, prototype, doc = (
        "normalize",
        "void(@, uint64_t)",
        "divides an aggregation's values by a number when they are printed",
    )
    tag = "D_NORMALIZE_AGGARG"

    def perform(self, run: Any, action: program.Action, record: bytes) -> None:
        divisor = (
            read_integer(action.data[0], record) & (1 << 8 * action.data[0].size) - 1
        )  # as in dtrace, without its sign
        if divisor == 0:
            run.report_error(record, "normalize( ) by 0: the values stay as they are")
            return
        run.aggregates.normalize(self.find_definition(run, action), divisor)


class Denormalize(_AggregationAction):
    name, prototype, doc = "denormalize", "void(@)", "undoes normalize()"
    tag = "D_NORMALIZE_AGGARG"

    def perform(self, run: Any, action: program.Action, record: bytes) -> None:
        run.aggregates.normalize(self.find_definition(run, action), 1)


ROWS = [Printa(), Clear(), Trunc(), Normalize(), Denormalize()]
