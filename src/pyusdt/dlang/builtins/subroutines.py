"""The table of subroutines: functions that an expression may call (row.py says what one is)."""

from . import copyinstr, copyout, erlang, heap, json, network, process, speculations, text

SUBROUTINES = {row.name: row for file in (copyinstr, copyout, heap, text, erlang, json, network, process) for row in file.ROWS}
SUBROUTINES.update((row.name, row) for row in speculations.SUBROUTINES)
