"""The table of D's built-in variables, subroutines, actions and aggregating functions.

- A row has everything about one name: its prototype and type rule, its code, the decoding of its
  data, and what the driver and the dtrace engine do with it (action_base.py, subroutine_base.py,
  aggregation_base.py, builtin_variables.py).
- Adding a built-in changes one file of this folder, and its tests.
- The compiler refuses names of D without a row with D_UNSUPPORTED (unsupported.py).
"""

from .builtin_variables import VARIABLES
from .registry import ACTIONS, AGGREGATIONS, SUBROUTINES

__all__ = ["VARIABLES", "SUBROUTINES", "ACTIONS", "AGGREGATIONS"]
