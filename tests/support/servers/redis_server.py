"""Redis servers of Debian's, for tests: in memory alone; on a socket of their own folder, or a cluster of one on the loopback."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile

import pytest

from tests.support import harness

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def started(*options: str) -> Iterator[str]:
    """The folder of a server with these options, while it runs; its socket there is `socket`."""
    if (program := shutil.which("redis-server")) is None:
        pytest.skip("no redis-server")
    with tempfile.TemporaryDirectory(prefix="pyusdt-redis-") as folder:
        path = os.path.join(folder, "socket")
        with subprocess.Popen(
            [
                program,
                "--unixsocket",
                path,
                "--save",
                "",
                "--appendonly",
                "no",
                "--dir",
                folder,
                *options,
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            try:
                harness.wait_until(lambda: os.path.exists(path), 60)
                yield folder
            finally:
                process.kill()


@contextlib.contextmanager
def server() -> Iterator[str]:
    """The path of its socket, while it runs."""
    with started("--port", "0") as folder:
        yield os.path.join(folder, "socket")


@contextlib.contextmanager
def cluster() -> Iterator[int]:
    """The port of the one node of a cluster, which has all slots, while it runs."""
    import redis

    with socket.socket() as one, socket.socket() as other:
        for free in (one, other):
            free.bind(("127.0.0.1", 0))
        port, bus = one.getsockname()[1], other.getsockname()[1]
    with started(
        "--bind",
        "127.0.0.1",
        "--port",
        str(port),
        "--cluster-enabled",
        "yes",
        "--cluster-port",
        str(bus),
    ):
        client = redis.Redis(port=port)
        client.execute_command("CLUSTER ADDSLOTSRANGE", 0, 16383)
        harness.wait_until(
            lambda: client.execute_command("CLUSTER INFO")["cluster_state"] == "ok", 60
        )
        client.close()
        yield port
