"""The provider `python` in the command that a session starts: what its environment must be, and which probes it will have."""

from __future__ import annotations

from pydtrace._tracer import HAS_PLACES
from pyusdt._core import vm_probes
from pyusdt.vm.inject_env import ISOLATED, make_environment
from pyusdt.vm.target_python import (
    Interpreter,
    find_interpreter_line,
    find_isolating_option,
    inspect_interpreter,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def provider_rows(pid: int, minor: int, *, audit: bool) -> list[tuple[Any, ...]]:
    """The probes that CPython 3.minor can have, as list_probes() has them, for a process that does not have them yet."""
    return [
        (pid, f"python{pid}", "", "", name, 0, 0, HAS_PLACES if places else 0, "", 0, "")
        for name, since, places in vm_probes()
        if since <= minor and (audit or name != "audit")
    ]


def inject_into_command(
    command: Any, wanted: list[Any], *, children: bool = False
) -> tuple[list[tuple[Any, ...]], str | None]:
    """Prepare a process.command.Command that has not started: give the probes that it will have,
    as list_probes() has them, or why it can have none.
    wanted: the descriptions (dlang.ast.ProbeDesc) that name the provider; a pattern is for whatever Python the command starts.
    children: for every Python that these start, as well."""
    line = find_interpreter_line(command.argv)
    if option := find_isolating_option(line or command.argv):
        return [], f"{ISOLATED % option}: the provider python cannot enter it"
    found = inspect_interpreter(line[0]) if line else Interpreter()
    if found.reason:
        return [], f"the provider python cannot enter it: {found.reason}"
    only = all(desc.provider == f"python{command.pid}" for desc in wanted)
    audit = any(desc.name == "audit" for desc in wanted)
    command.environment = make_environment(
        command.pid if only else 0, audit=audit, children=children
    )
    return provider_rows(command.pid, found.minor, audit=audit), None
