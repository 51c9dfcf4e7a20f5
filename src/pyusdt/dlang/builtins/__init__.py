"""The one table of what D has built in: variables, subroutines, actions, aggregations.

A row says everything about one name: its prototype and type rule, the code to emit, how its data are read, what tracing
and the dtrace engine do with it (action.py, row.py, aggregation.py, variables.py).  Adding a built-in touches one of
these files and its tests.  Names of D that have no row here are answered with D_UNSUPPORTED (absent.py).
"""

from .actions import ACTIONS
from .aggregations import AGGREGATIONS
from .subroutines import SUBROUTINES
from .variables import VARIABLES

__all__ = ["VARIABLES", "SUBROUTINES", "ACTIONS", "AGGREGATIONS"]
