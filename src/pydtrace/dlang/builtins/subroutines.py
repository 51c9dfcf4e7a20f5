"""The table of subroutines: functions that an expression may call (subroutine_base.py defines
one).
"""

from . import (
    copyinstr,
    copyout,
    erlang_terms,
    json_subroutine,
    memory_subroutines,
    network_subroutines,
    process_subroutines,
    speculation_actions,
    string_subroutines,
)

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
