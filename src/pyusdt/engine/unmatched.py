"""Hints for probe descriptions that no probe matches: what an engine lacks, and what is called otherwise.

In: a description (dlang.ast.ProbeDesc), the engine that looked.  Out: one line that names the way out, or None.
"""

_OTHERS = ("cpc", "fbt", "io", "ip", "lockstat", "rawfbt", "rawtp", "sdt", "tcp", "udp")  # dtrace's providers, not ours


def unmatched_probe(desc, engine):
    """For a ProbeDesc that no probe matches; engine: the name of the one that looked.  None: there may be such a probe."""
    from .kernel.raw import PROVIDERS

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


def _absent_module(pid, module):
    """For functions of a module that a process does not have, but one whose file is called so with a version behind."""
    from .kernel.probes import modules

    mapped = modules(pid)
    alike = sorted(name for name in mapped if module and module not in mapped and name.startswith((f"{module}.", f"{module}-")))
    return f"no module {module} is mapped, {alike[0]} is: a module is called as its file" if alike else None


def _has_kernel_probe(desc):
    """Whether the kernel engine has a probe that a description stands for."""
    from .kernel.system import SystemSide

    return bool(SystemSide([desc]).probes)
