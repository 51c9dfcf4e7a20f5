"""The order of a clause's actions: what was before, by which each action knows what it may not follow (Action.follow)."""

from __future__ import annotations

from pydtrace.dlang.compile_errors import refuse

TYPE_CHECKING = False  # of typing, which the compiler does not import
if TYPE_CHECKING:
    from pydtrace.dlang import ast


class Flow:
    """data, speculated, committed: there was such an action."""

    __slots__ = ("data", "speculated", "committed")

    def __init__(self) -> None:
        self.data = self.speculated = self.committed = False

    def act(self, call: ast.Call, records: bool, destructive: bool) -> None:
        """Add an action, or a function that has the effect of one."""
        if destructive and self.speculated:
            refuse("D_ACT_SPEC", call.loc, "destructive actions may not follow speculate( )")
        if records and self.committed:
            refuse("D_DREC_COMM", call.loc, "data-recording actions may not follow commit( )")
        self.data = self.data or records

    def aggregation(self, statement: ast.Node) -> None:
        for before, tag, name in (
            (self.speculated, "D_AGG_SPEC", "speculate( )"),
            (self.committed, "D_AGG_COMM", "commit( )"),
        ):
            if before:
                refuse(tag, statement.loc, f"aggregating actions may not follow {name}")
