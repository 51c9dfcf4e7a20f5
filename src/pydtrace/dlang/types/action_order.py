"""The order of a clause's actions, with which each action knows what it may not follow
(Action.check_order).
"""

from __future__ import annotations

from pydtrace.dlang.compile_errors import refuse

TYPE_CHECKING = False  # of typing, which the compiler does not import
if TYPE_CHECKING:
    from pydtrace.dlang import ast


class ActionOrder:
    """data, speculated, committed: there was such an action."""

    __slots__ = ("has_data", "has_speculate", "has_commit")

    def __init__(self) -> None:
        self.has_data = self.has_speculate = self.has_commit = False

    def add_action(self, call: ast.Call, records: bool, destructive: bool) -> None:
        """Add an action, or a function that has the effect of one."""
        if destructive and self.has_speculate:
            refuse("D_ACT_SPEC", call.loc, "destructive actions may not follow speculate( )")
        if records and self.has_commit:
            refuse("D_DREC_COMM", call.loc, "data-recording actions may not follow commit( )")
        self.has_data = self.has_data or records

    def add_aggregation(self, statement: ast.Node) -> None:
        for before, tag, name in (
            (self.has_speculate, "D_AGG_SPEC", "speculate( )"),
            (self.has_commit, "D_AGG_COMM", "commit( )"),
        ):
            if before:
                refuse(tag, statement.loc, f"aggregating actions may not follow {name}")
