"""The order of a clause's actions: what was before, by which each action knows what it may not follow (Action.follow)."""

from ..errors import refuse


class Flow:
    """data, speculated, committed: there was such an action."""

    __slots__ = ("data", "speculated", "committed")

    def __init__(self):
        self.data = self.speculated = self.committed = False

    def aggregation(self, statement):
        for before, tag, name in ((self.speculated, "D_AGG_SPEC", "speculate( )"), (self.committed, "D_AGG_COMM", "commit( )")):
            if before:
                refuse(tag, statement.loc, f"aggregating actions may not follow {name}")
