"""The one table of what D has built in: variables, subroutines, actions, aggregations.

A row says everything about one name: its type rule, the code to emit, how the consumer
prints it, and which engines have it.  Adding a built-in touches one of these files and
its tests.  Names of D that have no row here are answered with D_UNSUPPORTED.
"""

from .actions import ACTIONS
from .aggregations import AGGREGATIONS
from .subroutines import SUBROUTINES
from .variables import VARIABLES

__all__ = ["VARIABLES", "SUBROUTINES", "ACTIONS", "AGGREGATIONS"]
