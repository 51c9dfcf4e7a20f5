"""Names and types of the arguments of probes, as the processes that have the probes report them.

- A signature is a tuple of (name, type) in the order of arg0, arg1 …; a name may be "".
- Processes are untrusted: a name must be an identifier, a type one of TYPES, and both must agree
  with what the core has checked (number of arguments, which are strings). Else it is ignored.
"""

from __future__ import annotations

import os
import re
import sys

from pydtrace import _tracer
from pydtrace.program import builtin_probe_args
from pyusdt import framework_probes

from . import EngineError
from .probe_kinds import OTHER, probe_kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    Signature = tuple[tuple[str, str], ...]

STRING, TERM, INTEGER = "string", "term", "int64_t"
TYPES = frozenset(
    [
        "int8_t",
        "int16_t",
        "int32_t",
        "int64_t",
        "uint8_t",
        "uint16_t",
        "uint32_t",
        "uint64_t",
        "float",
        "double",
        STRING,
        TERM,
    ]
)  # c/target/provider_names.c
_CALL = (("process", STRING), ("function", STRING), ("depth", "int32_t"))
_ENTRY: Signature = (*_CALL, ("params", TERM), ("caller", STRING))
_RETURN: Signature = (*_CALL, ("retval", TERM), ("exception", STRING))
# erlang_nif/c_src/vm.c, name_arguments(), before a node reports them
_ERLANG_FUNCTIONS: dict[str, Signature] = {
    "local-function-entry": _ENTRY,
    "global-function-entry": _ENTRY,
    "bif-entry": _ENTRY,
    "nif-entry": _ENTRY,
    "function-return": _RETURN,
    "bif-return": _RETURN,
    "nif-return": _RETURN,
}
_ARGUMENT = re.compile(r"(?:([A-Za-z_][A-Za-z0-9_]{0,62}): )?([a-z0-9_]+)")
_TYPE_NAMES = {int: INTEGER, str: STRING, TERM: TERM}  # of framework_probes.py
_SIZE_LIMIT = 904  # PYUSDT_SIGNATURE_SIZE


def parse_signature(text: str, nargs: int, strings: int) -> Signature | None:
    """ "(route: string, int64_t)" of a probe with so many arguments, of which `strings` has the bits of those with a text."""
    if not (len(text) < _SIZE_LIMIT and text.startswith("(") and text.endswith(")")):
        return None
    found = [_ARGUMENT.fullmatch(each) for each in text[1:-1].split(", ") if text != "()"]
    pairs = tuple((each[1] or "", each[2]) for each in found if each and each[2] in TYPES)
    names = [name for name, _ in pairs if name]
    text_bits = sum(1 << i for i, (_, type) in enumerate(pairs) if type in (STRING, TERM))
    return (
        pairs
        if len(pairs) == len(found) == nargs
        and text_bits == strings
        and len(set(names)) == len(names)
        else None
    )


def row_signature(row: Sequence[Any]) -> Signature:
    """Of a row: with the names of probes that are always the same, and none where nothing is known."""
    pid, provider, _, _, name, nargs, strings, _, text = row[:9]
    signature = parse_signature(text, nargs, strings)
    if signature is not None:
        return signature
    names = builtin_probe_args.argument_names(provider.removesuffix(str(pid)), name)
    types = [STRING if strings >> i & 1 else INTEGER for i in range(nargs)]
    return tuple(zip(names if len(names) == nargs else [""] * nargs, types))


class SignatureLookup:
    """Called with a probe description: the signatures of the probes that it stands for now, None among them for those that tell
    nothing.  rows: a function that gives list_probes()'s rows; it is asked once, when somebody wants to know; foreign: one that gives the
    signatures of probes in files, for a description of which nothing else is known."""

    def __init__(
        self,
        rows: Callable[[], Iterable[Sequence[Any]]],
        file_signatures: Callable[[Any], list[Any]] | None = None,
    ) -> None:
        self._rows, self._file_signatures = rows, file_signatures
        self._probe_rows: list[Sequence[Any]] | None = None
        self._cache: dict[tuple[str, ...], list[Signature | None]] = {}

    def __call__(self, description: Any) -> list[Signature | None]:
        key = description.provider, description.module, description.function, description.name
        if key not in self._cache:
            self._cache[key] = self._find_signatures(description)
        return self._cache[key]

    def _find_signatures(self, description: Any) -> list[Signature | None]:
        provider = description.provider.rstrip("0123456789*")
        if provider == "python":
            return _python_signatures(description.name)
        if self._probe_rows is None:
            self._probe_rows = [row for row in self._rows() if row[7] != _tracer.AT_PLACE]
        wanted = description.provider, description.name
        found = [
            row for row in self._probe_rows if all(map(_tracer.glob, wanted, (row[1], row[4])))
        ]
        reported = list(
            dict.fromkeys(parse_signature(row[8], row[5], row[6]) for row in found)
        ) or _default_signatures(provider, description.name)
        return reported or (
            self._file_signatures(description)
            if self._file_signatures and probe_kind(description) == OTHER
            else []
        )


def _python_signatures(wanted: str) -> list[Signature | None]:
    """Of the provider python's probes, which are the same in every process: so they are known before the program runs."""
    return [
        tuple((name, STRING if text else INTEGER) for name, text in arguments)
        for probe, arguments in builtin_probe_args.python_arguments().items()
        if _tracer.glob(wanted, probe)
    ]


def _default_signatures(provider: str, wanted: str) -> list[Signature | None]:
    return (
        [signature for probe, signature in _ERLANG_FUNCTIONS.items() if _tracer.glob(wanted, probe)]
        if provider == "erlang"
        else _framework_signatures(provider, wanted)
    )


def _framework_signatures(provider: str, wanted: str) -> list[Signature | None]:
    """Of the probes that frameworks get, where no process tells of them yet: those of a command may have them."""
    table = (framework_probes.FRAMEWORK_PROBES | framework_probes.ERLANG_PROBES).get(provider, {})
    return [
        tuple((name, _TYPE_NAMES[type]) for name, type in arguments.items())
        for probe, arguments in table.items()
        if _tracer.glob(wanted, probe)
    ]


def signatures_of_processes(options: Any, pids: Sequence[int]) -> SignatureLookup:
    """What the processes of these ids, all, or those of a recording say; for root what their files say."""
    return SignatureLookup(
        lambda: _read_rows(options, pids),
        None if "replay" in options else _file_signatures(options, pids),
    )


def functions_of_processes(pids: Sequence[int]) -> Callable[[Any], list[Any]]:
    """The functions of these Pythons that a description matches: python_functions.PythonFunctions, made at the first question."""
    readers: list[Any] = []

    def find_functions(description: Any) -> list[Any]:
        if not readers:
            from .embedded.python_functions import PythonFunctions

            readers.append(PythonFunctions(pids))
        return readers[0].find(description)  # type: ignore[no-any-return]

    return find_functions


def default_signatures(options: Any = None, argv: Sequence[str] = ()) -> SignatureLookup:
    """Of a command that has not started, or of other hosts: what is the same everywhere is known; of the command what its files say."""
    return SignatureLookup(tuple, _file_signatures(options, (), argv) if argv else None)


def _file_signatures(
    options: Any, pids: Sequence[int], argv: Sequence[str] = ()
) -> Callable[[Any], list[Any]] | None:
    """Told's `foreign`, for whom may trace such probes."""
    if (
        os.geteuid() != 0
        or not sys.platform.startswith("linux")
        or options.get("engine") not in (None, "kernel")
    ):
        return None

    def find_in_files(description: Any) -> list[Any]:
        from .kernel.probes.list_kernel_probes import find_signatures

        return find_signatures(description, pids, options, argv)

    return find_in_files


def _read_rows(options: Any, pids: Sequence[int]) -> Iterable[Sequence[Any]]:
    try:
        if "replay" in options:
            from .embedded.replay import open_recording

            return list(open_recording(options["replay"]).probes())
        return (
            [row for pid in pids for row in _tracer.list_probes(None, pid)]
            if pids
            else _tracer.list_probes()
        )
    except (OSError, EngineError):
        return []  # whoever opens the engine says why
