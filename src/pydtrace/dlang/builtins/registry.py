"""The tables of actions, aggregating functions and subroutines, by name.

action_base.py, aggregation_base.py and subroutine_base.py define their rows.
"""

from . import (
    aggregation_actions,
    control_actions,
    copyinstr,
    copyout,
    distribution_aggregations,
    erlang_terms,
    json_subroutine,
    memory_subroutines,
    network_subroutines,
    number_aggregations,
    percentiles,
    printf_actions,
    process_subroutines,
    speculation_actions,
    stack_actions,
    string_subroutines,
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

AGGREGATIONS = {
    row.name: row
    for file in (number_aggregations, distribution_aggregations, percentiles)
    for row in file.ROWS
}

SUBROUTINES = {
    row.name: row
    for file in (
        copyinstr,
        copyout,
        memory_subroutines,
        string_subroutines,
        erlang_terms,
        json_subroutine,
        network_subroutines,
        process_subroutines,
    )
    for row in file.ROWS
}
SUBROUTINES.update((row.name, row) for row in speculation_actions.SUBROUTINES)
