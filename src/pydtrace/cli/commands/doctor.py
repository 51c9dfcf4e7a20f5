"""`pyusdt doctor`: what works on this machine and in a process, what does not, and what to do about
it.

- The findings that explain most failures come first.
- A check never raises, and leaves nothing behind but an object in the cache. What cannot be
  checked is a Finding as well.
- A Finding about what does not work has advice, unless the text of the core's message contains
  it.
"""

from __future__ import annotations

import errno
import os
import platform
import re
import shutil
import subprocess
import sys

from pydtrace.engine import EngineError
from pydtrace.engine.kernel.kernel_errors import CAPABILITIES
from pydtrace.process.proc_status import effective_capabilities
from pydtrace.symbols import elf

_WATCHER = "pyusdt-watch"  # the thread, as c/target/watcher.c names it

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Finding:
    """good: True: it works, False: it does not work and could, None: it is not needed or impossible here; advice: what to do, or ""."""

    __slots__ = ("advice", "good", "subject", "text")

    def __init__(self, subject: str, good: bool | None, text: str, advice: str = "") -> None:
        self.subject, self.good, self.text, self.advice = subject, good, text, advice

    def __repr__(self) -> str:
        return f"Finding({self.subject!r}, {self.good}, {self.text!r}, {self.advice!r})"


def _read_small_file(path: str) -> str | None:
    """The text of a small file, or None."""
    try:
        with open(path, encoding="utf-8", errors="backslashreplace") as file:
            return file.read().strip()
    except OSError:
        return None


def parse_version(text: str) -> tuple[int, int]:
    """(6, 18) for "6.18.3-amd64"; (0, 0) for a text that is no version."""
    match = re.match(r"(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else (0, 0)


# --- the package -----------------------------------------------------------------------------


def _check_module() -> Finding:
    from pyusdt import _core

    name = os.path.basename(_core.__file__)
    if not _core.available():
        return Finding(
            "probes",
            None,
            f"{name} has no USDT probe sites; the embedded engine works regardless",
            "build it on 64-bit Linux, macOS or FreeBSD with PYUSDT_REQUIRE_PROBES=1 to see what is missing",
        )
    try:
        file = elf.ElfFile(_core.__file__)
        notes = file.read_notes()
        file.close()
    except (OSError, elf.BadFile) as error:
        return Finding("probes", False, f"{name}: {error}", "install pyusdt again")
    if not notes:
        return Finding(
            "probes",
            False,
            f"{name} has lost its .note.stapsdt section",
            "something has stripped more than symbols: strip --keep-section=.note.stapsdt",
        )
    return Finding("probes", True, f"{len(notes)} USDT probes in {_core.__file__}")


def _check_run_directory() -> Finding:
    from pydtrace._tracer import list_probes

    try:
        listed = {row[0] for row in list_probes()}
    except OSError as error:
        said = error.strerror or str(error)
        advice = "make that directory yours with mode 0700, or set PYUSDT_RUNDIR to one, for program and tracer"
        return Finding(
            "embedded engine", False, said, "" if "set PYUSDT_RUNDIR" in said else advice
        )
    if os.getpid() not in listed:
        return Finding(
            "embedded engine",
            False,
            "this process could not publish itself in the run directory",
            "is the file system full (df /dev/shm), or PYUSDT_RUNDIR not the program's?",
        )
    return Finding(
        "embedded engine",
        True,
        f"processes of this user with pyusdt, this one among them: {len(listed)}",
    )


def _check_cache() -> Finding:
    from pyusdt.providers import Provider

    provider = Provider("pyusdt_doctor")
    probe = provider.probe("check", int)
    if probe.path:
        return Finding("own providers", True, f"objects in {os.path.dirname(probe.path)}")
    return Finding(
        "own providers",
        None,
        f"seen by the embedded engine only: {provider.reason}",
        "set PYUSDT_CACHE to a directory of yours that no other user can write to",
    )


# --- the virtual machines' own probes ----------------------------------------------------------


def _check_python_vm() -> Finding:
    version = sys.version_info
    how = (
        "sys.monitoring"
        if version >= (3, 12)
        else "a frame evaluation hook (PEP 523), profile and trace functions"
    )
    return Finding(
        "Python's probes",
        True,
        f"the provider python, by {how}; `pyusdt attach PID` brings it into a program that runs",
    )


def _check_erlang_vm() -> Finding:
    """The emulator in the PATH; its release is known from the file that it starts by."""
    path = shutil.which("erl")
    if path is None:
        return Finding(
            "Erlang's probes",
            None,
            "no erl in the PATH",
            "not needed for Python; see `pyusdt help erlang-vm`",
        )
    root = os.path.dirname(os.path.dirname(os.path.realpath(path)))
    emulator, _, release = (_read_small_file(f"{root}/releases/start_erl.data") or "").partition(
        " "
    )
    text = f"{path}, OTP {release or 'of an unknown release'}: the provider erlang, after pyusdt_vm:enable() in a node"
    if parse_version(emulator) >= (13, 2):  # OTP 25.3's
        return Finding("Erlang's probes", True, text)
    return Finding(
        "Erlang's probes",
        None,
        text,
        "before OTP 25.3 most need #{unsafe => true}; see `pyusdt help erlang-vm`",
    )


# --- the kernel ------------------------------------------------------------------------------


def describe_uprobes(version: tuple[int, int]) -> str:
    """How a kernel of this version runs a uprobe at one of our sites."""
    if version < (4, 20):
        return "a trap; it does not count semaphores up, so tracers must do it themselves (bpftrace -p, gdb)"
    if version < (6, 18):
        return "a trap"
    if version < (7, 3):
        return (
            "a trap at the note's nop; at the site's nop5 (+11) a call, a quarter cheaper, that kills forked "
            "children (see `pyusdt help kernel`)"
        )
    return "a trap at the note's nop; a call for a tracer that attaches at the site's nop10 (+1)"


def _describe_trial() -> str:
    """Where the kernel engine attaches, found by its own trial; "" if this user may not attach."""
    from pydtrace.engine.kernel.uprobe_attach import find_cheapest_nop

    try:
        place = find_cheapest_nop()
    except OSError:
        return ""
    return f"; the kernel engine attaches at {f'+{place}' if place else 'the nop'} here, as tried"


def _check_uprobes() -> Finding:
    release = platform.release()
    if not os.path.exists("/sys/bus"):
        return Finding(
            "uprobes", False, "unknown: /sys is not mounted", "mount -t sysfs sysfs /sys"
        )
    if not os.path.exists("/sys/bus/event_source/devices/uprobe"):
        return Finding(
            "uprobes", False, f"Linux {release} has none", "a kernel with CONFIG_UPROBE_EVENTS"
        )
    counts = os.path.exists("/sys/bus/event_source/devices/uprobe/format/ref_ctr_offset")
    text = f"Linux {release}: {describe_uprobes(parse_version(release))}{_describe_trial()}"
    return Finding("uprobes", True, text if counts else f"{text}; no reference counters")


def _check_rights() -> Finding:
    mask = effective_capabilities()
    held = [name for name, bit in CAPABILITIES.items() if mask >> bit & 1]
    lockdown = re.search(r"\[(\w+)\]", _read_small_file("/sys/kernel/security/lockdown") or "")
    if lockdown and lockdown[1] == "confidentiality":
        return Finding(
            "kernel engine",
            False,
            "the kernel is locked down (confidentiality): no tracing of memory",
            "boot without lockdown=confidentiality, or use the embedded engine",
        )
    if "CAP_SYS_ADMIN" in held or {"CAP_BPF", "CAP_PERFMON"} <= set(held):
        if not os.path.exists("/sys/kernel/btf/vmlinux"):
            return Finding(
                "kernel engine",
                None,
                f"allowed ({', '.join(held)}), but the kernel has no BTF",
                "bpftrace and dtrace may want a kernel with CONFIG_DEBUG_INFO_BTF",
            )
        return Finding("kernel engine", True, f"allowed: {', '.join(held)}")
    return Finding(
        "kernel engine",
        None,
        f"not allowed: this user lacks CAP_BPF and CAP_PERFMON (has {', '.join(held) or 'none'})",
        "run pydtrace as root, or trace what has pyusdt in it: the embedded engine needs no right",
    )


def _check_tracefs() -> Finding:
    for path in ("/sys/kernel/tracing", "/sys/kernel/debug/tracing"):
        if os.path.exists(f"{path}/uprobe_events"):
            return Finding("tracefs", True, f"{path} (perf and stap use it)")
    if os.geteuid() != 0:
        return Finding(
            "tracefs", None, "not visible to this user", "run perf and stap, which need it, as root"
        )
    return Finding(
        "tracefs",
        False,
        "not mounted: perf and stap need it",
        "mount -t tracefs tracefs /sys/kernel/tracing",
    )


def _check_namespaces() -> Finding:
    spaces = [f"/proc/{who}/ns/pid" for who in ("self", "1")]
    ours, first = (os.stat(path) if os.path.exists(path) else None for path in spaces)
    container = next(
        (name for name in ("/.dockerenv", "/run/.containerenv") if os.path.exists(name)), None
    )
    mapped = (_read_small_file("/proc/self/uid_map") or "").split()
    if mapped and mapped != ["0", "0", "4294967295"]:
        return Finding(
            "namespaces",
            None,
            "a user namespace: root here is not the machine's, no kernel tracer works",
            "trace from outside the container, or use the embedded engine inside",
        )
    if container or (ours and first and ours.st_ino != first.st_ino):
        return Finding(
            "namespaces",
            None,
            "a container: processes outside are not seen, kernel tracers need rights",
            "trace from outside with pydtrace -p PID; the embedded engine works inside and from outside",
        )
    return Finding("namespaces", True, "those of the machine")


TOOLS = ("bpftrace", "perf", "stap", "gdb")


def _check_tools() -> Finding:
    there = [name for name in TOOLS if shutil.which(name)]
    if not there:
        return Finding(
            "other tracers",
            None,
            "none of " + ", ".join(TOOLS),
            "not needed; see `pyusdt help tracers`",
        )
    return Finding("other tracers", True, ", ".join(there))


def is_dtrace(head: bytes) -> bool:
    """Whether a program called dtrace, by its first bytes, is the tracer.  SystemTap's is a script that makes headers."""
    return not (head.startswith(b"#!") and b"python" in head.splitlines()[0])


def _check_dtrace() -> Finding:
    path, instead = shutil.which("dtrace"), "not needed: pydtrace takes its place"
    if path is None:
        return Finding("dtrace(1)", None, "none", instead)
    with open(path, "rb") as file:
        if is_dtrace(file.read(128)):
            return Finding("dtrace(1)", True, path)
    return Finding(
        "dtrace(1)", None, f"{path} is SystemTap's, which makes headers and traces nothing", instead
    )


def _check_sip() -> Finding:
    done = subprocess.run(["csrutil", "status"], capture_output=True, text=True, check=False)
    if "disabled" in done.stdout:
        return Finding("SIP", True, "off: dtrace works")
    return Finding(
        "SIP",
        None,
        "on: the system's dtrace does not trace this Python, if it is Apple's or hardened",
        "a Python of Homebrew, pyenv or python.org; or `csrutil enable --without dtrace` in recovery mode",
    )


def check_machine() -> list[Finding]:
    """Findings about the machine and this Python."""
    from pydtrace.cli.pydtrace.usage import describe_python

    checks = [_check_module, _check_run_directory, _check_cache, _check_python_vm, _check_erlang_vm]
    checks += (
        [_check_uprobes, _check_rights, _check_tracefs, _check_namespaces, _check_tools]
        if sys.platform == "linux"
        else []
    )
    checks += [_check_sip] if sys.platform == "darwin" else []
    return [
        Finding("python", True, describe_python()),
        *map(_run_check, [*checks, _check_dtrace]),
        *_find_other_builds(),
    ]


def _find_other_builds() -> list[Finding]:
    """Of processes that this pyusdt can not trace."""
    from pydtrace._tracer import other_builds

    try:
        return [Finding(f"process {pid}", False, text) for pid, text in other_builds()]
    except OSError:  # of the run directory, which has a finding of its own
        return []


def _run_check(check: Callable[[], Finding]) -> Finding:
    try:
        return check()
    except Exception as error:  # noqa: BLE001 - no state of the machine may end the diagnosis
        return Finding(
            check.__name__.removeprefix("_check_").strip("_").replace("_", " "),
            False,
            f"cannot be read: {error!r}",
            "this is an error in pyusdt: please report it",
        )


# --- a process -------------------------------------------------------------------------------


def check_process(pid: int) -> list[Finding]:
    """Findings about a process that somebody wants to trace."""
    try:
        owner = os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return [
            Finding(
                f"process {pid}",
                False,
                "no process has this id",
                "pgrep -f shows the ids of processes",
            )
        ]
    name = _read_small_file(f"/proc/{pid}/comm") or "?"
    findings = [Finding(f"process {pid}", True, f"{name}, of uid {owner}")]
    if owner != os.geteuid() and os.geteuid() != 0:
        return [
            *findings,
            Finding("its owner", False, "is another user", "trace it as that user, or as root"),
        ]
    return [
        *findings,
        _check_process_embedded(pid),
        *_check_process_watcher(pid),
        _check_process_sites(pid),
        *_check_process_namespaces(pid),
    ]


def _check_process_embedded(pid: int) -> Finding:
    from pydtrace._tracer import find_published, list_probes

    try:
        folder, is_published = find_published(pid)
        if is_published and not list_probes(None, pid):
            return Finding(
                "embedded engine",
                False,
                f"what the process says in {folder} of its probes is damaged",
                "start the program again; only its user can write there",
            )
    except PermissionError as error:
        return Finding(
            "embedded engine",
            False,
            error.strerror or str(error),
            "a container or a security module keeps it from this user: trace from outside, or as root",
        )
    except OSError as error:
        if error.errno == errno.EPROTONOSUPPORT:
            return Finding("embedded engine", False, error.strerror or str(error))
        return Finding(
            "embedded engine",
            False,
            error.strerror or str(error),
            f"pyusdt attach {pid} (CPython 3.10 or later, Erlang); else its program must `import pyusdt`",
        )
    return Finding("embedded engine", True, f"pydtrace -p {pid} works: {folder}")


def _check_process_watcher(pid: int) -> Iterator[Finding]:
    """Of a process that has the provider python without the thread that switches its probes on."""
    from . import list_command

    try:
        has_provider = any(
            each.provider.startswith("pyvm") for each in list_command.list_process_probes(pid)
        )
        threads = [
            _read_small_file(f"/proc/{pid}/task/{thread}/comm")
            for thread in os.listdir(f"/proc/{pid}/task")
        ]
    except (OSError, EngineError):
        return
    if has_provider and _WATCHER not in threads:
        yield Finding(
            "provider python",
            None,
            f"nothing fires: its thread {_WATCHER} is not there",
            "the process was forked in C, by another thread than the main one or without running Python code since; or "
            "pyusdt.vm.paused() is under way",
        )


def _check_process_sites(pid: int) -> Finding:
    from . import list_command
    from .semaphore_reader import LISTENERS

    try:
        probes = [
            each
            for each in list_command.list_process_probes(pid)
            if each.state != "-" and not each.provider.endswith(str(pid))
        ]  # the others have no site
    except list_command.NotFound as error:
        return Finding(
            "USDT probes",
            False,
            str(error),
            "pyusdt list FILE shows those of a program or a library",
        )
    if messages := LISTENERS.drain_messages():
        return Finding(
            "USDT probes",
            False,
            "; ".join(messages),
            "its memory is not to be had at once: a file system that does not answer",
        )
    if not probes:
        return Finding(
            "USDT probes",
            None,
            "none with a semaphore that can be read",
            "pyusdt list -p shows those without one; ask as root for those of another's memory",
        )
    providers = sorted({each.provider for each in probes})
    on = [each.name for each in probes if each.state != "0"]
    text = f"{len(probes)} of {', '.join(providers)}; a tracer is attached to {len(on)} of them"
    return Finding("USDT probes", True, text)


def _check_process_namespaces(pid: int) -> Iterator[Finding]:
    for kind in ("pid", "mnt"):
        try:
            if os.readlink(f"/proc/{pid}/ns/{kind}") != os.readlink(f"/proc/self/ns/{kind}"):
                yield Finding(
                    f"{kind} namespace",
                    None,
                    "is its own (a container)",
                    "pydtrace -p takes the process id of outside and finds its files by itself",
                )
        except OSError as error:
            yield Finding(
                f"{kind} namespace", None, f"cannot be read: {error.strerror}", "run pyusdt as root"
            )
