"""`pydtrace -v`: the stability report of a request, in dtrace's words; with -l that of a probe, and
its arguments.

- Everything that a user-level D program can use is Stable, so only the probes decide.

Source: the reports of dtrace 2.0 for the same probes.
"""

from __future__ import annotations

from pydtrace.untrusted.terminal_escape import escape_for_terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_LEVELS = ("Private", "Unstable", "Evolving", "Stable")  # ascending
_CLASSES = ("Unknown", "ISA", "Common")
_BUILTIN_ATTRIBUTES = (
    "Unstable",
    "Common",
)  # BEGIN, tick-1s …, and descriptions that match no probe: level of name and data, class
_USER_ATTRIBUTES = ("Evolving", "ISA")  # probes of user processes
_CALL_ATTRIBUTES = (
    "Private",
    "ISA",
)  # the arguments of system calls and of the kernel's tracepoints
_PRIVATE_ATTRIBUTES = (
    "Private",
    "Unknown",
)  # functions, and the descriptions of all probes in the kernel
_STATEMENT_ATTRIBUTES = ("Stable", "Common")
_BUILTIN_NAMES = ("BEGIN", "END", "ERROR", "tick-", "profile-")


def _probe_attributes(description: Any, count: int) -> tuple[str, str]:
    """Those of the arguments, by which dtrace judges a request."""
    if count == 0 or description.provider in ("dtrace", "profile"):
        return _BUILTIN_ATTRIBUTES
    if description.provider in ("syscall", "rawtp", "sdt"):
        return _CALL_ATTRIBUTES
    if _is_pid(description.provider):
        return _PRIVATE_ATTRIBUTES
    return _BUILTIN_ATTRIBUTES if description.name.startswith(_BUILTIN_NAMES) else _USER_ATTRIBUTES


def _is_in_kernel(provider: str) -> bool:
    from pydtrace.engine.kernel.probes.raw_tracepoints import PROVIDERS, RAW_PROVIDER

    return provider in (*PROVIDERS, RAW_PROVIDER, "syscall", "sdt", "lockstat")


def _is_pid(provider: str) -> bool:
    return provider.startswith("pid") and provider[3:].isdigit()


def _format_block(title: str, level: str, dependency: str) -> str:
    return (
        f"\n\t{title}\n"
        f"\t\tIdentifier Names: {level}\n"
        f"\t\tData Semantics:   {level}\n"
        f"\t\tDependency Class: {dependency}\n"
    )


def format_request_report(kind: str, name: str, matched: Sequence[tuple[Any, int]]) -> str:
    """The report on a request (arguments.Request's what and name); matched: its part of Engine.matched."""
    found = [_probe_attributes(description, count) for description, count in matched]
    level = min((level for level, _ in found), key=_LEVELS.index, default=_STATEMENT_ATTRIBUTES[0])
    dependency = min(
        (each for _, each in found), key=_CLASSES.index, default=_STATEMENT_ATTRIBUTES[1]
    )
    text = f"\nStability attributes for {kind} {name}:\n"
    text += _format_block("Minimum Probe Description Attributes", level, dependency)
    return text + _format_block("Minimum Statement Attributes", *_STATEMENT_ATTRIBUTES) + "\n"


def format_probe_report(description: Any, signature: Any, function: Any = None) -> str:
    """What -lv says of one probe.  signature: types.probe_arguments.ProbeSignature, None where nothing is known of its arguments;
    function: the module_functions.ModuleFunction of a probe that has values, or None."""
    level, dependency = (
        _probe_attributes(description, 1)
        if not description.name.startswith(_BUILTIN_NAMES)
        else _STATEMENT_ATTRIBUTES
    )
    described = (
        _PRIVATE_ATTRIBUTES
        if _is_in_kernel(description.provider) or _is_pid(description.provider)
        else (level, dependency)
    )
    text = _format_block("Probe Description Attributes", *described) + _format_block(
        "Argument Attributes", level, dependency
    )
    types = [] if signature is None else signature.outputs
    lines = [
        f"args[{number}]: {type}{f' (arg.{name})' if name else ''}"
        for number, (name, type) in enumerate(types)
    ]
    return (
        text
        + "\n\tArgument Types\n"
        + "".join(f"\t\t{line}\n" for line in lines or ["None"])
        + ("" if function is None else _format_variables(function))
        + "\n"
    )


def _format_variables(function: Any) -> str:
    rows = [f"local.{name} (parameter)" for name in function.arguments]
    rows += [f"local.{name}" for name in function.variables]
    text = "".join(f"\t\t{escape_for_terminal(row)}\n" for row in rows or ["None"])
    return f"\n\tVariables\n{text}"
