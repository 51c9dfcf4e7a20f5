"""The table of aggregating functions (aggregation.py says what one is)."""

from . import distributions, numbers

AGGREGATIONS = {row.name: row for file in (numbers, distributions) for row in file.ROWS}
