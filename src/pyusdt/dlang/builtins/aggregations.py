"""The table of aggregating functions (aggregation.py says what one is)."""

from . import distributions, numbers, percentiles

AGGREGATIONS = {row.name: row for file in (numbers, distributions, percentiles) for row in file.ROWS}
