"""Rewrites the user's script so that dtrace(1) prints its data for machines.

- Predicates, variables and aggregations stay the user's text. Changed are probe descriptions (the
  processes), data actions and what surrounds them, and the order of some aggregations' keys.
- A frame is SOH kind … EOT (framing.py reads it). ETX separates its fields, ENQ the values of one.
- No string of the traced program can put these bytes into a frame: %S escapes what is not printable.
- Values that only dtrace can name (stacks, symbols) or print (whole structs) stand between two
  marks: STX and a number that cannot be guessed.

Frames:
    R clause ETX id ETX cpu ETX time ETX pid ETX tid ETX four names {ETX action ENQ value …}  a record
    S aggregation                      a snapshot of it begins
    A aggregation {ETX key} ACK value  a row of it
    K aggregation {ETX key}            the strings of a row of the next P, whose table is not exact
    P aggregation ETX table            all rows as dtrace prints them: keys that name addresses
    T aggregation                      the snapshot is whole
    B [pid]                            BEGIN has run
    E                                  END has run, and no frame follows
    H                                  dtrace still runs

The driver does actions on aggregations, on the snapshot before their record; dtrace does clear() and
trunc() as well, since it has the values. The driver also does system(), raise() and the like.
"""

from __future__ import annotations

import re

from pydtrace.engine import EngineError
from pydtrace.program import d_types as t
from pydtrace.results.records import split_arguments

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from pydtrace.engine import ProbeDesc
    from pydtrace.program.program import Action, AggDef, Clause, Program

    Edit = tuple[int, int, str]  # start, end, what stands there instead

SOH, ETX, EOT, ENQ, ACK = map(chr, (1, 3, 4, 5, 6))
_HEADER = "R%d" + r"\003%d\003%d\003%d\003%d\003%d\003%S\003%S\003%S\003%S"
_HEADER_VALUES = "id, cpu, timestamp, pid, tid, probeprov, probemod, probefunc, probename"
_SNAPSHOT_PROBE = "tick-200ms"  # how often aggregations are said while tracing
_PULSE_PROBE = "tick-1s"  # how often something is said where there are none: to write is how dtrace learns that we are gone
_OPAQUE = r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|/\*.*?\*/"""  # strings, characters, comments
_TRAILING_GLOB = re.compile(r"(\w*[A-Za-z_])(?:\*|\[0-9\]\*)\Z")


def rewrite_script(
    program: Program, pids: Sequence[int | str], target: int | None = None, mark: str = ""
) -> list[str]:
    """[text] for dtrace -s, in their order; pids: the processes that `provider*` stands for, or none; target: the number
    that stands for a command's, which only dtrace knows; mark: what stands around what dtrace prints for people, in the
    alphabet of identifiers."""
    edits: dict[Any, list[Edit]] = {}  # by source
    for clause in program.clauses:
        source = edits.setdefault(clause.loc.source, [])
        for desc in clause.probes:
            source.append((desc.loc.start, desc.loc.end, _rewrite_description(desc, pids, target)))
        source += _rewrite_actions(clause, program, mark)
        for definition in program.aggregations:
            if has_table(definition) and any(data.type.is_string for data in definition.keys):
                source += _reorder_keys(clause, definition)
    texts = [_apply_edits(source.text, changes) for source, changes in edits.items()]
    return [*texts, _build_trailer(program, target, mark)]


def needs_raw_bytes(program: Program) -> bool:
    """Whether dtrace needs -xrawbytes, since bytes are no text."""
    return any(
        action.row.may_be_shown and not is_printable(data.type)
        for clause in program.clauses
        for action in clause.actions
        for data in action.data
    )


def has_table(definition: AggDef) -> bool:
    """Whether an aggregation's rows are said as dtrace's table: there is no other form for names of addresses."""
    return any(isinstance(data.type, t.Symbol) for data in definition.keys)


def key_order(definition: AggDef) -> Sequence[int]:
    """The indices of an aggregation's keys as dtrace has them: in a table strings come first, since a format of printa() can
    leave out the last keys only."""
    keys = definition.keys
    return (
        sorted(range(len(keys)), key=lambda i: not keys[i].type.is_string)
        if has_table(definition)
        else range(len(keys))
    )


def needs_pause(clause: Clause) -> bool:
    """Whether the clause's records have to be seen before what follows them: they are about aggregations as they are."""
    return any(action.args for action in clause.actions)


def _rewrite_description(desc: ProbeDesc, pids: Sequence[int | str], target: int | None) -> str:
    """A description in full; where it means any process's provider, those of the processes asked for."""
    match = _TRAILING_GLOB.match(desc.provider)
    providers = [f"{match[1]}{pid}" for pid in pids] if match and pids else [desc.provider]
    if target is not None:
        providers = [re.sub(rf"{target}\Z", "$target", provider) for provider in providers]
    return ",".join(
        f"{provider}:{desc.module}:{desc.function}:{desc.name}" for provider in providers
    )


def _rewrite_actions(clause: Clause, program: Program, mark: str) -> list[Edit]:
    """Edits of a clause's body."""
    if not clause.record_size:
        return []
    text, at = clause.loc.source.text, max(desc.loc.end for desc in clause.probes)
    head = rf'printf("\001{_HEADER}", {clause.index}, {_HEADER_VALUES});'
    tail = r'printf("\004");'
    opening = _find_brace(text, at, clause.loc.end)
    if opening is None:
        return [(clause.loc.end, clause.loc.end, f" {{ {head} {tail} }}")]
    closing = text.rindex("}", opening, clause.loc.end)
    if not clause.actions:
        return [(closing, closing, f" ; {head} {tail} ")]
    if any(action.row.ends_tracing for action in clause.actions):
        tail += " exit(0);"  # the status is in the record
    edits = [_rewrite_action(index, action, mark) for index, action in enumerate(clause.actions)]
    start, end, first = edits[0]  # nothing may be recorded before a speculate()
    shows = " ".join(
        _snapshot_code(index, definition, mark)
        for index, definition in enumerate(program.aggregations)
        if any(
            definition.ident == symbol.ident for action in clause.actions for symbol in action.args
        )
    )
    return [(start, end, f"{shows} {head} {first}"), *edits[1:], (closing, closing, f" ; {tail} ")]


def _rewrite_action(index: int, action: Action, mark: str) -> Edit:
    """The edit of one action: its values are said instead of it, or before it."""
    loc = action.loc
    values, shown = _action_values(action, loc.text)
    formats, given = [str(index)], ""
    for type, value in values:
        formats.append("%S" if type.is_string else "%d" if getattr(type, "signed", False) else "%u")
        given += f", (uint64_t)({value})" if type.is_pointer else f", ({value})"
    said = r"\005".join(formats)
    if shown:
        return (
            loc.start,
            loc.end,
            rf'printf("\003{said}\005\002{mark}"{given}); {shown}; printf("\002{mark}")',
        )
    call = rf'printf("\003{said}"{given})'
    if action.row.is_done_by_dtrace:
        return loc.start, loc.start, f"{call}; "
    return loc.start, loc.end, call


def _action_values(action: Action, text: str) -> tuple[list[tuple[Any, str]], str | None]:
    """([(type, expression)] of the action's values, what shows the one that comes last and can not be said, or None)"""
    row, types = action.row, [data.type for data in action.data]
    if row.is_shown_by_dtrace:
        return [], text
    values = list(
        zip(
            types,
            row.dtrace_expressions(
                split_arguments(text)[(row.first_recorded or 0) + len(action.args) :]
            ),
        )
    )
    if row.may_be_shown and not is_printable(types[-1]):
        return values[:-1], f"trace({values[-1][1]})"
    if not all(map(is_printable, types)):
        raise EngineError(
            f"the dtrace engine does not have {row.name}() of such values: {action.loc}"
        )
    return values, None


def _reorder_keys(clause: Clause, definition: AggDef) -> list[Edit]:
    """Edits that put an aggregation's keys into their key_order()."""
    text, edits = clause.loc.source.text, []
    for match in re.compile(_OPAQUE + rf"|@{definition.name}\s*\[", re.DOTALL).finditer(
        text, clause.loc.start, clause.loc.end
    ):
        if match[0][0] != "@":
            continue
        closing = _find_closing(text, match.end(), clause.loc.end)
        keys = split_arguments(text[match.end() - 1 : closing + 1])
        if len(keys) != len(definition.keys):
            raise EngineError(
                f"the dtrace engine does not understand the keys of @{definition.name}: "
                "is there a comment in them?"
            )
        edits.append((match.end(), closing, ", ".join(keys[i] for i in key_order(definition))))
    return edits


def _find_closing(text: str, start: int, end: int) -> int:
    """Where the bracket is closed that was opened before `start`."""
    depth = 1
    for match in re.compile(_OPAQUE + r"|[\[\]]", re.DOTALL).finditer(text, start, end):
        depth += {"[": 1, "]": -1}.get(match[0], 0)
        if not depth:
            return match.start()
    raise ValueError(f"an open bracket at {start}")


def _find_brace(text: str, start: int, end: int) -> int | None:
    """Where the body begins, or None; strings and comments do not count."""
    for match in re.compile(_OPAQUE + r"|\{", re.DOTALL).finditer(text, start, end):
        if match[0] == "{":
            return match.start()
    return None


def _apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text with its edits, which do not overlap; a line `#!` is the shell's and goes."""
    for start, end, new in sorted(edits, key=lambda edit: edit[0], reverse=True):
        text = text[:start] + new + text[end:]
    return "\n" + text.partition("\n")[2] if text.startswith("#!") else text


def _build_trailer(program: Program, target: int | None, mark: str) -> str:
    """Clauses of ours, after the user's, so that theirs keep their numbers."""
    shows = [
        _snapshot_code(index, definition, mark)
        for index, definition in enumerate(program.aggregations)
    ]
    forget = [f"trunc(@{definition.name});" for definition in program.aggregations]
    clauses = [
        r'BEGIN { printf("\001B\004"); }'
        if target is None
        else r'BEGIN { printf("\001B%d\004", $target); }'
    ]
    if shows:
        clauses.append(f"profile:::{_SNAPSHOT_PROBE} {{ {' '.join(shows)} }}")
    else:
        clauses.append(rf'profile:::{_PULSE_PROBE} {{ printf("\001H\004"); }}')
    clauses.append("END { " + " ".join([*shows, *forget, r'printf("\001E\004");']) + " }")
    return "\n".join(clauses)


def is_printable(type: Any) -> bool:
    """Whether %S or %d prints all of a value."""
    return bool(type.is_string or type.is_integer or type.is_pointer)


def _snapshot_code(index: int, definition: AggDef, mark: str) -> str:
    """What says a snapshot of an aggregation."""
    if definition.row.is_extension:
        raise EngineError(
            f"the dtrace engine does not have {definition.row.function_name}(): @{definition.name}"
        )
    rows = (
        _table_code(index, definition, mark)
        if has_table(definition)
        else _rows_code(index, definition, mark)
    )
    return rf'printf("\001S{index}\004"); {rows} printf("\001T{index}\004");'


def _rows_code(index: int, definition: AggDef, mark: str) -> str:
    keys = ""
    for data in definition.keys:
        if not is_printable(data.type) and not isinstance(data.type, t.Stack):
            raise EngineError(
                f"the dtrace engine does not have keys of type {data.type}: @{definition.name}"
            )
        keys += (
            r"\003%S"
            if data.type.is_string
            else r"\003%d"
            if is_printable(data.type)
            else rf"\003\002{mark}%k\002{mark}"
        )
    return rf'printa("\001A{index}{keys}\006%@d\004", @{definition.name});'


def _table_code(index: int, definition: AggDef, mark: str) -> str:
    """The strings of all rows, then all rows: both in the same order."""
    if not all(
        isinstance(data.type, t.Symbol) or data.type.is_integer or data.type.is_string
        for data in definition.keys
    ):
        raise EngineError(
            "the dtrace engine has names of addresses as keys beside integers, strings and other names only: "
            f"@{definition.name}"
        )
    strings = r"\003%S" * sum(data.type.is_string for data in definition.keys)
    said = rf'printa("\001K{index}{strings}\004", @{definition.name}); ' if strings else ""
    return (
        said
        + rf'printf("\001P{index}\003\002{mark}"); printa(@{definition.name}); printf("\002{mark}\004");'
    )
