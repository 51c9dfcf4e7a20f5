"""The table of actions (action.py says what one is)."""

from . import formatted, speculations, stacks, steering, tables, values

ACTIONS = {row.name: row for file in (formatted, values, tables, steering, stacks, speculations) for row in file.ROWS}
