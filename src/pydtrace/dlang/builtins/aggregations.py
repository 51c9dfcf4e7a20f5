"""The table of aggregating functions (aggregation_base.py defines one)."""

from . import distribution_aggregations, number_aggregations, percentiles

AGGREGATIONS = {
    row.name: row
    for file in (number_aggregations, distribution_aggregations, percentiles)
    for row in file.ROWS
}
