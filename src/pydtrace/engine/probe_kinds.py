"""Says which engine a probe description can belong to, whatever processes run at the moment.

The answer depends on the description only. select_engine.py applies it, and docs/reference/pydtrace.md
("Which engine") has the table.
"""

from __future__ import annotations

import os
import re

from pydtrace._tracer import glob
from pyusdt.framework_probes import ERLANG_PROBES, FRAMEWORK_PROBES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

TRACER = "tracer"  # BEGIN, END, ERROR, tick-n, profile-n: the tracer's own
BUILTIN = "own"  # of a provider that pyusdt brings into a process: the embedded engine has them
KERNEL = "kernel"  # functions, system calls, the kernel's tracepoints: only the kernel engine can have them
OTHER = "other"  # USDT probes: a file's, which the kernel engine finds, or a provider's that a program makes by pyusdt at run time
ANY = "any"  # no provider is named, or a pattern for several of these

_TRACER_PROBES = ("BEGIN", "END", "ERROR", "tick-", "profile-")
_BUILTIN_PROVIDERS = ("pyusdt", "erlang", "python", *FRAMEWORK_PROBES, *ERLANG_PROBES)
_CORE_VARIABLE = b"\0PYUSDT_RUNDIR\0"
_READ_LIMIT = 1 << 26  # bytes of a program that are read
_MAX_WORDS = 32  # of a command, that are looked at
_PROGRAMS = re.compile(
    r"(python|pypy|erl|escript|elixir|iex|mix|rebar3|beam)[\d.]*(\.smp)?"
)  # that load pyusdt, or the NIF


def probe_kind(desc: Any) -> str:
    from .kernel.probes.matcher import is_pid_provider
    from .kernel.probes.raw_tracepoints import PROVIDERS, RAW_PROVIDER

    provider = desc.provider
    if desc.name.startswith(_TRACER_PROBES):
        return TRACER
    if provider in ("syscall", RAW_PROVIDER, *PROVIDERS):
        return KERNEL
    stem = provider.rstrip("0123456789*")
    if not stem or any(letter in stem for letter in "?[*"):
        return KERNEL if provider and is_pid_provider(provider) and stem else ANY
    if is_pid_provider(provider):
        return KERNEL
    return (
        BUILTIN
        if any(
            stem == own or (provider.endswith("*") and glob(provider, f"{own}1"))
            for own in _BUILTIN_PROVIDERS
        )
        else OTHER
    )


def may_load_pyusdt(argv: Sequence[str]) -> bool:
    """Whether a command may load pyusdt, or the NIF: one of its first words is a Python or an Erlang, a script of one, or a program that is
    linked with the C core."""
    from .kernel.probes.finder import find_in_path, script_interpreter

    words = [word.strip("'\"") for argument in argv for word in argument.split()][:_MAX_WORDS]
    if any(
        _is_python_or_erlang(word) or word.endswith((".py", ".escript", ".exs")) for word in words
    ):
        return True
    files = [find_in_path(word) for word in words if word and not word.startswith("-")]
    return any(
        _is_python_or_erlang(script_interpreter(file) or "") or _has_core(file) for file in files
    )


def _has_core(file: str | bytes | None) -> bool:
    """Whether a program has the name of a variable that the C core reads from its environment."""
    try:
        with open(file or "", "rb") as program:
            return program.read(4) == b"\x7fELF" and _CORE_VARIABLE in program.read(_READ_LIMIT)
    except (OSError, ValueError):
        return False


def _is_python_or_erlang(program: str) -> bool:
    return _PROGRAMS.fullmatch(os.path.basename(program)) is not None


PRESENT, PENDING, PYUSDT_PENDING, ABSENT = "now", "to come", "pyusdt to come", "nobody"
EMBEDDED, REFUSED = "embedded", "refused"
# Where no engine is named, of one description: {(kind, whether root asks, who has such probes): engine}.  NOW: the engine that is first in
# the row finds them; TO_COME: -Z or --wait accepts that nobody has them yet; PYUSDT_TO_COME: the same, and the command or the process of -p
# loads pyusdt; NOBODY: neither.  REFUSED: nothing is traced, and the message names the reason.
TABLE_OF_ENGINES = {
    (BUILTIN, root, who): REFUSED if who is ABSENT else EMBEDDED
    for root in (True, False)
    for who in (PRESENT, PENDING, PYUSDT_PENDING, ABSENT)
} | {
    (KERNEL, True, PRESENT): KERNEL,
    (KERNEL, True, PENDING): KERNEL,
    (KERNEL, True, PYUSDT_PENDING): KERNEL,
    (KERNEL, True, ABSENT): REFUSED,
    (KERNEL, False, PRESENT): REFUSED,
    (KERNEL, False, PENDING): REFUSED,
    (KERNEL, False, PYUSDT_PENDING): REFUSED,
    (KERNEL, False, ABSENT): REFUSED,
    (
        OTHER,
        True,
        PRESENT,
    ): EMBEDDED,  # where a process with pyusdt has them; else the kernel engine's
    (OTHER, True, PENDING): KERNEL,
    (OTHER, True, PYUSDT_PENDING): EMBEDDED,
    (OTHER, True, ABSENT): REFUSED,
    (OTHER, False, PRESENT): EMBEDDED,
    (OTHER, False, PENDING): EMBEDDED,  # with a note: only processes with pyusdt in them can be
    (OTHER, False, PYUSDT_PENDING): EMBEDDED,
    (OTHER, False, ABSENT): REFUSED,
}


def engine_for(description_kind: str, root: bool, availability: str) -> str:
    """A value of TABLE_OF_ENGINES; the tracer's own probes, and patterns for several kinds, leave it to the others: EMBEDDED."""
    return TABLE_OF_ENGINES.get((description_kind, root, availability), EMBEDDED)
