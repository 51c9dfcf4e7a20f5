"""Whether a program's records and aggregations have room in the buffers that its options ask for.

In: a program.Program.  Out: dtrace's words for what has no room, or None.
"""

from ..data import program as p

_RECORD_HEAD = 56  # bytes that dtrace's own buffers spend on a record: sizes mean the same here as there
_VALUE_HEAD = 8  # and on an aggregation's value
_LARGEST = 1 << 40
_NO_ROOM = "Enabling exceeds size of buffer"


def complaint(program):
    options = program.options
    bufsize, aggsize = options.get("bufsize"), options.get("aggsize")
    records = [clause.record_size and _RECORD_HEAD + _data_size(clause) for clause in program.clauses]
    if bufsize is not None and "bufpolicy" not in options and max(records, default=0) > bufsize:
        return _NO_ROOM
    if aggsize is None or not program.aggregations:
        return None
    if aggsize >= _LARGEST:
        return "failed to create BPF map 'aggs': Too big"
    values = [program.maps[aggdef.map].value_size + _VALUE_HEAD for aggdef in program.aggregations]
    return _NO_ROOM if max(values) > aggsize else None


def _data_size(clause):
    """Bytes that the record of a clause has behind its head."""
    data = [each for action in clause.actions for each in action.data]
    return max((each.offset + each.size - p.RECORD_DATA for each in data), default=0)
