"""Selects and opens the engine that traces a program.

- An engine that -x engine names runs or fails; no other replaces it.
- Otherwise the embedded engine traces if it knows all the probes, else the kernel engine.
- Without a Linux kernel, dtrace(1) replaces the kernel engine.
"""

from __future__ import annotations

import errno
import os
import sys

from pydtrace import _tracer
from pydtrace.engine import (
    BUILTIN_PROVIDERS,
    EngineError,
    NoPyusdt,
    NotAllowed,
    TooLarge,
    no_such_process,
)
from pydtrace.engine.bufpolicy import wrap_with_policy
from pydtrace.engine.embedded.young_processes import await_python_provider, is_python_probe
from pydtrace.engine.pending_probes import note_pending_probes
from pydtrace.engine.probe_kinds import (
    KERNEL,
    OTHER,
    PENDING,
    PYUSDT_PENDING,
    REFUSED,
    engine_for,
    may_load_pyusdt,
    probe_kind,
)
from pydtrace.engine.scope import add_children
from pydtrace.program import program as p

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeVar

    from pydtrace.engine import Engine, ProbeDesc, Targets
    from pydtrace.engine.embedded.engine import EmbeddedEngine

    E = TypeVar("E", bound=Engine)
    Options = Mapping[str, Any]
    Probe = tuple[str, str, str, str]  # provider, module, function, name
    Row = tuple[Any, ...]  # of _tracer.list_probes()


def _make_embedded(program: p.Program, options: Options) -> EmbeddedEngine:
    from pydtrace.engine.embedded.engine import EmbeddedEngine

    return EmbeddedEngine(program, options)


def _make_kernel(program: p.Program, options: Options) -> Engine:
    from pydtrace.engine.kernel.engine import KernelEngine

    return KernelEngine(program, options)


def _make_hosts_engine(program: p.Program, options: Options) -> Engine:
    if options["hosts"].forward:
        from pydtrace.hosts.relay_engine import RelayEngine

        return RelayEngine(program, options)
    if options.get("hostmode") == "central":
        from pydtrace.hosts.central_engine import CentralEngine

        return CentralEngine(program, options)
    from pydtrace.hosts.engine import RemoteEngine

    return RemoteEngine(program, options)


def _make_dtrace(program: p.Program, options: Options) -> Engine:
    from pydtrace.engine.dtrace.engine import DtraceEngine

    return DtraceEngine(program, options)


_LANGUAGE_STACKS = {"language"}
_TASK_ARGUMENT = 2  # of profile-n
ENGINES = {"embedded": _make_embedded, "kernel": _make_kernel, "dtrace": _make_dtrace}


def open_engine(program: p.Program, options: Options, targets: Targets) -> tuple[Engine, str]:
    """(engine, reason); raises EngineError."""
    targets = add_children(program, options, targets)
    engine, reason = _select_engine(program, options, targets)
    note_pending_probes(engine, targets)
    return wrap_with_policy(engine, program, options), reason


def _engine_of_paths(options: Options) -> str:
    """The engine for a program that reads values by paths; raises EngineError."""
    if options.get("engine", "embedded") != "embedded":
        raise EngineError(
            f"values (local, global, retval, exception) are not possible with the {options['engine']} engine"
        )
    return "embedded"


def _select_engine(program: p.Program, options: Options, targets: Targets) -> tuple[Engine, str]:
    name = _engine_of_paths(options) if program.paths else options.get("engine")
    if "hosts" in options:
        engine = _make_hosts_engine(program, options)
        return _open_or_close(engine, targets), f"it traces {options['hosts']}"
    if "send" in options:
        from .hosts.event_forwarding import ForwardingEngine

        return _open_or_close(ForwardingEngine(program, options), targets), "its events are sent"
    asked = [desc for clause in program.clauses for desc in clause.probes]
    for option in ("replay", "record", "keep"):
        if option in options:
            if name not in (None, "embedded"):
                raise EngineError(f"--{option} is not possible with the {name} engine")
            if option != "replay":
                _check_embedded(asked, option, options, targets)
            name = "embedded"
    if "replay" in options:
        from pydtrace.engine.embedded.replay import ReplayEngine

        return _open_or_close(ReplayEngine(program, options), targets), "it is a replay"
    if "file" in options or any(desc.module.startswith("/") for desc in asked):
        if name not in (None, "kernel"):
            what = "-x file" if "file" in options else "a module that is a file's path"
            raise EngineError(f"{what} is not possible with the {name} engine")
        name = "kernel"
    if name:
        return _open_or_close(ENGINES[name](program, options), targets), "as -x engine says"
    if not sys.platform.startswith("linux"):
        return _embedded_or_dtrace(program, options, targets)
    awaits = bool(options.get("zdefs") or "wait" in options)
    root, ours = os.geteuid() == 0, _has_pyusdt(targets, options)
    later: dict[ProbeDesc, str] = {}  # {description: the engine for it where nobody has it yet}
    if awaits:
        later = {
            desc: engine_for(probe_kind(desc), root, PYUSDT_PENDING if ours else PENDING)
            for desc in asked
        }
        for desc in [desc for desc in asked if later[desc] == REFUSED]:
            raise EngineError(
                f"{desc} needs the kernel engine: run pydtrace as root (-x engine=kernel forces it)"
            )
        if "wait" in options and KERNEL not in later.values():
            return _open_or_close(
                _make_embedded(program, options), targets
            ), "--wait, and pyusdt brings such probes"
    embedded: EmbeddedEngine | None = None
    lack: str | None = None
    better: str | None = None
    failed: EngineError | None = None
    try:
        embedded = _make_embedded(program, options)
        _open_or_close(embedded, targets)
    except EngineError as error:
        if os.geteuid() != 0 or isinstance(error, (TooLarge, NotAllowed)):
            raise
        why, failed, embedded = error.reason, error if embedded else None, None
        lack = f"{error.reason}: {error.hint}" if isinstance(error, NoPyusdt) else None
    else:
        knows = all(count for _, count in embedded.matched)
        better = _kernel_advantage(program, options, targets) if os.geteuid() == 0 else None
        if os.geteuid() != 0 or (knows and not better):
            return embedded, "it needs no privilege and knows the probes"
        why = better or "pyusdt's own probes do not match"
    try:
        engine = _open_or_close(_make_kernel(program, options), targets)
    except EngineError as error:
        if embedded is None:
            raise
        if isinstance(error, NotAllowed):
            embedded.close()
            raise
        embedded.kernel_refusal = (
            f"this probe needs another engine, which does not work: {error.reason}"
        )
        return embedded, "the kernel engine does not work"
    engine.no_probe_reason = lack
    if failed and not lack and _uses_builtin_providers(program):
        engine.startup_notices.append(
            f"the kernel engine traces, since the embedded one does not work: {failed.reason}"
        )
    if embedded and any(
        not count and later.get(desc) == KERNEL for desc, count in embedded.matched
    ):
        embedded.close()
        return engine, "no process has such probes yet, and any program may come with them"
    if embedded and why != better and not _kernel_matches_more(engine, embedded, targets):
        engine.close()
        embedded.function_sizes = engine.function_sizes
        return embedded, "the kernel's engine knows no more of the probes"
    if embedded and _kernel_misses_python(engine, embedded):
        engine.close()
        return embedded, "the kernel's engine does not know the provider python of this program"
    if embedded:
        embedded.close()
    return engine, why


def _has_pyusdt(targets: Targets, options: Options) -> bool:
    """Whether the processes that are named have pyusdt in them, or may load it: then providers that they make are the embedded engine's."""
    if targets.command:
        return may_load_pyusdt(targets.command.argv)
    waits = options.get("wait")
    if isinstance(waits, str):
        return may_load_pyusdt([waits])
    return any(_has_published_probes(pid) for pid in targets.pids)


def _has_published_probes(pid: int) -> bool:
    """Whether a process has published probes of pyusdt's."""
    try:
        return bool(_tracer.list_probes(None, pid))
    except OSError:
        return False


def _check_embedded(
    asked: list[ProbeDesc], option: str, options: Options, targets: Targets
) -> None:
    """--record and --keep are the embedded engine's.  Raises EngineError for a description that it cannot have."""
    for desc in asked:
        if probe_kind(desc) == KERNEL or (
            probe_kind(desc) == OTHER
            and os.geteuid() == 0
            and not _has_application_probe(desc, targets)
            and _is_third_party(desc, options, targets)
        ):
            raise EngineError(
                f"--{option} keeps events of the embedded engine (programs with pyusdt); {desc} belongs to the kernel engine; see `pyusdt help recording`"
            )


def _has_application_probe(desc: ProbeDesc, targets: Targets) -> bool:
    """Whether a process with pyusdt has such a probe."""
    try:
        rows = (
            [row for pid in targets.pids for row in _tracer.list_probes(None, pid)]
            if targets.pids
            else _tracer.list_probes()
        )
    except OSError:
        return False
    return any(
        _tracer.glob(desc.provider, row[1]) and _tracer.glob(desc.name, row[4]) for row in rows
    )


def _is_third_party(desc: ProbeDesc, options: Options, targets: Targets) -> bool:
    """Whether a file of a process has such a probe."""
    from pydtrace.engine.kernel.probes import list_kernel_probes

    try:
        found = list_kernel_probes.list_probes(
            targets.pids, [desc], options.get("file", ()), targets.command
        )
    except EngineError:
        return False
    return any(
        all(map(_tracer.glob, (desc.provider, desc.name), (probe[0], probe[3]))) for probe in found
    )


def _needs_only_language_stacks(program: p.Program) -> bool:
    """Stacks of functions of Python, which the embedded engine has, and no other stack."""
    return bool(program.stacks) and program.stacks.keys() <= _LANGUAGE_STACKS


def _reads_task_of_sample(program: p.Program) -> bool:
    """Whether a clause of profile-n reads arg2, the task, which only the embedded engine has."""
    return any(
        _TASK_ARGUMENT in clause.demand
        and any(desc.name.startswith("profile-") for desc in clause.probes)
        for clause in program.clauses
    )


def _uses_builtin_providers(program: p.Program) -> bool:
    return any(
        desc.provider.startswith(BUILTIN_PROVIDERS)
        for clause in program.clauses
        for desc in clause.probes
    )


def _kernel_advantage(program: p.Program, options: Options, targets: Targets) -> str | None:
    """Why the kernel's engine does more for a program whose probes the embedded one knows, or None."""
    descriptions = [desc for clause in program.clauses for desc in clause.probes]
    named = targets.pids or targets.command
    if not named and _uses_builtin_providers(program):
        return None
    reads_task = p.SAMPLED_TASK in program.uses or _reads_task_of_sample(program)
    elsewhere = (
        options.get("profilewall") or reads_task or (named and _needs_only_language_stacks(program))
    )
    if any(desc.name.startswith("profile-") for desc in descriptions) and not elsewhere:
        return "profile-n fires on every CPU there"
    if reads_task:
        return None
    own = ("BEGIN", "END", "ERROR", "tick-")
    if any(
        not clause.stacks <= _LANGUAGE_STACKS
        and not all(desc.name.startswith(own) for desc in clause.probes)
        for clause in program.clauses
    ):
        return "it records stacks"
    return None


def _kernel_matches_more(kernel: Engine, embedded: Engine, targets: Targets) -> bool:
    """Whether the kernel's engine finds probes for a description that the embedded one has none for.

    Where no process is named, our own providers do not count: the embedded engine has such a process from its first
    probe on, the kernel's only after it was noticed.
    """
    named = targets.pids or targets.command
    return any(
        there and not here and (named or not desc.provider.startswith(BUILTIN_PROVIDERS))
        for (desc, there), (_, here) in zip(kernel.matched, embedded.matched)
    )


def _kernel_misses_python(kernel: Engine, embedded: Engine) -> bool:
    """Whether it has no probe for a description of the provider python that the embedded engine has some for."""
    return any(
        here and not there and is_python_probe(desc)
        for (desc, there), (_, here) in zip(kernel.matched, embedded.matched)
    )


def _embedded_or_dtrace(
    program: p.Program, options: Options, targets: Targets
) -> tuple[Engine, str]:
    """The embedded engine where it knows all the probes, else the system's dtrace."""
    try:
        engine = _open_or_close(_make_embedded(program, options), targets)
    except EngineError as error:
        why = error.reason
    else:
        if all(count for _, count in engine.matched):
            return engine, "it needs no privilege and knows the probes"
        engine.close()
        why = "pyusdt's own probes do not match"
    try:
        return _open_or_close(_make_dtrace(program, options), targets), why
    except EngineError as error:
        raise EngineError(f"{why}, and {error}") from None


def list_probes(
    options: Mapping[str, Any],
    targets: Targets,
    descriptions: Sequence[ProbeDesc] | None,
    warn: Callable[[str], None] = lambda text: None,
) -> list[Probe]:
    """[(provider, module, function, name)]: what the engine that -x engine names could trace, or every engine that
    may be used.  tell(text): of what is left out.  Raises EngineError, OSError."""
    name, pids = options.get("engine"), targets.pids
    found = (
        []
        if name == "kernel"
        else _list_embedded(
            targets, descriptions, may_fail=name != "embedded" and os.geteuid() == 0, warn=warn
        )
    )
    if name == "kernel" or (name is None and os.geteuid() == 0):
        from pydtrace.engine.kernel.probes import list_kernel_probes
        from pydtrace.engine.kernel.probes.finder import requested_paths

        known = set(found)
        there = list_kernel_probes.list_probes(
            pids,
            descriptions,
            requested_paths(options, descriptions),
            targets.command,
            warn,
            options.get("demangle", True),
        )
        found += [probe for probe in there if probe not in known]
    return found


def _list_embedded(
    targets: Targets,
    descriptions: Sequence[ProbeDesc] | None,
    may_fail: bool,
    warn: Callable[[str], None],
) -> list[Probe]:
    pids = targets.pids
    if descriptions and any(is_python_probe(desc) for desc in descriptions):
        await_python_provider(pids)
    try:
        found = (
            [probe for pid in pids for probe in _tracer.list_probes(None, pid)]
            if pids
            else _tracer.list_probes()
        )
    except OSError as error:
        if may_fail:
            return []
        raise (
            no_such_process(pids)
            if error.errno == errno.ESRCH
            else EngineError(str(error.strerror))
        ) from None
    found.sort(
        key=lambda probe: probe[7] == _tracer.AT_PLACE
    )  # those get their ids with their first events
    rows = [*found, *_list_pending_python_probes(targets, descriptions)]
    listed: list[Probe] = [tuple(probe[1:5]) for probe in rows]
    functions = [
        *_list_python_functions(pids, found, descriptions or (), warn),
        *_list_erlang_functions(targets, descriptions, warn),
    ]
    there = set(functions)
    return [each for each in listed if each not in there] + functions


def _list_python_functions(
    pids: Sequence[int],
    rows: Sequence[Row],
    descriptions: Sequence[ProbeDesc],
    warn: Callable[[str], None],
) -> list[Probe]:
    """Probes of the functions of Pythons that run and have the provider, or were named."""
    if not any(is_python_probe(desc) and (desc.module or desc.function) for desc in descriptions):
        return []
    from pydtrace.engine.embedded.python_functions import list_function_probes

    having = [row[0] for row in rows if row[1] == f"python{row[0]}"]
    return [*list_function_probes([*pids, *having], descriptions, warn)]


def _list_erlang_functions(
    targets: Targets, descriptions: Sequence[ProbeDesc] | None, warn: Callable[[str], None]
) -> list[Probe]:
    """Of the nodes that are named by their pids, where functions are asked for."""
    if not any(desc.provider.startswith("erlang") for desc in descriptions or ()):
        return []
    from pydtrace.attach.beam_functions import list_function_probes, names_functions
    from pydtrace.attach.beam_process import is_beam

    wanted = [desc for desc in descriptions or () if names_functions(desc)]
    return [
        probe
        for pid in targets.pids or ()
        if wanted and is_beam(pid)
        for probe in list_function_probes(pid, wanted, warn)
    ]


def _list_pending_python_probes(
    targets: Targets, descriptions: Sequence[ProbeDesc] | None
) -> list[Row]:
    """What a command that has not started will have of the provider python, where it is asked for."""
    wanted = [desc for desc in descriptions or () if is_python_probe(desc)]
    if not (targets.command and wanted):
        return []
    from pydtrace.engine.embedded.provider_injection import inject_into_command

    rows, lack = inject_into_command(targets.command, wanted)
    if lack:
        raise EngineError(lack)
    return rows


def _open_or_close(engine: E, targets: Targets) -> E:
    try:
        engine.open(targets)
    except BaseException:
        engine.close()
        raise
    return engine
