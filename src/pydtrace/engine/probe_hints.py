"""Hints for probe descriptions that no probe matches: missing engines, similar names.

Names that a process has given itself are escaped.
"""

from __future__ import annotations

import os
import re

from pydtrace._tracer import glob, list_probes
from pydtrace.process.start_environment import read_start_variable
from pydtrace.suggestions import closest_match
from pydtrace.symbols.elf import BadFile, ElfFile
from pydtrace.untrusted.terminal_escape import escape_for_terminal
from pyusdt._core import vm_probes
from pyusdt.framework_probes import FRAMEWORK_PROBES

from . import BUILTIN_PROVIDERS
from .embedded.young_processes import is_python_probe
from .probe_kinds import OTHER, probe_kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Parts = tuple[
        str, str, str, str
    ]  # provider, module, function, name: of a probe, or of a description

_DTRACE_PROVIDERS = ("cpc", "fbt", "lockstat", "rawfbt", "sdt")  # dtrace's providers, not pyusdt's
_FUNCTIONS_HINT = (
    "pid$target:libc.so.6:malloc:entry and return are functions of a process of -p or -c"
)
_SITES_HINT = "USDT probes are provider:::name: pyusdt list FILE names those of a file"
_KERNEL_HINT = "kernel functions cannot be probed; tracepoints are rawtp:::, system calls syscall::read:entry (see `pyusdt help kernel`)"
_BPFTRACE_HINTS = {  # how bpftrace's descriptions begin
    "tracepoint": "system calls are syscall::openat:entry and return, other tracepoints of the kernel rawtp:sched::sched_switch",
    "rawtracepoint": "tracepoints of the kernel are rawtp:sched::sched_switch",
    **dict.fromkeys(("kprobe", "kretprobe", "fentry", "fexit", "kfunc", "kretfunc"), _KERNEL_HINT),
    **dict.fromkeys(("uprobe", "uretprobe"), _FUNCTIONS_HINT),
    "usdt": _SITES_HINT,
    "interval": "it is tick-1s, tick-100ms",
    "profile": "it is profile-99",
}
FRAMEWORK_HINT = "`pyusdt run COMMAND` starts a Python program with probes in its frameworks; for a program started without them use `pyusdt profile PID`"
_PROVIDER, _FUNCTION, _NAME = 0, 2, 3
_TIMER = re.compile(r"(tick|profile)_?(\d+[a-z]*)")  # nearly the name of one


def suggest_name(desc: Any, probes: Sequence[Parts]) -> str | None:
    """The description that may have been meant, as a question: of the same provider, with the name or the function of a probe that
    there is; or None.  probes: all."""
    from .erlang_vm_hints import explain_not_offered

    if explain_not_offered(desc):  # it is right, and has another remedy
        return None
    wanted = _description_parts(desc)
    for part in (_NAME, _FUNCTION):
        others = _matching_parts(wanted, part, [*probes, *_unlisted_probes(desc)])
        found = closest_match(wanted[part], sorted(others)) if wanted[part] not in others else None
        if found:
            return _did_you_mean(desc, wanted, part, found)
    return None


def suggest_target(desc: Any, probes: Sequence[Parts] | None = None) -> str | None:
    """For a provider without a process id, where -p or -c names the process: $target is missing, mostly since the shell has
    replaced it.  probes: only if one of these, or a provider of pyusdt's, has this name; None: whatever its name is."""
    provider = desc.provider
    stems = {_any_process_provider(probe[_PROVIDER]) for probe in probes or ()}
    if not provider.isidentifier() or provider[-1:].isdigit():
        return None
    if probes is not None and not (
        f"{provider}*" in stems
        or provider in (*BUILTIN_PROVIDERS, "python", "pid", *FRAMEWORK_PROBES)
    ):
        return None
    wanted = (f"{provider}$target", *_description_parts(desc)[1:])
    return (
        f"did you mean {escape_for_terminal(':'.join(wanted))}? In double quotes the shell removes $target:"
        " write the script in single quotes"
    )


def is_framework_provider(provider: str) -> bool:
    """Whether frameworks have probes of this provider under `pyusdt run`."""
    return provider in FRAMEWORK_PROBES


def explain_framework_probe(desc: Any, argv: Sequence[str], option: str) -> str | None:
    """For a framework's probe, which a command makes when it runs.  option: what accepts probes to come."""
    provider = desc.provider.rstrip("0123456789*")
    if not any(glob(desc.name, name) for name in FRAMEWORK_PROBES.get(provider, ())):
        return None
    if _instruments(argv):
        return f"the program makes this probe when it runs: add {option}"
    return f"start the program with `pyusdt run`, and add {option}: {option} -c 'pyusdt run …'"


def explain_later_probe(desc: Any, option: str) -> str | None:
    """For an application's probe, which a command makes when it runs."""
    provider = desc.provider.rstrip("0123456789*")
    if probe_kind(desc) == OTHER and provider.isidentifier():
        return f"a program makes its own probes when it runs: add {option}"
    return None


def _instruments(argv: Sequence[str]) -> bool:
    """Whether a command adds probes to the frameworks of the program that it runs."""
    names = [os.path.basename(word) for word in argv]
    return (
        "PYUSDT_INSTRUMENT" in os.environ
        or any(word.startswith("PYUSDT_INSTRUMENT=") for word in argv)
        or ("pyusdt" in names and "run" in names)
    )


def suggest_provider(desc: Any, probes: Sequence[Parts]) -> str | None:
    """The same, with another provider, or with the provider in its place."""
    from .kernel.probes.raw_tracepoints import PROVIDERS, RAW_PROVIDER

    wanted = _description_parts(desc)
    if not wanted[_PROVIDER]:  # provider:name was written, or provider::name
        wanted = (
            (desc.module, "", desc.function, desc.name)
            if desc.module
            else (desc.function, "", "", desc.name)
        )
    others = {
        *_matching_parts(wanted, _PROVIDER, probes),
        "syscall",
        RAW_PROVIDER,
        *PROVIDERS,
    }  # these are listed only where a description names them
    found = _nearest_provider(wanted[_PROVIDER], others) if wanted[_PROVIDER] else None
    return (
        _did_you_mean(desc, wanted, _PROVIDER, found) if found and found != desc.provider else None
    )


def widen_description(desc: Any) -> list[Any] | None:
    """Descriptions of the probes of the same provider that are as wanted but for the function or the name: the kernel's are listed
    only for a description.  None: it is of any provider."""
    if not desc.provider:
        return None
    name = desc.name
    if desc.provider.startswith("pid") and name not in ("entry", "return"):
        name = "entry"  # and not the instructions of all functions
    return [
        type(desc)(desc.loc, desc.provider, desc.module, *parts)
        for parts in (("", name), (desc.function, ""))
    ]


def _description_parts(desc: Any) -> Parts:
    return desc.provider, desc.module, desc.function, desc.name


def _matching_parts(wanted: Parts, part: int, probes: Sequence[Parts]) -> set[str]:
    """What stands in this part, of the probes that are as wanted in all others."""
    return {
        probe[part]
        for probe in probes
        if all(i == part or glob(wanted[i], probe[i]) for i in range(4))
    }


def _did_you_mean(desc: Any, wanted: Parts, part: int, found: str) -> str:
    parts = [found if i == part else wanted[i] for i in range(4)]
    digits = desc.provider[len(desc.provider.rstrip("0123456789")) :]
    written = desc.loc.text if desc.loc else ""
    if digits and "$target" in written and parts[_PROVIDER].endswith(digits):
        parts[_PROVIDER] = f"{parts[_PROVIDER].removesuffix(digits)}$target"
    meant = ":".join(parts).lstrip(":")
    return f"did you mean {escape_for_terminal(meant)}?"


def _unlisted_probes(desc: Any) -> list[Parts]:
    """Probes that no list may have: timers, those of the provider python, which a program gets when a tracer asks for them, and those of
    a command that has not started."""
    timer = _TIMER.fullmatch(desc.name)
    found = [("profile", "", "", "-".join(timer.groups()))] if timer else []
    names: list[str] = []
    if is_python_probe(desc):
        names = [name for name, *_ in vm_probes()]
    elif desc.provider.rstrip("0123456789*") in BUILTIN_PROVIDERS:
        from pydtrace.program.user_trace import PROBE_ARGUMENTS

        names = list(PROBE_ARGUMENTS)
    return found + [(desc.provider, desc.module, desc.function, name) for name in names]


def _nearest_provider(wanted: str, others: set[str]) -> str | None:
    """The one of the others that is like it: of any process, or of the one whose id it ends with."""
    stems = {_any_process_provider(each) for each in others}
    if f"{wanted}*" in stems:
        return f"{wanted}*"
    if wanted in others:
        return wanted
    found = closest_match(_any_process_provider(wanted), sorted(stems))
    own = found and found.removesuffix("*") + wanted[len(wanted.rstrip("0123456789")) :]
    return own if own in others else found


def _any_process_provider(provider: str) -> str:
    """A process's provider, written for that of any process: they end with its id."""
    stem = provider.rstrip("0123456789")
    return provider if stem == provider else f"{stem}*"


def explain_unmatched(
    desc: Any, engine: str, kernel: str | None = None, pids: Sequence[int] = ()
) -> str | None:
    """For a ProbeDesc that no probe matches; engine: the name of the one that looked; kernel: why that of the kernel could not;
    pids: the processes that the user named, else all count. None: there may be such a probe."""
    from .erlang_vm_hints import explain_not_offered
    from .kernel.probes.raw_tracepoints import PROVIDERS, RAW_PROVIDER

    hint: str | None = (
        explain_not_offered(desc)
        or _explain_python_version(desc)
        or _explain_framework(desc, pids)
        or _BPFTRACE_HINTS.get(desc.provider or desc.module or desc.function)
    )
    if hint:
        return hint
    if desc.provider in _DTRACE_PROVIDERS:
        return f"pyusdt has no provider {desc.provider}; `pyusdt help kernel` lists the providers"
    function = desc.provider[:3] == "pid" and desc.provider[3:].isdigit()
    if function and (hint := _explain_module(int(desc.provider[3:]), desc.module)):
        return hint
    if desc.provider in PROVIDERS and not _has_kernel_probe(desc):
        return f"{desc.provider} has no probe {desc.name}; as root, `pydtrace -l -n '{desc.provider}:::'` lists its probes"
    if engine == "embedded" and (
        function
        or desc.provider in ("syscall", RAW_PROVIDER, *PROVIDERS)
        or desc.name.startswith("profile-")
    ):
        if kernel:
            return kernel
        if os.geteuid() == 0:
            missing = (
                f"no function {desc.function} was found" if function else "no such probe was found"
            )
            return f"{missing}, or it needs the kernel engine (-x engine=kernel)"
        return "this probe needs the kernel engine: run pydtrace as root"
    return None


def _explain_python_version(desc: Any) -> str | None:
    """For a probe of the provider python that not every version of CPython can have, and for one that it has where it is asked for."""
    since = {name: since for name, since, _places in vm_probes()}
    if not is_python_probe(desc) or desc.module or desc.function:
        return None
    if since.get(desc.name, 0) > min(since.values()):
        return f"{desc.name} needs CPython 3.{since[desc.name]}; `pyusdt help python-vm` lists the probes of each version"
    return (
        "the program must enable audit: PYUSDT_VM=audit or pyusdt.vm.enable(audit=True)"
        if desc.name == "audit"
        else None
    )


def _explain_framework(desc: Any, pids: Sequence[int]) -> str | None:
    """For a probe that frameworks have, and only in programs that were started for it."""
    provider = desc.provider.rstrip("0123456789*")
    if not any(glob(desc.name, name) for name in FRAMEWORK_PROBES.get(provider, ())):
        return None
    try:
        found = pids or sorted({row[0] for row in list_probes()})
    except OSError:
        found = ()
    return next(filter(None, map(explain_library_to_come, found)), FRAMEWORK_HINT)


def explain_library_to_come(pid: int) -> str | None:
    """Why a process that `pyusdt run` has started lacks the probes of a framework, and what to do; None: it was started without."""
    if read_start_variable(pid, "PYUSDT_INSTRUMENT") in (None, b"", b"0"):
        return None
    return (
        f"process {pid} runs under `pyusdt run`, and has not imported a library with this probe:"
        " add -Z to wait for the import"
    )


def _explain_module(pid: int, module: str) -> str | None:
    """For functions of a module that a process does not have, but one whose file is called so with a version behind."""
    from .kernel.probes.finder import mapped_module_names

    mapped = mapped_module_names(pid)
    alike = sorted(
        name
        for name in mapped
        if module and module not in mapped and name.startswith((f"{module}.", f"{module}-"))
    )
    return f"the process maps no module {module}; did you mean {alike[0]}?" if alike else None


def _has_kernel_probe(desc: Any) -> bool:
    """Whether the kernel engine has a probe that a description stands for."""
    from .kernel.probes.system_probes import SystemProbes

    return bool(SystemProbes([desc]).probes)


def explain_ifunc(desc: Any, command: Any = None) -> str | None:
    """A hint for a description of functions that a file chooses among when it is loaded, or None."""
    if not re.fullmatch(r"pid\d+", desc.provider) or not desc.function:
        return None
    for path, inode, modules in _find_code_files(int(desc.provider[3:]), command):
        if desc.module and not any(glob(desc.module, module) for module in modules):
            continue
        if name := next(
            (name for name in _read_ifunc_names(path, inode) if glob(desc.function, name)), None
        ):
            return f"{escape_for_terminal(name)} of {escape_for_terminal(modules[0])} is one of several functions, chosen when it is loaded (IFUNC); pydtrace does not know which{': -p of the running process may tell' if command else ''}"
    return None


def _find_code_files(pid: int, command: Any) -> list[tuple[str, int | None, tuple[str, ...]]]:
    """As probes.finder.code_files(); a command does not run yet."""
    from .kernel.probes.finder import code_files, find_in_path, find_libraries, short_names

    if not command:
        return [*code_files(pid)]
    program = os.path.realpath(find_in_path(command.argv[0]))
    return [
        (path, None, short_names(os.path.basename(path), path == program))
        for path in (program, *find_libraries(program))
    ]


def _read_ifunc_names(path: str, inode: int | None) -> list[str]:
    try:
        file = ElfFile(path, inode)
    except (OSError, BadFile):
        return []
    try:
        return sorted(file.ifunc_resolvers())
    except (OSError, BadFile):
        return []
    finally:
        file.close()
