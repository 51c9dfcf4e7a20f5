"""The script that dtrace(1) runs instead of the user's: the same clauses, whose data come in a form for machines.

In: a compiled program, with the text it was compiled from.  Out: texts for dtrace -s.  Always: predicates, variables
and aggregations are the user's own text; only probe descriptions (the processes asked for), data actions and what is
put around them change.  dtrace_frames.py reads what comes of it.

A frame is SOH kind … EOT.  Its fields are split by ETX, the values of a field by ENQ.  No string of the traced program
can hold these bytes in its frame: strings are printed by %S, which escapes what is not printable.
    R clause ETX id ETX cpu ETX time ETX pid ETX tid ETX four names {ETX action ENQ value …}    a record
    S aggregation      a snapshot of it begins         A aggregation {ETX key} ACK value        a row of it
    T aggregation      it is whole       B [pid]       BEGIN has run       E        END has run, all has been said

Actions on aggregations are done here, by the consumer, on a snapshot that stands before their record; dtrace does clear()
and trunc() as well, since it has the values.  So are those that do something (system(), raise() …): as on every engine.
"""

import re

from ..consumer.records import arguments
from . import EngineError

SOH, ETX, EOT, ENQ, ACK = b"\x01\x03\x04\x05\x06".decode()
_REFUSED = ("stack", "symbol")  # kinds of actions whose addresses only dtrace could name
_DTRACES = ("clear", "trunc")  # kinds of actions that dtrace does as well
_HEADER = "R%d" + r"\003%d\003%d\003%d\003%d\003%d\003%S\003%S\003%S\003%S"
_HEADER_VALUES = "id, cpu, timestamp, pid, tid, probeprov, probemod, probefunc, probename"
_SNAPSHOT = "tick-200ms"  # how often aggregations are said while tracing
_TRAILING_GLOB = re.compile(r"(\w*[A-Za-z_])(?:\*|\[0-9\]\*)\Z")


def rewrite(program, pids, target=None):
    """[text] for dtrace -s, in their order; pids: the processes that `provider*` stands for, or none; target: the number
    that stands for a command's, which only dtrace knows."""
    edits = {}  # source: [(start, end, text)]
    for clause in program.clauses:
        source = edits.setdefault(clause.loc.source, [])
        for desc in clause.probes:
            source.append((desc.loc.start, desc.loc.end, _description(desc, pids, target)))
        source += _actions(clause, program)
    texts = [_apply(source.text, changes) for source, changes in edits.items()]
    return [*texts, _trailer(program, target)]


def pauses(clause):
    """Whether the clause's records have to be seen before what follows them: they are about aggregations as they are."""
    return any(action.args for action in clause.actions)


def _description(desc, pids, target):
    """A description in full; where it means any process's provider, those of the processes asked for."""
    match = _TRAILING_GLOB.match(desc.provider)
    providers = [f"{match[1]}{pid}" for pid in pids] if match and pids else [desc.provider]
    if target is not None:
        providers = [re.sub(rf"{target}\Z", "$target", provider) for provider in providers]
    return ",".join(f"{provider}:{desc.module}:{desc.function}:{desc.name}" for provider in providers)


def _actions(clause, program):
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
    if any(action.row.kind == "exit" for action in clause.actions):
        tail += " exit(0);"  # the status is in the record
    edits = [_action(index, action) for index, action in enumerate(clause.actions)]
    start, end, first = edits[0]  # nothing may be recorded before a speculate()
    shows = " ".join(_show(index, definition) for index, definition in enumerate(program.aggregations)
                     if any(definition.ident == symbol.ident for action in clause.actions for symbol in action.args))
    return [(start, end, f"{shows} {head} {first}"), *edits[1:], (closing, closing, f" ; {tail} ")]


def _action(index, action):
    """The edit of one action: its values are said instead of it, or before it."""
    loc = action.loc
    if action.row.kind in _REFUSED or not all(_sayable(data.type) for data in action.data):
        raise EngineError(f"the dtrace engine does not have {action.row.name}() of such values yet: {loc}")
    given = arguments(loc.source.text[loc.start : loc.end])[action.row.first + len(action.args) :]
    formats, values = [], []
    for data, value in zip(action.data, given):
        formats.append("%S" if data.type.is_string else "%d" if getattr(data.type, "signed", False) else "%u")
        values.append(f"(uint64_t)({value})" if data.type.is_pointer else f"({value})")
    said = r"\005".join([str(index), *formats])
    call = rf'printf("\003{said}"{"".join(", " + value for value in values)})'
    if action.row.kind in _DTRACES:
        return loc.start, loc.start, f"{call}; "
    return loc.start, loc.end, call


def _find_brace(text, start, end):
    """Where the body begins, or None; strings and comments do not count."""
    for match in re.compile(r'"(?:\\.|[^"\\])*"|/\*.*?\*/|\{', re.DOTALL).finditer(text, start, end):
        if match[0] == "{":
            return match.start()
    return None


def _apply(text, edits):
    """The text with its edits, which do not overlap; a line `#!` is the shell's and goes."""
    for start, end, new in sorted(edits, key=lambda edit: edit[0], reverse=True):
        text = text[:start] + new + text[end:]
    return "\n" + text.partition("\n")[2] if text.startswith("#!") else text


def _trailer(program, target):
    """Clauses of ours, after the user's, so that theirs keep their numbers."""
    shows = [_show(index, definition) for index, definition in enumerate(program.aggregations)]
    forget = [f"trunc(@{definition.name});" for definition in program.aggregations]
    clauses = [r'BEGIN { printf("\001B\004"); }' if target is None else r'BEGIN { printf("\001B%d\004", $target); }']
    if shows:
        clauses.append(f"profile:::{_SNAPSHOT} {{ {' '.join(shows)} }}")
    clauses.append("END { " + " ".join([*shows, *forget, r'printf("\001E\004");']) + " }")
    return "\n".join(clauses)


def _sayable(type):
    """Whether %S or %d prints all of a value."""
    return type.is_string or type.is_integer or type.is_pointer


def _show(index, definition):
    keys = "".join(r"\003%S" if data.type.is_string else r"\003%d" for data in definition.keys)
    for data in definition.keys:
        if not _sayable(data.type):
            raise EngineError(f"the dtrace engine does not have keys of type {data.type} yet: @{definition.name}")
    rows = rf'printa("\001A{index}{keys}\006%@d\004", @{definition.name});'
    return rf'printf("\001S{index}\004"); {rows} printf("\001T{index}\004");'
