"""`pyusdt attach PID` and `pyusdt detach PID`: bring the provider `python` into a running process, and out of it again.
An Erlang node gets its application (pydtrace.attach.beam_attach).

- The process starts a thread that loads the package pyusdt of this installation; its modules get no new name but that.
- If the process does not begin in time, the request is withdrawn.
- NotAttached says what can be done.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import time

from pydtrace import _tracer
from pydtrace.attach.beam_attach import (
    BeamOptions,
    attach_beam,
    attach_node,
    detach_beam,
    detach_node,
)
from pydtrace.attach.beam_process import is_beam
from pydtrace.attach.placed_copy import can_read, place_copy, remove_stale_copies
from pydtrace.attach.refusal import NoPython, NotAttached, PathTooLong, make_stop_refusal
from pydtrace.attach.run_statement import Target
from pydtrace.attach.statement import Statement
from pydtrace.attach.text_slots import uses_musl
from pydtrace.engine.embedded.young_processes import has_provider, has_python_provider
from pydtrace.process.file_view import sees_same_file
from pydtrace.process.identity import has_ended_or_ends, is_alive
from pydtrace.remote_python.code_objects import CodeObjects
from pydtrace.remote_python.remote_modules import RemoteModules
from pydtrace.remote_python.remote_python import RemotePython, StackReadError
from pydtrace.untrusted.watchdog import TIMEOUT, watchdog
from pyusdt.vm.inject_env import START

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "NotAttached",
    "attach_hooks",
    "attach_node",
    "attach_provider",
    "detach_node",
    "detach_provider",
]

BEGIN_TIMEOUT = 5.0  # seconds
UNUSED_TIMEOUT = (
    60.0  # s without a tracer after which a provider that --attach brought in leaves by itself
)
_SEEN, _POLL = 1.0, 0.02  # s, in which what a process has published is found
_ATTACHMENT = "pyusdt.vm.attachment"
_HOOKS = "pyusdt.instrument.attached"
_IMPORTED_BEFORE = "has already been imported"  # Cython's words
_HAS_LEFT = f"KeyError({_ATTACHMENT!r})"  # of a statement that finds no such module
_MUSL_SUFFIX = "-musl.so"
_LOADER = os.path.join(START, "enter_process.py")
_LOADED = (  # of the package, by a process that is attached to
    "__init__.py",
    "import_callbacks.py",
    "vm/__init__.py",
    "vm/attachment.py",
    "vm/single_thread_calls.py",
    "vm/start/enter_process.py",
    "vm/start/load_provider.py",
)
_PACKAGE = os.path.dirname(os.path.dirname(START))


def attach_provider(
    pid: int,
    timeout: float = BEGIN_TIMEOUT,
    temporary: bool = False,
    beam: BeamOptions | None = None,
) -> bool:
    """Returns once the provider is in the process: whether it was brought in.  temporary: it may leave with the last tracer.
    NotAttached."""
    if is_beam(pid):
        return _attach_beam(pid, timeout, temporary, beam)
    if has_python_provider(pid):
        return False
    with _watching(pid, timeout):
        target = Target(pid)
        remove_stale_copies(pid)
        core = _find_core(target)
        try:
            _load(target, core, UNUSED_TIMEOUT if temporary else 0, timeout)
        except NotAttached:
            if not has_python_provider(pid):  # it cannot report where it has no /proc
                raise
        _require_provider(pid, "python")
    return True


def _require_provider(pid: int, name: str) -> None:
    """NotAttached, if it is not seen in this time."""
    end = time.monotonic() + _SEEN
    while not has_provider(pid, name):
        if time.monotonic() > end:
            raise NotAttached(
                f"process {pid} has loaded pyusdt, but has no provider {name}: it can make no file in /dev/shm or /tmp"
            )
        time.sleep(_POLL)


def attach_hooks(pid: int, timeout: float = BEGIN_TIMEOUT) -> bool:
    """Brings the probes of the process's frameworks in as well, until the last tracer ends: whether they were not there.
    NotAttached."""
    if is_beam(pid):
        raise NoPython(f"process {pid} is Erlang's, which has no framework of Python")
    if has_provider(pid, "request"):
        return False
    attach_provider(pid, timeout, temporary=True)
    with _watching(pid, timeout):
        target = Target(pid)
        if not has_attachment(pid, target.python):
            raise NotAttached(
                f"process {pid} has a provider python of its own, but no probes of frameworks",
                "start it by `pyusdt run`, or call pyusdt.instrument.enable() in it",
            )
        target.run(Statement.call(_ATTACHMENT, "enter_part", _HOOKS), timeout)
    return True


def _attach_beam(pid: int, timeout: float, temporary: bool, options: BeamOptions | None) -> bool:
    changed = attach_beam(pid, timeout, temporary, options)
    _require_provider(pid, "erlang")
    return changed


def detach_provider(
    pid: int,
    timeout: float = BEGIN_TIMEOUT,
    if_unused: bool = False,
    beam: BeamOptions | None = None,
) -> None:
    """Returns once what was brought in has gone.  if_unused: only what was to leave with the last tracer, if that has gone.
    NotAttached."""
    if is_beam(pid):
        return detach_beam(pid, timeout, if_unused, beam)
    with _watching(pid, timeout):
        target = Target(pid)
        remove_stale_copies(pid)
        if not has_attachment(pid, target.python):
            raise NoPython(f"process {pid}: nothing was brought into it")
        try:
            target.run(Statement.call(_ATTACHMENT, "leave", if_unused), timeout)
        except NotAttached as error:
            if _HAS_LEFT not in str(error):  # another tracer was faster
                raise


def call_core(pid: int, function: str, *arguments: object) -> None:
    """Calls a function of the extension in a process that has it, with a function that reports, and these.  NotAttached."""
    with _watching(pid, BEGIN_TIMEOUT):
        Target(pid).run(Statement.call("pyusdt._core", function, *arguments), BEGIN_TIMEOUT)


def leave_unused(pid: int) -> str:
    """Takes out of a process what --attach has brought in, if no tracer is left: why not, or ""."""
    try:
        with _watching(pid, BEGIN_TIMEOUT):
            is_there = is_alive(pid) and (is_beam(pid) or has_attachment(pid))
        if is_there:
            detach_provider(pid, if_unused=True)
    except NotAttached as error:
        return f"{error}; `pyusdt detach {pid}` tries again" if is_alive(pid) else ""
    return ""


def has_attachment(pid: int, python: RemotePython | None = None) -> bool:
    """Whether a tracer has brought the provider into a process.  python: the process, if it was read already.  NotAttached."""
    try:
        python = python or RemotePython(pid)
        modules = RemoteModules(python, CodeObjects(python))
        main = python.read_word(python.runtime + python.layout["runtime_main"])
        return modules.find_member(main, _ATTACHMENT, "leave") is not None
    except StackReadError as error:
        raise NotAttached(str(error)) from None
    except (OSError, LookupError):
        return False


@contextlib.contextmanager
def _watching(pid: int, timeout: float) -> Iterator[None]:
    """NotAttached about a process that ends meanwhile, or becomes another program, says so: its memory and files look like anything by
    then."""
    reason = f"pyusdt: process {pid} does not let its memory or its files be read: gave up"
    was_there, program = is_alive(pid), _read_program(pid)
    with watchdog(reason, 2 * timeout + TIMEOUT):
        try:
            yield
        except NotAttached:
            if was_there and has_ended_or_ends(pid):
                raise NotAttached(f"process {pid} has ended") from None
            if was_there and _read_program(pid) != program:
                raise make_stop_refusal(pid, errno.ESTALE) from None
            raise


def _read_program(pid: int) -> tuple[int, int, int] | None:
    """None: it has ended."""
    try:
        return _tracer.read_image(pid)
    except OSError:
        return None


def _find_core(target: Target) -> str:
    """The extension for the CPython of a process.  NotAttached: this installation has none."""
    version = f"3{target.minor}{'' if target.has_gil else 't'}"
    start, is_musl = f"_core.cpython-{version}-", uses_musl(target.python)
    names = [each for each in sorted(os.listdir(_PACKAGE)) if each.startswith(start)]
    name = next((each for each in names if each.endswith(_MUSL_SUFFIX) == is_musl), None)
    if name is None and names and is_musl:
        raise NotAttached(
            f"process {target.pid} uses musl, and this pyusdt has no extension for it",
            "install pyusdt in the container of the process, and run its `pyusdt attach`",
        )
    if name is None:
        build = "" if target.has_gil else " without the GIL"
        raise NotAttached(
            f"process {target.pid} is CPython 3.{target.minor}{build}, and this pyusdt has no extension for it",
            f"run the `pyusdt attach {target.pid}` of a CPython 3.{target.minor} with pyusdt installed",
        )
    return os.path.join(_PACKAGE, name)


def _identify(core: str) -> str:
    """What tells one extension from another, as the process can load each of them once."""
    with open(core, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:16]


def _load(target: Target, core: str, temporary: float, timeout: float) -> None:
    identity = _identify(core)
    if _sees_files(target.pid, [_LOADER, core]):
        try:
            _enter(target, _PACKAGE, temporary, identity, timeout)
            return
        except PathTooLong:
            pass
        except NotAttached as error:
            if _IMPORTED_BEFORE not in str(error):
                raise
            # an older file of this name, before pyusdt was updated: the system finds that one by the name
    names = [*_LOADED, os.path.basename(core)]
    with place_copy(target.pid, _PACKAGE, names) as folder:
        _enter(target, folder, temporary, identity, timeout)


def _enter(target: Target, package: str, temporary: float, identity: str, timeout: float) -> None:
    loader = os.path.join(package, os.path.relpath(_LOADER, _PACKAGE))
    target.run(Statement.run_file(loader, "enter", temporary, identity), timeout)


def _sees_files(pid: int, paths: list[str]) -> bool:
    """Whether the process can load the tracer's own files.  One that sees other files under our names would run the code of whoever
    can make these names there."""
    try:
        return all(sees_same_file(pid, path) for path in paths) and can_read(pid, paths)
    except OSError as error:
        raise NotAttached(
            f"process {pid}: its root folder cannot be looked at: {error.strerror}"
        ) from None
