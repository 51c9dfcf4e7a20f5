"""Parses dtrace's messages: lines that begin with "dtrace: ".

Drops and run-time errors are recognized in the words of DTrace for Linux, macOS, FreeBSD, Solaris
and illumos; every other message is a Notice.

Sources: the DTrace guide's chapters on buffers, errors and the ERROR probe; dtrace 2.0's answers.
"""

from __future__ import annotations

import re

from .output_items import Drop, Fault, Notice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .output_items import Item

_NAMES = rb"\(%b([^):]*):([^):]*):([^)]*):([^):]*)\): (.*?)"  # a probe's, with what went wrong there; C++ functions have colons
_DROP = re.compile(
    rb"dtrace: (?:\[[A-Z_]+\] )?(\d{1,20}) ((?:\S+ )*?)drops?(?: on CPU (\d{1,20}))?(?: with .*|\(.*\))?(?: \(.*\))?\Z"
)
_FAILED = re.compile(rb"dtrace: (?:\[[A-Z_]+\] )?(\d{1,20}) failed speculations? .*\Z")
_CLAUSE = re.compile(
    rb"dtrace: error in (\S+) for probe ID (\d{1,20}) "
    + _NAMES % b""
    + rb"(?: at BPF pc (\d{1,20}))?\Z"
)
_ENABLED = re.compile(
    rb"dtrace: error on enabled probe ID (\d{1,20}) "
    + _NAMES % rb"ID (\d{1,20}): "
    + rb"(?: in (?:action #\d|predicate).*)?\Z"
)
_NUMBER = re.compile(rb"(?<!\d)\d{1,20}\Z")
_ADDRESS = re.compile(rb"\(0x([0-9a-fA-F]{1,16})\)")


def parse_message(line: bytes) -> Item:
    """The item of a line."""
    text = line.removesuffix(b"\n").rstrip(b" ")
    if match := _DROP.match(text):
        kind = match[2].decode("ascii", "replace").strip() or "principal"
        return Drop(line, kind, int(match[1]), int(match[3]) if match[3] else None)
    if match := _FAILED.match(text):
        return Drop(line, "speculation", int(match[1]), None)
    if match := _CLAUSE.match(text):
        where, ident, *names, what, pc = match.groups()
        number = _NUMBER.search(where)
        return _make_fault(line, int(number[0]) if number else None, ident, names, what, pc)
    if match := _ENABLED.match(text):
        clause, ident, *names, what = match.groups()
        return _make_fault(line, int(clause) - 1 if int(clause) else None, ident, names, what, None)
    return Notice(line)


def _make_fault(
    line: bytes,
    clause: int | None,
    ident: bytes,
    names: Sequence[bytes],
    what: bytes,
    pc: bytes | None,
) -> Fault:
    address = _ADDRESS.search(what)
    return Fault(
        line,
        clause,
        int(ident),
        tuple(name.decode("utf-8", "surrogateescape") for name in names),
        what.decode("utf-8", "surrogateescape"),
        int(address[1], 16) if address else 0,
        int(pc or 0),
    )
