"""Aggregating functions: what the map's value is, how it is updated and printed.

Every value starts with a u64 number of data points; 0 means that nothing was aggregated
(also what clear() leaves).  All fields are u64 or s64, little- or big-endian as the host.
"""


class AggregationRow:
    """name; params: number of values it takes in @ = f(value, …); constants: number of further
    constant parameters; words: number of 8-byte words of its map value; doc: one line.

    Values, after word 0 (n):  count: none.  sum: s64 sum.  min, max: s64 value.
    avg: s64 sum.  quantize: u64 bucket[127], bucket 63 is the value 0, 63 + k the
    values 2^(k-1) … 2^k - 1, 63 - k their negatives.
    """

    __slots__ = ("name", "params", "constants", "words", "doc")

    def __init__(self, name, params, constants, words, doc):
        self.name, self.params, self.constants = name, params, constants
        self.words, self.doc = words, doc


_rows = [
    AggregationRow("count", 0, 0, 1, "number of times it was called"),
    AggregationRow("sum", 1, 0, 2, "total of the values"),
    AggregationRow("min", 1, 0, 2, "smallest of the values"),
    AggregationRow("max", 1, 0, 2, "largest of the values"),
    AggregationRow("avg", 1, 0, 2, "arithmetic mean of the values"),
    AggregationRow("quantize", 1, 0, 128, "power-of-two frequency distribution of the values"),
]

AGGREGATIONS = {row.name: row for row in _rows}
