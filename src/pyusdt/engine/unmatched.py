"""Hints for probe descriptions that no probe matches: what an engine lacks, and what is called otherwise.

In: a description (dlang.ast.ProbeDesc), the engine that looked.  Out: one line that names the way out, or None.
Always: a name that a process gave itself is shown harmless.
"""

from __future__ import annotations

from .._tracer import glob
from ..data.harmless import harmless
from ..data.meant import nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_OTHERS = ("cpc", "fbt", "io", "ip", "lockstat", "rawfbt", "rawtp", "sdt", "tcp", "udp")  # dtrace's providers, not ours
_PROVIDER, _NAME = 0, 3


def similar_probe(desc: Any, probes: Sequence[tuple[str, str, str, str]]) -> str | None:
    """The description that may have been meant, as a question, or None.  probes: (provider, module, function, name) of all."""
    wanted = (desc.provider, desc.module, desc.function, desc.name)
    for part in (_PROVIDER, _NAME):
        others = {probe[part] for probe in probes if all(i == part or glob(wanted[i], probe[i]) for i in range(4))}
        if part == _PROVIDER:
            others = {_of_any(provider) for provider in others}
            found = f"{wanted[part]}*" if f"{wanted[part]}*" in others else nearest(wanted[part], sorted(others))
        else:
            found = nearest(wanted[part], sorted(others))
        if found and found != wanted[part]:  # an engine may not have what another lists
            meant = ":".join(found if i == part else wanted[i] for i in range(4)).lstrip(":")
            return f"did you mean {harmless(meant)}?"
    return None


def _of_any(provider: str) -> str:
    """A process's provider, written for that of any process: they end with its id."""
    stem = provider.rstrip("0123456789")
    return provider if stem == provider else f"{stem}*"


def unmatched_probe(desc: Any, engine: str) -> str | None:
    """For a ProbeDesc that no probe matches; engine: the name of the one that looked.  None: there may be such a probe."""
    from .erlang_vm import not_offered
    from .kernel.raw import PROVIDERS

    told: str | None = not_offered(desc)
    if told:
        return told
    if desc.provider in _OTHERS:
        return f"pyusdt has no provider {desc.provider}; docs/guide/kernel.md lists those that there are"
    function = desc.provider[:3] == "pid" and desc.provider[3:].isdigit()
    if function and (told := _absent_module(int(desc.provider[3:]), desc.module)):
        return told
    if desc.provider in PROVIDERS and not _has_kernel_probe(desc):
        return f"pyusdt has no probe {desc.name} of {desc.provider}: as root, `pydtrace -l -n '{desc.provider}:::'` lists those that there are"
    if engine == "embedded" and (function or desc.provider in ("syscall", *PROVIDERS) or desc.name.startswith("profile-")):
        return "such probes need the kernel engine: root has it, and -x engine=kernel asks for it"
    return None


def _absent_module(pid: int, module: str) -> str | None:
    """For functions of a module that a process does not have, but one whose file is called so with a version behind."""
    from .kernel.probes import modules

    mapped = modules(pid)
    alike = sorted(name for name in mapped if module and module not in mapped and name.startswith((f"{module}.", f"{module}-")))
    return f"no module {module} is mapped, {alike[0]} is: a module is called as its file" if alike else None


def _has_kernel_probe(desc: Any) -> bool:
    """Whether the kernel engine has a probe that a description stands for."""
    from .kernel.system import SystemSide

    return bool(SystemSide([desc]).probes)
