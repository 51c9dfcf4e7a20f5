"""The columns of dtrace's tables and of trace(): bytes in, int and str out.

Always: what dtrace aligned to the right is a number, what it aligned to the left and padded is a string; a line is
understood as a whole or not at all.

The widths: in tables, and in trace() but for DTrace for Linux, integers of 1, 2, 4 and 8 bytes take 3, 5, 8 and 16 after
a space; in its trace() 3, 5, 10 and 19 (unsigned 20).  A string key takes 50 after two spaces, trace()'s string 33 after
two; what does not fit takes what it needs.
"""

import re

_SPACE, _ZERO = b" 0"
_NUMBER = re.compile(rb" ( *-?\d+)(?= |\n|\Z)")
_LOOSE = re.compile(rb"  (\S.*?) {2,}(-?\d{1,20})\n?\Z")
_GAP = re.compile(rb" {2,}")
_INTEGER = re.compile(r"-?[0-9]{1,20}\Z")
_KEY_WIDTHS = frozenset((3, 5, 8, 16))
_TRACE_WIDTHS = _KEY_WIDTHS | {10, 19, 20}
_KEY_STRING, _TRACE_STRING = 50, 33


def cells(line):
    """The cells of a row of an aggregation's table, values and keys alike, or None where the line is none."""
    if line == b"\n":
        return ()
    found = _parse(line, _KEY_STRING, _KEY_WIDTHS)
    if found is None or (found and found[-1].__class__ is str):
        found = _loose(line) or found
    return None if found is None else tuple(found)


def _loose(line):
    """A row whose columns have other widths, as in printed guides: at least two spaces between columns, a number last."""
    match = _LOOSE.match(line)
    if not match:
        return None
    keys = [_str(part) for part in _GAP.split(match[1])]
    return [*(int(key) if _INTEGER.match(key) else key for key in keys), int(match[2])]


def columns(data):
    """The values of trace() in a row's data: a list; one str where they are no columns."""
    found = _parse(data, _TRACE_STRING, _TRACE_WIDTHS)
    if found is not None:
        return found
    text = data.rstrip(b"\n")
    return [_str(text)] if text else []


def _parse(line, width, widths):
    """Cells from the left; a string that is longer than its column ends where the rest is cells again."""
    line = line[:-1] if line[-1:] == b"\n" else line
    found, at, end, match = [], 0, len(line), _NUMBER.match
    while at < end:
        number = match(line, at)
        if number and _is_number(number[1], widths):
            found.append(int(number[1]))
            at = number.end()
            continue
        if line[at : at + 2] != b"  " or line[at + 2 : at + 3] in (b"", b"\n"):
            return None if line[at:].strip(b" ") else found
        stop = at + 2 + width
        if stop < end and line[stop] != _SPACE:
            stop = _string_end(line, stop, widths)
        found.append(_str(line[at + 2 : stop].rstrip(b" ")))
        at = stop
    return found


def _string_end(line, stop, widths):
    """Where a string ends that is too long for its column: at the first space after which numbers or padding follow."""
    while True:
        stop = line.find(b" ", stop)
        if stop < 0:
            return len(line)
        number = _NUMBER.match(line, stop)
        if line[stop : stop + 2] == b"  " or (number and _is_number(number[1], widths)):
            return stop
        stop += 1


def _is_number(text, widths):
    """Whether the digits stand as dtrace would have put them: to the right of a column, or wider than theirs."""
    digits = text.lstrip(b" ")
    size = len(text)
    if (size not in widths and digits != text) or size < 3 or len(digits) > 20:
        return False
    return digits[0] != _ZERO or len(digits) == 1


def _str(text):
    return str(text, "utf-8", "surrogateescape")
