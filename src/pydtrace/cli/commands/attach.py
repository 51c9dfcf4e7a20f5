"""`pyusdt attach PID`: bring the provider `python` into a running process by sys.remote_exec
(CPython 3.14 and later).

- The process runs one statement, when it next runs Python code; its modules get no new name.
- Only the tracer's user can write the file with the statement (cli/commands/attach_file.py).
- If the process does not run it in time, the request is withdrawn.
- NotAttached says what can be done.
"""

from __future__ import annotations

import sys
import time

from pydtrace.engine.attach_hints import ATTACH_SINCE, advise_start
from pydtrace.engine.embedded.young_processes import has_python_provider
from pydtrace.process.file_view import sees_same_file
from pydtrace.process.identity import is_alive
from pydtrace.remote_python.remote_exec import cancel_script
from pydtrace.remote_python.remote_python import RemotePython, StackReadError
from pydtrace.suggestions import append_hint
from pydtrace.untrusted.watchdog import TIMEOUT, watchdog

from .attach_file import LOADER, make_attach_file

PROVIDER_TIMEOUT = 5.0  # seconds


class NotAttached(Exception):
    """Why not, and what can be done instead."""


def _open_matching_python(pid: int) -> RemotePython:
    """The CPython of a process.  Only a pyusdt of the same version can enter, as the statement loads pyusdt's extension
    there, and from ATTACH_SINCE on.  NotAttached."""
    try:
        python = RemotePython(pid)
    except StackReadError as error:
        raise NotAttached(str(error)) from None
    theirs, ours = int(python.layout["minor"]), sys.version_info[1]
    if theirs < ATTACH_SINCE:
        raise NotAttached(
            append_hint(
                f"process {pid} runs CPython 3.{theirs}; attaching needs 3.{ATTACH_SINCE}",
                advise_start(pid),
            )
        )
    if theirs != ours:
        raise NotAttached(
            append_hint(
                f"process {pid} runs CPython 3.{theirs}; this pyusdt belongs to CPython 3.{ours}",
                f"run the `pyusdt attach {pid}` of a CPython 3.{theirs} with pyusdt installed",
            )
        )
    return python


def _check_view(pid: int, paths: list[str]) -> None:
    """A process that sees other files under our names would run the code of whoever can make these names there."""
    try:
        other = next((path for path in paths if not sees_same_file(pid, path)), None)
    except OSError as error:
        raise NotAttached(
            f"process {pid}: its root folder cannot be read: {error.strerror}"
        ) from None
    if other:
        raise NotAttached(
            append_hint(
                f"process {pid} sees another file as {other} (it is in a container or a chroot, or has its own mounts)",
                f"run `pyusdt attach` where both see the same files; {advise_start(pid)}",
            )
        )


def attach_provider(pid: int) -> None:
    """Returns once the provider is in the process.  NotAttached."""
    if has_python_provider(pid):
        return
    with watchdog(
        f"pyusdt: process {pid} does not answer reads of its memory or its files; pyusdt gave up",
        PROVIDER_TIMEOUT + TIMEOUT,
    ):
        python = _open_matching_python(pid)
        try:
            script = make_attach_file()
        except OSError as error:
            raise NotAttached(
                f"process {pid}: the file that it would run cannot be made: {error.filename or ''}: {error.strerror}"
            ) from None
        _check_view(pid, [script, LOADER])
        try:
            sys.remote_exec(pid, script)  # type: ignore[attr-defined]
        except (OSError, RuntimeError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise NotAttached(append_hint(f"process {pid}: {why}", advise_start(pid))) from None
        try:
            arrived = _wait_for_provider(pid)
        finally:
            taken_back = _withdraw_request(python, script)
        if not arrived and not has_python_provider(pid):
            raise NotAttached(f"process {pid} {_explain_failure(pid, taken_back)}")


def _wait_for_provider(pid: int) -> bool:
    end = time.monotonic() + PROVIDER_TIMEOUT
    while not has_python_provider(pid):
        if time.monotonic() > end or not is_alive(pid):
            return False
        time.sleep(0.02)
    return True


def _withdraw_request(python: RemotePython, script: str) -> bool:
    """Whether the process had not begun yet to run the script: it never will."""
    try:
        return bool(cancel_script(python, script))
    except OSError:  # it has ended
        return False


def _explain_failure(pid: int, taken_back: bool) -> str:
    if not is_alive(pid):
        return "has ended"
    if taken_back:
        return append_hint(
            f"has not run pyusdt's statement within {PROVIDER_TIMEOUT:g} s: it waits outside of Python code",
            "try again when it runs Python",
        )
    return f"has run pyusdt's statement, but has no provider after {PROVIDER_TIMEOUT:g} s: its standard error says why"
