"""Dask: one script on all hosts of a cluster, one answer.

    import pyusdt.dask
    with pyusdt.dask.trace(client, 'pyusdt*:::user_trace-i4s4 { @[copyinstr(arg6), host] = quantize(arg3); }') as t:
        compute()
    print(t.aggregations[""])

In: a distributed.Client that is not asynchronous; a script.  Out: an api.Tracing, whose hosts are the machines that the workers run on.
Always: one tracer a host, a process of its own (`python -m pyusdt.dask FOLDER`, which starts pydtrace --serve): nothing runs in a worker but a
coroutine that carries bytes to it (Client.run), whichever worker of that host is there.  A worker that goes takes nothing along; what was
carried once is not carried again, since both sides count bytes.  A tracer that nobody asks for _IDLE seconds ends.  Dask itself is not imported.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .api.tracing import Tracing
    from .engine.remote.link import Link
    from .engine.remote.request import Request

_IDLE = 60.0  # s
_HELD = 8 << 20  # bytes that wait to be carried; then pydtrace waits, and counts what its programs lose
_AT_ONCE = 1 << 20  # bytes of an answer
_WAIT = 0.2  # s: an exchange waits so long for something to carry
_REQUEST = struct.Struct("=QQIB")  # where the bytes stand that are sent, where those that are wanted; how many are sent; whether it is over
_ANSWER = struct.Struct("=QIIB")  # how many were taken in all; how many bytes of output and of messages follow; whether there will be no more
_AWAY = 15.0  # s that a host may be without a worker (one that was killed is started anew) before it is lost
_WIDTH = 64  # characters of a host's name, at most
_LOOK = 2.0  # s between two looks at which hosts there are
_END = 5.0  # s that a tracer may take to be told that it is over; then it notices
_START = 30.0  # s that a tracer may take to listen


def trace(client: Any, script: str | os.PathLike[str], *arguments: object, buffer: int = 100_000, **options: object) -> Tracing:
    """Trace the user's processes on all hosts of a cluster: workers, what they start, those to come; hosts that join are traced, too.

    client: a distributed.Client; the rest is as for pyusdt.trace(); `host` in the script is the address of the worker's machine.
    pyusdt, of this version, has to be installed where the workers run.  Raises CompileError and ValueError here, EngineError when the
    block is entered.
    """
    from .api.tracing import Tracing

    workers = _Workers(client)
    wanted = {"pids": (), "hosts": ",".join(workers.hosts()), "via": None, "relay": None, "width": _WIDTH,
              "connect": lambda made: _request(made, workers)}
    return Tracing(script, arguments, wanted, "auto", buffer, {"zdefs": True, **options})


# --- where the script is ------------------------------------------------------------------------------


class _Workers:
    """Which there are; any thread may ask."""

    def __init__(self, client: Any) -> None:
        if getattr(client, "asynchronous", False):
            raise ValueError("an asynchronous Client can not be waited for: make one without asynchronous=True")
        self.client = client
        self._lock = threading.Lock()
        self._looked = 0.0
        self._found: dict[str, list[str]] = {}

    def hosts(self, soon: bool = True) -> list[str]:
        """Their names; soon: as they are now."""
        with self._lock:
            if soon or time.monotonic() - self._looked > _LOOK:
                self._found = self.client.run_on_scheduler(_hosts)
                self._looked = time.monotonic()
            return list(self._found)

    def of(self, host: str) -> list[str]:
        """Addresses of the workers on one."""
        self.hosts()
        with self._lock:
            return list(self._found.get(host, ()))


def _hosts(dask_scheduler: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for address, state in dask_scheduler.workers.items():
        found.setdefault(state.host, []).append(address)
    return found


def _request(made: Request, workers: _Workers) -> Request:
    from .engine.remote.request import Request

    class OfDask(Request):
        """The hosts of a cluster."""

        def link(self, name: str) -> Link:
            return _carried(workers, name)

        def come(self) -> list[str]:
            """The scheduler is asked by a thread: it may not answer."""
            new = [name for name in looker.hosts if name not in known and len(name) <= _WIDTH]
            known.update(new)
            return new

    known, looker = set(made.names), _Looker(workers)
    return OfDask(made.names, made.via, made.script)


class _Looker:
    """hosts: as they were at most a few seconds ago."""

    def __init__(self, workers: _Workers) -> None:
        self._workers, self._thread = workers, threading.Thread()
        self._known: list[str] = []
        self._due = 0.0

    @property
    def hosts(self) -> list[str]:
        if time.monotonic() >= self._due and not self._thread.is_alive():
            self._due = time.monotonic() + _LOOK
            self._thread = threading.Thread(target=self._look, name="pyusdt-dask-hosts", daemon=True)
            self._thread.start()
        return self._known

    def _look(self) -> None:
        with contextlib.suppress(Exception):  # the cluster is going: the lines tell
            self._known = self._workers.hosts()


def _carried(workers: _Workers, host: str) -> Link:
    """A line to a tracer that is started there, carried by the workers of that host."""
    from .engine.remote.link import Link

    (there, to), (out, here_out), (err, here_err) = os.pipe(), os.pipe(), os.pipe()
    thread = threading.Thread(target=_carry, args=(workers, host, there, here_out, here_err), name=f"pyusdt-dask {host}", daemon=True)

    class Carried(Link):
        def close(self) -> None:
            """The tracer is told, while there is a cluster to do it by."""
            super().close()
            thread.join(_END)

    thread.start()
    return Carried(to, out, err)


def _carry(workers: _Workers, host: str, there: int, out: int, err: int) -> None:
    os.set_blocking(there, False)
    try:
        folder = _run(workers, host, start)
        sent_at = read_at = 0
        pending, over = b"", False
        while True:
            pending, over = _more(there, pending, over)
            answer = _run(workers, host, exchange, folder, _REQUEST.pack(sent_at, read_at, len(pending), over) + pending)
            taken, size, said, ended = _ANSWER.unpack_from(answer)
            pending, sent_at = pending[taken - sent_at :], taken
            at = _ANSWER.size
            _write(out, answer[at : at + size])
            _write(err, answer[at + size : at + size + said])
            read_at += size
            if over or (ended and not size):
                return
    except Exception as error:  # noqa: BLE001  (the line is broken, and its reader told)
        with contextlib.suppress(OSError):
            _write(err, f"{type(error).__name__}: {error}\n".encode())
    finally:
        for fd in (there, out, err):
            os.close(fd)


def _more(fd: int, pending: bytes, over: bool) -> tuple[bytes, bool]:
    """What is to be sent, and whether that is all."""
    while len(pending) < _AT_ONCE and not over:
        try:
            text = os.read(fd, _AT_ONCE)
        except BlockingIOError:
            break
        pending, over = pending + text, not text
    return pending, over and not pending


def _write(fd: int, text: bytes) -> None:
    while text:
        text = text[os.write(fd, text) :]


def _run(workers: _Workers, host: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """What a coroutine gives on any worker of a host, which may go while it runs.  OSError: there has been none for long."""
    why, deadline = "there is none", time.monotonic() + _AWAY
    while time.monotonic() < deadline:
        for address in workers.of(host):
            answer = workers.client.run(function, *arguments, workers=[address], on_error="return").get(address)
            if answer is not None and not isinstance(answer, BaseException):
                return answer
            why = f"{type(answer).__name__}: {answer}"
        time.sleep(_WAIT)
    raise OSError(f"no worker on {host} has answered for {_AWAY:g} s: {why}")


# --- in a worker --------------------------------------------------------------------------------------


async def start() -> str:
    """A tracer begins; its folder."""
    folder = tempfile.mkdtemp(prefix="pyusdt-dask-")  # nobody else may look into it
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYUSDT_VM")}
    subprocess.Popen([sys.executable, "-m", "pyusdt.dask", folder], stdin=subprocess.DEVNULL,  # noqa: ASYNC220  (milliseconds)
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, env=environment)
    deadline = time.monotonic() + _START
    while not os.path.exists(os.path.join(folder, "socket")):
        if time.monotonic() > deadline:
            raise OSError("the tracer does not start")
        await asyncio.sleep(0.05)
    return folder


async def exchange(folder: str, request: bytes) -> bytes:
    """Bytes to a tracer, and what it has for them."""
    reader, writer = await asyncio.open_unix_connection(os.path.join(folder, "socket"))
    try:
        writer.write(request)
        await writer.drain()
        return await reader.read()
    finally:
        writer.close()


# --- the tracer ---------------------------------------------------------------------------------------


class _Tracer:
    """pydtrace --serve, and what is to be carried to and from it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._taken = 0
        self._base, self._out, self._err = 0, b"", b""  # _base: where _out begins
        self._ended = False
        self._news = asyncio.Event()
        self.asked = time.monotonic()

    async def read(self) -> None:
        """Until there will be no more."""
        assert self._process.stdout
        while text := await self._process.stdout.read(_AT_ONCE):
            self._out += text
            self._news.set()
            while len(self._out) > _HELD:
                await asyncio.sleep(_WAIT / 4)
        self._ended = True
        self._news.set()

    async def listen(self) -> None:
        """To the messages."""
        assert self._process.stderr
        while text := await self._process.stderr.read(1 << 16):
            self._err = (self._err + text)[-_AT_ONCE:]

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.asked = time.monotonic()
            sent_at, read_at, size, over = _REQUEST.unpack(await reader.readexactly(_REQUEST.size))
            await self._take(sent_at, await reader.readexactly(size), bool(over))
            self._out, self._base = self._out[read_at - self._base :], read_at
            if not self._out and not self._ended and not over:
                self._news.clear()
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self._news.wait(), _WAIT)
            text, said, self._err = self._out[:_AT_ONCE], self._err, b""
            writer.write(_ANSWER.pack(self._taken, len(text), len(said), self._ended and len(text) == len(self._out)) + text + said)
            await writer.drain()
        finally:
            writer.close()

    async def _take(self, sent_at: int, text: bytes, over: bool) -> None:
        """What was not taken before."""
        pipe = self._process.stdin
        assert pipe
        with contextlib.suppress(OSError):  # it has ended
            pipe.write(text[self._taken - sent_at :])
            await pipe.drain()
        self._taken = max(self._taken, sent_at + len(text))
        if over:
            self.asked = 0.0
            pipe.close()


async def _serve(folder: str) -> None:
    command = os.path.join(os.path.dirname(sys.executable), "pydtrace")
    process = await asyncio.create_subprocess_exec(command, "--serve", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    tracer = _Tracer(process)
    tasks = [asyncio.ensure_future(tracer.read()), asyncio.ensure_future(tracer.listen())]
    path = os.path.join(folder, "socket")
    server = await asyncio.start_unix_server(tracer.answer, path + ".made")
    os.rename(path + ".made", path)  # whoever sees it can connect
    while time.monotonic() - tracer.asked < _IDLE:
        await asyncio.sleep(1)
    server.close()
    assert process.stdin
    process.stdin.close()
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(process.wait(), _IDLE)
    if process.returncode is None:
        process.kill()
    for task in tasks:
        task.cancel()


def main(arguments: Sequence[str]) -> int:
    (folder,) = arguments
    try:
        asyncio.run(_serve(folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
