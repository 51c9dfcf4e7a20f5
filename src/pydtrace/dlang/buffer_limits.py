"""Checks that a program's records and aggregations fit into the buffers that its options ask
for.

The messages are dtrace's.
"""

from __future__ import annotations

from pydtrace.program.dtrace_buffer_sizes import FAULT_RECORD, record_size, ring_size

from .code.layout import KEYS, dtrace_keys_end

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..program.program import AggDef, Program

_SCALAR_HEAD, _DISTRIBUTION_HEAD = (
    20,
    12,
)  # bytes that dtrace's own buffers spend on an aggregation of one key
_NO_ROOM = "Enabling exceeds size of buffer"
_TOO_BIG = "failed to create BPF map '{}': Too big"
# Sizes from which on dtrace has no memory, or the kernel no map, for it.
_BUFFER, _AGGREGATIONS, _VARIABLES, _SCRATCH, _SPECULATIONS = (
    1 << 31,
    1 << 40,
    1 << 32,
    1 << 32,
    (1 << 27) + 1,
)
_LOWERED = {"aggsize": "aggregation", "specsize": "speculation", "dynvarsize": "dynamic variable"}


def find_error(program: Program) -> str | None:
    """dtrace's words for the first of the sizes that can not be."""
    found = (
        check(program, program.options)
        for check in (
            _check_records,
            _check_aggregations,
            _check_variables,
            _check_scratch,
            _check_speculations,
        )
    )
    return next((words for words in found if words), None)


def find_hint(words: str, program: Program) -> str | None:
    """What helps against an error of find_error()."""
    if words == "Memory allocation failure":
        return "-b takes 1g at most"
    if words == _NO_ROOM:
        return (
            "a record is larger than -b"
            if _check_records(program, program.options)
            else "an element is larger than -x aggsize or dynvarsize"
        )
    return None


def find_changes(options: Mapping[str, Any], for_comparison: bool = False) -> list[str]:
    """dtrace's words for sizes that are not taken as they are: buffers are whole pages, twice as many again and again, and what
    has no room for a word is as large as asked, of which dtrace says nothing where its own suite compares what is said."""
    bufsize = options.get("bufsize", 0)
    pages = ring_size(bufsize)
    found = [f"bufsize increased to {pages}"] if bufsize and bufsize != pages else []
    if for_comparison:
        return found
    return found + [
        f"{what} size lowered to {options[name]} "
        for name, what in _LOWERED.items()
        if 0 < options.get(name, 0) < 8
    ]


def _check_records(program: Program, options: Mapping[str, Any]) -> str | None:
    bufsize: int | None = options.get("bufsize")
    if bufsize is None:
        return None
    records = [
        record_size(clause, program.strsize) for clause in program.clauses if clause.record_size
    ]
    if "bufpolicy" not in options and max(records + [FAULT_RECORD]) > bufsize:
        return _NO_ROOM
    return "Memory allocation failure" if bufsize >= _BUFFER else None


def _check_aggregations(program: Program, options: Mapping[str, Any]) -> str | None:
    aggsize: int | None = options.get("aggsize")
    if aggsize is None or not program.aggregations:
        return None
    if aggsize >= _AGGREGATIONS:
        return _TOO_BIG.format("aggs")
    return (
        _NO_ROOM
        if max(_element_size(program, aggdef) for aggdef in program.aggregations) > aggsize
        else None
    )


def _element_size(program: Program, aggdef: AggDef) -> int:
    """Bytes of one key and its value."""
    head = _DISTRIBUTION_HEAD if aggdef.row.is_distribution else _SCALAR_HEAD
    size: int = (
        head
        + program.maps[aggdef.map].value_size
        - 8 * aggdef.row.extra_words
        + dtrace_keys_end(aggdef.keys)
        - KEYS
    )
    return size


def _check_variables(program: Program, options: Mapping[str, Any]) -> str | None:
    dynvarsize: int | None = options.get("dynvarsize")
    if dynvarsize is None or not program.variable_size:
        return None
    if dynvarsize >= _VARIABLES:
        return _TOO_BIG.format("dvars")
    return _NO_ROOM if dynvarsize < program.variable_size else None


def _check_scratch(program: Program, options: Mapping[str, Any]) -> str | None:
    """dtrace takes twice as much, in 64 bits."""
    twice = 2 * (options.get("scratchsize", 0) + 7 & ~7) & (1 << 64) - 1
    return _TOO_BIG.format("scratchmem") if twice >= _SCRATCH else None


def _check_speculations(_: Program, options: Mapping[str, Any]) -> str | None:
    """dtrace makes the map of speculations for every program, and the kernel makes none of no entries."""
    nspec: int | None = options.get("nspec")
    if nspec == 0:
        return "failed to create BPF map 'specs': Invalid argument"
    return _TOO_BIG.format("specs") if nspec is not None and nspec >= _SPECULATIONS else None
