"""The one table of what D has built in: variables, subroutines, actions, aggregations.

A row says everything about one name: its prototype and type rule, the code to emit, how its data are read, what tracing
and the dtrace engine do with it (action_base.py, subroutine_base.py, aggregation_base.py, builtin_variables.py).  Adding a built-in touches one of
these files and its tests.  Names of D that have no row here are answered with D_UNSUPPORTED (unsupported.py).
"""

from .actions import ACTIONS
from .aggregations import AGGREGATIONS
from .builtin_variables import VARIABLES
from .subroutines import SUBROUTINES

__all__ = ["VARIABLES", "SUBROUTINES", "ACTIONS", "AGGREGATIONS"]
