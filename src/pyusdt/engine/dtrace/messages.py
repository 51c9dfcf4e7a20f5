"""dtrace's messages: lines that begin with "dtrace: ", bytes in, items out.

Drops and run-time errors in the words of DTrace for Linux, macOS, FreeBSD, Solaris and illumos; everything else is a
Notice.  Sources: the DTrace guide's chapters on buffers, errors and the ERROR probe, and the oracle's answers.
"""

import re

from .items import Drop, Fault, Notice

_DROP = re.compile(
    rb"dtrace: (?:\[[A-Z_]+\] )?(\d+) ((?:\S+ )*?)drops?(?: on CPU (\d+))?(?: with .*|\(.*\))?(?: \(.*\))? *\n?\Z")
_FAILED = re.compile(rb"dtrace: (?:\[[A-Z_]+\] )?(\d+) failed speculations? .*\n?\Z")
_CLAUSE = re.compile(rb"dtrace: error in (\S+) for probe ID (\d+) \(([^)]*)\): (.*?)(?: at BPF pc (\d+))? *\n?\Z")
_ENABLED = re.compile(
    rb"dtrace: error on enabled probe ID (\d+) \(ID (\d+): ([^)]*)\): (.*?)(?: in (action #\d+|predicate).*)? *\n?\Z")
_ADDRESS = re.compile(rb"\(0x([0-9a-fA-F]+)\)")


def parse(line):
    """The item of a line."""
    match = _DROP.match(line)
    if match:
        kind = match[2].decode("ascii", "replace").strip() or "principal"
        return Drop(line, kind, int(match[1]), int(match[3]) if match[3] else None)
    match = _FAILED.match(line)
    if match:
        return Drop(line, "speculation", int(match[1]), None)
    match = _CLAUSE.match(line)
    if match:
        name = re.search(rb"(\d+)\Z", match[1])
        return _fault(line, int(name[1]) if name else None, match[2], match[3], match[4], match[5])
    match = _ENABLED.match(line)
    if match:
        return _fault(line, int(match[1]) - 1, match[2], match[3], match[4], None)
    return Notice(line)


def _fault(line, clause, ident, probe, what, pc):
    address = _ADDRESS.search(what)
    return Fault(line, clause, int(ident), tuple(probe.decode("utf-8", "surrogateescape").split(":")),
                 what.decode("utf-8", "surrogateescape"), int(address[1], 16) if address else 0, int(pc or 0))
