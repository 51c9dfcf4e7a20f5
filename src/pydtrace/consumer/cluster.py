"""What dask.py and ray.py share: trace all hosts of a cluster with one script.

A Cluster knows its hosts and runs a coroutine on one of them; the result is a Tracing.

- Each host has one tracer, a process of its own (main(), which starts pydtrace --serve). In the
  cluster's processes only a coroutine runs that carries bytes to it.
- A carrier may end at any time: both sides count bytes, so nothing is lost or carried twice.
- A tracer that nobody asks for _IDLE seconds ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import struct
import subprocess
import tempfile
import threading
import time
from typing import TYPE_CHECKING, Any

from pydtrace.untrusted.isolated_python import isolated_command

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pydtrace.hosts.connection import HostConnection
    from pydtrace.hosts.request import Request

    from .tracing import Tracing

_IDLE_TIMEOUT = 60.0  # s
_MAX_HELD = (
    8 << 20
)  # bytes that wait to be carried; then pydtrace waits, and counts what its programs lose
_MAX_ANSWER = 1 << 20  # bytes of an answer
_EXCHANGE_WAIT = 0.2  # s: an exchange waits so long for something to carry
_REQUEST = struct.Struct(
    "=QQIB"
)  # where the bytes stand that are sent, where those that are wanted; how many are sent; whether it is over
_ANSWER = struct.Struct(
    "=QIIB"
)  # how many were taken in all; how many bytes of output and of messages follow; whether there will be no more
_CARRIER_TIMEOUT = 15.0  # s that a host may be without a carrier (one that was killed is started anew) before it is lost
_MAX_HOST_NAME = 64  # characters of a host's name, at most
_HOSTS_INTERVAL = 2.0  # s between two looks at which hosts there are
_CLOSE_TIMEOUT = 5.0  # s for informing a tracer that it is over; then it notices by itself
_LISTEN_TIMEOUT = 30.0  # s that a tracer may take to listen
_START_TIMEOUT = 120.0  # s that carriers which are there may take to start one; who waits for it may give up before


class Cluster:
    """A cluster; any thread may ask.  carrier: what people call what runs something there."""

    carrier = ""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found_at = 0.0
        self._found: dict[str, list[str]] = {}

    def find_hosts(self) -> dict[str, list[str]]:
        """{host: names of its carriers} as they are now."""
        raise NotImplementedError

    def call_on_carrier(self, carrier: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a coroutine of this module gives on one of these, or whatever is raised where there is no answer."""
        raise NotImplementedError

    def host_names(self, refresh: bool = True) -> list[str]:
        """Their names; soon: as they are now."""
        with self._lock:
            if refresh or time.monotonic() - self._found_at > _HOSTS_INTERVAL:
                self._found = self.find_hosts()
                self._found_at = time.monotonic()
            return list(self._found)

    def find_carriers(self, host: str) -> list[str]:
        """The carriers of one."""
        self.host_names()
        with self._lock:
            return list(self._found.get(host, ()))

    def run_on_host(
        self,
        host: str,
        function: Callable[..., Any],
        *arguments: Any,
        timeout: float = _CARRIER_TIMEOUT,
    ) -> Any:
        """What a coroutine gives on any carrier of a host, which may go while it runs.  OSError: there has been none for long, or those that
        are there have not answered for `patience` seconds."""
        why, begun, longest = "there is none", time.monotonic(), _CARRIER_TIMEOUT
        while time.monotonic() - begun < longest:
            for carrier in self.find_carriers(host):
                longest = timeout
                try:
                    return self.call_on_carrier(carrier, function, *arguments)
                except Exception as error:  # noqa: BLE001  (of whatever kind the cluster has)
                    why = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
            time.sleep(_EXCHANGE_WAIT)
        raise OSError(
            f"no {self.carrier} on {host} has answered for {time.monotonic() - begun:.0f} s: {why}"
        )


def trace_cluster(
    cluster: Cluster,
    script: str | os.PathLike[str],
    arguments: tuple[object, ...],
    buffer: int,
    options: Mapping[str, object],
) -> Tracing:
    """As pyusdt.trace(), with the hosts of a cluster, and those that join it."""
    from .tracing import Tracing

    wanted = {
        "pids": (),
        "hosts": ",".join(cluster.host_names()),
        "via": None,
        "relay": None,
        "width": _MAX_HOST_NAME,
        "connect": lambda made: _make_request(made, cluster),
    }
    return Tracing(script, arguments, wanted, "auto", buffer, {"zdefs": True, **options})


# --- where the script is ------------------------------------------------------------------------------


def _make_request(made: Request, cluster: Cluster) -> Request:
    from pydtrace.hosts.request import Request

    class ClusterRequest(Request):
        """The hosts of a cluster."""

        def connect(self, name: str) -> HostConnection:
            return _open_link(cluster, name)

        def new_names(self) -> list[str]:
            """The cluster is asked by a thread: it may not answer."""
            new = [
                name for name in poller.hosts if name not in known and len(name) <= _MAX_HOST_NAME
            ]
            known.update(new)
            return new

    known, poller = set(made.names), _HostPoller(cluster)
    return ClusterRequest(made.names, made.via, made.script)


class _HostPoller:
    """hosts: as they were at most a few seconds ago."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster, self._thread = cluster, threading.Thread()
        self._known: list[str] = []
        self._due = 0.0

    @property
    def hosts(self) -> list[str]:
        if time.monotonic() >= self._due and not self._thread.is_alive():
            self._due = time.monotonic() + _HOSTS_INTERVAL
            self._thread = threading.Thread(
                target=self._poll, name="pyusdt-cluster-hosts", daemon=True
            )
            self._thread.start()
        return self._known

    def _poll(self) -> None:
        with contextlib.suppress(Exception):  # the cluster is going: the lines tell
            self._known = self._cluster.host_names()


def _open_link(cluster: Cluster, host: str) -> HostConnection:
    """A line to a tracer that is started there, carried by the carriers of that host."""
    from pydtrace.hosts.connection import HostConnection

    (there, to), (out, here_out), (err, here_err) = os.pipe(), os.pipe(), os.pipe()
    thread = threading.Thread(
        target=_relay_bytes,
        args=(cluster, host, there, here_out, here_err),
        name=f"pyusdt-cluster {host}",
        daemon=True,
    )

    class CarriedLink(HostConnection):
        def close(self) -> None:
            """Inform the tracer, while there is a cluster to do it by."""
            super().close()
            thread.join(_CLOSE_TIMEOUT)

    thread.start()
    return CarriedLink(to, out, err)


def _relay_bytes(cluster: Cluster, host: str, there: int, out: int, err: int) -> None:
    os.set_blocking(there, False)
    try:
        folder = cluster.run_on_host(host, start_tracer, timeout=_START_TIMEOUT)
        sent_at = read_at = 0
        pending, over = b"", False
        while True:
            pending, over = _read_pending(there, pending, over)
            answer = cluster.run_on_host(
                host,
                exchange_bytes,
                folder,
                _REQUEST.pack(sent_at, read_at, len(pending), over) + pending,
            )
            taken, size, said, ended = _ANSWER.unpack_from(answer)
            pending, sent_at = pending[taken - sent_at :], taken
            at = _ANSWER.size
            _write_all(out, answer[at : at + size])
            _write_all(err, answer[at + size : at + size + said])
            read_at += size
            if over or (ended and not size):
                return
    except Exception as error:  # noqa: BLE001  (the line is broken, and its reader is informed)
        with contextlib.suppress(OSError):
            _write_all(err, f"{type(error).__name__}: {error}\n".encode())
    finally:
        for fd in (there, out, err):
            os.close(fd)


def _read_pending(fd: int, pending: bytes, over: bool) -> tuple[bytes, bool]:
    """What is to be sent, and whether that is all."""
    while len(pending) < _MAX_ANSWER and not over:
        try:
            text = os.read(fd, _MAX_ANSWER)
        except BlockingIOError:
            break
        pending, over = pending + text, not text
    return pending, over and not pending


def _write_all(fd: int, text: bytes) -> None:
    while text:
        text = text[os.write(fd, text) :]


# --- in a carrier -------------------------------------------------------------------------------------


async def start_tracer() -> str:
    """A tracer begins; its folder."""
    folder = tempfile.mkdtemp(prefix="pyusdt-tracer-")  # nobody else may look into it
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith("PYUSDT_VM")
    }
    command = isolated_command(
        "from pydtrace.consumer.cluster import main; sys.exit(main(sys.argv[1:]))", folder
    )
    begun = subprocess.Popen(  # noqa: ASYNC220 - milliseconds
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env=environment,
    )
    deadline = time.monotonic() + _LISTEN_TIMEOUT
    while begun.poll() is None or not os.path.exists(os.path.join(folder, "socket")):
        if time.monotonic() > deadline:
            raise OSError("the tracer does not start")
        await asyncio.sleep(0.05)
    return folder


async def exchange_bytes(folder: str, request: bytes) -> bytes:
    """Bytes to a tracer, and what it has for them."""
    reader, writer = await asyncio.open_unix_connection(os.path.join(folder, "socket"))
    try:
        writer.write(request)
        await writer.drain()
        return await reader.read()
    finally:
        writer.close()


# --- the tracer ---------------------------------------------------------------------------------------


class _ServedTracer:
    """pydtrace --serve, and what is to be carried to and from it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._taken = 0
        self._out_offset, self._out, self._err = 0, b"", b""  # _base: where _out begins
        self._ended = False
        self._readable = asyncio.Event()
        self.exchanged_at = time.monotonic()

    async def read_output(self) -> None:
        """Until there will be no more."""
        assert self._process.stdout
        while text := await self._process.stdout.read(_MAX_ANSWER):
            self._out += text
            self._readable.set()
            while len(self._out) > _MAX_HELD:
                await asyncio.sleep(_EXCHANGE_WAIT / 4)
        self._ended = True
        self._readable.set()

    async def read_messages(self) -> None:
        """To the messages."""
        assert self._process.stderr
        while text := await self._process.stderr.read(1 << 16):
            self._err = (self._err + text)[-_MAX_ANSWER:]

    async def answer_exchange(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            self.exchanged_at = time.monotonic()
            sent_at, read_at, size, over = _REQUEST.unpack(await reader.readexactly(_REQUEST.size))
            await self._write_input(sent_at, await reader.readexactly(size), bool(over))
            self._out, self._out_offset = self._out[read_at - self._out_offset :], read_at
            if not self._out and not self._ended and not over:
                self._readable.clear()
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self._readable.wait(), _EXCHANGE_WAIT)
            text, said, self._err = self._out[:_MAX_ANSWER], self._err, b""
            writer.write(
                _ANSWER.pack(
                    self._taken, len(text), len(said), self._ended and len(text) == len(self._out)
                )
                + text
                + said
            )
            await writer.drain()
        finally:
            writer.close()

    async def _write_input(self, sent_at: int, text: bytes, over: bool) -> None:
        """What was not taken before."""
        pipe = self._process.stdin
        assert pipe
        with contextlib.suppress(OSError):  # it has ended
            pipe.write(text[self._taken - sent_at :])
            await pipe.drain()
        self._taken = max(self._taken, sent_at + len(text))
        if over:
            self.exchanged_at = 0.0
            pipe.close()


async def _serve_tracer(folder: str) -> None:
    command = isolated_command("from pydtrace.cli.pydtrace.main import main; main()", "--serve")
    process = await asyncio.create_subprocess_exec(
        *command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    tracer = _ServedTracer(process)
    tasks = [
        asyncio.ensure_future(tracer.read_output()),
        asyncio.ensure_future(tracer.read_messages()),
    ]
    path = os.path.join(folder, "socket")
    server = await asyncio.start_unix_server(tracer.answer_exchange, path + ".made")
    os.rename(path + ".made", path)  # whoever sees it can connect
    while time.monotonic() - tracer.exchanged_at < _IDLE_TIMEOUT:
        await asyncio.sleep(1)
    server.close()
    assert process.stdin
    process.stdin.close()
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(process.wait(), _IDLE_TIMEOUT)
    if process.returncode is None:
        process.kill()
    for task in tasks:
        task.cancel()


def main(arguments: Sequence[str]) -> int:
    (folder,) = arguments
    if os.fork():
        return 0  # Ray kills the children of a process that ends: the tracer is nobody's child
    try:
        asyncio.run(_serve_tracer(folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0
