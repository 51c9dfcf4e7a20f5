"""Brings the application pyusdt into an Erlang node that runs, and out of it again (erlang_nif/src/pyusdt_attach.erl).

- The tracer is a hidden node for a moment, which listens nowhere and needs no Erlang on the machine.
- Modules are sent as binaries.  The library is loaded from the tracer's own file if the node can read it, else from a copy that
  the node makes for itself.
- Nothing is loaded into a node that has the application already: its probes are enabled.
"""

from __future__ import annotations

import contextlib
import os
import socket

from pydtrace.erlang_node.distribution import (
    EPMD_PORT,
    OWN_NAME,
    DistributionError,
    NodeConnection,
    WrongCookie,
    list_names,
)
from pydtrace.erlang_node.etf import Atom
from pydtrace.process.file_view import sees_same_file

from .beam_process import BeamProcess, read_own_pid
from .placed_copy import can_read
from .refusal import NotAttached, check_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ATTACH = "pyusdt_attach"
_LIBRARY = "pyusdt_nif.so"
_OF_NO_USE = ("dyntrace",)  # OTP's module stays
_TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
_DEFAULT_FOLDER = os.path.join(_TOP, "erlang_nif")
_OWN_COOKIE = "~/.erlang.cookie"


class BeamOptions:
    """folder: of the built application, "" for that of pyusdt's source; enable: options of pyusdt_vm:enable/1, as Erlang writes them;
    cookie_file: "" if the cookie is that of the node's command line or user."""

    def __init__(self, folder: str = "", enable: str = "", cookie_file: str = "") -> None:
        self.folder = os.path.abspath(folder or _DEFAULT_FOLDER)
        self.enable, self.cookie_file = enable, cookie_file


def attach_beam(
    pid: int, timeout: float, temporary: bool = False, options: BeamOptions | None = None
) -> bool:
    """Returns once the node offers its emulator's probes: whether they were enabled now.  NotAttached."""
    options = options or BeamOptions()
    with connect_to_process(pid, timeout, options) as node:
        library = _find_library(options.folder)
        priv = os.path.dirname(library) if _sees_file(pid, library) else ""
        return _enter(node, f"process {pid}", options, priv, temporary)


def detach_beam(
    pid: int, timeout: float, if_unused: bool = False, options: BeamOptions | None = None
) -> None:
    """Returns once everything that was brought in has gone.  NotAttached."""
    with connect_to_process(pid, timeout, options or BeamOptions()) as node:
        _leave(node, f"process {pid}", if_unused)


def attach_node(name: str, timeout: float, options: BeamOptions) -> bool:
    """As attach_beam() for NAME@HOST, also on another machine."""
    with _connect_to_name(name, timeout, options) as node:
        return _enter(node, f"node {name}", options, "", False)


def detach_node(name: str, timeout: float, options: BeamOptions) -> None:
    with _connect_to_name(name, timeout, options) as node:
        _leave(node, f"node {name}", False)


# --- the connection --------------------------------------------------------------------------


def connect_to_process(
    pid: int, timeout: float, options: BeamOptions, name: str = OWN_NAME
) -> NodeConnection:
    """name: of this side; a node has one connection of a name.  NotAttached."""
    check_state(pid)
    process = BeamProcess(pid)
    address = process.find_address(timeout)
    cookies = (
        [_read_cookie_file(options.cookie_file)]
        if options.cookie_file
        else list(process.find_cookies())
    )
    if not cookies:
        raise NotAttached(
            f"process {pid}: no cookie is in its command line, and none in its user's .erlang.cookie",
            "--cookie-file FILE names a file with it",
        )
    for cookie in cookies:
        try:
            node = NodeConnection(
                address,
                socket.gethostname() or "localhost",
                cookie,
                timeout,
                process.connect,
                name,
            )
        except WrongCookie:
            continue
        except (OSError, DistributionError) as error:
            raise NotAttached(
                f"process {pid}: the Erlang node does not let pyusdt in: {error}"
            ) from None
        return _check_identity(node, pid)
    raise NotAttached(
        f"process {pid}: the Erlang node has another cookie than those of its command line and its user's .erlang.cookie",
        "--cookie-file FILE names a file with it",
    )


def _check_identity(node: NodeConnection, pid: int) -> NodeConnection:
    try:
        if str(node.call("os", "getpid")) == str(read_own_pid(pid)):
            return node
        reason = "another node answers at its port"
    except DistributionError as error:
        reason = f"the Erlang node does not answer: {error}"
    node.close()
    raise NotAttached(f"process {pid}: {reason}")


def _connect_to_name(name: str, timeout: float, options: BeamOptions) -> NodeConnection:
    alive, at, host = name.partition("@")
    if not (alive and at and host):
        raise NotAttached(f"{name} is not the name of a node", "NAME@HOST, as node() returns it")
    cookie = _read_cookie_file(options.cookie_file or os.path.expanduser(_OWN_COOKIE))
    given = os.environ.get("ERL_EPMD_PORT", "")
    mapper = (host, int(given) if given.isdigit() else EPMD_PORT)
    try:
        port = list_names(socket.create_connection, mapper, timeout).get(alive)
    except OSError as error:
        raise NotAttached(
            f"node {name}: no epmd answers at {host}:{mapper[1]}: {error.strerror or error}"
        ) from None
    if port is None:
        raise NotAttached(f"node {name}: the epmd of {host} knows no node {alive}")
    try:
        node = NodeConnection((host, port), socket.gethostname() or "localhost", cookie, timeout)
    except WrongCookie as error:
        raise NotAttached(
            f"node {name}: {error}", "--cookie-file FILE names a file with it"
        ) from None
    except (OSError, DistributionError) as error:
        raise NotAttached(f"node {name} does not let pyusdt in: {error}") from None
    if node.node == name:
        return node
    node.close()
    raise NotAttached(f"node {name}: the node there calls itself {node.node}")


def _read_cookie_file(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(4096).rstrip(b"\n")
    except OSError as error:
        raise NotAttached(
            f"{path}: {error.strerror}", "--cookie-file FILE names a file with the cookie"
        ) from None


# --- in and out ------------------------------------------------------------------------------


def _find_library(folder: str) -> str:
    path = os.path.join(folder, "priv", _LIBRARY)
    if not os.path.isfile(path):
        raise _make_unbuilt_refusal(path)
    return path


def _make_unbuilt_refusal(path: str) -> NotAttached:
    return NotAttached(
        f"this installation has no Erlang application: {path} is missing",
        "build it: make -C erlang_nif, in pyusdt's source; --erlang FOLDER names another folder",
    )


def _sees_file(pid: int, path: str) -> bool:
    with contextlib.suppress(OSError):
        return sees_same_file(pid, path) and can_read(pid, [path])
    return False


def _read_modules(folder: str) -> list[tuple[str, bytes]]:
    names = [os.path.splitext(name) for name in sorted(os.listdir(os.path.join(folder, "ebin")))]
    return [
        (module, read_module(folder, module))
        for module, suffix in names
        if suffix == ".beam" and module not in _OF_NO_USE
    ]


def read_module(folder: str, module: str) -> bytes:
    """NotAttached."""
    path = os.path.join(folder, "ebin", f"{module}.beam")
    if not os.path.isfile(path):
        raise _make_unbuilt_refusal(path)
    with open(path, "rb") as file:
        return file.read()


def _enter(
    node: NodeConnection, whom: str, options: BeamOptions, priv: str, temporary: bool
) -> bool:
    with open(_find_library(options.folder), "rb") as file:
        library = b"" if priv else file.read()
    modules = _read_modules(options.folder)
    request = {
        Atom("modules"): [(Atom(name), data) for name, data in modules if name != _ATTACH],
        Atom("priv"): os.fsencode(priv),
        Atom("library"): library,
        Atom("options"): options.enable.encode(),
        Atom("temporary"): temporary,
    }
    with naming_target(whom):
        is_new = load_module(node, _ATTACH, dict(modules)[_ATTACH])
        answer = node.call(_ATTACH, "enter", request)
        if is_new and (answer == "present" or not isinstance(answer, str)):
            unload_module(node, _ATTACH)
        if not isinstance(answer, str):
            raise _make_refusal(whom, answer)
    return answer in ("brought", "enabled")


def _leave(node: NodeConnection, whom: str, if_unused: bool) -> None:
    with naming_target(whom):
        if not node.call("erlang", "module_loaded", Atom(_ATTACH)):
            raise NotAttached(f"{whom}: nothing was brought into it")
        answer = node.call(_ATTACH, "leave", if_unused)
        if not isinstance(answer, str):
            raise _make_refusal(whom, answer)
        if answer == "ok":
            unload_module(node, _ATTACH)


@contextlib.contextmanager
def naming_target(whom: str):  # type: ignore[no-untyped-def]
    try:
        yield
    except DistributionError as error:
        raise NotAttached(f"{whom}: {error}") from None


def _make_refusal(whom: str, answer: Any) -> NotAttached:
    if isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], bytes):
        return NotAttached(f"{whom}: {answer[1].decode('utf-8', 'replace')}")
    return NotAttached(f"{whom} gives an unknown answer: {answer}")


def load_module(node: NodeConnection, module: str, beam: bytes) -> bool:
    """Whether it was not there before."""
    if node.call("erlang", "module_loaded", Atom(module)):
        return False
    answer = node.call("code", "load_binary", Atom(module), f"{module}.beam", beam)
    if not isinstance(answer, tuple) or answer[:1] != ("module",):
        raise DistributionError(f"it cannot load the module {module}: {answer}")
    return True


def unload_module(node: NodeConnection, module: str) -> None:
    node.call("code", "delete", Atom(module))
    node.call("code", "purge", Atom(module))
