"""The table of actions (action_base.py defines an action)."""

from . import (
    aggregation_actions,
    control_actions,
    printf_actions,
    speculation_actions,
    stack_actions,
    trace_actions,
)

ACTIONS = {
    row.name: row
    for file in (
        printf_actions,
        trace_actions,
        aggregation_actions,
        control_actions,
        stack_actions,
        speculation_actions,
    )
    for row in file.ROWS
}
